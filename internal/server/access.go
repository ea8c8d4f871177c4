package server

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/loopback"
	"github.com/parley-run/parley/session"
)

// need is the permission that a route requires.
type need struct {
	public bool         // no credentials required
	scope  access.Scope // empty for any authenticated caller
	or     access.Scope // suffices as well
}

// areas are the parts of the API with a scope of their own, by the beginnings of their paths. Read suffices to look.
var areas = map[string]access.Scope{
	"/apps/{app}/users/{user}/schedules": access.Schedules,
	"/inbox":                             access.Inbox,
	triggersPath:                         access.Triggers,
}

// needs lists the routes whose path has no user. Routes that are missing here require an administrator, so a new route
// is safe by default.
var needs = map[string]need{
	"/health":         {public: true},
	"/healthz":        {public: true},
	"/readyz":         {public: true},
	"/ping":           {public: true}, // of hosting platforms
	"/readiness":      {public: true},
	"/oauth/start":    {public: true}, // a browser, which is bound by its state
	"/oauth/callback": {public: true},
	callerPath:        {public: true}, // users of the UI who have not signed in yet
	signInPath:        {public: true},
	callbackPath:      {public: true},
	signOutPath:       {public: true},

	sharedPath:                   {public: true}, // the link is the right
	sharedPath + "/conversation": {public: true},
	sharedPath + "/files/{file}": {public: true},

	"/run":     {scope: access.Run}, // the body names the user
	"/run_sse": {scope: access.Run},
	"/usage":   {scope: access.Read}, // the query names the user

	"/apps/{app}/feedback": {scope: access.Read}, // as for usage

	linkPath: {public: true}, // the link is sealed

	"/prices":  {scope: access.Read},
	"/metrics": {scope: access.Admin},

	"/list-apps":           {scope: access.Read},
	"/faces":               {scope: access.Read},
	"/apps/{app}/app-info": {scope: access.Dev}, // shows instructions
	"/version":             {},
	"/openapi.json":        {},
	"/docs":                {},
	"/{$}":                 {},
	"/":                    {}, // paths without a route

	"/dev/apps/{app}/runs": {scope: access.Read}, // as for feedback

	"/dev/apps/{app}/users/{user}/runs":                                {scope: access.Read}, // as for each session
	"/dev/apps/{app}/users/{user}/sessions":                            {scope: access.Read},
	"/apps/{app}/users/{user}/sessions/{session}/events/{event}/graph": {scope: access.Dev},

	"/apps/{app}/users/{user}/sessions/{session}/runs/{run}/feedback": {scope: access.Review},

	// They get what concerns all users.
	"/apps/{app}/webhooks":                                        {scope: access.Admin},
	"/apps/{app}/webhooks/{webhook}":                              {scope: access.Admin},
	"/apps/{app}/webhooks/{webhook}/rotate":                       {scope: access.Admin},
	"/apps/{app}/webhooks/{webhook}/test":                         {scope: access.Admin},
	"/apps/{app}/webhooks/{webhook}/deliveries":                   {scope: access.Admin},
	"/apps/{app}/webhooks/{webhook}/deliveries/{delivery}/replay": {scope: access.Admin},
	"/apps/{app}/failed-deliveries":                               {scope: access.Admin},
	"/apps/{app}/failed-deliveries/{delivery}/replay":             {scope: access.Admin},
}

// needOf returns the permission that a route requires. pattern has the form of http.Request.Pattern.
func needOf(pattern string) need {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		method, path = "", pattern
	}
	if pattern == "POST "+triggerPath {
		return need{public: true} // the trigger checks the sender
	}
	if n, ok := needs[path]; ok {
		return n
	}
	if method != http.MethodGet && strings.HasPrefix(strings.TrimPrefix(path, "/dev"), "/apps/{app}/eval") {
		return need{scope: access.Admin} // writes to the application's directory, or runs the agent
	}
	for prefix, scope := range areas {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			if method == http.MethodGet {
				return need{scope: access.Read, or: scope}
			}
			return need{scope: scope}
		}
	}
	if strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/debug/") || strings.HasPrefix(path, "/apps/{app}/eval") {
		return need{scope: access.Dev}
	}
	switch {
	case !strings.HasPrefix(path, "/apps/{app}/users/{user}/"):
		return need{scope: access.Admin}
	case method == http.MethodGet:
		return need{scope: access.Read}
	}
	return need{scope: access.Run}
}

// callerOf returns the caller of a request, or nil for a caller without restrictions.
func callerOf(r *http.Request) *access.Caller { return access.From(r.Context()) }

// admit authenticates the caller of a request and checks its permission.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if s.Gate == nil {
		return r, nil
	}
	needed, ok := s.faceNeeds[r.Pattern]
	if !ok {
		needed = needOf(r.Pattern)
	}
	if needed.public {
		return r, nil
	}
	caller, err := s.identify(r)
	if err != nil {
		return r, s.unknown(w, r, err)
	}
	r = r.WithContext(access.With(r.Context(), caller))
	if err := s.checkRate(r, r.PathValue("app")); err != nil {
		return r, err
	}
	if needed.scope != "" && !caller.May(needed.scope) && (needed.or == "" || !caller.May(needed.or)) {
		return r, s.forbidden(w, r, needed.scope)
	}
	if user := r.PathValue("user"); user != "" && !caller.Is(user) {
		return r, sessionNotFound(user, r.PathValue("session"))
	}
	return r, nil
}

