package call

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// RefusalError is what an API says instead of an answer, or we in its place.
type RefusalError struct {
	Status  int    // of HTTP, 0 when there was none
	Code    string // such as RESOURCE_EXHAUSTED; that of the Status when empty
	Message string
	After   time.Duration // not before then
	Final   bool          // asking again does not help, whatever the Status
}

func (r *RefusalError) Error() string { return r.Name() + ": " + r.Message }

var codeName = regexp.MustCompile(`^[A-Z][A-Z_]+$`)

// Name returns the code of the error. The names are those that Google gives to
// statuses, for all providers.
func (r *RefusalError) Name() string {
	if codeName.MatchString(r.Code) {
		return r.Code
	}
	switch r.Status {
	case 0:
		return "UNKNOWN_ERROR"
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusConflict:
		return "ABORTED"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	case http.StatusServiceUnavailable, StatusOverloaded:
		return "UNAVAILABLE"
	}
	return "HTTP_" + strconv.Itoa(r.Status)
}

// StatusOverloaded is how some APIs say that they have too much to do.
const StatusOverloaded = 529

// passes reports whether the same request may work later.
func (r *RefusalError) passes() bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return !r.Final
	}
	return r.Status >= 500 && !r.Final
}

// readRefusal makes a refusal of a response and closes it. Proxies answer with
// text, or with a page that is of no use to a reader.
func readRefusal(resp *http.Response, parse func(*RefusalError, []byte)) *RefusalError {
	defer resp.Body.Close()
	doc, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // what there is of it
	r := &RefusalError{Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	if text := strings.TrimSpace(string(doc)); text != "" && !strings.HasPrefix(text, "<") {
		r.Message = text
	}
	if json.Valid(doc) {
		parse(r, doc)
	}
	if ms, err := strconv.ParseUint(resp.Header.Get("Retry-After-Ms"), 10, 31); err == nil {
		r.After = max(r.After, time.Duration(ms)*time.Millisecond)
	} else if s := resp.Header.Get("Retry-After"); s != "" {
		if seconds, err := strconv.ParseUint(s, 10, 31); err == nil {
			r.After = max(r.After, time.Duration(seconds)*time.Second)
		} else if at, err := http.ParseTime(s); err == nil {
			r.After = max(r.After, time.Until(at))
		}
	}
	r.Final = r.Final || resp.Header.Get("X-Should-Retry") == "false"
	return r
}
