package broker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// knowing is a run whose tools have got secrets.
func knowing(t *testing.T, w *world, secrets ...string) *broker.Session {
	t.Helper()
	run := w.broker.For(w.key)
	for _, secret := range secrets {
		_, err := run.Response(t.Context(), &credential.Config{
			Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"},
			Raw:    &credential.Credential{Type: credential.TypeAPIKey, APIKey: secret},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return run
}

// A secret that is spelled like a member of the contract, or like a part of one,
// does not break events.
func TestScrubKeepsTheContract(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	for _, secret := range []string{"response", "functionResponse", "function", "stateDelta", "invocationId", "timestamp"} {
		run := knowing(t, w, secret)
		ev := &event.Event{
			ID: "e", InvocationID: "i", Author: "a", Timestamp: 1,
			Actions: event.Actions{StateDelta: rawState("k", `"`+secret+`"`, "my "+secret, "1")},
			Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
				{Text: "it is " + secret},
				{FunctionResponse: &event.FunctionResponse{ID: "1", Name: "f", Response: json.RawMessage(`{"x ` + secret + `":["` + secret + `"]}`)}},
			}},
		}
		doc, err := ev.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got event.Event
		if err := got.UnmarshalJSON(run.Scrub(doc)); err != nil {
			t.Fatalf("%s: %v", secret, err)
		}
		again, err := got.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer("it is "+secret, "it is [redacted]", "my "+secret, "my [redacted]", "x "+secret, "x [redacted]",
			`["`+secret+`"]`, `["[redacted]"]`, `:"`+secret+`"`, `:"[redacted]"`).Replace(string(doc))
		if string(again) != want {
			t.Errorf("with the secret %s:\ngot  %s\nwant %s", secret, again, want)
		}
	}
}

// All names that events and logins are written with are known.
func TestScrubKnowsTheContract(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	var names []string
	for path, pattern := range map[string]string{
		"../../event/encode.go":       `\bo\.\w+\("(\w+)"`,
		"../../credential/members.go": `\{name: "(\w+)"`,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllSubmatch(text, -1)
		if len(found) < 20 {
			t.Fatalf("%s has %d names", path, len(found))
		}
		for _, match := range found {
			names = append(names, string(match[1]))
		}
	}
	for _, name := range names {
		if len(name) < 8 {
			continue
		}
		doc := fmt.Sprintf(`{"%s" : "%s"}`, name, name)
		if got := knowing(t, w, name).Scrub([]byte(doc)); string(got) != fmt.Sprintf(`{"%s" : "[redacted]"}`, name) {
			t.Errorf("%s becomes %s", doc, got)
		}
	}
}

// What is scrubbed is JSON, wherever a secret seems to begin and end.
func TestScrubLeavesJSON(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	for _, tt := range []struct{ secret, in, want string }{
		{`password"`, `{"a":"password\""}`, `{"a":"[redacted]"}`},
		{`"password`, `{"a":"\"password"}`, `{"a":"[redacted]"}`},
		{"nnnnnnnn", `"a\nnnnnnnnn"`, `"a\n[redacted]"`},
		{"nnnnnnnn", `"a\nnnnnnnn"`, `"a\nnnnnnnn"`},
		{`\abcdefg`, `"\\\\abcdefg"`, `"\\[redacted]"`},
		{"1234567.8", `[1234567.8,91234567.89,"1234567.8"]`, `[1,919,"[redacted]"]`},
		{".12345678", `[0.123456789]`, `[1]`},
		{"-1234567", `[-1234567,"x-1234567"]`, `[1,"x[redacted]"]`},
	} {
		got := knowing(t, w, tt.secret).Scrub([]byte(tt.in))
		if string(got) != tt.want || !json.Valid(got) {
			t.Errorf("without %s, %s becomes %s, want %s", tt.secret, tt.in, got, tt.want)
		}
	}
	doc := []byte(`{"nothing":"secret"}`)
	if got := knowing(t, w, "another one").Scrub(doc); !bytes.Equal(got, doc) || &got[0] != &doc[0] {
		t.Errorf("%s becomes %s", doc, got)
	}
}
