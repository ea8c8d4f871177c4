package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sharelink"
	"github.com/parley-run/parley/internal/trigger"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// The permission of every route without a user in its path is listed here explicitly.
func TestNeeds(t *testing.T) {
	t.Parallel()
	s := New(Options{Developers: Developers{UI: http.NotFoundHandler()}})
	for _, pattern := range s.Routes() {
		_, path, _ := strings.Cut(pattern, " ")
		if _, ok := needs[path]; !ok && !strings.HasPrefix(path, "/apps/{app}/users/{user}/") && needOf(pattern).scope == access.Admin && !strings.Contains(path, "/eval") {
			t.Errorf("%s: say in needs who may use it; it is for administrators until then", pattern)
		}
	}
	for _, r := range s.devRoutes() {
		switch r.path {
		case "/dev/apps/{app}/users/{user}/runs", "/dev/apps/{app}/users/{user}/sessions", "/dev/apps/{app}/runs":
			continue // of one user, who can also list and read them one by one; the last one checks which
		}
		want := need{scope: access.Dev}
		if strings.Contains(r.path, "/eval") && r.method != http.MethodGet {
			want.scope = access.Admin // writes files, or runs agents
		}
		if got := needOf(r.method + " " + r.path); got != want {
			t.Errorf("%s %s is for developers, and needs %+v, want %+v", r.method, r.path, got, want)
		}
	}
	for pattern, want := range map[string]need{
		"GET /health":                            {public: true},
		"GET /version":                           {},
		"/":                                      {},
		"GET /apps/{app}/users/{user}/sessions":  {scope: access.Read},
		"POST /apps/{app}/users/{user}/sessions": {scope: access.Run},
		"DELETE /apps/{app}/users/{user}/x/{y...}":  {scope: access.Run},
		"GET /dev/apps/{app}/users/{user}/anything": {scope: access.Dev},
		"GET /dev/apps/{app}/users/{user}/runs":     {scope: access.Read},
		"GET /dev/apps/{app}/users/{user}/sessions": {scope: access.Read},
		"GET /dev/anything":                         {scope: access.Dev},

		"GET /apps/{app}/users/{user}/schedules":             {scope: access.Read, or: access.Schedules},
		"POST /apps/{app}/users/{user}/schedules/{s}/run":    {scope: access.Schedules},
		"POST /apps/{app}/users/{user}/schedules-of-another": {scope: access.Run},
		"GET /inbox":                {scope: access.Read, or: access.Inbox},
		"POST /inbox/{wait}/answer": {scope: access.Inbox},

		"GET /debug/anything":                       {scope: access.Dev},
		"GET /dev/apps/{app}/eval_sets":             {scope: access.Dev},
		"POST /dev/apps/{app}/eval_sets/{set}/run":  {scope: access.Admin},
		"PUT /apps/{app}/eval-sets/{set}/evals/{c}": {scope: access.Admin},
		"DELETE /apps/{app}/eval_sets/{set}":        {scope: access.Admin},
		"GET /metrics":                              {scope: access.Admin},
		"GET /apps/{app}/anything":                  {scope: access.Admin},
		"GET /apps/{app}/users":                     {scope: access.Admin},
	} {
		if got := needOf(pattern); got != want {
			t.Errorf("%s needs %+v, want %+v", pattern, got, want)
		}
	}
}

func TestAllowHosts(t *testing.T) {
	t.Parallel()
	s := New(Options{Network: Network{AllowHosts: []string{"api.example.com", "*.apps.example.com"}}})
	for host, want := range map[string]bool{
		"api.example.com": true, "API.example.com:8443": true, "api.example.com.": true, "x.apps.example.com": true, "x.y.apps.example.com": true,
		"apps.example.com": false, "evil.example": false, "api.example.com.evil.example": false, "xapps.example.com": false, "": false, "127.0.0.1:8000": false,
	} {
		for path, open := range map[string]bool{"/version": false, "/health": true, "/readyz": true, "/oauth/callback": false, "/dev-ui/signin": false} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = host
			if got := s.allowedHost(r); got != (want || open) {
				t.Errorf("%s of %q: %v", path, host, got)
			}
		}
	}
}

// A loopback server accepts these names in addition to those of the machine.
func TestAllowHostsLocally(t *testing.T) {
	t.Parallel()
	s := New(Options{Network: Network{LoopbackOnly: true, AllowHosts: []string{"parley.test"}}})
	for host, want := range map[string]bool{"parley.test:8000": true, "localhost:8000": true, "127.0.0.1": true, "evil.example": false} {
		for _, path := range []string{"/version", "/health"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = host
			if got := s.allowedHost(r); got != want {
				t.Errorf("%s of %q: %v", path, host, got)
			}
		}
	}
}

