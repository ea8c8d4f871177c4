package agentcore

import (
	"testing"
	"unicode/utf8"
)

// FuzzInvocation reads what clients of the runtime send.
func FuzzInvocation(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":"hi","stream":true}`,
		`{"input":"hi"}`,
		`{"input":{"prompt":"hi","other":[1]}}`,
		`{"newMessage":{"role":"user","parts":[{"text":"hi"},{"inlineData":{"data":"eA==","mimeType":"a/b"}}]},"streaming":false}`,
		`{"threadId":"t","runId":"r","messages":[]}`,
		`{"prompt":null,"input":null,"newMessage":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		in, err := readInvocation(doc)
		if err != nil {
			return
		}
		if !utf8.ValidString(in.prompt) {
			t.Errorf("the prompt is %q", in.prompt)
		}
		if in.message != nil {
			if _, err := in.message.MarshalJSON(); err != nil {
				t.Errorf("%v in %s", err, doc)
			}
		}
	})
}
