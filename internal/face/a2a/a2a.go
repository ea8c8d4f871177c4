// Package a2a serves the Agent2Agent protocol, in version 1.0 over JSON-RPC and
// HTTP+JSON, and in version 0.3 over both. A context is a session, and a task is a
// run with those that continue it.
package a2a

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/session"
)

const path = "/a2a/{app}"

// New creates the face.
func New(host face.Host) *face.Face {
	h := handler{Host: host, since: time.Now()}
	if box := host.Outbox(); box != nil {
		box.Handle(pushKind, h.notify)
	}
	return &face.Face{
		Name: "a2a", Title: "A2A", Path: path, Fail: problem,
		Routes: slices.Concat(h.oldRoutes(), pushRoutes(path, h.rest), []face.Route{
			{Method: "GET", Path: cardPath, Public: true, Handler: h.mainCard},
			{Method: "GET", Path: path + cardPath, Public: true, Handler: h.appCard},
			{Method: "POST", Path: path, Scope: access.Run, Handler: h.rpc},
			{Method: "POST", Path: path + "/{$}", Scope: access.Run, Handler: h.rpc}, // some clients add the slash
			{Method: "POST", Path: path + "/message:send", Scope: access.Run, Handler: h.rest(restSend)},
			{Method: "POST", Path: path + "/message:stream", Scope: access.Run, Handler: h.rest(restStream)},
			{Method: "GET", Path: path + "/tasks", Scope: access.Read, Handler: h.rest(restList)},
			{Method: "GET", Path: path + "/tasks/{task}", Scope: access.Read, Handler: h.rest(restTask)},
			{Method: "POST", Path: path + "/tasks/{task}", Scope: access.Run, Handler: h.rest(restTask)},
			{Method: "GET", Path: path + "/extendedAgentCard", Scope: access.Read, Handler: h.rest(restCard)},
		}),
	}
}

type handler struct {
	face.Host
	since time.Time // of the cards
}

// exchange is a request and how it is answered.
type exchange struct {
	handler
	w   http.ResponseWriter
	r   *http.Request
	v   version
	who face.Identity
	app string
	// envelope appends a result as the binding has it, and failed an error.
	envelope func(dst, result []byte) []byte
	failed   func(dst []byte, f *failure) []byte
	// broken is the name of the event with an error that ends a stream; empty for none.
	broken string
}

func (x *exchange) ctx() context.Context { return x.r.Context() }

// identify finds out for whom the request is, and whether there is the application.
func (x *exchange) identify() (err error) {
	x.app = x.r.PathValue("app")
	if _, err := x.Describe(x.app); err != nil {
		return err
	}
	x.who, err = x.Identify(x.r, "")
	return err
}

// reply writes a result.
func (x *exchange) reply(doc []byte) error {
	respond(x.w, http.StatusOK, x.envelope(nil, doc))
	return nil
}

// isJSON reports whether a request has a body that the protocol allows.
func isJSON(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	name, _, err := mime.ParseMediaType(kind)
	return kind == "" || err == nil && (name == jsonType || name == "application/a2a+json")
}

// versionOf returns the version that a request names; empty if it names none.
func versionOf(r *http.Request) string {
	if text := strings.TrimSpace(r.Header.Get("A2A-Version")); text != "" {
		return text
	}
	return r.URL.Query().Get("A2A-Version")
}

// is reports whether a version is another one, or a patch of it.
func is(text, version string) bool { return text == version || strings.HasPrefix(text, version+".") }

