package run_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// A call increments a key that another one sets to a text at the same time. The
// run fails and says why, and leaves a history in which every call is answered.
func TestStateConflict(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	change := func(name string, change func(*tool.Context) error) tool.Tool {
		return tool.Must(tool.New(tool.Declaration{Name: name}, func(ctx *tool.Context, _ struct{}) (any, error) {
			both.Done()
			both.Wait()
			return "done", change(ctx)
		}))
	}
	h := newHouse(t, session.NewMemory(0), llm(
		scripted.New(scripted.Calls(&event.FunctionCall{Name: "set"}, &event.FunctionCall{Name: "add"}), scripted.Say("never")),
		change("set", func(ctx *tool.Context) error { return ctx.State.Set("k", "a text") }),
		change("add", func(ctx *tool.Context) error { return ctx.State.Increment("k", 1) }),
	))
	r := h.start("go")
	h.wait(r)
	if info := h.info(r); info.Status != session.Failed || info.Failure == nil || !strings.Contains(info.Failure.Message, "change of the state") {
		t.Errorf("the run is %+v, %+v", info, info.Failure)
	}
	if got, want := h.history(), "user:go a:call-setcall-add a:response-interruptedresponse-interrupted"; !strings.HasPrefix(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
}
