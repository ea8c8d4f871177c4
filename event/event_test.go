package event_test

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
)

func TestActionsMerge(t *testing.T) {
	type rawMap = map[string]json.RawMessage
	full := func() *event.Actions {
		return &event.Actions{
			StateDelta: rawMap{"a": raw(`1`), "b": raw(`2`)}, ArtifactDelta: map[string]int64{"f": 1, "g": 1},
			RequestedAuthConfigs: rawMap{"c1": raw(`{}`)}, RequestedToolConfirmations: rawMap{"c2": raw(`{}`)},
			TransferToAgent: "x", RewindBeforeInvocationID: "e-1", SkipSummarization: true, Escalate: true, EndOfAgent: true,
			Extra: rawMap{"route": raw(`"r"`)},
		}
	}
	tests := []struct {
		name           string
		into, from, is *event.Actions
	}{
		{"nothing into nothing", &event.Actions{}, &event.Actions{}, &event.Actions{}},
		{"nothing into all", full(), &event.Actions{}, full()},
		{"all into nothing", &event.Actions{}, full(), full()},
		{"the other wins", full(), &event.Actions{
			StateDelta: rawMap{"b": raw(`null`), "c": raw(`3`)}, ArtifactDelta: map[string]int64{"f": 2},
			RequestedAuthConfigs: rawMap{"c1": raw(`{"a":1}`)}, RequestedToolConfirmations: rawMap{"c3": raw(`{}`)},
			TransferToAgent: "y", RewindBeforeInvocationID: "e-2", Extra: rawMap{"route": raw(`"s"`), "compaction": raw(`{}`)},
		}, &event.Actions{
			StateDelta: rawMap{"a": raw(`1`), "b": raw(`null`), "c": raw(`3`)}, ArtifactDelta: map[string]int64{"f": 2, "g": 1},
			RequestedAuthConfigs: rawMap{"c1": raw(`{"a":1}`)}, RequestedToolConfirmations: rawMap{"c2": raw(`{}`), "c3": raw(`{}`)},
			TransferToAgent: "y", RewindBeforeInvocationID: "e-2", SkipSummarization: true, Escalate: true, EndOfAgent: true,
			Extra: rawMap{"route": raw(`"s"`), "compaction": raw(`{}`)},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.into.Merge(tt.from)
			if diff := cmp.Diff(tt.is, tt.into); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("maps are not shared", func(t *testing.T) {
		into, from := &event.Actions{}, full()
		into.Merge(from)
		into.Merge(&event.Actions{StateDelta: rawMap{"a": raw(`9`)}, ArtifactDelta: map[string]int64{"f": 9}})
		if diff := cmp.Diff(full(), from); diff != "" {
			t.Errorf("the source changed: -want +got:\n%s", diff)
		}
	})
}

func TestActionsEmpty(t *testing.T) {
	one := map[string]json.RawMessage{"a": raw(`1`)}
	for name, a := range map[string]event.Actions{
		"state": {StateDelta: one}, "artifacts": {ArtifactDelta: map[string]int64{"f": 0}}, "auth": {RequestedAuthConfigs: one},
		"confirmations": {RequestedToolConfirmations: one}, "transfer": {TransferToAgent: "x"}, "rewind": {RewindBeforeInvocationID: "e"},
		"skip": {SkipSummarization: true}, "escalate": {Escalate: true}, "end": {EndOfAgent: true}, "extra": {Extra: one},
	} {
		if a.Empty() {
			t.Errorf("%s counts as nothing", name)
		}
	}
	none := map[string]json.RawMessage{}
	for _, a := range []event.Actions{{}, {StateDelta: none, ArtifactDelta: map[string]int64{}, RequestedAuthConfigs: none, Extra: none}} {
		if !a.Empty() {
			t.Errorf("%+v counts as something", a)
		}
	}
}

func TestFinal(t *testing.T) {
	partial := &event.Event{Content: event.Text(event.RoleModel, "Sun"), Partial: true}
	waiting := call()
	waiting.LongRunningToolIDs = []string{"call-1"}
	receipt := response()
	receipt.Actions.SkipSummarization = true
	for _, tt := range []struct {
		name string
		in   *event.Event
		want bool
	}{
		{"text", answer(), true},
		{"no content", &event.Event{}, true},
		{"partial", partial, false},
		{"call", call(), false},
		{"call that is answered later", waiting, true},
		{"response", response(), false},
		{"response that is the answer", receipt, true},
	} {
		if got := tt.in.Final(); got != tt.want {
			t.Errorf("%s: got %t", tt.name, got)
		}
	}
}

func TestContent(t *testing.T) {
	f, g := &event.FunctionCall{Name: "f"}, &event.FunctionCall{Name: "g"}
	r := &event.FunctionResponse{Name: "f"}
	e := &event.Event{Content: &event.Content{Parts: []*event.Part{
		{Text: "hmm", Thought: true},
		{Text: "a"},
		{FunctionCall: f},
		{FunctionResponse: r},
		{InlineData: &event.Blob{}},
		{Extra: map[string]json.RawMessage{"toolCall": raw(`{}`)}},
		{Text: "b"},
		{FunctionCall: g},
	}}}
	if got := e.Content.Text(); got != "ab" {
		t.Errorf("text: got %q", got)
	}
	if diff := cmp.Diff([]*event.FunctionCall{f, g}, e.FunctionCalls()); diff != "" {
		t.Errorf("calls: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]*event.FunctionResponse{r}, e.FunctionResponses()); diff != "" {
		t.Errorf("responses: -want +got:\n%s", diff)
	}
	var none event.Event
	if none.FunctionCalls() != nil || none.FunctionResponses() != nil || none.Content.Text() != "" {
		t.Error("an event without content says something")
	}
	if got := (&event.Content{Parts: []*event.Part{{Text: "hmm", Thought: true}}}).Text(); got != "" {
		t.Errorf("a thought is told: %q", got)
	}
}

func TestInterim(t *testing.T) {
	for doc, want := range map[string]bool{
		``: false, `{}`: false, `[]`: false, `{"status":"success"}`: false, `{"pending":false}`: false, `{"pending":"true"}`: false,
		`{"status":{}}`: false, `{"status":"pending"}`: true, `{"pending":true,"message":"wait"}`: true,
	} {
		if got := (&event.FunctionResponse{Response: raw(doc)}).Interim(); got != want {
			t.Errorf("%s: got %t", doc, got)
		}
	}
	if !(&event.FunctionResponse{WillContinue: true}).Interim() {
		t.Error("willContinue is not looked at")
	}
}

func TestIDs(t *testing.T) {
	for shape, fresh := range map[string]func() string{
		`^[a-z2-7]{16}$`: event.NewID, `^e-[a-z2-7]{24}$`: ident.Invocation, `^p-[a-z2-7]{24}$`: ident.Patch, `^[a-z2-7]{26}$`: ident.Session,
	} {
		seen, re := map[string]bool{}, regexp.MustCompile(shape)
		for range 1000 {
			id := fresh()
			if seen[id] || !re.MatchString(id) {
				t.Fatalf("%q came twice or is not %s", id, shape)
			}
			seen[id] = true
		}
	}
}

func TestSeconds(t *testing.T) {
	if got := event.Seconds(time.Unix(1743712220, 385936789)); got != 1743712220.385936 {
		t.Errorf("got %f", got)
	}
}

var typical = map[string]func() *event.Event{"call": call, "response": response, "answer": answer}

func BenchmarkEncode(b *testing.B) {
	for name, typicalEvent := range typical {
		b.Run(name, func(b *testing.B) {
			e := typicalEvent()
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = e.AppendJSON(dst[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, typicalEvent := range typical {
		b.Run(name, func(b *testing.B) {
			doc, err := typicalEvent().MarshalJSON()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if err := new(event.Event).UnmarshalJSON(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
