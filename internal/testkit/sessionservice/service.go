// Package sessionservice is the managed session service of Google Cloud's Agent
// Engine as far as its public interface definition describes it
// (google.cloud.aiplatform.v1.SessionService, as REST), in the memory of a test.
// It is strict: fields, parameters and names that the definition does not know
// are refused, as the service refuses them.
package sessionservice

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Engine is the only engine that there is.
const Engine = "projects/test-project/locations/us-central1/reasoningEngines/4711"

// Service is a running service.
type Service struct {
	URL string
	// Polls is how often an operation says that it is not done yet.
	Polls int
	// PageSize is the most that a page of a list has.
	PageSize int

	mu         sync.Mutex
	clock      time.Time
	sessions   map[string]*stored
	operations map[string]*pending
	count      int
	tokens     map[string]string // of pages
	fault      func(*http.Request) *Fault
	calls      []string
}

// Fault is an answer in place of the real one.
type Fault struct {
	Status     int // 0 breaks the connection
	RetryAfter int
	// After lets the call do its work before it fails.
	After bool
}

type stored struct {
	session
	events []sessionEvent
}

type pending struct {
	polls int
	work  func() any // under the lock
}

// New starts a service.
func New(tb testing.TB) *Service {
	tb.Helper()
	s := &Service{Polls: 2, PageSize: 100, sessions: map[string]*stored{}, operations: map[string]*pending{}, tokens: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// StoreURL is the address of the engine for a server under test.
func (s *Service) StoreURL() string {
	return "agentengine://" + Engine + "?endpoint=" + url.QueryEscape(s.URL)
}

// Break has calls answered by what the function says, where it says something.
func (s *Service) Break(fault func(*http.Request) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Calls are the calls so far, as method and path below the engine.
func (s *Service) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Dump is everything that is stored, as JSON.
func (s *Service) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for name, one := range s.sessions {
		text, _ := json.Marshal(map[string]any{"name": name, "session": one.session, "events": one.events}) //nolint:errchkjson // it was JSON
		out.Write(append(text, '\n'))
	}
	return out.String()
}

// now is a time that has not been before.
func (s *Service) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if !now.After(s.clock) {
		now = s.clock.Add(time.Microsecond)
	}
	s.clock = now
	return now
}

type apiError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
}

func refuse(code int, status, format string, args ...any) *apiError {
	return &apiError{code, fmt.Sprintf(format, args...), status}
}

func invalid(format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, "INVALID_ARGUMENT", format, args...)
}

func notFound(name string) *apiError {
	return refuse(http.StatusNotFound, "NOT_FOUND", "The resource %s does not exist.", name)
}

var statuses = map[int]string{429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 403: "PERMISSION_DENIED"}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	status, header, text := s.answer(r, body)
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), header)
	w.WriteHeader(status)
	_, _ = w.Write(text) //nolint:gosec // JSON, to tests
}

// RoundTrip answers without a network, for tests that make many calls.
func (s *Service) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		defer r.Body.Close()
		body, _ = io.ReadAll(r.Body)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	status, header, text := s.answer(r, body)
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, nil
}

// answer does what a request asks for. The status 0 breaks the connection.
func (s *Service) answer(r *http.Request, body []byte) (status int, header http.Header, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, ok := strings.CutPrefix(r.URL.Path, "/v1/"+Engine+"/")
	s.calls = append(s.calls, r.Method+" "+path)
	var fault *Fault
	if s.fault != nil {
		fault = s.fault(r)
	}
	var answer any
	var failed *apiError
	switch {
	case !ok:
		failed = notFound(r.URL.Path)
	case fault == nil || fault.After:
		answer, failed = s.route(r, path, body)
	}
	header = http.Header{"Content-Type": {"application/json; charset=UTF-8"}}
	if fault != nil {
		if fault.Status == 0 {
			return 0, nil, nil
		}
		if fault.RetryAfter > 0 {
			header.Set("Retry-After", strconv.Itoa(fault.RetryAfter))
		}
		failed = refuse(fault.Status, statuses[fault.Status], "The service is out of order (secret-internal-host).")
	}
	status = http.StatusOK
	if failed != nil {
		status, answer = failed.Code, map[string]any{"error": failed}
	}
	text, _ = json.Marshal(answer) //nolint:errchkjson // it was JSON
	return status, header, text
}

