// Package openai serves OpenAI's Responses, as the Open Responses specification has
// them, and chat completions. The name of a model is that of an application.
//
// A response is a run, and its id says which: of which application and session, of the
// user whose token the request has. The frames of its stream follow from the log
// alone, so a client may continue with any of them, at any time and on any server.
package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// New creates the face.
func New(h face.Host) *face.Face {
	f := handler{Host: h}
	return &face.Face{
		Name: "openai", Title: "OpenAI", Path: "/v1", Fail: fail,
		Routes: []face.Route{
			{Method: "GET", Path: "/v1/models", Scope: access.Read, Handler: f.models},
			{Method: "GET", Path: "/v1/models/{model}", Scope: access.Read, Handler: f.model},
			{Method: "POST", Path: "/v1/responses", Scope: access.Run, Handler: f.create},
			{Method: "GET", Path: "/v1/responses/{id}", Scope: access.Read, Handler: f.get},
			{Method: "DELETE", Path: "/v1/responses/{id}", Scope: access.Run, Handler: f.delete},
			{Method: "POST", Path: "/v1/responses/{id}/cancel", Scope: access.Run, Handler: f.cancel},
			{Method: "GET", Path: "/v1/responses/{id}/input_items", Scope: access.Read, Handler: f.inputItems},
			{Method: "POST", Path: "/v1/chat/completions", Scope: access.Run, Handler: f.complete},
		},
	}
}

type handler struct {
	face.Host
	// hosted means that Foundry calls: there is one application, whatever the model is,
	// and the platform may choose the ids of responses.
	hosted bool
}

// fail writes an error as OpenAI's clients read it.
func fail(w http.ResponseWriter, _ *http.Request, p face.Problem) {
	kind, code := "invalid_request_error", p.Code
	switch {
	case p.Status == http.StatusUnprocessableEntity:
		p.Status = http.StatusBadRequest
	case p.Status == http.StatusUnauthorized:
		kind = "authentication_error"
	case p.Status == http.StatusForbidden:
		kind = "permission_error"
	case p.Status == http.StatusTooManyRequests:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	case p.Status >= http.StatusInternalServerError:
		kind, code = "server_error", "server_error"
	}
	doc := wire.Quote([]byte(`{"error":{"message":`), p.Message)
	doc = wire.Quote(append(doc, `,"type":`...), kind)
	doc = orNull(append(doc, `,"code":`...), code)
	doc = orNull(append(doc, `,"param":`...), p.Param)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(doc, "}}"...)) // a client that has disconnected cannot be told
}

// orNull appends a text, or null if it is empty.
func orNull(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "null"...)
	}
	return wire.Quote(dst, text)
}

// answer writes a document.
func answer(w http.ResponseWriter, doc []byte) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc) //nolint:gosec // it is JSON, and says so; a client that has disconnected cannot be told
	return nil
}

// problem returns the error of an invalid request.
func problem(param, format string, args ...any) error {
	return &face.Problem{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...), Param: param}
}

func notFound(id string) error {
	return &face.Problem{Status: http.StatusNotFound, Message: "Response not found: " + id, Code: "response_not_found"}
}

// model is an application as clients see it.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int    `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func modelOf(app string) model { return model{app, "model", 0, "parley"} }

// models lists the applications.
func (h handler) models(w http.ResponseWriter, _ *http.Request) error {
	list := []model{}
	for _, app := range h.Apps() {
		list = append(list, modelOf(app))
	}
	doc, err := json.Marshal(map[string]any{"object": "list", "data": list})
	if err != nil {
		return err
	}
	return answer(w, doc)
}

// model describes an application.
func (h handler) model(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("model")
	if !slices.Contains(h.Apps(), name) {
		return modelNotFound(name)
	}
	doc, err := json.Marshal(modelOf(name))
	if err != nil {
		return err
	}
	return answer(w, doc)
}

func modelNotFound(model string) error {
	return &face.Problem{
		Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
		Message: "The model " + model + " does not exist: there is no application with that name. GET /v1/models lists them.",
	}
}

// app returns the application of a model: its name, or a name and an agent.
func (h handler) app(r *http.Request, model string) (string, error) {
	if h.hosted {
		return h.hostedApp(r)
	}
	if model == "" {
		return "", problem("model", "The request has no model: name an application. GET /v1/models lists them.")
	}
	apps := h.Apps()
	app := model
	if first, _, ok := strings.Cut(model, "/"); ok && !slices.Contains(apps, model) {
		app = first
	}
	if err := h.CheckRate(r, app); err != nil {
		return "", err
	}
	if !slices.Contains(apps, app) {
		return "", modelNotFound(model)
	}
	return app, nil
}

// idPrefix is the prefix of the ids of responses.
const idPrefix = "resp_"

// responseID returns the id of the response of a run.
func responseID(key session.Key, run string) string {
	return idPrefix + face.Handle(key.App, key.ID, run)
}

// parseID returns the session and the run of a response. The session is one of the
// user who asks.
func parseID(id, user string) (key session.Key, run string, err error) {
	code, ok := strings.CutPrefix(id, idPrefix)
	names, valid := face.ParseHandle(code, 3)
	if !ok || !valid {
		return key, "", notFound(id)
	}
	key = session.Key{App: names[0], User: user, ID: names[1]}
	if key.Check() != nil {
		return key, "", notFound(id)
	}
	return key, names[2], nil
}
