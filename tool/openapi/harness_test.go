package openapi_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

// seen is what the echo server tells about a request.
type seen struct {
	Method, Path, Query, Type, Body string
	Header                          http.Header
}

// echo answers every request with what it got.
func echo(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Content-Type"), string(body), r.Header})
	}))
	t.Cleanup(s.Close)
	return s
}

func mustNew(t *testing.T, cfg openapi.Config) *openapi.Toolset {
	t.Helper()
	set, err := openapi.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func mustTool(t *testing.T, set *openapi.Toolset, name string) tool.Tool {
	t.Helper()
	made, ok := set.Tool(name)
	if !ok {
		t.Fatalf("there is no tool %s among %v", name, names(set))
	}
	return made
}

func names(set *openapi.Toolset) (list []string) {
	for _, made := range set.All() {
		list = append(list, made.Declaration().Name)
	}
	return list
}

// stored is the state of a session.
type stored map[string]json.RawMessage

func (s stored) Get(key string) (json.RawMessage, bool) { v, ok := s[key]; return v, ok }
func (s stored) All() map[string]json.RawMessage        { return maps.Clone(s) }

// newContext is the context of one call.
func newContext(t *testing.T, state stored, logins tool.Credentials) *tool.Context {
	t.Helper()
	actions := &event.Actions{}
	return &tool.Context{Context: t.Context(), FunctionCallID: "call-1", State: tool.NewState(state, actions), Actions: actions, Credentials: logins}
}

// call makes a call and returns its result as the model would get it.
func call(t *testing.T, made tool.Tool, args string) string {
	t.Helper()
	return result(t, made, newContext(t, nil, nil), args)
}

func result(t *testing.T, made tool.Tool, ctx *tool.Context, args string) string {
	t.Helper()
	out, err := made.Call(ctx, json.RawMessage(args))
	if err != nil {
		return string(toolresult.Error(err.Error()))
	}
	raw, err := toolresult.Of(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// sent makes a call and returns the request that reached the echo server.
func sent(t *testing.T, made tool.Tool, args string) (got seen) {
	t.Helper()
	raw := call(t, made, args)
	if err := json.Unmarshal([]byte(raw), &got); err != nil || got.Method == "" {
		t.Fatalf("%s: got %s", args, raw)
	}
	return got
}
