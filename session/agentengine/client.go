package agentengine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/parley-run/parley/internal/gcp"
	"github.com/parley-run/parley/internal/retry"
)

// client calls the REST API of the service, of which it needs eight methods. The
// official client would make the program several megabytes larger.
type client struct {
	http   *http.Client
	token  gcp.TokenSource
	engine string // projects/…/reasoningEngines/…
	base   string // of all URLs
	pace
}

// pace holds the intervals and timeouts of a client.
type pace struct {
	attempts int           // of a call, if the service is overloaded or fails
	wait     time.Duration // before the second attempt; it doubles
	poll     time.Duration // between polls of an operation; it doubles, up to a second
	timeout  time.Duration // of an attempt
}

var patient = pace{attempts: 5, wait: 500 * time.Millisecond, poll: 100 * time.Millisecond, timeout: 30 * time.Second}

const (
	scope = "https://www.googleapis.com/auth/cloud-platform"
	// maxWait bounds the delay that the service may ask for.
	maxWait = 10 * time.Second
	// operationTime bounds how long the service may take to create or delete a
	// session.
	operationTime = time.Minute
	maxAnswer     = 256 << 20
)

func newClient(o *Options) (*client, error) {
	engine, base, emulated, err := target(o.URL, o.Getenv)
	if err != nil {
		return nil, err
	}
	c := &client{
		http:   &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}, //nolint:forcetypeassert // it is what the library says
		engine: engine, base: base + "/v1/", pace: patient,
		token: gcp.NoToken,
	}
	if o.pace != nil {
		c.pace = *o.pace
	}
	if emulated {
		return c, nil
	}
	if c.token, err = gcp.DefaultTokens(scope); err != nil {
		return nil, err
	}
	return c, nil
}

// answerError is an error response of the service.
type answerError struct {
	HTTP    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	after   time.Duration
}

func (e *answerError) Error() string {
	return fmt.Sprintf("the session service answers %d %s: %s", e.HTTP, e.Status, e.Message)
}

