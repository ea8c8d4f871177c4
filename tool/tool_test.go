package tool_test

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/tool"
)

// stored is the state before a call.
type stored map[string]json.RawMessage

func (s stored) Get(key string) (json.RawMessage, bool) { v, ok := s[key]; return v, ok }
func (s stored) All() map[string]json.RawMessage        { return maps.Clone(s) }

func TestState(t *testing.T) {
	base := stored{"name": json.RawMessage(`"Ada"`), "age": json.RawMessage(`36`), "user:lang": json.RawMessage(`"en"`)}
	actions := &event.Actions{}
	s := tool.NewState(base, actions)

	if diff := cmp.Diff(map[string]json.RawMessage(base), s.All()); diff != "" {
		t.Errorf("untouched: -want +got:\n%s", diff)
	}
	if actions.StateDelta != nil {
		t.Errorf("reading changed %s", actions.StateDelta)
	}
	for key, value := range map[string]any{"age": 37, "temp:list": []string{"a"}, "user:lang": nil, "raw": json.RawMessage("{ \"a\": 1 }")} {
		if err := s.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	s.Delete("name")
	s.Delete("never there")
	if err := s.Set("gone again", 1); err != nil {
		t.Fatal(err)
	}
	s.Delete("gone again")

	// The log must tell deletions from keys that were not touched.
	if diff := cmp.Diff(map[string]json.RawMessage{
		"age": json.RawMessage(`37`), "temp:list": json.RawMessage(`["a"]`), "user:lang": json.RawMessage(`null`), "raw": json.RawMessage(`{"a":1}`),
		"name": json.RawMessage(`null`), "never there": json.RawMessage(`null`), "gone again": json.RawMessage(`null`),
	}, actions.StateDelta); diff != "" {
		t.Errorf("delta: -want +got:\n%s", diff)
	}
	all := s.All()
	if diff := cmp.Diff(map[string]json.RawMessage{
		"age": json.RawMessage(`37`), "temp:list": json.RawMessage(`["a"]`), "raw": json.RawMessage(`{"a":1}`),
	}, all); diff != "" {
		t.Errorf("all: -want +got:\n%s", diff)
	}
	clear(all)
	if len(base) != 3 || string(base["age"]) != "36" {
		t.Errorf("the store changed: %s", base)
	}

	var age int
	if ok, err := s.Get("age", &age); !ok || err != nil || age != 37 {
		t.Errorf("age: got %d, %t and %v", age, ok, err)
	}
	for _, key := range []string{"name", "user:lang", "gone again", "never there", "unknown"} {
		into := "as it was"
		if ok, err := s.Get(key, &into); ok || err != nil || into != "as it was" {
			t.Errorf("%s: got %q, %t and %v", key, into, ok, err)
		}
	}
	if ok, err := s.Get("raw", &age); !ok || err == nil {
		t.Errorf("an object as int: got %t and %v", ok, err)
	}
	if err := s.Set("age", math.NaN()); err == nil {
		t.Error("NaN was taken")
	}
	if v, ok := s.Raw("age"); !ok || string(v) != `37` {
		t.Errorf("a refused value left %s, %t", v, ok)
	}
}

// A store may have nothing at all.
func TestStateOverNothing(t *testing.T) {
	s := tool.NewState(stored(nil), &event.Actions{StateDelta: map[string]json.RawMessage{"a": json.RawMessage(`1`)}})
	if diff := cmp.Diff(map[string]json.RawMessage{"a": json.RawMessage(`1`)}, s.All()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestResult(t *testing.T) {
	type report struct {
		Status string `json:"status"`
	}
	for _, tt := range []struct {
		name  string
		value any
		want  string // empty for an error
	}{
		{"struct", report{"success"}, `{"status":"success"}`},
		{"pointer", &report{"success"}, `{"status":"success"}`},
		{"map", map[string]any{"b": 1, "a": nil}, `{"a":null,"b":1}`},
		{"empty map", map[string]any{}, `{}`},
		{"string", "sunny", `{"result":"sunny"}`},
		{"string that looks like an object", `{"a":1}`, `{"result":"{\"a\":1}"}`},
		{"number", 25, `{"result":25}`},
		{"slice", []int{1, 2}, `{"result":[1,2]}`},
		{"empty slice", []int{}, `{"result":[]}`},
		{"true", true, `{"result":true}`},
		{"nil", nil, `{"result":null}`},
		{"nil pointer", (*report)(nil), `{"result":null}`},
		{"raw object", json.RawMessage("\n\t{ \"a\" : 1.0, \"b\":\"\\ud83d\" }\n"), `{"a":1.0,"b":"\ud83d"}`},
		{"raw array", json.RawMessage(` [1, 2.0] `), `{"result":[1,2.0]}`},
		{"empty raw value", json.RawMessage(nil), `{"result":null}`},
		// Inside of an event these would break the run.
		{"broken raw object", json.RawMessage(`{"a":`), ``},
		{"two raw objects", json.RawMessage(`{}{}`), ``},
		{"raw text", json.RawMessage(`sunny`), ``},
		{"raw object that is not UTF-8", json.RawMessage("{\"a\":\"\xff\"}"), ``},
		{"raw value in a map", map[string]json.RawMessage{"a": json.RawMessage(`{ "b" : 1.0 }`)}, `{"a":{"b":1.0}}`},
		{"raw value in a map that is not UTF-8", map[string]json.RawMessage{"a": json.RawMessage("\"\xff\"")}, ``},
		{"raw value in a map that is too deep", map[string]json.RawMessage{"a": json.RawMessage(strings.Repeat("[", 9500) + strings.Repeat("]", 9500))}, ``},
		{"function", func() {}, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := toolresult.Of(tt.value)
			if string(got) != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("got %s and %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestErrorResult(t *testing.T) {
	for message, want := range map[string]string{
		"":                  `{"status":"error","error_message":""}`,
		"no \"such\"\ncity": `{"status":"error","error_message":"no \"such\"\ncity"}`,
		"\xff":              `{"status":"error","error_message":"�"}`,
	} {
		if got := string(toolresult.Error(message)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestStateChanges(t *testing.T) {
	base := stored{"n": json.RawMessage("2"), "half": json.RawMessage("0.5"), "list": json.RawMessage(`["a" ]`), "text": json.RawMessage(`"x"`), "most": json.RawMessage("9223372036854775807")}
	actions := &event.Actions{}
	s := tool.NewState(base, actions)
	do := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
	}
	do(s.Increment("n", 1), s.Increment("n", 2), s.Increment("half", 1), s.Increment("new", -1), s.Increment("most", 1),
		s.Append("list", "b", 3), s.Append("fresh"), s.Append("fresh", map[string]int{"x": 1}),
		s.Set("both", 5), s.Increment("both", 1), s.Increment("gone", 1), s.Set("gone", 7))
	want := map[string]string{
		"n": "5", "half": "1.5", "new": "-1", "most": "9223372036854775807", "list": `["a","b",3]`, "fresh": `[{"x":1}]`, "both": "6", "gone": "7", "text": `"x"`,
	}
	want["most"] = "9223372036854775807"
	for key, v := range want {
		got, _ := s.Raw(key)
		if key == "most" { // which has become a fraction
			if string(got) == v || len(got) == 0 {
				t.Errorf("%s is %s", key, got)
			}
			continue
		}
		if string(got) != v || string(s.All()[key]) != v {
			t.Errorf("%s is %s, and %s among all, want %s", key, got, s.All()[key], v)
		}
	}
	for what, err := range map[string]error{
		"text": s.Increment("text", 1), "list": s.Increment("list", 1), "number": s.Append("n", 1), "user": s.Increment("user:n", 1), "app": s.Append("app:l", 1),
		"secret": s.Append("secret:l", 1), "no number": s.Increment("n", math.NaN()), "no JSON": s.Append("list", func() {}),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	// Another writer has changed the values in the meantime.
	base["n"], base["list"] = json.RawMessage("10"), json.RawMessage("[]")
	if err := actions.Resolve(base.Get); err != nil || len(actions.StateChanges) > 0 {
		t.Fatal(err, actions.StateChanges)
	}
	if d := actions.StateDelta; string(d["n"]) != "13" || string(d["list"]) != `["b",3]` || string(d["both"]) != "6" || string(d["gone"]) != "7" {
		t.Errorf("resolved to %s", d)
	}
}
