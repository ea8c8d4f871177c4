//go:build unix

package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

// Every request has a connection of its own: what is cut is one of them.
var transport = &http.Transport{DisableKeepAlives: true}

// insist repeats an idempotent request until a server answers.
func (c *client) insist(method, path string, body []byte, header http.Header) (int, []byte) {
	for end := c.patience(); ; c.nap() {
		status, _, got, err := c.do(method, path, body, header)
		if err == nil && status < http.StatusInternalServerError {
			return status, got
		}
		if end() {
			return status, got
		}
	}
}

// do makes a request at any server, and does not wait forever.
func (c *client) do(method, path string, body []byte, header http.Header) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(c.stop, time.Duration(1+c.random.IntN(3))*time.Second+c.slack())
	defer cancel()
	resp, err := c.send(ctx, method, path, body, header)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, got, err
}

// slack is what a client waits longer when nothing is broken on purpose.
func (c *client) slack() time.Duration {
	if c.over() {
		return 5 * time.Second
	}
	return 0
}

var errDown = errors.New("no server is up")

func (c *client) send(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	base := c.anywhere()
	if base == "" {
		return nil, errDown
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, header)
	return transport.RoundTrip(req)
}

// request sends the message once, in one of the three ways.
func (c *client) request(m *message) {
	m.requests++
	header := http.Header{"Idempotency-Key": {"key-" + m.word}}
	switch c.random.IntN(3) {
	case 0:
		status, got, body, err := c.do(http.MethodPost, "/run", m.body, header)
		m.note("/run: %d %v", status, err)
		if err == nil && c.accepted(m, "/run", status, got, body) && status == http.StatusOK {
			m.whole = append(m.whole, string(body))
		}
	case 1:
		status, got, body, err := c.do(http.MethodPost, sessionPath(m.conversation.key)+"/runs", m.body, header)
		m.note("/runs: %d %v", status, err)
		if err == nil {
			c.accepted(m, "/runs", status, got, body)
		}
	default:
		c.requestSSE(m, header)
	}
}

// accepted remembers what was said to a message. What has a run is accepted,
// even if the rest of the answer is bad news.
func (c *client) accepted(m *message, how string, status int, header http.Header, body []byte) bool {
	if run := header.Get("X-Parley-Run"); run != "" {
		if m.run != "" && m.run != run {
			c.Errorf("%s: the message %s is the run %s and the run %s", m.conversation.key.ID, m.word, m.run, run)
		}
		m.run = run
		return true
	}
	text := string(body)
	switch {
	case status >= http.StatusInternalServerError:
	case status == http.StatusConflict && m.policy == "reject" && strings.Contains(text, "is busy"):
		// A request without an answer may still start the run: the client asks until it
		// knows which run that is.
		if m.requests == 1 {
			m.refused = "busy"
		}
	case status == http.StatusConflict && m.answers != "" && strings.Contains(text, "answered already"):
		m.refused = "answered"
	case status == http.StatusUnprocessableEntity && m.answers != "" && m.conversation.undone():
		m.refused = "rewound"
	default:
		m.refused = text
		c.Errorf("%s: %s refuses the message %s with status %d: %s\n%s", m.conversation.key.ID, how, m.word, status, text, strings.Join(m.stories, "\n"))
	}
	return false
}

