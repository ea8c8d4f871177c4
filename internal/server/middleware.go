package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rs/cors"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

const requestIDHeader = "X-Request-Id"

// middleware wraps all routes.
func (s *Server) middleware(next http.Handler) http.Handler {
	next = s.cleanPaths(next)
	if len(s.AllowOrigins) == 0 {
		return s.observe(s.guard(func(*http.Request) bool { return false }, next))
	}
	options := cors.Options{
		AllowedMethods:   []string{"GET", "POST", "PUT", "PATCH", "DELETE"},
		AllowedHeaders:   []string{"*"},
		ExposedHeaders:   []string{requestIDHeader, runHeader, replayedHeader, "Link", "Location", "Mcp-Session-Id", "Preference-Applied", "Retry-After", "WWW-Authenticate"},
		AllowCredentials: true,
	}
	if slices.Contains(s.AllowOrigins, "*") {
		options.AllowedOrigins = []string{"*"}
	} else {
		options.AllowOriginFunc = matchOrigins(s.AllowOrigins)
	}
	allowed := cors.New(options)
	return s.observe(s.guard(allowed.OriginAllowed, allowed.Handler(next)))
}

// guard refuses requests that a browser sends for an unrelated page: requests from foreign origins, and requests to a
// loopback server under another name (DNS rebinding).
func (s *Server) guard(allowed func(*http.Request) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.allowedHost(r) {
			s.fail(w, r, &httpError{status: http.StatusForbidden, message: "Forbidden: host not allowed; --allow_hosts names those that are"})
			return
		}
		if origin := header(r, "Origin"); origin != "" && !sameOrigin(origin, r.Host) && !s.isPublic(origin, "") && !allowed(r) {
			s.refused.log(s.Log, origin)
			s.fail(w, r, &httpError{status: http.StatusForbidden, message: "Forbidden: origin not allowed; --allow_origins names those that are"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// The longest path that is looked up. The longest identifiers and artifact names fit. Each segment costs a search in
// the route table, so the number of segments is limited separately.
const (
	maxPath     = 16 << 10 // bytes, percent-encoded
	maxSegments = 300
)

// cleanPaths refuses paths that ServeMux would redirect: they are mistakes of the client, and a redirect would lose the
// body. It also refuses paths that are too long.
func (s *Server) cleanPaths(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if len(path) > maxPath || strings.Count(path, "/") > maxSegments {
			s.fail(w, r, &httpError{
				status:  http.StatusRequestURITooLong,
				message: fmt.Sprintf("The path is too long: it may have %d bytes and %d segments", maxPath, maxSegments),
			})
			return
		}
		if !clean(path) {
			s.fail(w, r, &httpError{status: http.StatusBadRequest, message: "The path has an empty segment, a . or a .. in it"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// clean reports whether no segment of a path is empty, "." or "..".
func clean(path string) bool {
	return !strings.Contains(path, "//") && !strings.Contains(path, "/./") && !strings.Contains(path, "/../") &&
		!strings.HasSuffix(path, "/.") && !strings.HasSuffix(path, "/..")
}

// observe assigns a request id, logs the request, and recovers from panics.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := header(r, requestIDHeader)
		if id == "" || session.CheckIdentifier(requestIDHeader, id) != nil {
			id = event.NewID()
		}
		out := &writer{ResponseWriter: w, id: [1]string{id}}
		w.Header()[requestIDHeader] = out.id[:]
		if s.Observer != nil {
			var request Observed
			r, request = s.Observer.Request(r, id)
			defer func() { request.Answered(r.Pattern, out.status) }()
		}
		debugging := s.Log.Enabled(r.Context(), slog.LevelDebug)
		var start time.Time
		if debugging {
			start = time.Now()
		}
		defer func() { //nolint:contextcheck // the request has it
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it like this
					panic(v)
				}
				s.Log.ErrorContext(r.Context(), "panic in handler", "request_id", id, "panic", v, "stack", string(debug.Stack()))
				if out.status != 0 {
					panic(http.ErrAbortHandler) // a truncated response must not look complete
				}
				s.fail(out, r, &httpError{status: http.StatusInternalServerError, message: "Internal Server Error"})
			}
			if debugging {
				line := []any{"request_id", id, "method", r.Method, "path", loggedPath(r), "status", out.status, "duration", time.Since(start)}
				if run := out.Header().Get(runHeader); run != "" {
					line = append(line, "run_id", run)
				}
				s.Log.DebugContext(r.Context(), "request", line...)
			}
		}()
		next.ServeHTTP(out, r)
	})
}

// Observer observes requests, for traces and metrics.
type Observer interface {
	// Request returns the request with that id, with the context in which it is handled.
	Request(r *http.Request, id string) (*http.Request, Observed)
	// Stream is called when a client starts to follow a run.
	Stream() (ended func())
	// Delivery counts the outcome of a request for a trigger. The application is empty if the sender is unknown.
	Delivery(app, outcome string)
}

// Observed is a request that an Observer has seen.
type Observed interface {
	// Answered receives the pattern of the route, which may be empty, and the status of the response, which is 0 if the
	// client disconnected before there was one.
	Answered(pattern string, status int)
}

// streaming reports the start of a stream. The caller calls ended at its end.
func (s *Server) streaming() (ended func()) {
	if s.Observer == nil {
		return func() {}
	}
	return s.Observer.Stream()
}

// writer records whether a response has begun.
type writer struct {
	http.ResponseWriter
	status int
	id     [1]string // of the request, in the header of the response
}

func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
