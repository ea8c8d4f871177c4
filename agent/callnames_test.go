package agent

import (
	"slices"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// A call has one id in all pieces of a response and in the whole, in whatever order
// they have the calls.
func TestCallNamesInAnyOrder(t *testing.T) {
	t.Parallel()
	content := func(given ...string) *event.Content {
		c := &event.Content{Role: event.RoleModel}
		for _, id := range given {
			c.Parts = append(c.Parts, &event.Part{Text: "and"}, &event.Part{FunctionCall: &event.FunctionCall{ID: id, Name: "f"}})
		}
		return c
	}
	var names callNames
	inv := &invocation{Invocation: &agentrt.Invocation{Log: agentrt.NewPrivateLog(nil, nil)}, ids: &callIDs{}}
	replaced := func(given ...string) (ids []string) {
		c := content(given...)
		for _, call := range names.replace(inv, c).FunctionCalls() {
			ids = append(ids, call.ID)
		}
		for i, call := range c.FunctionCalls() {
			if call.ID != given[i] {
				t.Errorf("the model's own call has the id %q, want %q", call.ID, given[i])
			}
		}
		return ids
	}
	first := replaced("0", "0", "1")
	if first[0] == first[1] || first[1] == first[2] || first[0] == first[2] {
		t.Errorf("calls share ids: %q", first)
	}
	for _, tt := range []struct {
		given []string
		want  []int // of first
	}{
		{[]string{"0", "0", "1"}, []int{0, 1, 2}},
		{[]string{"1"}, []int{2}},
		{[]string{"1", "0", "0"}, []int{2, 0, 1}},
		{[]string{"0", "1", "0"}, []int{0, 2, 1}},
		{[]string{"0", "1", "0", "1", "2"}, []int{0, 2, 1, 3, 4}},
		{[]string{"2", "1", "1", "0"}, []int{4, 2, 3, 0}},
		{[]string{"0", "0", "1", "1", "2"}, []int{0, 1, 2, 3, 4}},
	} {
		got := replaced(tt.given...)
		for i, at := range tt.want {
			if at == len(first) {
				first = append(first, got[i])
			}
			if got[i] != first[at] {
				t.Errorf("%q: %q, want the ids %v of %q", tt.given, got, tt.want, first)
			}
		}
	}
	if slices.Sort(first); len(slices.Compact(first)) != 5 {
		t.Errorf("calls share ids: %q", first)
	}
	if names.replace(inv, nil) != nil {
		t.Error("no content becomes one")
	}
}
