package event_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
)

// codec is what Event and Content have in common.
type codec interface {
	json.Marshaler
	json.Unmarshaler
}

// fuzz makes sure that whatever is accepted can be written, and that what was
// written means the same to the next reader: a session is read far more often
// than it is run.
func fuzz(t *testing.T, doc []byte, in, out codec) {
	t.Helper()
	if in.UnmarshalJSON(doc) != nil {
		return
	}
	first, err := in.MarshalJSON()
	if err != nil {
		t.Fatalf("accepted %q but cannot write it: %v", doc, err)
	}
	checkStable(t, first, out)
}

func FuzzEvent(f *testing.F) {
	for _, tt := range bothSpellings {
		f.Add([]byte(tt.camel))
		f.Add([]byte(tt.snake))
	}
	for _, e := range []*event.Event{call(), response(), answer(), {}} {
		doc, err := e.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	f.Add([]byte(`{"actions":{"stateDelta":{"\ud83d":"\ud83d","":1e400},"artifactDelta":{"a":-0.0}},"timestamp":-0,"output":[{}],"output":null}`))
	f.Fuzz(func(t *testing.T, doc []byte) { fuzz(t, doc, new(event.Event), new(event.Event)) })
}

func FuzzContent(f *testing.F) {
	for _, response := range []string{`{}`, `"{\"a\":\"\\ud83d\"}"`, `"x"`, `1e400`, `[[]]`, `" {} "`, `"{}{}"`} {
		f.Add([]byte(`{"parts":[{"functionResponse":{"response":` + response + `}}]}`))
	}
	for _, part := range []string{`{"text":"\u0000\ud83d"}`, `{"inline_data":{"data":"-_8"},"thought_signature":"+/8="}`, `{"toolCall":1,"thought":true}`, `{}`, `null`} {
		f.Add([]byte(`{"role":"user","parts":[{"text":""},` + part + `]}`))
	}
	f.Add([]byte(`{"parts":[{"functionCall":{"args":` + strings.Repeat(`{"a":[`, 20) + strings.Repeat(`]}`, 20) + `}}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) { fuzz(t, doc, new(event.Content), new(event.Content)) })
}
