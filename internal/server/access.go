package server

import (
	"context"
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

// need is what a caller must be allowed to use a route.
type need struct {
	nobody bool         // it is for those who cannot say who they are, too
	scope  access.Scope // empty for whoever is somebody
}

// Routes that name no user in their path. Those that are not here are for
// administrators, so that a new one is safe before anybody has thought about it.
var needs = map[string]need{
	"/health":         {nobody: true},
	"/healthz":        {nobody: true},
	"/readyz":         {nobody: true},
	"/oauth/start":    {nobody: true}, // a browser, which is bound by its state
	"/oauth/callback": {nobody: true},
	callerPath:        {nobody: true}, // users of the UI who are about to sign in
	signInPath:        {nobody: true},
	callbackPath:      {nobody: true},
	signOutPath:       {nobody: true},

	"/run":     {scope: access.Run}, // as the user whom the body names
	"/run_sse": {scope: access.Run},
	"/usage":   {scope: access.Read}, // of the user whom the query names
	"/metrics": {scope: access.Admin},

	"/list-apps":           {scope: access.Read},
	"/apps/{app}/app-info": {scope: access.Dev}, // it tells instructions
	"/version":             {},
	"/openapi.json":        {},
	"/docs":                {},
	"/":                    {}, // what is not there

	"/dev/apps/{app}/users/{user}/runs":                                {scope: access.Read}, // as those of each session
	"/apps/{app}/users/{user}/sessions/{session}/events/{event}/graph": {scope: access.Dev},
}

// needOf is what a route needs. pattern is as in http.Request.Pattern.
func needOf(pattern string) need {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		method, path = "", pattern
	}
	if n, ok := needs[path]; ok {
		return n
	}
	if method != http.MethodGet && strings.HasPrefix(strings.TrimPrefix(path, "/dev"), "/apps/{app}/eval") {
		return need{scope: access.Admin} // it writes into the application's directory, or sets the agent to work
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

type callerKey struct{}

// callerOf is who makes a request; nil for somebody who may do everything.
func callerOf(r *http.Request) *access.Caller {
	c, _ := r.Context().Value(callerKey{}).(*access.Caller)
	return c
}

// admit finds out who makes a request, and whether they may.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if s.Gate == nil {
		return r, nil
	}
	needed := needOf(r.Pattern)
	if needed.nobody {
		return r, nil
	}
	caller, err := s.identify(r)
	if err != nil {
		return r, s.unknown(w, r, err)
	}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller))
	if err := s.hurried(r, r.PathValue("app")); err != nil {
		return r, err
	}
	if needed.scope != "" && !caller.May(needed.scope) {
		return r, s.forbidden(w, r, needed.scope)
	}
	if user := r.PathValue("user"); user != "" && !caller.Is(user) {
		return r, notYours(user, r.PathValue("session"))
	}
	return r, nil
}

// unknown is the answer to somebody who is nobody. It does not say why; the log
// does.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request, err error) error {
	if down, ok := errors.AsType[*access.UnavailableError](err); ok {
		return &httpError{status: http.StatusServiceUnavailable, message: "Cannot find out who is calling; try again", cause: down}
	}
	challenge := `Bearer realm="parley"`
	if !errors.Is(err, access.ErrNoToken) {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	s.Log.InfoContext(r.Context(), "a caller was refused", "request_id", w.Header().Get(requestIDHeader), "path", r.URL.Path, "reason", err.Error())
	return &httpError{status: http.StatusUnauthorized, message: "Unauthorized"}
}

