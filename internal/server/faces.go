package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// faceHost is the server as faces see it.
type faceHost struct{ *Server }

var _ face.Host = faceHost{}

// addFaces adds the routes of the faces.
func (s *Server) addFaces() {
	s.faceNeeds = map[string]need{}
	for _, create := range s.Faces {
		s.faces = append(s.faces, create(faceHost{s}))
	}
	for _, create := range s.Platforms {
		s.hosting = append(s.hosting, create(faceHost{s}, s.faces)...)
	}
	for _, one := range slices.Concat(s.faces, s.hosting) {
		for _, r := range one.Routes {
			pattern := r.Method + " " + r.Path
			s.faceNeeds[pattern] = need{scope: r.Scope, public: r.Public}
			s.mux.Handle(pattern, s.handleFace(one, r.Handler))
		}
	}
}

// handleFace is like handle for the routes of a face, which has its own format of errors.
func (s *Server) handleFace(f *face.Face, route func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, err := s.admit(w, r)
		if err == nil {
			err = route(w, r)
		} else if challenge := w.Header().Get(challengeHeader); challenge != "" && f.Challenge != nil {
			if more := f.Challenge(r); more != "" {
				w.Header().Set(challengeHeader, challenge+", "+more)
			}
		}
		if err != nil {
			s.failAs(w, r, err, func(e *httpError) {
				if f.Fail == nil {
					writeError(w, e)
					return
				}
				p := face.Problem{Status: e.status, Message: e.message, After: e.after}
				if own, ok := errors.AsType[*face.Problem](err); ok {
					p = *own
				}
				f.Fail(w, r, p)
			})
		}
	})
}

// faceInfo describes a face to clients.
type faceInfo struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Path  string `json:"path"`
}

// ListFaces returns the faces that are served.
func (s *Server) ListFaces() []*face.Face { return s.faces }

func (s *Server) faceList() []faceInfo {
	list := []faceInfo{}
	for _, f := range s.faces {
		list = append(list, faceInfo{f.Name, f.Title, f.Path})
	}
	return list
}

func (s *Server) listFaces(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, map[string]any{"faces": s.faceList()})
}

// index answers at the root address of a server without the UI.
func (s *Server) index(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, struct {
		Version string     `json:"version"`
		Docs    string     `json:"docs"`
		Apps    string     `json:"apps"`
		Faces   []faceInfo `json:"faces"`
	}{s.Version, "/docs", "/list-apps", s.faceList()})
}

// faceRoutes returns the methods and paths of the faces.
func (s *Server) faceRoutes() []string {
	var list []string
	for _, f := range slices.Concat(s.faces, s.hosting) {
		for _, r := range f.Routes {
			list = append(list, r.Method+" "+strings.TrimSuffix(r.Path, "{$}"))
		}
	}
	return list
}

func (h faceHost) Engine() *run.Engine { return h.Options.Engine }

func (h faceHost) Sessions() session.Sessions { return h.Store.Sessions }

func (h faceHost) Outbox() *outbox.Outbox { return h.Options.Outbox }

func (h faceHost) Apps() []string { return h.Options.Apps.Names() }

func (h faceHost) Agent(app string) (*agent.Agent, error) {
	root, err := h.Options.Apps.Agent(app)
	if err != nil {
		return nil, about(session.Key{App: app}, err)
	}
	return root, nil
}

func (h faceHost) Describe(app string) (string, error) {
	root, err := h.Agent(app)
	if err != nil {
		return "", err
	}
	return root.Description(), nil
}

func (h faceHost) InputSchema(app string) json.RawMessage {
	root, err := h.Options.Apps.Agent(app)
	if err != nil {
		return nil
	}
	return agentrt.InputSchema(root)
}

func (h faceHost) Artifacts(key session.Key) tool.Artifacts {
	return h.Options.Artifacts.In(artifact.Place{App: key.App, User: key.User, Session: key.ID})
}

func (h faceHost) BaseURL(r *http.Request) string {
	switch {
	case h.PublicURL != nil:
		return strings.TrimRight(h.PublicURL.String(), "/")
	case h.overTLS(r):
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (h faceHost) Issuers() []string { return h.Options.Issuers }

func (h faceHost) TakesKeys() bool { return h.SignIn.Takes == TakesKey }

func (h faceHost) MainApp() string {
	if names := h.Options.Apps.Names(); h.Options.MainApp == "" && len(names) == 1 {
		return names[0]
	}
	return h.Options.MainApp
}

func (h faceHost) A2AURL() string { return h.Options.A2AURL }

func (h faceHost) Version() string { return h.Options.Version }

func (h faceHost) Root(app string) string {
	root, err := h.Options.Apps.Agent(app)
	if err != nil {
		return ""
	}
	return root.Name()
}

func (h faceHost) Body(w http.ResponseWriter, r *http.Request) ([]byte, error) { return h.body(w, r) }

// defaultUser is the user of callers who are not authenticated and name none.
const defaultUser = "user"

func (h faceHost) Identify(r *http.Request, named string) (face.Identity, error) {
	c := callerOf(r)
	if h := header(r, face.UserHeader); h != "" {
		named = h
	}
	id := face.Identity{User: named}
	if c != nil {
		id.Caller = c.ID
		switch {
		case !c.May(access.Users) && c.User == "":
			return id, &httpError{status: http.StatusForbidden, message: "Forbidden: the caller is not a user, and may not act as one"}
		case !c.May(access.Users) || named == "":
			id.User = c.Self()
		}
	}
	if id.User == "" {
		id.User = defaultUser
	}
	return id, session.CheckIdentifier("user id", id.User)
}

func (h faceHost) CheckRate(r *http.Request, app string) error {
	return h.checkRate(r, app)
}

func (h faceHost) About(key session.Key, err error) error { return about(key, err) }

func (h faceHost) Explain(err error, key session.Key) face.Problem {
	e := toHTTP(about(key, err), subject{})
	return face.Problem{Status: e.status, Message: e.message, After: e.after}
}

func (h faceHost) UntilExpiry(r *http.Request) (context.Context, context.CancelFunc) {
	if c := callerOf(r); c != nil && !c.Expires.IsZero() {
		return context.WithDeadlineCause(r.Context(), c.Expires, face.ErrExpired)
	}
	return r.Context(), func() {}
}

func (h faceHost) Disconnected(r *http.Request, started *run.Run) {
	policy := fromHeader(r, onDisconnectHeader)
	gone, err := policy.among(h.OnDisconnect, "continue", "cancel")
	h.clientGone(r, err == nil && gone == "cancel", started)
}

func (h faceHost) Streaming() func() { return h.streaming() }
