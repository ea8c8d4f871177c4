package server

import (
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/graph"
	"github.com/parley-run/parley/session"
)

// drawing is a graph in DOT; the UI renders it.
type drawing struct {
	DotSrc string `json:"dotSrc"`
}

// eventGraph draws an application's agents and highlights what an event did.
func (s *Server) eventGraph(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	found, err := s.Store.Get(r.Context(), key, session.Read{})
	if err != nil {
		return err
	}
	root, err := s.Apps.Agent(key.App)
	if err != nil {
		return err
	}
	for _, entry := range found.Entries {
		if ev, err := entry.Decode(); err == nil && ev.ID == r.PathValue("event") {
			return answer(w, drawing{graph.DOT(root, darkMode(r, true), graph.Steps(ev))})
		}
	}
	return &httpError{status: http.StatusNotFound, message: "Event not found: " + r.PathValue("event")}
}

// appGraph draws an application's agents.
func (s *Server) appGraph(w http.ResponseWriter, r *http.Request) error {
	root, err := s.rootOf(r)
	if err != nil {
		return err
	}
	return answer(w, drawing{graph.DOT(root, darkMode(r, false), nil)})
}

// structureGraph draws an agent of an application, the root or the one that ?node= selects, and every agent below that
// has sub-agents. Some UIs expect all drawings by their path, others only the one that they asked for.
func (s *Server) structureGraph(w http.ResponseWriter, r *http.Request) error {
	top, err := s.rootOf(r)
	if err != nil {
		return err
	}
	path := strings.Trim(r.URL.Query().Get("node"), "/")
	for i, name := range strings.Split(path, "/") {
		if path == "" || i == 0 && name == top.Name() {
			continue
		}
		if top = subAgent(top, name); top == nil {
			return &httpError{status: http.StatusNotFound, message: "Node not found: " + path}
		}
	}
	out := map[string]any{}
	var draw func(path string, a *agent.Agent)
	draw = func(path string, a *agent.Agent) {
		out[path] = drawing{graph.DOT(a, darkMode(r, false), nil)}
		for _, sub := range a.SubAgents() {
			if len(sub.SubAgents()) > 0 {
				draw(strings.TrimPrefix(path+"/"+sub.Name(), "/"), sub)
			}
		}
	}
	draw(path, top)
	out["dotSrc"] = graph.DOT(top, darkMode(r, false), nil)
	return answer(w, out)
}

func subAgent(a *agent.Agent, name string) *agent.Agent {
	for _, sub := range a.SubAgents() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}

// agentTree is an agent in the form that UIs expect which show the structure of an application.
type agentTree struct {
	Name        string      `json:"name"`
	Type        string      `json:"type"`
	Description string      `json:"description,omitempty"`
	Model       string      `json:"model,omitempty"`
	Tools       []toolName  `json:"tools,omitempty"`
	SubAgents   []agentTree `json:"sub_agents,omitempty"`
}

type toolName struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func treeOf(a *agent.Agent) agentTree {
	tree := agentTree{Name: a.Name(), Type: "agent", Description: a.Description()}
	if info, ok := agentrt.InfoOf(a); ok {
		tree.Model = info.Model
		for _, t := range info.Tools {
			tree.Tools = append(tree.Tools, toolName{t.Name, "tool"})
		}
	}
	for _, sub := range a.SubAgents() {
		tree.SubAgents = append(tree.SubAgents, treeOf(sub))
	}
	return tree
}

// maxReadme is the number of bytes of a README that are shown.
const maxReadme = 256 << 10

// structure answers with an application's agents and its README.
func (s *Server) structure(w http.ResponseWriter, r *http.Request) error {
	root, err := s.rootOf(r)
	if err != nil {
		return err
	}
	app := r.PathValue("app")
	return answer(w, struct {
		Name      string    `json:"name"`
		RootAgent agentTree `json:"root_agent"`
		Readme    string    `json:"readme,omitempty"`
	}{app, treeOf(root), readme(s.Apps.Dir(app))})
}

// readme returns the README of an application, or "".
func readme(dir string) string {
	if dir == "" {
		return ""
	}
	root, err := os.OpenRoot(dir) // symbolic links must not escape the directory
	if err != nil {
		return ""
	}
	defer root.Close()
	info, err := root.Stat("README.md")
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxReadme {
		return ""
	}
	text, err := root.ReadFile("README.md")
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *Server) rootOf(r *http.Request) (*agent.Agent, error) {
	app := r.PathValue("app")
	if err := session.CheckIdentifier("application name", app); err != nil {
		return nil, err
	}
	root, err := s.Apps.Agent(app)
	return root, err
}

// darkMode reads ?dark_mode=.
func darkMode(r *http.Request, otherwise bool) bool {
	if dark, err := strconv.ParseBool(r.URL.Query().Get("dark_mode")); err == nil {
		return dark
	}
	return otherwise
}
