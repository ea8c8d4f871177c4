package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// desk is an inbox of a memory store.
type desk struct {
	*testing.T
	*Service
}

func newDesk(t *testing.T, rules ...Rule) *desk {
	t.Helper()
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "clerk", Tools: []tool.Tool{tool.RequestInput()},
		Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			if len(scripted.LastResponses(req)) > 0 {
				return scripted.Say("Thank you.")(ctx, req)
			}
			return scripted.Call(tool.InputCall, map[string]any{"message": "When?"})(ctx, req)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New(0)
	of := &Rules{Given: func(string) []Rule { return rules }}
	log := slog.New(slog.DiscardHandler)
	engine := run.NewEngine(run.Options{
		Store: store, Log: log, MayAnswer: of.MayAnswer, WaitTTL: time.Hour,
		Agent: func(app string) (*agent.Agent, error) {
			if app != "app" {
				return nil, run.ErrUnknownApp
			}
			return root, nil
		},
	})
	t.Cleanup(func() { engine.Shutdown(context.Background()) })
	return &desk{t, &Service{Store: store, Engine: engine, Rules: of, Apps: func() []string { return []string{"app"} }, Log: log}}
}

func (d *desk) ask(user, id string) {
	d.Helper()
	key := session.Key{App: "app", User: user, ID: id}
	if _, err := d.Engine.Create(d.Context(), session.NewSession{Key: key}, nil); err != nil {
		d.Fatal(err)
	}
	started, err := d.Engine.Start(d.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "hi")})
	if err != nil {
		d.Fatal(err)
	}
	if _, err := started.Wait(d.Context()); err != nil {
		d.Fatal(err)
	}
}

// An entry that has waited for long is told to the receivers of its application, once,
// also with several servers; and an answer is given when there is none for longer.
func TestEscalate(t *testing.T) {
	t.Parallel()
	d := newDesk(t, Rule{Tool: tool.InputCall, Answer: User, EscalateAfter: time.Second, DefaultAfter: 5 * time.Second, Default: json.RawMessage(`"never"`)})
	if err := d.Store.Outbox.PutSubscription(t.Context(), &session.Subscription{Key: session.Key{App: "app"}, ID: "hook", Kind: "webhook"}, ""); err != nil {
		t.Fatal(err)
	}
	d.ask("ann", "s")
	if list, _, err := d.List(t.Context(), Query{}, session.Page{Size: 10}); err != nil || len(list) != 1 || !list[0].Escalated.IsZero() {
		t.Fatalf("the inbox is %+v, %v", list, err)
	}
	for range 2 {
		w := d.Start()
		defer w.Close()
	}
	testkit.Eventually(t, "the default answer", func() bool {
		list, _, err := d.List(t.Context(), Query{}, session.Page{Size: 10})
		return err == nil && len(list) == 0
	})
	list, err := d.Store.Outbox.AppDeliveries(t.Context(), "app", "hook", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(one *session.Delivery) bool { return one.Type != Escalated })
	if len(list) != 1 || !strings.Contains(string(list[0].JSON), `"tool":"adk_request_input"`) || list[0].Key.ID != "s" || list[0].Run == "" {
		t.Errorf("published are %+v", list)
	}
	key := session.Key{App: "app", User: "ann", ID: "s"}
	rows, _, err := d.Engine.Runs(t.Context(), key, session.Page{})
	if err != nil || len(rows) != 2 {
		t.Errorf("the session has %d runs, %v, want one that asks and one with the default answer", len(rows), err)
	}
}

// A page is bounded by what it reads, and the next one goes on.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const count = maxScan + 20
	for i := range count {
		d.ask("ann", fmt.Sprint("s", i))
	}
	d.ask("bob", "last")
	none, next, err := d.List(t.Context(), Query{Kind: Login}, session.Page{Size: 10})
	if err != nil || len(none) != 0 || next == "" {
		t.Errorf("the first page has %d entries, next %q, %v; want none, and another page", len(none), next, err)
	}
	none, next, err = d.List(t.Context(), Query{Kind: Login}, session.Page{Size: 10, Token: next})
	if err != nil || len(none) != 0 || next != "" {
		t.Errorf("the second page has %d entries, next %q, %v", len(none), next, err)
	}
	seen := map[string]bool{}
	page := session.Page{Size: 100}
	for {
		list, next, err := d.List(t.Context(), Query{}, page)
		if err != nil || len(list) > page.Size {
			t.Fatalf("a page has %d entries, %v", len(list), err)
		}
		for _, e := range list {
			seen[e.ID] = true
		}
		if page.Token = next; next == "" {
			break
		}
	}
	if len(seen) != count+1 {
		t.Errorf("the pages have %d entries, want %d", len(seen), count+1)
	}
	if list, _, err := d.List(t.Context(), Query{User: "bob"}, session.Page{Size: 10}); err != nil || len(list) != 1 {
		t.Errorf("%d entries are of one user, %v", len(list), err)
	}
}

