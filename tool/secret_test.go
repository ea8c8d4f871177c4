package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/tool"
)

// fakeSecrets is what was sealed, and one secret to be scrubbed.
type fakeSecrets struct {
	agentrt.Secrets
	values map[string]json.RawMessage
}

func (d fakeSecrets) Open(_ context.Context, key string) (json.RawMessage, bool, error) {
	if key == "broken" {
		return nil, false, errors.New("it does not open")
	}
	v, ok := d.values[key]
	return v, ok, nil
}

func (fakeSecrets) Scrub(doc []byte) []byte {
	return bytes.ReplaceAll(doc, []byte(`tok\"en`), []byte("[redacted]"))
}

// above is a state that another one is made of.
type above struct{ *tool.State }

func (a above) Get(key string) (json.RawMessage, bool) { return a.Raw(key) }

func TestSealedState(t *testing.T) {
	sealed := json.RawMessage(redact.Sealed)
	base := stored{"plain": json.RawMessage(`1`), "token": sealed, "lost": sealed, "broken": sealed}
	away := fakeSecrets{values: map[string]json.RawMessage{"token": json.RawMessage(`"t"`), "secret:pin": json.RawMessage(`4711`), "new": json.RawMessage(`2`)}}
	actions := &event.Actions{StateDelta: map[string]json.RawMessage{"new": sealed, "secret:own": json.RawMessage(`3`)}}
	s := new(agentrt.State).Of(t.Context(), base, away, actions)
	for key, want := range map[string]string{"plain": `1`, "token": `"t"`, "secret:pin": `4711`, "new": `2`, "secret:own": `3`, "lost": "", "broken": "", "secret:other": ""} {
		if got, ok := s.Raw(key); string(got) != want || ok != (want != "") {
			t.Errorf("%s is %s, %v", key, got, ok)
		}
	}
	var v any
	if _, err := s.Get("broken", &v); err == nil {
		t.Error("no error for a value that does not open")
	}
	if diff := cmp.Diff(map[string]json.RawMessage{"plain": json.RawMessage(`1`), "token": json.RawMessage(`"t"`), "new": json.RawMessage(`2`)}, s.All()); diff != "" {
		t.Errorf("all: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]json.RawMessage{"plain": json.RawMessage(`1`), "token": sealed, "lost": sealed, "broken": sealed, "new": sealed}, tool.NewState(base, actions).All()); diff != "" {
		t.Errorf("stored: -want +got:\n%s", diff)
	}
	s.Delete("token")
	s.Delete("secret:pin")
	for _, key := range []string{"token", "secret:pin"} {
		if got, ok := s.Raw(key); ok {
			t.Errorf("%s was deleted, and is %s", key, got)
		}
	}
	// A state on top of another one sees what that sees.
	on := tool.NewState(above{s}, &event.Actions{})
	if got, ok := on.Raw("secret:own"); !ok || string(got) != `3` {
		t.Errorf("from above, the secret is %s, %v", got, ok)
	}
}

func TestScrubText(t *testing.T) {
	const text = "GET \"/x\": tok\"en is\nrefused"
	if got := agentrt.ScrubText(nil, text); got != text {
		t.Errorf("without secrets: %q", got)
	}
	if got, want := agentrt.ScrubText(fakeSecrets{}, text), "GET \"/x\": [redacted] is\nrefused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