// rpcRequest is a request of JSON-RPC.
type rpcRequest struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// rpcMethods has the methods of JSON-RPC, as version 1.0 and version 0.3 name them.
var rpcMethods = map[string]struct {
	v    version
	call func(*exchange, []byte) error
}{
	"SendMessage":                      {v1, (*exchange).send},
	"SendStreamingMessage":             {v1, (*exchange).sendStreaming},
	"GetTask":                          {v1, (*exchange).getTask},
	"ListTasks":                        {v1, (*exchange).listTasks},
	"CancelTask":                       {v1, (*exchange).cancelTask},
	"SubscribeToTask":                  {v1, (*exchange).subscribe},
	"GetExtendedAgentCard":             {v1, (*exchange).extendedCard},
	"CreateTaskPushNotificationConfig": {v1, (*exchange).createPush},
	"GetTaskPushNotificationConfig":    {v1, (*exchange).getPush},
	"ListTaskPushNotificationConfigs":  {v1, (*exchange).listPush},
	"DeleteTaskPushNotificationConfig": {v1, (*exchange).deletePush},

	"message/send":                        {v0, (*exchange).send},
	"message/stream":                      {v0, (*exchange).sendStreaming},
	"tasks/get":                           {v0, (*exchange).getTask},
	"tasks/cancel":                        {v0, (*exchange).cancelTask},
	"tasks/resubscribe":                   {v0, (*exchange).subscribe},
	"agent/getAuthenticatedExtendedCard":  {v0, (*exchange).extendedCard},
	"tasks/pushNotificationConfig/set":    {v0, (*exchange).createPush},
	"tasks/pushNotificationConfig/get":    {v0, (*exchange).getPush},
	"tasks/pushNotificationConfig/list":   {v0, (*exchange).listPush},
	"tasks/pushNotificationConfig/delete": {v0, (*exchange).deletePush},
}

// rpc answers a request of JSON-RPC.
func (h handler) rpc(w http.ResponseWriter, r *http.Request) error {
	id := json.RawMessage("null")
	x := &exchange{
		handler: h, w: w, r: r,
		envelope: func(dst, result []byte) []byte {
			dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
			return append(append(dst, result...), '}')
		},
		failed: func(dst []byte, f *failure) []byte { return f.rpc(dst, id) },
	}
	err := func() error {
		if !isJSON(r) {
			return fail(contentNotSupported, "The content type must be application/json")
		}
		doc, err := h.Body(w, r)
		if err != nil {
			return err
		}
		var req rpcRequest
		if err := decode(doc, &req); err != nil {
			if f, ok := err.(*failure); ok && f.kind == invalidParams { //nolint:errorlint // decode returns it
				f.kind = invalidRequest
			}
			return err
		}
		if len(req.ID) > 0 && (req.ID[0] == '{' || req.ID[0] == '[' || req.ID[0] == 't' || req.ID[0] == 'f') {
			return fail(invalidRequest, "The id must be a text or a number")
		}
		if len(req.ID) > 0 {
			id = req.ID
		}
		method, known := rpcMethods[req.Method]
		switch text := versionOf(r); {
		case req.Version != "2.0":
			return fail(invalidRequest, `jsonrpc must be "2.0"`)
		case text != "" && !is(text, version1) && !is(text, version0):
			return fail(versionNotSupported, "Version %s of the protocol is not supported: use 1.0 or 0.3", text)
		case !known, text != "" && is(text, version1) != (method.v == v1):
			return fail(methodNotFound, "Method not found: %s", req.Method)
		}
		if len(req.Params) > 0 && req.Params[0] != '{' {
			return invalid("params", "params must be an object")
		}
		x.v = method.v
		if err := x.identify(); err != nil {
			return err
		}
		return method.call(x, req.Params)
	}()
	if err == nil {
		return nil
	}
	f, server := h.failureOf(err, session.Key{App: r.PathValue("app")})
	if server != nil {
		return err // with its status
	}
	respond(w, http.StatusOK, f.rpc(nil, id))
	return nil
}

// rest returns the handler of a route of HTTP+JSON.
func (h handler) rest(call func(*exchange) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		x := &exchange{
			handler: h, w: w, r: r,
			envelope: func(dst, result []byte) []byte { return append(dst, result...) },
			failed:   func(dst []byte, f *failure) []byte { return f.rest(dst, f.http) },
		}
		return x.serveRest(version1, call, func(f *failure, dst []byte) []byte { return f.rest(dst, f.http) })
	}
}

func restSend(x *exchange) error {
	doc, err := x.Body(x.w, x.r)
	if err != nil {
		return err
	}
	return x.send(doc)
}

func restStream(x *exchange) error {
	doc, err := x.Body(x.w, x.r)
	if err != nil {
		return err
	}
	return x.sendStreaming(doc)
}

