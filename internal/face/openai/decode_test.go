package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/session"
)

// Where a text is cut does not depend on the pieces in which it arrives.
func TestCutter(t *testing.T) {
	t.Parallel()
	text := "Once  upon a\n\n    time there was " + strings.Repeat("é", 70) + " end"
	var want []string
	c := &cutter{}
	c.add(text, func(delta string) { want = append(want, delta) })
	c.flush(func(delta string) { want = append(want, delta) })
	first := []string{"Once ", " upon ", "a\n", "\n    time ", "there ", "was ", strings.Repeat("é", 32), strings.Repeat("é", 32), "éééééé ", "end"}
	if !slices.Equal(want, first) {
		t.Fatalf("%q", want)
	}
	runes := []rune(text)
	for size := 1; size < len(runes); size++ {
		var got []string
		c := &cutter{}
		for piece := range slices.Chunk(runes, size) {
			c.add(string(piece), func(delta string) { got = append(got, delta) })
		}
		c.flush(func(delta string) { got = append(got, delta) })
		if !slices.Equal(got, want) {
			t.Errorf("pieces of %d: %q", size, got)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(responseID(session.Key{App: "weather", ID: "s 1"}, "e-1"))
	f.Add("resp_")
	f.Add("resp_AAAA")
	f.Fuzz(func(t *testing.T, id string) {
		key, run, err := parseID(id, "user")
		if err != nil {
			return
		}
		again, other, err := parseID(responseID(key, run), "user")
		if err != nil || again != key || other != run {
			t.Errorf("%q is %v %q, and then %v %q: %v", id, key, run, again, other, err)
		}
	})
}

// FuzzRequest checks that every request that can be read has a response that is JSON.
func FuzzRequest(f *testing.F) {
	for _, doc := range []string{
		`{"model":"m","input":"hello","tools":[{"type":"function","name":"f","parameters":{}}],"metadata":{"a":"b"},"temperature":0.5}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA=="}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]}`,
		`{"model":"m","input":[{"type":"parley:tool_call","call_id":"c","name":"f","arguments":"{}","output":"x"},{"type":"parley:answer","call_id":"c","approved":true}]}`,
		`{"model":"m","messages":[{"role":"user","content":"hello"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}],"stream_options":{"include_usage":true}}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, read := range []func([]byte) (*request, error){readResponse, readChat} {
			in, err := read(doc)
			if err != nil {
				continue
			}
			about := &head{id: "resp_1", model: in.model, echo: in.echo}
			if object := about.object(&outcome{status: "completed"}); !json.Valid(object) {
				t.Errorf("not JSON: %s", object)
			}
			history, fresh := split(in.items)
			events, open := past(history, fresh, "root")
			for _, ev := range events {
				if _, err := ev.AppendJSON(nil); err != nil {
					t.Errorf("an event cannot be encoded: %v", err)
				}
				for _, call := range ev.FunctionCalls() {
					open = slices.DeleteFunc(open, func(id string) bool { return id == call.ID })
				}
			}
			if len(open) > 0 {
				t.Errorf("calls are open that are not in the history: %q", open)
			}
		}
	})
}
