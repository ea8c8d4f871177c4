package a2a

import (
	"encoding/json"
	"net/http"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/session"
)

// oldRoutes returns the routes of version 0.3 over HTTP+JSON.
func (h handler) oldRoutes() []face.Route {
	const old = path + "/v1"
	return append(pushRoutes(old, h.oldRest), []face.Route{
		{Method: "POST", Path: old + "/message:send", Scope: access.Run, Handler: h.oldRest(restSend)},
		{Method: "POST", Path: old + "/message:stream", Scope: access.Run, Handler: h.oldRest(restStream)},
		{Method: "GET", Path: old + "/tasks/{task}", Scope: access.Read, Handler: h.oldRest(restTask)},
		{Method: "POST", Path: old + "/tasks/{task}", Scope: access.Run, Handler: h.oldRest(restTask)},
		{Method: "GET", Path: old + "/card", Scope: access.Read, Handler: h.oldRest(restCard)},
	}...)
}

// oldRest is rest for version 0.3.
func (h handler) oldRest(call func(*exchange) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		x := &exchange{
			handler: h, w: w, r: r, v: p0, broken: "error",
			envelope: func(dst, result []byte) []byte { return append(dst, result...) },
			failed:   func(dst []byte, f *failure) []byte { return f.old(dst) },
		}
		return x.serveRest(version0, call, (*failure).old)
	}
}

// serveRest answers a request of HTTP+JSON in a version.
func (x *exchange) serveRest(version string, call func(*exchange) error, write func(f *failure, dst []byte) []byte) error {
	err := func() error {
		if text := versionOf(x.r); text != "" && !is(text, version) {
			return fail(versionNotSupported, "Version %s of the protocol is not supported here: use %s", text, version)
		}
		if x.r.Method == http.MethodPost && x.r.ContentLength != 0 && !isJSON(x.r) {
			return fail(contentNotSupported, "The content type must be application/json or application/a2a+json")
		}
		if err := x.identify(); err != nil {
			return err
		}
		return call(x)
	}()
	if err == nil {
		return nil
	}
	f, server := x.failureOf(err, session.Key{App: x.r.PathValue("app")})
	if server != nil {
		return err
	}
	respond(x.w, f.http, write(f, nil))
	return nil
}

// old appends the body of HTTP+JSON with an error, as version 0.3 has it: that of
// JSON-RPC, and beside it what clients of version 1.0 read.
func (f *failure) old(dst []byte) []byte {
	return appendJSON(dst, struct {
		Code    int       `json:"code"`
		Message string    `json:"message"`
		Error   restError `json:"error"`
	}{f.code, f.message, restError{f.http, f.status, f.message, f.details()}})
}

// unwrap brings a request of version 0.3 over HTTP+JSON into the form of others.
func (req *sendRequest) unwrap() error {
	if req.Message == nil {
		req.Message = req.Request
	}
	if req.Configuration.PushProto != nil {
		req.Configuration.PushOld = req.Configuration.PushProto
	}
	m := req.Message
	if m == nil {
		return nil
	}
	if len(m.Parts) == 0 {
		m.Parts = m.Content
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if f := p.File; f != nil && f.Bytes == nil && f.URI == "" {
			f.Bytes, f.URI = f.FileBytes, f.FileURI
		}
		if !present(p.Data) {
			continue
		}
		var data struct {
			Data json.RawMessage `json:"data"`
		}
		if json.Unmarshal(p.Data, &data) != nil || !present(data.Data) {
			return invalid("message.content", "a data part needs its data")
		}
		p.Data = data.Data
	}
	return nil
}