// again reports whether the same call may succeed later.
func (e *answerError) again() bool {
	switch e.HTTP {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// is reports whether err is a response with that status.
func is(err error, status int) bool {
	answer, ok := errors.AsType[*answerError](err)
	return ok && answer.HTTP == status
}

// call makes a call, and repeats it if necessary. Every call of this package may be
// repeated: this package chooses the names of sessions, and events have tokens that
// identify duplicates.
func (c *client) call(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return err
		}
	}
	backoff := retry.Backoff{Wait: c.wait, Max: maxWait}
	for attempt := 1; ; attempt++ {
		err := c.once(ctx, method, path, query, sent, answer)
		if err == nil || ctx.Err() != nil || attempt >= c.attempts {
			return err
		}
		pause := backoff.Next()
		if answer, ok := errors.AsType[*answerError](err); ok {
			if !answer.again() {
				return err
			}
			pause = max(pause, min(answer.after, maxWait))
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (c *client) once(ctx context.Context, method, path string, query url.Values, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	token, err := c.token(ctx)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the session service cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the answer of the session service broke off: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		var answer struct{ Error answerError }
		_ = json.Unmarshal(text, &answer) // it may not be JSON
		answer.Error.HTTP = resp.StatusCode
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
			answer.Error.after = time.Duration(seconds) * time.Second
		}
		return &answer.Error
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the answer of the session service cannot be read: %w", err)
	}
	return nil
}

// check checks that the engine exists, and that this process may use it.
func (c *client) check(ctx context.Context) error {
	err := c.call(ctx, http.MethodGet, c.engine+"/sessions", url.Values{"pageSize": {"1"}}, nil, nil)
	switch {
	case is(err, http.StatusNotFound):
		return fmt.Errorf("there is no engine %s", c.engine)
	case is(err, http.StatusForbidden), is(err, http.StatusUnauthorized):
		return fmt.Errorf("%w (the role roles/aiplatform.user is enough)", err)
	}
	return err
}

func (c *client) name(id string) string { return c.engine + "/sessions/" + url.PathEscape(id) }

// create creates a session, and waits for that. It fails with errTaken if the id
// exists.
func (c *client) create(ctx context.Context, id string, s *remote) (*remote, error) {
	var op operation
	err := c.call(ctx, http.MethodPost, c.engine+"/sessions", url.Values{"sessionId": {id}}, s, &op)
	if err == nil {
		err = c.finish(ctx, &op, id, func(err error) bool { return err == nil })
	}
	if err != nil && !is(err, http.StatusConflict) {
		return nil, err
	}
	made, failed := c.get(ctx, id)
	switch {
	case failed != nil:
		return nil, cmp.Or(err, failed)
	case err != nil && made.mark().Token != s.mark().Token: // not by an earlier attempt of this process
		return nil, errTaken
	}
	return made, nil
}

var errTaken = errors.New("the service has a session of that name already")

func (c *client) get(ctx context.Context, id string) (*remote, error) {
	s := &remote{}
	err := c.call(ctx, http.MethodGet, c.name(id), nil, nil, s)
	return s, err
}

// delete deletes a session, and waits for that. A session that does not exist is
// not an error.
func (c *client) delete(ctx context.Context, id string) error {
	var op operation
	err := c.call(ctx, http.MethodDelete, c.name(id), nil, nil, &op)
	if err == nil {
		err = c.finish(ctx, &op, id, func(err error) bool { return is(err, http.StatusNotFound) })
	}
	if is(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// operation is a long-running operation of the service.
type operation struct {
	Name  string `json:"name"`
	Done  bool   `json:"done"`
	Error *struct {
		Code    int    `json:"code"` // of google.rpc.Code
		Message string `json:"message"`
	} `json:"error"`
}

// finish waits for the end of an operation on a session. An operation that cannot
// be polled is over when the session has the expected state.
func (c *client) finish(ctx context.Context, op *operation, id string, over func(error) bool) error {
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	for wait := c.poll; !op.Done; wait = min(2*wait, time.Second) {
		if err := retry.Sleep(ctx, wait); err != nil {
			return fmt.Errorf("the session service takes too long: %w", err)
		}
		var now operation
		switch err := c.call(ctx, http.MethodGet, op.Name, nil, nil, &now); {
		case is(err, http.StatusNotFound):
			if _, err := c.get(ctx, id); over(err) {
				return nil
			}
		case err != nil:
			return err
		default:
			now.Name = op.Name
			*op = now
		}
	}
	if op.Error == nil {
		return nil
	}
	return &answerError{HTTP: statusOf(op.Error.Code), Message: op.Error.Message}
}

// statusOf returns the HTTP status of a google.rpc.Code, for the relevant ones.
func statusOf(code int) int {
	switch code {
	case 5:
		return http.StatusNotFound
	case 6:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// pageSize is how much of a list is asked for at once.
const pageSize = "100"

// list reads one page of sessions. An empty user means all.
func (c *client) list(ctx context.Context, user, token string) ([]*remote, string, error) {
	query := url.Values{"pageSize": {pageSize}, "orderBy": {"create_time"}}
	if user != "" {
		query.Set("filter", "user_id="+strconv.Quote(user))
	}
	if token != "" {
		query.Set("pageToken", token)
	}
	var page struct {
		Sessions      []*remote `json:"sessions"`
		NextPageToken string    `json:"nextPageToken"`
	}
	err := c.call(ctx, http.MethodGet, c.engine+"/sessions", query, nil, &page)
	return page.Sessions, page.NextPageToken, err
}

// events reads the events of a session, oldest first: all, or those that are not
// older than since.
func (c *client) events(ctx context.Context, id string, since time.Time) ([]*remoteEvent, error) {
	query := url.Values{"pageSize": {pageSize}, "orderBy": {"timestamp"}}
	if !since.IsZero() {
		query.Set("filter", fmt.Sprintf("timestamp>=%q", stamp(since)))
	}
	var all []*remoteEvent
	for {
		var page struct {
			SessionEvents []*remoteEvent `json:"sessionEvents"`
			NextPageToken string         `json:"nextPageToken"`
		}
		if err := c.call(ctx, http.MethodGet, c.name(id)+"/events", query, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.SessionEvents...)
		if page.NextPageToken == "" {
			return all, nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
}

func (c *client) append(ctx context.Context, id string, ev *remoteEvent) error {
	return c.call(ctx, http.MethodPost, c.name(id)+":appendEvent", nil, ev, nil)
}
