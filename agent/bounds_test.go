package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// results has an agent make a call for each size, all at once, of a tool that
// returns so many bytes, or fails with so many if the size is negative. It
// returns what the model gets for them.
func results(t *testing.T, sizes ...int) (got []string) {
	t.Helper()
	type in struct {
		Size int `json:"size"`
	}
	text := tool.Must(tool.New(tool.Declaration{Name: "text"}, func(_ *tool.Context, in in) (string, error) {
		if in.Size < 0 {
			return "", errors.New(strings.Repeat("x", -in.Size))
		}
		return strings.Repeat("x", in.Size), nil
	}))
	var calls []*event.FunctionCall
	for _, size := range sizes {
		calls = append(calls, &event.FunctionCall{Name: "text", Args: json.RawMessage(fmt.Sprintf(`{"size":%d}`, size))})
	}
	root := mustLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{text}, Model: scripted.New(scripted.Calls(calls...), scripted.Say("Done."))})
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, Limits: parley.Limits{ToolResultBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	for _, ev := range (&chat{t, srv}).say("go") {
		for _, r := range ev.FunctionResponses() {
			got = append(got, string(r.Response))
		}
	}
	return got
}

func TestResultThatIsTooLarge(t *testing.T) {
	got := results(t, 1000, 2<<20, -2<<20)
	for i, want := range []string{
		`{"result":"xxx`,
		`{"status":"error","error_message":"the result must not be larger than 1 MiB, and this one has 2097165 bytes: ask for less"}`,
		`{"status":"error","error_message":"the result must not be larger than 1 MiB, and this one has 2097189 bytes: ask for less"}`,
	} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("%d: %.200s, want %s", i, got[i], want)
		}
	}
}

// TestResultsShareABudget has ten calls whose results are all within the limit of
// one.
func TestResultsShareABudget(t *testing.T) {
	sizes := make([]int, 10)
	for i := range sizes {
		sizes[i] = 900 << 10
	}
	taken, refused := 0, 0
	for _, r := range results(t, sizes...) {
		switch {
		case strings.HasPrefix(r, `{"result":"x`):
			taken++
		case strings.Contains(r, "the results of all calls that are made at once must not be larger than 4 MiB"):
			refused++
		default:
			t.Errorf("%.200s", r)
		}
	}
	if taken == 0 || taken > 4 || taken+refused != len(sizes) {
		t.Errorf("%d results were taken, %d refused", taken, refused)
	}
}

// TestTooManyCalls has a model that wants to make more calls than it may.
func TestTooManyCalls(t *testing.T) {
	var called atomic.Int64
	count := tool.Must(tool.New(tool.Declaration{Name: "count"}, func(*tool.Context, struct{}) (int64, error) { return called.Add(1), nil }))
	calls := make([]*event.FunctionCall, 100_000)
	for i := range calls {
		calls[i] = &event.FunctionCall{Name: "count"}
	}
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{count}, Model: scripted.New(scripted.Calls(calls...), scripted.Say("Done."))}))
	_, err := c.send(event.Text(event.RoleUser, "go"))
	if err == nil || !strings.Contains(err.Error(), "a response of the model must not have more than 256 calls of tools") {
		t.Errorf("the run ends with %v", err)
	}
	if n := called.Load(); n > 0 {
		t.Errorf("%d calls were made", n)
	}
}
