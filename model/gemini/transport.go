package gemini

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	tries     = 4 // the first included
	firstWait = 500 * time.Millisecond
	// longestWait is how long a person may be kept waiting. An API that asks
	// for more is not asked again.
	longestWait = 30 * time.Second
)

// transport asks again what may work the second time, and turns the answers of
// an API that refuses into errors. Here, before a response is handed on, is the
// one place where the status and Retry-After are known and no text is out yet.
type transport struct {
	base http.RoundTripper // nil means the default one
	wait func(context.Context, time.Duration) error
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
	ctx := req.Context()
	for try := 1; ; try++ {
		resp, err := base.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 == 2 {
			resp.Body = &body{resp.Body, ctx}
			return resp, nil
		}
		refused := readError(resp)
		pause, again := refused.pause(try)
		if !again || req.GetBody == nil {
			return nil, refused
		}
		if err := t.wait(ctx, pause); err != nil {
			return nil, err
		}
		req = req.Clone(ctx)
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
}

// body ends when the caller goes away. The SDK would write the failed read to
// the process's log, and a cancelled run is none.
type body struct {
	io.ReadCloser
	ctx context.Context
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.ctx.Err() != nil {
		err = io.EOF
	}
	return n, err
}

// apiError is a refusal: by the API, or by us in its place.
type apiError struct {
	code    int    // of HTTP, 0 when there was none
	status  string // such as RESOURCE_EXHAUSTED
	message string
	after   time.Duration // not before then
}

func (e *apiError) Error() string { return e.name() + ": " + e.message }

var statusName = regexp.MustCompile(`^[A-Z][A-Z_]+$`)

func (e *apiError) name() string {
	switch {
	case statusName.MatchString(e.status):
		return e.status
	case e.code != 0:
		return "HTTP_" + strconv.Itoa(e.code)
	}
	return "UNKNOWN_ERROR"
}

// pause is how long to wait after the nth try, and whether there is another.
func (e *apiError) pause(try int) (time.Duration, bool) {
	if e.code != http.StatusRequestTimeout && e.code != http.StatusTooManyRequests && e.code < 500 {
		return 0, false
	}
	if try >= tries || e.after > longestWait {
		return 0, false
	}
	wait := firstWait << (try - 1)
	wait += rand.N(wait / 2) //nolint:gosec // only spreads the load
	return max(wait, e.after), true
}

// readError makes an error of a response and closes it.
func readError(resp *http.Response) *apiError {
	defer resp.Body.Close()
	doc, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // what there is of it
	e := &apiError{code: resp.StatusCode, message: http.StatusText(resp.StatusCode)}
	e.parse(doc)
	if s := resp.Header.Get("Retry-After"); s != "" {
		if seconds, err := strconv.ParseUint(s, 10, 31); err == nil {
			e.after = max(e.after, time.Duration(seconds)*time.Second)
		} else if at, err := http.ParseTime(s); err == nil {
			e.after = max(e.after, time.Until(at))
		}
	}
	return e
}

// parse reads what the API says. Vertex AI wraps it in an array when it was
// asked for a stream; proxies answer with text, or with a page that is of no
// use to a reader.
func (e *apiError) parse(doc []byte) {
	type wire struct {
		Error struct {
			Status, Message string
			Details         []struct {
				RetryDelay string // "17s", in google.rpc.RetryInfo
			}
		}
	}
	var list []wire
	if json.Unmarshal(doc, &list) != nil || len(list) == 0 {
		list = make([]wire, 1)
		if json.Unmarshal(doc, &list[0]) != nil {
			list = nil
		}
	}
	text := strings.TrimSpace(string(doc))
	switch {
	case list != nil && list[0].Error.Message != "":
		e.message = list[0].Error.Message
	case text != "" && !strings.HasPrefix(text, "<"):
		e.message = text
	}
	if list == nil {
		return
	}
	e.status = list[0].Error.Status
	for _, detail := range list[0].Error.Details {
		if d, err := time.ParseDuration(detail.RetryDelay); err == nil {
			e.after = max(e.after, d)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