// A second answer is refused, and told when there was the first.
func TestAnswerTwice(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.ask("ann", "s")
	list, _, err := d.List(t.Context(), Query{}, session.Page{Size: 10})
	if err != nil || len(list) != 1 {
		t.Fatalf("the inbox is %+v, %v", list, err)
	}
	first, err := d.Answer(t.Context(), list[0].ID, json.RawMessage(`"Monday"`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	same, err := d.Answer(t.Context(), list[0].ID, json.RawMessage(`"Monday"`))
	var answered *AnsweredError
	if !errors.As(err, &answered) || same != nil || answered.Via != ViaInbox || time.Since(answered.At) > time.Hour {
		t.Errorf("a second answer: %v, %v", same, err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	rules, err := Parse([]byte("- tool: refund\n  answer: role:managers\n  escalateAfter: 30m\n  defaultAfter: 24h\n  default: {confirmed: false}\n- tool: '*'\n"))
	if err != nil || len(rules) != 2 || rules[0].Answer != "role:managers" || rules[0].EscalateAfter != 30*time.Minute || rules[0].DefaultAfter != 24*time.Hour ||
		string(rules[0].Default) != `{"confirmed": false}` && string(rules[0].Default) != `{"confirmed":false}` || rules[1].Answer != User {
		t.Errorf("the rules are %+v, %v", rules, err)
	}
	for text, want := range map[string]string{
		"tool: x":                                 "list of rules",
		"- answer: user":                          "needs a tool",
		"- {tool: x, answer: everyone}":           "answer must be",
		"- {tool: x, answer: 'role:'}":            "answer must be",
		"- {tool: x, answers: user}":              "unknown field",
		"- {tool: x, defaultAfter: soon}":         "not a duration",
		"- {tool: x, defaultAfter: 1ms}":          "between",
		"- {tool: x, escalateAfter: -1h}":         "between",
		"- {tool: x, default: {confirmed: true}}": "needs a defaultAfter",
		"- [": "",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// Rules are read again when their file has changed. Without a file there are none.
func TestRulesFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := &Rules{Dir: func(string) string { return dir }, Given: func(string) []Rule { return []Rule{{Tool: "given", Answer: Anyone}} }}
	who := func(tool string) string {
		t.Helper()
		r, err := rules.For("app", tool)
		if err != nil {
			return err.Error()
		}
		return r.Answer
	}
	if got := who("x"); got != User {
		t.Errorf("without a file, %s", got)
	}
	for _, tt := range []struct{ text, want string }{
		{"- {tool: x, answer: 'role:a'}", "role:a"}, {"- {tool: x, answer: 'role:bb'}", "role:bb"}, {"- x", "inbox.yaml"}, {strings.Repeat("#", maxFile+1), "larger"},
	} {
		if err := os.WriteFile(filepath.Join(dir, File), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := who("x"); !strings.Contains(got, tt.want) {
			t.Errorf("%.40s: %s, want %s", tt.text, got, tt.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, File), []byte("- {tool: '*', answer: 'role:ccc'}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := who("given"); got != Anyone {
		t.Errorf("a rule of the configuration comes after the file: %s", got)
	}
}

func FuzzPlace(f *testing.F) {
	f.Add(idOf(session.Key{App: "a", User: "u", ID: "s"}, "c"))
	f.Add("WyJhIl0")
	f.Fuzz(func(t *testing.T, id string) {
		key, call, err := placeOf(id)
		if err == nil && idOf(key, call) != id {
			t.Errorf("%q is another id of %v %q", id, key, call)
		}
	})
}