// An error has the same status in every handler, and names what the request is about.
func TestErrorMap(t *testing.T) {
	t.Parallel()
	of := subject{app: "a", session: "s", run: "r", share: "l"}
	const readAgain = "The run has no event with the id in Last-Event-ID or ?after=; leave it out to read from the beginning"
	for _, tt := range []struct {
		err     error
		status  int
		message string
	}{
		{run.ErrUnknownApp, 404, "Application not found: a. GET /list-apps lists the applications."},
		{session.ErrNotFound, 404, "Session not found: s"},
		{about(session.Key{App: "b", ID: "other"}, session.ErrNotFound), 404, "Session not found: other"},
		{session.ErrExists, 409, "Session already exists: s"},
		{session.ErrRunExists, 409, session.ErrRunExists.Error()},
		{session.ErrRunNotFound, 404, "Run not found: r"},
		{&broker.AnswerError{Refusal: broker.Mismatched, Message: "m"}, 400, "m"},
		{&broker.AnswerError{Refusal: broker.Incomplete, Message: "m"}, 422, "m"},
		{&broker.AnswerError{Refusal: broker.Conflicting, Message: "m"}, 409, "m"},
		{&broker.AnswerError{Refusal: broker.Forbidden, Message: "m"}, 403, "m"},
		{&broker.AnswerError{Refusal: broker.Unavailable, Message: "m"}, 503, "m"},
		{&eval.Error{Kind: eval.Busy, Message: "m"}, 409, "m"},
		{run.ErrUnknownEvent, 422, readAgain},
		{&aboutError{subject{at: "e"}, run.ErrUnknownEvent}, 422, "The session has no event with the id in atEventId"},
		{&aboutError{subject{before: "i"}, run.ErrUnknownEvent}, 422, "The session has no events of the invocation i"},
		{&session.BusyError{Run: "r"}, 409, "The session is busy with the run r. Wait for it, cancel it, or send concurrency: enqueue."},
		{&aboutError{subject{unqueued: true}, &session.BusyError{Run: "r"}}, 409, "The session is busy with the run r. Wait for it, or cancel it."},
		{session.ErrBadQuery, 422, "Invalid request: q: must be words"},
		{sharelink.ErrNone, 404, "Link not found: l"},
		{sharelink.ErrTooMany, 409, "The session has 100 links already: revoke one of them"},
		{errors.Join(trigger.ErrNotFound, &wire.Error{Msg: "the file is wrong"}), 404, "trigger not found"},
		{trigger.ErrOwner, 403, trigger.ErrOwner.Error()},
		{trigger.ErrExists, 409, trigger.ErrExists.Error()},
		{trigger.ErrTooMany, 409, trigger.ErrTooMany.Error()},
		{trigger.ErrChanged, 409, trigger.ErrChanged.Error()},
		{trigger.ErrInFile, 409, trigger.ErrInFile.Error()},
		{&trigger.SpecError{Field: "check", Message: "is wrong"}, 422, "Invalid request: check: is wrong"},
		{&trigger.ForbiddenError{Message: "m"}, 403, "m"},
		{&trigger.PayloadError{Message: "m"}, 422, "Invalid request: m"},
		{session.ErrQueueFull, 429, "Too many messages are waiting for the session"},
		{run.ErrClosing, 503, run.ErrClosing.Error()},
		{errors.New("dial 10.0.0.7: refused"), 500, "Internal Server Error"},
	} {
		if got := toHTTP(fmt.Errorf("wrapped: %w", tt.err), of); got.status != tt.status || strings.TrimPrefix(got.message, "wrapped: ") != tt.message {
			t.Errorf("%v: %d %q, want %d %q", tt.err, got.status, got.message, tt.status, tt.message)
		}
	}
}

// Internal operations of a store are not shown to clients.
func TestErrorsAreInTheClientsTerms(t *testing.T) {
	t.Parallel()
	for _, known := range []error{session.ErrReused, session.ErrRunNotFound, session.ErrBadToken} {
		if got := toHTTP(fmt.Errorf("begin run: %w", known), subject{}); got.status >= 500 || got.message != known.Error() {
			t.Errorf("%d %q", got.status, got.message)
		}
	}
}

// A client over a limit learns when to retry, rounded up to a second.
func TestLimitsAreAnswered(t *testing.T) {
	t.Parallel()
	s := New(Options{Log: slog.New(slog.DiscardHandler)})
	for want, err := range map[string]error{
		"2":     &run.LimitError{Message: "Too much", After: 1100 * time.Millisecond},
		"1":     fmt.Errorf("begin run: %w", session.ErrQueueFull),
		"86400": &run.LimitError{Message: "Too much", After: 24 * time.Hour},
	} {
		rec := httptest.NewRecorder()
		s.fail(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/run", nil), err)
		if got := rec.Header().Get("Retry-After"); rec.Code != http.StatusTooManyRequests || got != want {
			t.Errorf("%v: %d, Retry-After %s, want %s", err, rec.Code, got, want)
		}
	}
}
