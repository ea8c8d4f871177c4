package aisdk_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/face/aisdk"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

var update = flag.Bool("update", false, "rewrite the chunks in testdata")

func TestMain(m *testing.M) { testkit.Main(m) }

// apps maps names to applications.
type apps map[string]*agent.Agent

func (a apps) Names() []string { return slices.Sorted(maps.Keys(a)) }

func (a apps) Agent(name string) (*agent.Agent, error) {
	if root, ok := a[name]; ok {
		return root, nil
	}
	return nil, run.ErrUnknownApp
}

func (a apps) Language(string) string   { return "go" }
func (a apps) ReloadError(string) error { return nil }

func (a apps) Dir(string) string { return "" }

// house is a server with a client.
type house struct {
	*testkit.Client
	t       *testing.T
	fixture *testkit.Fixture
	store   session.Store
	model   *scripted.Model // of the application thinker
	gate    chan struct{}   // what it waits for before it answers slowly
}

func open(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, fixture: testkit.NewFixture(), store: memstore.New(0), gate: make(chan struct{})}
	h.model = scripted.Func(h.think)
	found := apps(h.fixture.Apps())
	erase := tool.Must(tool.New(tool.Declaration{Name: "erase"}, func(*tool.Context, struct{}) (string, error) { return "gone", nil }))
	thinker, err := agent.NewLLM(agent.LLMConfig{Name: "thinker", Model: h.model, Tools: []tool.Tool{tool.Confirm(erase, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	found["thinker"] = thinker
	engine := run.NewEngine(run.Options{Store: h.store, Agent: found.Agent, Log: slog.New(slog.DiscardHandler)})
	srv := httptest.NewServer(server.New(server.Options{
		Engine: engine, Store: h.store, Apps: found, Log: slog.New(slog.DiscardHandler),
		Protocols: server.Protocols{Faces: []face.New{aisdk.New}},
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		engine.Shutdown(ctx)
		srv.Close()
	})
	h.Client = testkit.NewClient(t, srv.URL)
	return h
}

// think is a model that thinks, draws, is cut off, and calls the tools of clients.
func (h *house) think(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	text := scripted.LastUserText(req)
	if responses := scripted.LastResponses(req); len(responses) > 0 {
		say := scripted.Say(responses[0].Name + " returned " + string(responses[0].Response))
		if strings.HasSuffix(text, "slowly") {
			say = scripted.Wait(h.gate, say)
		}
		return say(ctx, req)
	}
	switch {
	case strings.HasPrefix(text, "locate"):
		return scripted.Call("locate", map[string]bool{"precise": true})(ctx, req)
	case strings.HasPrefix(text, "erase"):
		return scripted.Call("erase", nil)(ctx, req)
	case text == "draw":
		return scripted.Respond(&model.Response{
			Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
				{Text: "A dot.", Thought: true},
				{Text: "Here it is."},
				{InlineData: &event.Blob{MIMEType: "image/png", Data: []byte("dot")}},
				{FileData: &event.FileData{FileURI: "https://example.com/a.png", MIMEType: "image/png"}},
			}},
			FinishReason: "STOP", ModelVersion: "thinker-1", Usage: &event.Usage{Prompt: 7, Candidates: 5, Thoughts: 2, Total: 14, CachedContent: 3},
		})(ctx, req)
	case text == "cut":
		return scripted.Respond(&model.Response{Content: event.Text(event.RoleModel, "Once upon"), FinishReason: "MAX_TOKENS"})(ctx, req)
	}
	return scripted.Say("re: "+text)(ctx, req)
}

// user returns a message of the user.
func user(id string, parts ...any) map[string]any {
	for i, p := range parts {
		if text, ok := p.(string); ok {
			parts[i] = map[string]any{"type": "text", "text": text}
		}
	}
	return map[string]any{"id": id, "role": "user", "parts": parts}
}

// assistant returns a message of the assistant.
func assistant(id string, parts ...any) map[string]any {
	m := user(id, parts...)
	m["role"] = "assistant"
	return m
}

// body returns the request for a chat with messages; more are further members.
func body(chat string, more map[string]any, messages ...any) map[string]any {
	b := map[string]any{"id": chat, "messages": messages, "trigger": "submit-message"}
	maps.Copy(b, more)
	return b
}

// chunks are the chunks of a stream.
type chunks []map[string]any

// post sends a request to an application and returns the chunks of the response.
func (h *house) post(app string, in any) chunks {
	h.t.Helper()
	return h.read(h.Stream(h.t, "/apps/"+app+"/aisdk", in))
}

func (h *house) read(s *testkit.Stream) chunks {
	h.t.Helper()
	if got := s.Header.Get("X-Vercel-Ai-Ui-Message-Stream"); got != "v1" {
		h.t.Errorf("the version of the stream is %q", got)
	}
	return parse(h.t, s.Rest(h.t))
}

func parse(t *testing.T, frames [][]byte) chunks {
	t.Helper()
	var list chunks
	for i, frame := range frames {
		if string(frame) == "[DONE]" && i == len(frames)-1 {
			return list
		}
		var c map[string]any
		if err := json.Unmarshal(frame, &c); err != nil {
			t.Fatalf("%v in %s", err, frame)
		}
		list = append(list, c)
	}
	t.Errorf("the stream does not end with [DONE]")
	return list
}

// find returns the first chunk of a type.
func (c chunks) find(kind string) map[string]any {
	for _, one := range c {
		if one["type"] == kind {
			return one
		}
	}
	return nil
}

// text returns all texts.
func (c chunks) text() string {
	var b strings.Builder
	for _, one := range c {
		if one["type"] == "text-delta" {
			b.WriteString(one["delta"].(string))
		}
	}
	return b.String()
}

// last is the type and the reason of the end.
func (c chunks) last() string {
	one := c[len(c)-1]
	return fmt.Sprint(one["type"], " ", one["finishReason"])
}

func (c chunks) message() string { return fmt.Sprint(c.find("start")["messageId"]) }

// log returns the visible log of a chat.
func (h *house) log(app, chat string) string {
	h.t.Helper()
	s, err := h.store.Get(h.t.Context(), session.Key{App: app, User: "user", ID: chat}, session.Read{})
	if err != nil {
		h.t.Fatal(err)
	}
	var said []string
	for _, entry := range s.Seen() {
		ev, err := entry.Decode()
		if err != nil {
			h.t.Fatal(err)
		}
		if ev.Content == nil {
			continue
		}
		for _, p := range ev.Content.Parts {
			switch {
			case p.FunctionCall != nil:
				said = append(said, ev.Author+" calls "+p.FunctionCall.Name)
			case p.FunctionResponse != nil:
				said = append(said, ev.Author+" returns "+string(p.FunctionResponse.Response))
			default:
				said = append(said, ev.Author+": "+p.Text)
			}
		}
	}
	return strings.Join(said, "\n")
}

// names replaces values that differ between runs.
var names = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"run", regexp.MustCompile(`aisdk-[a-z2-7]{26}`)},
	{"call", regexp.MustCompile(`parley-[a-z2-7]{24}`)},
	{"event", regexp.MustCompile(`"id":"([a-z2-7]{16})(-\d+)?"`)},
}