const challengeHeader = "WWW-Authenticate"

// unknown returns the error for a caller that is not authenticated. The client does not learn the reason; the log has
// it.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request, err error) error {
	if down, ok := errors.AsType[*access.UnavailableError](err); ok {
		return &httpError{status: http.StatusServiceUnavailable, message: "Cannot authenticate the caller now; try again", cause: down}
	}
	challenge := `Bearer realm="parley"`
	if !errors.Is(err, access.ErrNoToken) {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set(challengeHeader, challenge)
	s.Log.InfoContext(r.Context(), "authentication failed", "request_id", w.Header().Get(requestIDHeader), "path", r.URL.Path, "err", err)
	return &httpError{status: http.StatusUnauthorized, message: "Unauthorized"}
}

// forbidden returns the error for a caller that lacks a scope.
func (s *Server) forbidden(w http.ResponseWriter, r *http.Request, scope access.Scope) error {
	scope = grantable(scope)
	w.Header().Set(challengeHeader, fmt.Sprintf(`Bearer realm="parley", error="insufficient_scope", scope=%q`, scope))
	s.Log.InfoContext(r.Context(), "permission denied", "request_id", w.Header().Get(requestIDHeader), "path", r.URL.Path, "caller", callerOf(r).ID, "scope", scope)
	return &httpError{status: http.StatusForbidden, message: fmt.Sprintf("Forbidden: this needs the scope %s", scope)}
}

// grantable returns the scope that an administrator can grant to a caller that lacks scope.
func grantable(scope access.Scope) access.Scope {
	if scope == access.Dev {
		return access.Admin
	}
	return scope
}

// checkRate refuses a caller that exceeds its rate. All names of unknown applications share one bucket, because a
// caller can invent any number of them.
func (s *Server) checkRate(r *http.Request, app string) error {
	c := callerOf(r)
	if s.Rate == nil || c == nil {
		return nil
	}
	var wait time.Duration
	switch {
	case app == "" && bodyNamesApp(r): // counted after the body is read, unless too many bodies were invalid
		if !s.Rate.Exhausted(c.ID, "") {
			return nil
		}
		wait = time.Second
	case slices.Contains(s.Apps.Names(), app):
		wait = s.Rate.Wait(c.ID, app)
	default:
		wait = s.Rate.Wait(c.ID, "")
	}
	if wait <= 0 {
		return nil
	}
	return s.tooOften(wait)
}

func (s *Server) tooOften(wait time.Duration) error {
	return &httpError{
		status: http.StatusTooManyRequests, after: wait,
		message: fmt.Sprintf("Too many requests: at most %d in a minute", s.Rate.PerMinute()),
	}
}

// unreadable counts a request whose body does not name an application.
func (s *Server) unreadable(r *http.Request) {
	if c := callerOf(r); s.Rate != nil && c != nil {
		s.Rate.Wait(c.ID, "")
	}
}

// bodyNamesApp reports whether a request is counted later, when its application is known.
func bodyNamesApp(r *http.Request) bool {
	switch r.URL.Path {
	case "/run", "/run_sse", "/v1/responses", "/v1/chat/completions", "/invocations", "/mcp", "/responses", "/":
		return r.Method == http.MethodPost && r.Pattern != "/" // some of them have a route on platforms only
	}
	return false
}

// checkOwner refuses a session named by the body that does not belong to the caller.
func (s *Server) checkOwner(r *http.Request, key session.Key) error {
	if c := callerOf(r); !c.Is(key.User) {
		return sessionNotFound(key.User, key.ID)
	}
	return s.checkRate(r, key.App)
}

// sessionNotFound is the error for a session of another user. It does not reveal that the session exists.
func sessionNotFound(user, id string) error {
	if id == "" {
		return &httpError{status: http.StatusNotFound, message: "User not found: " + user}
	}
	return about(session.Key{ID: id}, session.ErrNotFound)
}

// checkSharedState refuses state that all users share, unless an administrator writes it.
func checkSharedState[M ~map[string]V, V any](r *http.Request, state M) error {
	if len(state) == 0 || callerOf(r).May(access.Admin) {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(state)) {
		if session.ScopeOf(k) == session.ScopeApp {
			return &httpError{status: http.StatusForbidden, message: "Forbidden: only administrators may write " + k + ", which all users share"}
		}
	}
	return nil
}

// allowedHost reports whether a request was sent to a host name of this server. Health checks use addresses instead of
// names.
func (s *Server) allowedHost(r *http.Request) bool {
	if s.LoopbackOnly {
		return loopback.Is(r.Host) || s.isPublic("", r.Host) || s.named(r)
	}
	browsers := strings.HasPrefix(r.URL.Path, "/oauth/") || strings.HasPrefix(r.URL.Path, "/dev-ui/") || r.URL.Path == linkPath
	return len(s.AllowHosts) == 0 || needs[r.URL.Path].public && !browsers || s.named(r)
}

// named reports whether AllowHosts has the host of a request.
func (s *Server) named(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(s.AllowHosts, func(allowed string) bool {
		allowed = strings.ToLower(allowed)
		if below, ok := strings.CutPrefix(allowed, "*"); ok && strings.HasPrefix(below, ".") {
			return len(host) > len(below) && strings.HasSuffix(host, below)
		}
		return host == allowed
	})
}