var (
	onSession   = regexp.MustCompile(`^sessions/([^/:]+)$`)
	onEvents    = regexp.MustCompile(`^sessions/([^/:]+)/events$`)
	onAppend    = regexp.MustCompile(`^sessions/([^/:]+):appendEvent$`)
	onOperation = regexp.MustCompile(`^sessions/[^/:]+/operations/([0-9]+)$`)
	givenName   = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

func (s *Service) route(r *http.Request, path string, body []byte) (any, *apiError) {
	query := r.URL.Query()
	id := func(form *regexp.Regexp) string {
		if m := form.FindStringSubmatch(path); m != nil {
			return m[1]
		}
		return ""
	}
	switch {
	case path == "sessions" && r.Method == http.MethodPost:
		return s.create(query, body)
	case path == "sessions" && r.Method == http.MethodGet:
		return s.list(query)
	case onAppend.MatchString(path) && r.Method == http.MethodPost:
		return s.append(id(onAppend), query, body)
	case onEvents.MatchString(path) && r.Method == http.MethodGet:
		return s.events(id(onEvents), query)
	case onOperation.MatchString(path) && r.Method == http.MethodGet:
		return s.operation(path, id(onOperation))
	case onSession.MatchString(path) && r.Method == http.MethodGet:
		if one := s.sessions[id(onSession)]; one != nil {
			return one.session, nil
		}
		return nil, notFound(path)
	case onSession.MatchString(path) && r.Method == http.MethodDelete:
		name := id(onSession)
		if s.sessions[name] == nil {
			return nil, notFound(path)
		}
		return s.begin(name, func() any {
			delete(s.sessions, name)
			return map[string]any{}
		}), nil
	}
	return nil, refuse(http.StatusNotFound, "NOT_FOUND", "There is no method for %s %s.", r.Method, path)
}

// begin starts an operation, which does its work when it is done.
func (s *Service) begin(session string, work func() any) any {
	s.count++
	id := strconv.Itoa(s.count)
	s.operations[id] = &pending{s.Polls, work}
	return s.look("sessions/"+session+"/operations/"+id, id)
}

func (s *Service) operation(path, id string) (any, *apiError) {
	if s.operations[id] == nil {
		return nil, notFound(path)
	}
	return s.look(path, id), nil
}

func (s *Service) look(path, id string) any {
	op := s.operations[id]
	out := map[string]any{"name": Engine + "/" + path, "metadata": map[string]any{"@type": "type.googleapis.com/google.cloud.aiplatform.v1.GenericOperationMetadata"}}
	if op.polls > 0 {
		op.polls--
		return out
	}
	out["done"] = true
	if answer := op.work(); answer != nil {
		if failed, bad := answer.(map[string]any)["error"]; bad {
			out["error"] = failed
		} else {
			out["response"] = answer
		}
	}
	op.work = func() any { return map[string]any{} }
	return out
}

func (s *Service) create(query url.Values, body []byte) (any, *apiError) {
	if err := known(query, "sessionId"); err != nil {
		return nil, err
	}
	var made session
	if err := decode(body, &made); err != nil {
		return nil, err
	}
	name := query.Get("sessionId")
	switch {
	case made.UserID == "":
		return nil, invalid("user_id is required")
	case made.Name != "" || made.CreateTime != "" || made.UpdateTime != "":
		return nil, invalid("name, create_time and update_time are not yours to set")
	case name == "":
		s.count++
		name = strconv.Itoa(1000000 + s.count)
	case !givenName.MatchString(name):
		return nil, invalid("session_id %q is not valid", name)
	}
	if s.sessions[name] != nil {
		return nil, refuse(http.StatusConflict, "ALREADY_EXISTS", "Session %s already exists.", name)
	}
	return s.begin(name, func() any {
		if s.sessions[name] != nil { // another request was faster
			return map[string]any{"error": map[string]any{"code": 6, "message": "Session already exists."}}
		}
		made.Name = Engine + "/sessions/" + name
		made.CreateTime = s.now().Format(time.RFC3339Nano)
		made.UpdateTime = made.CreateTime
		made.ExpireTime = s.clock.AddDate(1, 0, 0).Format(time.RFC3339Nano)
		s.sessions[name] = &stored{session: made}
		return map[string]any{"@type": "type.googleapis.com/google.cloud.aiplatform.v1.Session", "name": made.Name}
	}), nil
}

func (s *Service) append(name string, query url.Values, body []byte) (any, *apiError) {
	if err := known(query); err != nil {
		return nil, err
	}
	one := s.sessions[name]
	if one == nil {
		return nil, notFound(name)
	}
	var ev sessionEvent
	if err := decode(body, &ev); err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, ev.Timestamp)
	switch {
	case err != nil:
		return nil, invalid("timestamp is required, as RFC 3339")
	case ev.Author == "" || ev.InvocationID == "" || ev.Name != "":
		return nil, invalid("author and invocation_id are required, and name is not")
	case ev.Content != nil && len(ev.Content.Parts) == 0:
		return nil, invalid("content has no parts")
	}
	s.count++
	ev.Name = fmt.Sprintf("%s/sessions/%s/events/%d", Engine, name, s.count)
	ev.at = at.UTC().Truncate(time.Microsecond)
	ev.Timestamp = ev.at.Format(time.RFC3339Nano)
	if ev.Actions != nil {
		for key, value := range ev.Actions.StateDelta {
			if one.SessionState == nil {
				one.SessionState = map[string]any{}
			}
			one.SessionState[key] = value
		}
	}
	place, _ := slices.BinarySearchFunc(one.events, ev.at.Add(1), func(a sessionEvent, t time.Time) int { return a.at.Compare(t) })
	one.events = slices.Insert(one.events, place, ev)
	one.UpdateTime = s.now().Format(time.RFC3339Nano)
	return map[string]any{}, nil
}

