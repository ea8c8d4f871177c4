package agui

import "testing"

// FuzzInput reads the bodies of requests. What is accepted can be made into events.
func FuzzInput(f *testing.F) {
	for _, doc := range []string{
		`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"state":{"a":1},"context":[{"description":"d","value":"v"}]}`,
		`{"threadId":"t","runId":"r","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"id":"b","role":"tool","toolCallId":"c","content":"ok"},{"role":"user","content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]}]}`,
		`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":[{"type":"binary","mimeType":"a/b","data":"aGk="},{"type":"binary","url":"data:,x"}]}],"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}}]}`,
		`{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"f","description":"d","parameters":{}}],"protocolVersion":"1.0","state":3}`,
		`{"thread_id":"t"}`, `[]`, `{"threadId":"t","runId":"r","messages":{}}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		in, err := readInput(doc)
		if err != nil {
			return
		}
		for _, ev := range in.history() {
			if _, err := ev.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range in.fresh() {
			if m.role == "assistant" {
				t.Fatal("a message of the assistant is not fresh")
			}
		}
	})
}
