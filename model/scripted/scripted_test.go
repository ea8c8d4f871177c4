package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

func request(contents ...*event.Content) *model.Request {
	return model.NewRequest(func() []*event.Content { return contents })
}

// collect writes down what a call yields, one string each.
func collect(seq iter.Seq2[*model.Response, error]) []string {
	var got []string
	for r, err := range seq {
		switch {
		case err != nil:
			got = append(got, "error: "+err.Error())
		case r.ErrorCode != "":
			got = append(got, r.ErrorCode+": "+r.ErrorMessage)
		case len(r.Content.FunctionCalls()) > 0:
			for _, c := range r.Content.FunctionCalls() {
				got = append(got, fmt.Sprintf("%s%s", c.Name, c.Args))
			}
		case r.Partial:
			got = append(got, "~"+r.Content.Text())
		default:
			got = append(got, r.Content.Text())
		}
	}
	return got
}

func TestSteps(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	close(open)
	piece := model.Text("pi")
	piece.Partial = true

	tests := []struct {
		name   string
		step   scripted.Step
		stream bool
		want   []string
	}{
		{name: "say", step: scripted.Say("one two"), want: []string{"one two"}},
		{name: "say in pieces", step: scripted.Say("one  two\nthree"), stream: true, want: []string{"~one ", "~ ", "~two\nthree", "one  two\nthree"}},
		{name: "say nothing", step: scripted.Say(""), stream: true, want: []string{""}},
		{name: "call", step: scripted.Call("f", map[string]int{"n": 1}), want: []string{`f{"n":1}`}},
		{name: "call without arguments", step: scripted.Call("f", nil), stream: true, want: []string{`f{}`}},
		{
			name: "calls",
			step: scripted.Calls(
				&event.FunctionCall{Name: "f", Args: json.RawMessage(`{"n":1}`)},
				&event.FunctionCall{Name: "g", Args: json.RawMessage(`{}`)},
			),
			want: []string{`f{"n":1}`, `g{}`},
		},
		{name: "fail", step: scripted.Fail(errors.New("no route")), want: []string{"error: no route"}},
		{name: "error", step: scripted.Error("SAFETY", "refused"), want: []string{"SAFETY: refused"}},
		{name: "respond", step: scripted.Respond(piece, model.Text("pieces")), want: []string{"pieces"}},
		{name: "respond in pieces", step: scripted.Respond(piece, model.Text("pieces")), stream: true, want: []string{"~pi", "pieces"}},
		{name: "wait", step: scripted.Wait(open, scripted.Say("now")), want: []string{"now"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			req.Stream = tt.stream
			got := collect(scripted.New(tt.step).Generate(t.Context(), req))
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStepsEndWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, step := range map[string]scripted.Step{
		"say":  scripted.Say("too late"),
		"call": scripted.Call("f", nil),
		"wait": scripted.Wait(nil, nil),
	} {
		req := request()
		req.Stream = true
		got := collect(scripted.New(step).Generate(ctx, req))
		if want := []string{"error: context canceled"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestPiecesStopWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := request()
	req.Stream = true
	var errs []error
	pieces := 0
	for _, err := range scripted.New(scripted.Say("a b c d")).Generate(ctx, req) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pieces++
		cancel()
	}
	if pieces != 1 || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("got %d pieces and %v, want one piece and then the cancellation", pieces, errs)
	}
}

func TestReaderCloses(t *testing.T) {
	t.Parallel()
	req := request()
	req.Stream = true
	for _, step := range []scripted.Step{scripted.Say("a b c"), scripted.Respond(model.Text("a"), model.Text("b"))} {
		for range scripted.New(step).Generate(t.Context(), req) {
			break // must not make the step yield again, which would panic
		}
	}
}

func TestScriptRunsOut(t *testing.T) {
	t.Parallel()
	m := scripted.New(scripted.Say("only"))
	collect(m.Generate(t.Context(), request()))
	got := collect(m.Generate(t.Context(), request()))
	if len(got) != 1 || !strings.Contains(got[0], "call 2, but the script has 1 steps") {
		t.Errorf("got %q, want an error that says that the script has run out", got)
	}
}

func TestStepMayBeUsedAgain(t *testing.T) {
	t.Parallel()
	step := scripted.Call("f", nil)
	m := scripted.New(step, step)
	for range 2 {
		for r := range m.Generate(t.Context(), request()) {
			call := r.Content.FunctionCalls()[0]
			if call.ID != "" {
				t.Errorf("the call already has the id %q", call.ID)
			}
			call.ID = "set by the runtime"
		}
	}
}

func TestRequestsAreKeptAsTheyWere(t *testing.T) {
	t.Parallel()
	m := scripted.New(scripted.Say("ok"))
	req := request(event.Text(event.RoleUser, "before"))
	req.Tools = []model.Declaration{{Name: "before"}}
	collect(m.Generate(t.Context(), req))
	req.Tools[0].Name = "after"
	req.SetContents([]*event.Content{event.Text(event.RoleUser, "after")})

	seen := m.Requests()[0]
	if seen.Tools[0].Name != "before" || scripted.LastUserText(seen) != "before" {
		t.Errorf("the request has changed to %q about %q", seen.Tools[0].Name, scripted.LastUserText(seen))
	}
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	const n = 20
	m := scripted.New(slices.Repeat([]scripted.Step{scripted.Say("ok")}, n)...)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if got := collect(m.Generate(t.Context(), request())); !slices.Equal(got, []string{"ok"}) {
				t.Errorf("got %q", got)
			}
			m.Requests()
		})
	}
	wg.Wait()
	if m.Calls() != n {
		t.Errorf("counted %d calls, want %d", m.Calls(), n)
	}
}

func TestFuncLooksAtTheRequest(t *testing.T) {
	t.Parallel()
	m := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if rs := scripted.LastResponses(req); len(rs) > 0 {
			return scripted.Say(rs[0].Name+" answered "+scripted.LastUserText(req))(ctx, req)
		}
		return scripted.Call("f", nil)(ctx, req)
	})
	question := event.Text(event.RoleUser, "why")
	answer := &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{Name: "f"}}}}
	if got := collect(m.Generate(t.Context(), request(question))); !slices.Equal(got, []string{"f{}"}) {
		t.Errorf("got %q", got)
	}
	if got := collect(m.Generate(t.Context(), request(question, answer))); !slices.Equal(got, []string{"f answered why"}) {
		t.Errorf("got %q", got)
	}
}

func TestEmptyRequest(t *testing.T) {
	t.Parallel()
	for _, req := range []*model.Request{request(), request(nil)} {
		if text, rs := scripted.LastUserText(req), scripted.LastResponses(req); text != "" || rs != nil {
			t.Errorf("got %q and %v out of nothing", text, rs)
		}
	}
}