func (s *Service) list(query url.Values) (any, *apiError) {
	if err := known(query, "pageSize", "pageToken", "filter", "orderBy"); err != nil {
		return nil, err
	}
	user, err := filterValue(query.Get("filter"), "user_id=")
	if err != nil {
		return nil, err
	}
	if order := query.Get("orderBy"); order != "" && order != "create_time" {
		return nil, refuse(http.StatusBadRequest, "INVALID_ARGUMENT", "order_by %q: sessions are listed by create_time here", order)
	}
	var all []session
	for _, one := range s.sessions {
		if user == "" || one.UserID == user {
			all = append(all, one.session)
		}
	}
	slices.SortFunc(all, func(a, b session) int { return cmp.Compare(a.id(), b.id()) })
	page, next, err := cut(s, all, query)
	return map[string]any{"sessions": page, "nextPageToken": next}, err
}

func (s *Service) events(name string, query url.Values) (any, *apiError) {
	if err := known(query, "pageSize", "pageToken", "filter", "orderBy"); err != nil {
		return nil, err
	}
	one := s.sessions[name]
	if one == nil {
		return nil, notFound(name)
	}
	since, err := filterValue(query.Get("filter"), "timestamp>=")
	if err != nil {
		return nil, err
	}
	from, _ := time.Parse(time.RFC3339Nano, since)
	var all []sessionEvent
	for _, ev := range one.events {
		if !ev.at.Before(from) {
			all = append(all, ev)
		}
	}
	page, next, err := cut(s, all, query)
	return map[string]any{"sessionEvents": page, "nextPageToken": next}, err
}

// cut is the page of a list that a query asks for. A token is the name of the
// last item of the page before, so that what comes and goes between two pages
// does not move the others.
func cut[T interface{ id() string }](s *Service, all []T, query url.Values) ([]T, string, *apiError) {
	size := s.PageSize
	if text := query.Get("pageSize"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, "", invalid("page_size is not valid")
		}
		size = min(size, n)
	}
	if token := query.Get("pageToken"); token != "" {
		after, ok := s.tokens[token]
		if !ok {
			return nil, "", invalid("page_token is not valid")
		}
		from, _ := slices.BinarySearchFunc(all, after+"!", func(one T, id string) int { return strings.Compare(one.id(), id) })
		all = all[from:]
	}
	if size >= len(all) {
		return all, "", nil
	}
	s.count++
	token := fmt.Sprint("page-", s.count)
	s.tokens[token] = all[size-1].id()
	return all[:size], token, nil
}

// filterValue reads a filter with one condition.
func filterValue(filter, condition string) (string, *apiError) {
	if filter == "" {
		return "", nil
	}
	quoted, ok := strings.CutPrefix(filter, condition)
	value, err := strconv.Unquote(quoted)
	if !ok || err != nil {
		return "", invalid("filter %q is not valid", filter)
	}
	return value, nil
}

func known(query url.Values, names ...string) *apiError {
	for name := range query {
		if !slices.Contains(names, name) {
			return invalid("Invalid JSON payload received. Unknown name %q: Cannot bind query parameter.", name)
		}
	}
	return nil
}