func named(text string) string {
	for _, n := range names {
		seen := map[string]string{}
		text = n.pattern.ReplaceAllStringFunc(text, func(found string) string {
			if seen[found] == "" {
				seen[found] = fmt.Sprintf("<%s %d>", n.name, len(seen)+1)
				if n.name == "event" {
					seen[found] = `"id":"` + seen[found] + `"`
				}
			}
			return seen[found]
		})
	}
	return text
}

// TestChunks compares the chunks of conversations with those in testdata/chunks.txt.
func TestChunks(t *testing.T) {
	t.Parallel()
	const file = "testdata/chunks.txt"
	var got strings.Builder
	for _, one := range []struct{ app, text string }{
		{"weather", "Hello there"},
		{"weather", "weather in Oslo"},
		{"weather", "pair"},
		{"weather", "state blue"},
		{"weather", "danger users"},
		{"weather", "ask"},
		{"weather", "choose"},
		{"weather", "long"},
		{"weather", "broken"},
		{"weather", "panic"},
		{"weather", "fail"},
		{"weather", "stutter"},
		{"weather", "errcode"},
		{"relay", "weather in Rome"},
		{"thinker", "draw"},
		{"thinker", "cut"},
	} {
		h := open(t)
		fmt.Fprintf(&got, "== %s: %s\n", one.app, one.text)
		frames := h.Stream(t, "/apps/"+one.app+"/aisdk", body("c1", nil, user("m1", one.text))).Rest(t)
		parse(t, frames)
		var list strings.Builder
		for _, frame := range frames {
			list.Write(append(frame, '\n'))
		}
		got.WriteString(named(list.String()))
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got; -update accepts it):\n%s", diff)
	}
}

// TestRefused sends what cannot be run.
func TestRefused(t *testing.T) {
	t.Parallel()
	h := open(t)
	for name, one := range map[string]struct {
		app  string
		in   any
		want int
		text string
	}{
		"an unknown application":      {"nothing", body("c", nil, user("m", "hi")), 404, "Application not found: nothing"},
		"no JSON":                     {"weather", "{", 422, "JSON object"},
		"a list":                      {"weather", "[]", 422, "JSON object"},
		"no chat":                     {"weather", body("", nil, user("m", "hi")), 422, "id: Field required"},
		"a chat that is no session":   {"weather", body("..", nil, user("m", "hi")), 400, "chat id"},
		"no messages":                 {"weather", body("c", nil), 422, "messages: Field required"},
		"an unknown trigger":          {"weather", body("c", map[string]any{"trigger": "x"}, user("m", "hi")), 422, "trigger"},
		"an empty message":            {"weather", body("c", nil, user("m")), 422, "text or a file"},
		"a file that is not one":      {"weather", body("c", nil, user("m", map[string]any{"type": "file", "mediaType": "a/b", "url": "data:x"})), 422, "messages.0.parts.0.url"},
		"a wrong type":                {"weather", body("c", nil, map[string]any{"id": 7, "role": "user"}), 422, "messages.id"},
		"nothing new":                 {"weather", body("c", nil, user("m", "hi"), assistant("a", "Hello")), 422, "neither a new message"},
		"a tool with a reserved name": {"weather", body("c", map[string]any{"tools": map[string]any{"adk_request_input": map[string]any{}}}, user("m", "hi")), 422, "reserved"},
	} {
		resp := h.Do(t, http.MethodPost, "/apps/"+one.app+"/aisdk", one.in)
		if resp.Status != one.want || !strings.Contains(string(resp.Body), one.text) || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") || strings.Contains(string(resp.Body), " Go ") {
			t.Errorf("%s: %d %s, want %d %s", name, resp.Status, resp.Body, one.want, one.text)
		}
	}
	for _, path := range []string{"/stream", "/cancel"} {
		method := map[string]string{"/stream": http.MethodGet, "/cancel": http.MethodPost}[path]
		h.Do(t, method, "/apps/nothing/aisdk/c"+path, nil).Want(t, 404)
		h.Do(t, method, "/apps/weather/aisdk/c"+path, nil).Want(t, 204)
	}
}
