package tool_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// box seals by turning a value around. It opens under the same key only.
type box struct{ tool.Credentials }

func (box) Seal(key string, value json.RawMessage) (json.RawMessage, error) {
	doc := []rune(string(value))
	for i, j := 0, len(doc)-1; i < j; i, j = i+1, j-1 {
		doc[i], doc[j] = doc[j], doc[i]
	}
	return json.Marshal("sealed:" + key + ":" + string(doc))
}

func (b box) Open(key string, stored json.RawMessage) (json.RawMessage, bool) {
	var text string
	if json.Unmarshal(stored, &text) != nil || !strings.HasPrefix(text, "sealed:") {
		return stored, false
	}
	inner, ok := strings.CutPrefix(text, "sealed:"+key+":")
	if !ok {
		return nil, true
	}
	again, _ := b.Seal("", json.RawMessage(inner))
	_ = json.Unmarshal(again, &text)
	return json.RawMessage(strings.TrimPrefix(text, "sealed::")), true
}

func (box) Response(context.Context, *credential.Config) (*credential.Credential, error) {
	return &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{AccessToken: "token-of-ann"}}, nil
}

type lookup map[string]json.RawMessage

func (l lookup) Get(key string) (json.RawMessage, bool) { v, ok := l[key]; return v, ok }
func (l lookup) All() map[string]json.RawMessage        { return maps.Clone(l) }

func sealing(stored lookup) *tool.Context {
	actions := &event.Actions{}
	state := tool.NewState(stored, actions)
	state.SealWith(box{})
	return &tool.Context{Context: context.Background(), FunctionCallID: "c", State: state, Actions: actions, Credentials: box{}}
}

func TestStateKeepsSecretsSealed(t *testing.T) {
	ctx := sealing(nil)
	cred, err := ctx.AuthResponse(&credential.Config{Scheme: &credential.Scheme{}, Raw: &credential.Credential{OAuth2: &credential.OAuth2{ClientSecret: "secret-of-app"}}})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"credential": json.RawMessage(`{"authType":"apiKey","apiKey":"key-of-ann"}`),
		"token":      cred.OAuth2.AccessToken,
		"inside":     map[string]any{"list": []any{1, "Bearer " + cred.OAuth2.AccessToken}},
		"name":       map[string]any{cred.OAuth2.AccessToken: true},
		"client":     "secret-of-app",
	}
	for key, value := range values {
		if err := ctx.State.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := ctx.State.Set("city", "Oslo"); err != nil {
		t.Fatal(err)
	}
	stored := lookup{}
	for key, v := range ctx.Actions.StateDelta {
		for _, word := range []string{"token-of-ann", "key-of-ann", "secret-of-app"} {
			if strings.Contains(string(v), word) {
				t.Errorf("%s is stored as %s", key, v)
			}
		}
		stored[key] = v
	}
	if string(stored["city"]) != `"Oslo"` {
		t.Errorf("what is no secret is stored as %s", stored["city"])
	}

	// Another call, which was given nothing.
	again := sealing(stored)
	var token string
	if ok, err := again.State.Get("token", &token); !ok || err != nil || token != "token-of-ann" {
		t.Errorf("the token comes back as %q, %v, %v", token, ok, err)
	}
	if all := again.State.All(); string(all["inside"]) != `{"list":[1,"Bearer token-of-ann"]}` || len(all) != 6 {
		t.Errorf("all is %s", all)
	}
	if all := again.State.Stored(); string(all["token"]) != string(stored["token"]) {
		t.Errorf("what is stored is %s", all["token"])
	}
	// It knows the secrets that it has seen, and keeps a place sealed.
	if got := again.Conceal(json.RawMessage(`{"a":["x token-of-ann y",12],"token-of-ann":"key-of-ann"}`)); string(got) != `{"a":["x [secret] y",12],"[secret]":"[secret]"}` {
		t.Errorf("concealed: %s", got)
	}
	if got := again.ConcealText("no token-of-ann"); got != "no [secret]" {
		t.Errorf("concealed: %s", got)
	}
	if err := again.State.Set("token", "refreshed-by-the-tool"); err != nil || strings.Contains(string(again.Actions.StateDelta["token"]), "refreshed") {
		t.Errorf("the place of a secret: %s, %v", again.Actions.StateDelta["token"], err)
	}
	// Somebody else's does not open, and a key can be deleted.
	stored["other"] = stored["token"]
	if v, ok := sealing(stored).State.Raw("other"); ok {
		t.Errorf("a value that was moved opens: %s", v)
	}
	again.State.Delete("token")
	if _, ok := again.State.Raw("token"); ok || string(again.Actions.StateDelta["token"]) != "null" {
		t.Error("a sealed value cannot be deleted")
	}
	// What is sealed already can be carried over.
	if err := again.State.Merge(map[string]json.RawMessage{"credential": stored["credential"]}); err != nil || string(again.Actions.StateDelta["credential"]) != string(stored["credential"]) {
		t.Errorf("carried over: %s, %v", again.Actions.StateDelta["credential"], err)
	}
}

// Whatever a tool returns stays JSON without its secrets.
func FuzzConceal(f *testing.F) {
	for _, seed := range []string{`{"a":["token-of-ann"]}`, `"\u0074oken-of-ann"`, `{"token-of-ann":1,"a":null}`, `[`, `"token-of-anntoken-of-ann\ud800"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		ctx := sealing(nil)
		if _, err := ctx.AuthResponse(&credential.Config{}); err != nil {
			t.Fatal(err)
		}
		out := ctx.Conceal(json.RawMessage(doc))
		var v any
		if err := json.Unmarshal(out, &v); err != nil && json.Valid([]byte(doc)) {
			t.Fatalf("%q became %q: %v", doc, out, err)
		}
		if plain, err := json.Marshal(v); err == nil && strings.Contains(string(plain), "token-of-ann") {
			t.Fatalf("%q became %q", doc, out)
		}
	})
}
