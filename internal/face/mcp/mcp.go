// Package mcp serves every application as an MCP server with one tool, over stateless
// streamable HTTP: in version 2026-07-28 of the protocol, and in those before it.
//
// A call of the tool is a run. The session is an argument and a result, so a client
// may continue a conversation that another client began. What the protocol needs
// beyond that (which client can ask its user, what a call waits for, which run a task
// is) is in the texts that clients send back: the id of a session of the protocol, the
// id of a question, the state of a request, the id of a task. Any server can read them,
// and they give access to nothing that the caller does not have.
package mcp

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

const (
	path     = "/apps/{app}/mcp"
	metadata = "/.well-known/oauth-protected-resource"
)

// New creates the face.
func New(h face.Host) *face.Face {
	f := handler{Host: h, calls: &calls{}}
	return &face.Face{
		Name: "mcp", Title: "MCP", Path: path, Fail: fail, Challenge: f.challenge,
		Routes: []face.Route{
			{Method: "POST", Path: path, Scope: access.Run, Handler: f.serve},
			{Method: "GET", Path: path, Scope: access.Run, Handler: f.resumeStream},
			{Method: "GET", Path: metadata, Public: true, Handler: f.metadata},
			{Method: "GET", Path: metadata + path, Public: true, Handler: f.metadata},
		},
	}
}

type handler struct {
	face.Host
	calls *calls
}

// exchange is one request of a client.
type exchange struct {
	handler
	w       http.ResponseWriter
	r       *http.Request
	app     string
	in      message
	meta    meta
	modern  bool // version 2026-07-28 or later
	version string
	can     capabilities
	// connection identifies the client in versions with sessions; empty if it has none.
	connection string
	out        *sse.Stream // nil if the client does not read streams
	// early are answers that came with the call, before it has asked.
	early map[string]json.RawMessage
}

// method answers a request. If it has not written a stream itself, it returns the
// result.
type method func(*exchange) (any, error)

// The methods of both kinds of versions, and of each.
var (
	shared = map[string]method{
		"tools/list":               (*exchange).listTools,
		"tools/call":               (*exchange).callTool,
		"resources/list":           (*exchange).listResources,
		"resources/templates/list": (*exchange).listTemplates,
		"resources/read":           (*exchange).readResource,
		"prompts/list":             (*exchange).listPrompts,
		"prompts/get":              (*exchange).getPrompt,
	}
	modern = map[string]method{
		"server/discover":      (*exchange).discover,
		"tasks/get":            (*exchange).getTask,
		"tasks/update":         (*exchange).updateTask,
		"tasks/cancel":         (*exchange).cancelTask,
		"subscriptions/listen": (*exchange).listen,
	}
	legacy = map[string]method{
		"initialize": (*exchange).initialize,
		"ping":       func(*exchange) (any, error) { return struct{}{}, nil },
	}
)

// serve answers one message.
func (h handler) serve(w http.ResponseWriter, r *http.Request) error {
	doc, err := h.Body(w, r)
	if err != nil {
		return err
	}
	app := r.PathValue("app")
	if _, err := h.Describe(app); err != nil {
		return err
	}
	in, err := readMessage(doc)
	e := &exchange{handler: h, w: w, r: r, app: app, in: in, connection: r.Header.Get(sessionHeader)}
	if err != nil {
		return e.fail(err)
	}
	if accepts(r, sse.MediaType) {
		e.out = sse.New(w, r)
	}
	result, err := e.answer()
	switch {
	case err != nil:
		return e.fail(err)
	case result != nil:
		return e.reply(result)
	}
	return nil
}

// answer handles the message. The result is nil if a response has been written.
func (e *exchange) answer() (any, error) {
	if err := e.negotiate(); err != nil {
		return nil, err
	}
	switch {
	case e.in.Method == "": // the response to a question
		if err := e.answered(); err != nil {
			return nil, err
		}
		e.w.WriteHeader(http.StatusAccepted)
		return nil, nil
	case !e.in.isCall():
		if e.in.Method == "notifications/cancelled" {
			e.cancelled()
		}
		e.w.WriteHeader(http.StatusAccepted)
		return nil, nil
	}
	own := legacy
	if e.modern {
		own = modern
	}
	do := shared[e.in.Method]
	if do == nil {
		do = own[e.in.Method]
	}
	if do == nil {
		return nil, &rpcError{status: http.StatusNotFound, Code: methodNotFound, Message: "Method not found: " + e.in.Method}
	}
	return do(e)
}

// fail writes an error as the response to the message.
func (e *exchange) fail(err error) error {
	failed, ok := errors.AsType[*rpcError](err)
	if !ok {
		p := e.Explain(err, session.Key{App: e.app})
		if p.Status >= http.StatusInternalServerError && (e.out == nil || !e.out.Opened()) {
			return err // the server logs it
		}
		failed = fromProblem(p)
	}
	doc := failed.response(e.in.ID)
	if e.out != nil && e.out.Opened() {
		_ = e.out.Event(frameName, "", doc) // the client may have disconnected
		return nil
	}
	status := failed.status
	if status == 0 || !e.modern && status == http.StatusNotFound {
		status = http.StatusOK // before 2026-07-28 a status is for the transport alone
	}
	write(e.w, status, doc)
	return nil
}