// restTask is the routes of a task, whose action is at the end of the path.
func restTask(x *exchange) error {
	id, action, _ := strings.Cut(x.r.PathValue("task"), ":")
	switch {
	case action == "subscribe":
		return x.follow(id)
	case action == "cancel" && x.r.Method == http.MethodPost:
		return x.cancel(id)
	case action == "" && x.r.Method == http.MethodGet:
		q := queryOf(x.r)
		history := q.number("historyLength")
		if q.err != nil {
			return q.err
		}
		return x.get(id, history)
	}
	return fail(methodNotFound, "There is no such operation")
}

func restCard(x *exchange) error { return x.extendedCard(nil) }

// encoder writes the frames of a stream.
type encoder struct {
	*exchange
	id   string
	key  session.Key
	task *task // the first frame
	tr   translator
	now  state
	// stay reports whether the stream stays open while a run waits; nil for never.
	stay func(*session.Run) bool
}

func (e *encoder) frame(dst, result []byte) []byte {
	return sse.Append(dst, "", "", e.envelope(nil, result))
}

// Begin implements face.Encoder.
func (e *encoder) Begin(dst []byte) []byte {
	e.now = e.task.status.state
	return e.frame(dst, taskResult(nil, e.v, e.task))
}

// Step implements face.Encoder.
func (e *encoder) Step(dst []byte, s *face.Step, position string) []byte {
	for _, u := range e.tr.step(s, position == "") {
		if u.artifact == nil || e.now != working {
			st := status{state: working}
			if u.artifact == nil {
				st.message = &message{id: u.id, task: e.id, context: e.key.ID, parts: u.remark}
			}
			dst = e.frame(dst, statusResult(nil, e.v, e.id, e.key.ID, &st, false, e.meta(u.author)))
			e.now = working
		}
		if u.artifact != nil {
			dst = e.frame(dst, artifactResult(nil, e.v, e.id, e.key.ID, &u, e.meta(u.author)))
		}
	}
	return dst
}

// End implements face.Encoder.
func (e *encoder) End(dst []byte, row *session.Run) []byte {
	t, err := face.ReadTask(e.ctx(), e.handler, e.key, e.first())
	if err != nil || t.Run(row.ID) == nil {
		t = &face.Task{Runs: []*session.Run{row}}
	}
	st, err := e.status(e.ctx(), e.id, t, row)
	if err != nil {
		f, _ := e.failureOf(err, e.key)
		return sse.Append(dst, e.broken, "", e.failed(nil, f))
	}
	waits := row.Status == session.Waiting
	if waits && e.now == st.state && e.tr.empty() { // the task tells it
		return dst
	}
	e.now, e.tr = st.state, translator{}
	return e.frame(dst, statusResult(nil, e.v, e.id, e.key.ID, st, !waits || e.stay == nil || !e.stay(row), e.endMeta(row)))
}

// Break implements face.Encoder.
func (e *encoder) Break(dst []byte, p face.Problem) []byte {
	return sse.Append(dst, e.broken, "", e.failed(nil, &failure{kind: internalError, message: p.Message}))
}

// first returns the run that the task began with.
func (e *encoder) first() string {
	_, first, _ := parseID(e.id, e.key.App, e.key.User)
	return first
}

// meta returns the metadata of an update for agents of ADK, which speak version 0.3.
func (e *encoder) meta(author string) metadata {
	if e.v == v1 {
		return nil
	}
	return metadata{}.text("adk_author", author).text("adk_session_id", e.key.ID)
}

// endMeta is meta for the end of a run.
func (e *encoder) endMeta(row *session.Run) metadata {
	if e.v == v1 {
		return nil
	}
	m := metadata{}.text("adk_app_name", e.key.App).text("adk_user_id", e.key.User).text("adk_session_id", e.key.ID).text("adk_invocation_id", row.ID)
	if f := row.Failure; f != nil {
		m = m.text("adk_error_code", f.Type).text("adk_error_message", f.Message)
	}
	if row.Usage.Total > 0 {
		if doc, err := row.Usage.MarshalJSON(); err == nil {
			m = m.with("adk_usage_metadata", doc)
		}
	}
	return m
}

// stream sends a task to the client.
func (x *exchange) stream(key session.Key, id string, first *task, reader *run.Reader, started *run.Run, stay func(*session.Run) bool) error {
	enc := &encoder{exchange: x, id: id, key: key, task: first, stay: stay}
	return face.StreamOn(x.w, x.r, x.handler, reader, &face.Transcript{}, enc, started, stay)
}
