package model_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/modelname"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// pick is a router that goes through keys in order, one for each try.
func pick(keys ...string) model.Router {
	return func(_ context.Context, _ *model.Request, failed *model.Failed) (string, error) {
		n := 0
		if failed != nil {
			n = len(failed.Keys)
		}
		if n < len(keys) {
			return keys[n], nil
		}
		return "", nil
	}
}

func TestRouted(t *testing.T) {
	down := scripted.Fail(errors.New("no route"))
	broken := func(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			piece := model.Text("so far")
			piece.Partial = true
			_ = yield(piece, nil) && yield(nil, errors.New("cut"))
		}
	}
	tests := []struct {
		name   string
		a, b   scripted.Step
		router model.Router
		want   string
	}{
		{"the first", scripted.Say("from a"), scripted.Say("from b"), pick("a", "b"), "from a"},
		{"the second", scripted.Say("from a"), scripted.Say("from b"), pick("b"), "from b"},
		{"the other after a failure", down, scripted.Say("from b"), pick("a", "b"), "from b"},
		{"the other after a refusal", scripted.Error("UNAVAILABLE", "busy"), scripted.Say("from b"), pick("a", "b"), "from b"},
		{"both fail", scripted.Error("UNAVAILABLE", "busy"), down, pick("a", "b"), "error: no route"},
		{"both refuse", down, scripted.Error("UNAVAILABLE", "busy"), pick("a", "b"), "UNAVAILABLE: busy"},
		{"nothing else", down, nil, pick("a"), "error: no route"},
		{"the same again", down, scripted.Say("from b"), pick("a", "a"), "error: no route"},
		{"no other in the middle", broken, scripted.Say("from b"), pick("a", "b"), "so far, error: cut"},
		{"an unknown one", nil, nil, pick("c"), `error: the router picked the model "c", which is not among routed[a (scripted), b (scripted)]`},
		{"none", nil, nil, pick(), "error: the router picked no model: it returned nothing"},
		{"a router that fails", nil, nil, func(context.Context, *model.Request, *model.Failed) (string, error) { return "", errors.New("lost") }, "error: the router picked no model: lost"},
		{"a router that fails later", down, nil, func(_ context.Context, _ *model.Request, failed *model.Failed) (string, error) {
			if failed == nil {
				return "a", nil
			}
			return "", errors.New("after " + failed.Err.Error())
		}, "error: the router picked no model: after no route"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := model.NewRouted(map[string]model.Model{"a": scripted.New(tt.a), "b": scripted.New(tt.b)}, tt.router)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for resp, err := range m.Generate(t.Context(), ask(false)) {
				switch {
				case err != nil:
					got = append(got, "error: "+err.Error())
				case resp.ErrorCode != "":
					got = append(got, resp.ErrorCode+": "+resp.ErrorMessage)
				default:
					got = append(got, resp.Content.Text())
				}
			}
			if all := strings.Join(got, ", "); all != tt.want {
				t.Errorf("got %s, want %s", all, tt.want)
			}
		})
	}
	for _, models := range []map[string]model.Model{nil, {"a": nil}} {
		if _, err := model.NewRouted(models, pick("a")); err == nil {
			t.Errorf("%v was taken", models)
		}
	}
}

func TestRoutedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m, err := model.NewRouted(map[string]model.Model{"a": scripted.New(scripted.Wait(nil, nil)), "b": scripted.New(scripted.Say("late"))}, pick("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for resp, err := range m.Generate(ctx, ask(false)) {
		if resp != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", resp, err)
		}
	}
}

func TestNamed(t *testing.T) {
	find := func(name string) (model.Model, error) {
		if name == "known" {
			return scripted.New(scripted.Say("Hi.")), nil
		}
		return nil, errors.New("there is no " + name)
	}
	for name, want := range map[model.Named]string{"known": "Hi.", "strange": "there is no strange"} {
		if got, _ := generate(t, within{name, find}, ask(false)); got.Err+textOf(got.Response) != want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got, _ := generate(t, model.Named("known"), ask(false)); !strings.Contains(got.Err, "only a name here") {
		t.Errorf("got %+v", got)
	}
}

func textOf(r *model.Response) string {
	if r == nil {
		return ""
	}
	return r.Content.Text()
}

// within is a model in a context that knows names.
type within struct {
	model.Named
	find func(string) (model.Model, error)
}

func (w within) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return w.Named.Generate(context.WithValue(ctx, modelname.Key{}, w.find), req)
}