// reply writes the result of the message.
func (e *exchange) reply(result any) error {
	doc, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if e.modern {
		if doc, err = e.complete(doc); err != nil {
			return err
		}
	}
	doc = response(e.in.ID, `,"result":`, doc)
	if e.out != nil && e.out.Opened() {
		_ = e.out.Event(frameName, "", doc) // the client may have disconnected
		return nil
	}
	write(e.w, http.StatusOK, doc)
	return nil
}

// complete adds the members that every result of version 2026-07-28 has.
func (e *exchange) complete(doc []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, err
	}
	about := map[string]any{}
	_ = json.Unmarshal(members["_meta"], &about) // most results have none
	about[serverInfoKey] = e.info()
	var err error
	if members["_meta"], err = json.Marshal(about); err != nil {
		return nil, err
	}
	if members["resultType"] == nil {
		members["resultType"] = json.RawMessage(`"complete"`)
	}
	return json.Marshal(members)
}

// notify sends a notification or a request on the stream of the response.
func (e *exchange) notify(method, id string, params any) error {
	doc, err := json.Marshal(params)
	if err != nil {
		return err
	}
	frame := []byte(`{"jsonrpc":"2.0"`)
	if id != "" {
		frame = wire.Quote(append(frame, `,"id":`...), id)
	}
	frame = append(append(append(frame, `,"method":"`...), method...), `","params":`...)
	return e.out.Event(frameName, "", append(append(frame, doc...), '}'))
}

// implementation describes the server.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (e *exchange) info() implementation { return implementation{"parley/" + e.app, e.Version()} }

// features are the capabilities of the server.
func (e *exchange) features() map[string]any {
	f := map[string]any{"tools": struct{}{}, "resources": struct{}{}, "prompts": struct{}{}}
	if e.modern {
		f["extensions"] = map[string]any{tasksExtension: struct{}{}}
	}
	return f
}

const instructions = "The tool sends a message to an agent. Its result has the session: pass it to the next call to continue the conversation."

// initialize agrees on a version before 2026-07-28. The id of the session says what
// the client can do, because later requests do not.
func (e *exchange) initialize() (any, error) {
	var p struct {
		Version      string       `json:"protocolVersion"`
		Capabilities capabilities `json:"capabilities"`
	}
	if err := e.params(&p); err != nil {
		return nil, err
	}
	if !slices.Contains(versions, p.Version) || p.Version >= version20260728 {
		p.Version = newestLegacy
	}
	p.Capabilities.resumes = p.Version == newestLegacy
	e.w.Header().Set(sessionHeader, newConnection(p.Capabilities))
	return map[string]any{
		"protocolVersion": p.Version, "capabilities": e.features(), "serverInfo": e.info(), "instructions": instructions,
	}, nil
}

// discover describes the server in version 2026-07-28.
func (e *exchange) discover() (any, error) {
	return map[string]any{
		"supportedVersions": versions, "capabilities": e.features(), "instructions": instructions, "ttlMs": listTTL, "cacheScope": private,
	}, nil
}

// How long clients may keep lists, and for whom.
const (
	listTTL = 60_000
	private = "private"
)

// cacheable adds what lists have in version 2026-07-28.
func (e *exchange) cacheable(list map[string]any, ttl int) map[string]any {
	if e.modern {
		list["ttlMs"], list["cacheScope"] = ttl, private
	}
	return list
}

// listPrompts lists no prompts. Clients ask for them whether or not there are any.
func (e *exchange) listPrompts() (any, error) {
	return e.cacheable(map[string]any{"prompts": []any{}}, listTTL), nil
}

func (e *exchange) getPrompt() (any, error) {
	var p struct {
		Name string `json:"name"`
	}
	if err := e.params(&p); err != nil {
		return nil, err
	}
	return nil, invalid("Unknown prompt: %s", p.Name)
}

// key returns the key of a session of the caller.
func (e *exchange) key(id string) (session.Key, face.Identity, error) {
	who, err := e.Identify(e.r, "")
	return session.Key{App: e.app, User: who.User, ID: id}, who, err
}

// metadata describes the resource to clients that have to log in (RFC 9728).
func (h handler) metadata(w http.ResponseWriter, r *http.Request) error {
	issuers := h.Issuers()
	if len(issuers) == 0 {
		return &face.Problem{Status: http.StatusNotFound, Message: "Not Found: this server does not accept identity tokens"}
	}
	doc, err := json.Marshal(map[string]any{
		"resource": h.BaseURL(r) + strings.TrimPrefix(r.URL.EscapedPath(), metadata), "authorization_servers": issuers,
		"bearer_methods_supported": []string{"header"}, "scopes_supported": []string{"openid"},
	})
	if err != nil {
		return err
	}
	write(w, http.StatusOK, doc)
	return nil
}

// challenge says where clients that have to log in find the metadata.
func (h handler) challenge(r *http.Request) string {
	if len(h.Issuers()) == 0 {
		return ""
	}
	return `resource_metadata="` + h.BaseURL(r) + metadata + r.URL.EscapedPath() + `"`
}