// requestSSE sends the message and reads what comes of it. Such a stream has no
// end of its own, so the run is followed afterwards in any case.
func (c *client) requestSSE(m *message, header http.Header) {
	ctx, alive, cancel := c.impatient()
	defer cancel()
	resp, err := c.send(ctx, http.MethodPost, "/run_sse", m.body, header)
	if err != nil {
		m.note("/run_sse: %v", err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		m.note("/run_sse: %d %v", resp.StatusCode, err)
		if err == nil {
			c.accepted(m, "/run_sse", resp.StatusCode, resp.Header, body)
		}
		return
	}
	if !c.accepted(m, "/run_sse", resp.StatusCode, resp.Header, nil) {
		return
	}
	m.note("/run_sse: run %s", m.run)
	left := c.drop()
	whole, shown := true, texts{}
	err = frames(resp.Body, func(f frame) bool {
		alive()
		switch {
		case f.data == "":
			return true
		case strings.HasPrefix(f.data, `{"error":`): // the run has failed, or this server has
			whole = false
			return true
		}
		ev, err := decode(f.data)
		if err != nil {
			c.Error(err)
			return false
		}
		c.shown(m, shown, f.data)
		if ev.Partial {
			return true
		}
		m.stream = append(m.stream, seen{ev.ID, f.data})
		left--
		return left != -1
	})
	m.note("/run_sse: %d events, %v", len(m.stream), err)
	if err == nil && whole {
		m.closed = len(m.stream)
	}
}

// follow reads the run from where the client is, at any server, and goes away
// after so many events.
func (c *client) follow(m *message, left int) {
	ctx, alive, cancel := c.impatient()
	defer cancel()
	path := sessionPath(m.conversation.key) + "/runs/" + m.run + "/events"
	header := http.Header{"Accept": {"text/event-stream"}}
	last := m.last()
	if last != "" && c.random.IntN(2) == 0 {
		header.Set("Last-Event-ID", last)
	} else if last != "" {
		path += "?after=" + last
	}
	resp, err := c.send(ctx, http.MethodGet, path, nil, header)
	if err != nil {
		m.note("follow: %v", err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		m.note("follow after %q: status %d: %s", last, resp.StatusCode, body)
		if resp.StatusCode < http.StatusInternalServerError {
			c.Errorf("%s: cannot follow the run %s:\n%s", m.conversation.key.ID, m.run, strings.Join(m.stories, "\n"))
			m.ended = "refused" // and it will be again
		}
		return
	}
	before, shown := len(m.stream), texts{}
	err = frames(resp.Body, func(f frame) bool {
		alive()
		switch {
		case f.event == "end":
			var run struct{ Status string }
			if err := json.Unmarshal([]byte(f.data), &run); err != nil {
				c.Error(err)
			}
			m.ended, m.status = f.data, run.Status
			return false
		case f.event == "resume":
			m.note("told to resume: %s", f.data)
			return false
		case f.id != "":
			c.shown(m, shown, f.data)
			m.stream = append(m.stream, seen{f.id, f.data})
			left--
		case f.data != "":
			c.shown(m, shown, f.data)
		}
		return left != -1
	})
	m.note("follow after %q: %d events, %v, status %q", last, len(m.stream)-before, err, m.status)
}

// shown checks the pieces of a stream.
func (c *client) shown(m *message, so texts, doc string) {
	if err := so.add(doc); err != nil {
		c.Errorf("%s: the run %s: %v\n%s", m.conversation.key.ID, m.run, err, strings.Join(m.stories, "\n"))
	}
}

// impatient is a context that ends when nothing has come for a while.
func (c *client) impatient() (ctx context.Context, alive func(), cancel context.CancelFunc) {
	limit := time.Duration(1000+c.random.IntN(2000))*time.Millisecond + c.slack()
	ctx, end := context.WithCancel(c.stop)
	timer := time.AfterFunc(limit, end)
	return ctx, func() { timer.Reset(limit) }, func() {
		timer.Stop()
		end()
	}
}

// frame is one of Server-Sent Events.
type frame struct{ event, id, data, comment string }

// errCut means that a stream was left, or has ended in the middle.
var errCut = errors.New("cut")

// frames reads a stream until it ends or do is false. A frame that has not come
// to its end does not count.
func frames(body io.Reader, do func(frame) bool) error {
	in := bufio.NewReader(body)
	var f frame
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" && f == (frame{}) {
			return nil
		}
		if err != nil {
			return errors.Join(errCut, err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
			if !do(f) {
				return errCut
			}
			f = frame{}
		case name == "":
			f.comment = value
		case name == "event":
			f.event = value
		case name == "id":
			f.id = value
		case name == "data":
			f.data = value
		}
	}
}
