package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/tool"
)

// A run is repeated with each model at each temperature.
func TestReplayVariants(t *testing.T) {
	warm := func(name string) model.Model {
		return scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			return scripted.Say(fmt.Sprintf("%s at %v", name, *req.Config.Temperature))(ctx, req)
		})
	}
	cfg := parley.Config{
		Agents: map[string]*agent.Agent{"talk": agent.Must(agent.NewLLM(agent.LLMConfig{Name: "talk", Model: scripted.Func(scripted.Say("hello"))}))},
		Models: map[string]model.Model{"a": warm("a"), "b": warm("b"), "broken": scripted.Func(scripted.Fail(fmt.Errorf("no route")))},
		Log:    slog.New(slog.DiscardHandler),
	}
	cfg.Sessions.URL = "sqlite:///" + filepath.ToSlash(filepath.Join(t.TempDir(), "chats.db"))
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	run, err := srv.Start(t.Context(), parley.Request{App: "talk", User: "u", Session: "s", Message: event.Text(event.RoleUser, "hi")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.Close(t.Context())

	repeat := func(o replayOptions) (string, error) {
		var out bytes.Buffer
		o.user = "u"
		o.plan.LiveModels = true
		err := o.repeat(t.Context(), &Env{Stdout: &out}, cfg, []string{"s"})
		return out.String(), err
	}
	table, err := repeat(replayOptions{models: []string{"a", "b"}, temperatures: []float64{0, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`MODEL +TEMPERATURE +STATUS`, `a +0 +completed .* a at 0\n`, `a +0.5 .* a at 0.5\n`, `b +0 .* b at 0\n`, `b +0.5 .* b at 0.5\n`} {
		if !regexp.MustCompile(want).MatchString(table) {
			t.Errorf("no %s in the table:\n%s", want, table)
		}
	}
	docs, err := repeat(replayOptions{models: []string{"a", "b"}, temperatures: []float64{1}, json: true})
	if err != nil {
		t.Fatal(err)
	}
	var one struct {
		Model       string
		Temperature float64
		Session     string
	}
	if lines := strings.Split(strings.TrimSpace(docs), "\n"); len(lines) != 2 || json.Unmarshal([]byte(lines[1]), &one) != nil || one.Model != "b" || one.Temperature != 1 || one.Session == "" {
		t.Errorf("the documents are\n%s", docs)
	}
	if table, err = repeat(replayOptions{models: []string{"a", "broken"}, temperatures: []float64{1}}); err == nil || err.Error() != "1 of 2 replays failed" {
		t.Errorf("with a model that fails: %v\n%s", err, table)
	}
	if table, err = repeat(replayOptions{models: []string{"a"}, temperatures: []float64{1}}); err == nil || !strings.Contains(table, "differs") {
		t.Errorf("with one of each: %v\n%s", err, table)
	}
}

// Before a plan calls tools again, it says which; afterwards it says what was done twice.
func TestReplayWarnsOfTools(t *testing.T) {
	calls := 0
	charge := tool.Must(tool.New(tool.Declaration{Name: "charge"}, func(*tool.Context, struct{}) (any, error) {
		calls++
		return "charged", nil
	}))
	asked := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) > 0 {
			return scripted.Say("done")(ctx, req)
		}
		return scripted.Call("charge", nil)(ctx, req)
	})
	cfg := parley.Config{
		Agents: map[string]*agent.Agent{"talk": agent.Must(agent.NewLLM(agent.LLMConfig{Name: "talk", Model: asked, Tools: []tool.Tool{charge}}))},
		Log:    slog.New(slog.DiscardHandler),
	}
	cfg.Sessions.URL = "sqlite:///" + filepath.ToSlash(filepath.Join(t.TempDir(), "chats.db"))
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	run, err := srv.Start(t.Context(), parley.Request{App: "talk", User: "u", Session: "s", Message: event.Text(event.RoleUser, "hi")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.Close(t.Context())
	for _, tt := range []struct {
		plan  replay.Plan
		calls int
	}{
		{replay.Plan{}, 0},
		{replay.Plan{From: 3, LiveTools: true}, 0},
		{replay.Plan{From: 2, LiveTools: true}, 1},
		{replay.Plan{Live: []int{2}}, 1},
	} {
		var out, errs bytes.Buffer
		calls = 0
		o := replayOptions{user: "u", plan: tt.plan}
		if err := o.repeat(t.Context(), &Env{Stdout: &out, Stderr: &errs}, cfg, []string{"s"}); err != nil {
			t.Fatalf("%+v: %v\n%s", tt.plan, err, &out)
		}
		if calls != tt.calls {
			t.Errorf("%+v: %d calls of the tool, want %d", tt.plan, calls, tt.calls)
		}
		if warned := strings.Contains(errs.String(), "call 2 is made again: the tool charge is called with all its effects\n"); warned != (tt.calls > 0) {
			t.Errorf("%+v: the warning is %q", tt.plan, &errs)
		}
		if told := strings.Contains(out.String(), `the run has called it, too, and its effect is "once"`); told != (tt.calls > 0) {
			t.Errorf("%+v: it printed\n%s", tt.plan, &out)
		}
	}
}