// forbidden is the answer to somebody who may not do that.
func (s *Server) forbidden(w http.ResponseWriter, r *http.Request, scope access.Scope) error {
	scope = grantable(scope)
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="parley", error="insufficient_scope", scope=%q`, scope))
	s.Log.InfoContext(r.Context(), "a caller may not do this", "request_id", w.Header().Get(requestIDHeader), "path", r.URL.Path, "caller", callerOf(r).ID, "scope", scope)
	return &httpError{status: http.StatusForbidden, message: fmt.Sprintf("Forbidden: this needs the scope %s", scope)}
}

// grantable is the scope that somebody can be given who lacks another one.
func grantable(scope access.Scope) access.Scope {
	if scope == access.Dev {
		return access.Admin
	}
	return scope
}

// hurried refuses a caller who comes too often. Names of applications that are
// not here are one: anybody can make them up.
func (s *Server) hurried(r *http.Request, app string) error {
	c := callerOf(r)
	if s.rate == nil || c == nil {
		return nil
	}
	var wait time.Duration
	switch {
	case app == "" && bodyNamesApp(r): // it counts when the body was read, unless too many could not be
		if !s.rate.Exhausted(c.ID, "") {
			return nil
		}
		wait = time.Second
	case slices.Contains(s.Apps.Names(), app):
		wait = s.rate.Wait(c.ID, app)
	default:
		wait = s.rate.Wait(c.ID, "")
	}
	if wait <= 0 {
		return nil
	}
	return &httpError{
		status: http.StatusTooManyRequests, after: wait,
		message: fmt.Sprintf("Too many requests: at most %d in a minute", s.RequestsPerMinute),
	}
}

// unreadable counts a request of which the body does not tell what it is for.
func (s *Server) unreadable(r *http.Request) {
	if c := callerOf(r); s.rate != nil && c != nil {
		s.rate.Wait(c.ID, "")
	}
}

// bodyNamesApp reports whether a request is counted when its body was read.
func bodyNamesApp(r *http.Request) bool {
	return r.URL.Path == "/run" || r.URL.Path == "/run_sse"
}

// owned refuses a session that a body names and that is not the caller's.
func (s *Server) owned(r *http.Request, key session.Key) error {
	if c := callerOf(r); !c.Is(key.User) {
		return notYours(key.User, key.ID)
	}
	return s.hurried(r, key.App)
}

// notYours is the answer about what is another user's: as if it were not there.
func notYours(user, id string) error {
	if id == "" {
		return &httpError{status: http.StatusNotFound, message: "User not found: " + user}
	}
	return about(session.Key{ID: id}, session.ErrNotFound)
}

// mayShare refuses state that all users share, unless an administrator writes it.
func mayShare[M ~map[string]V, V any](r *http.Request, state M) error {
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

// ours reports whether a request was sent to a name of this server. Those who
// look after servers use addresses.
func (s *Server) ours(r *http.Request) bool {
	if s.LoopbackOnly {
		return loopback.Is(r.Host) || s.isPublic("", r.Host) || s.named(r)
	}
	browsers := strings.HasPrefix(r.URL.Path, "/oauth/") || strings.HasPrefix(r.URL.Path, "/dev-ui/")
	return len(s.AllowHosts) == 0 || needs[r.URL.Path].nobody && !browsers || s.named(r)
}

// named reports whether AllowHosts has the host that a request was sent to.
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

// usageDays is how far back usage is listed when the query does not say, and the
// most days that it may ask for.
const (
	usageDays    = 30
	maxUsageDays = 366
)

// usage answers with what was used, by day, application and user.
func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	get := func(name, snake string) string {
		if v := query.Get(name); v != "" {
			return v
		}
		return query.Get(snake)
	}
	caller := callerOf(r)
	q := session.UsageQuery{App: get("appName", "app_name"), User: get("userId", "user_id")}
	switch {
	case caller.May(access.Admin):
	case q.User != "" && !caller.Is(q.User):
		return notYours(q.User, "")
	case q.User == "" && caller.May(access.Users):
		return &httpError{status: http.StatusForbidden, message: "Forbidden: only administrators may list the usage of everybody; name a user with ?userId="}
	case q.User == "":
		q.User = caller.User
	}
	for what, id := range map[string]string{"application name": q.App, "user id": q.User} {
		if id != "" {
			if err := session.CheckIdentifier(what, id); err != nil {
				return err
			}
		}
	}
	to, err := dayOf(get("to", "to"), "to", time.Now())
	if err != nil {
		return err
	}
	from, err := dayOf(get("from", "from"), "from", to.AddDate(0, 0, 1-usageDays))
	if err != nil {
		return err
	}
	if days := to.Sub(from).Hours() / 24; days < 0 || days >= maxUsageDays {
		return badParameter("query", "from", fmt.Sprintf("must not be after to, nor more than %d days before it", maxUsageDays))
	}
	q.From, q.To = session.DayOf(from), session.DayOf(to)
	page, err := pageOf(query)
	if err != nil {
		return err
	}
	if page.Size == 0 {
		page.Size = maxPage
	}
	list, next, err := s.Store.Usage(r.Context(), q, page)
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	out := make([]usageOf, len(list))
	for i, u := range list {
		t := u.Tokens
		out[i] = usageOf{u.Day, u.App, u.User, u.Runs, t.Prompt, t.Candidates, t.CachedContent, t.Thoughts, t.ToolUsePrompt, t.Total}
	}
	return answer(w, out)
}

type usageOf struct {
	Day                     string `json:"day"`
	AppName                 string `json:"appName"`
	UserID                  string `json:"userId"`
	Runs                    int64  `json:"runs"`
	PromptTokenCount        int64  `json:"promptTokenCount"`
	CandidatesTokenCount    int64  `json:"candidatesTokenCount"`
	CachedContentTokenCount int64  `json:"cachedContentTokenCount"`
	ThoughtsTokenCount      int64  `json:"thoughtsTokenCount"`
	ToolUsePromptTokenCount int64  `json:"toolUsePromptTokenCount"`
	TotalTokenCount         int64  `json:"totalTokenCount"`
}

// dayOf reads a day in UTC.
func dayOf(text, name string, other time.Time) (time.Time, error) {
	if text == "" {
		return other.UTC().Truncate(24 * time.Hour), nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1970 {
		return day, badParameter("query", name, "must be a day, as in 2026-01-31")
	}
	return day, nil
}
