package aisdk

import "testing"

// FuzzDecode decodes what clients send, and translates the messages.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"c","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"},{"type":"file","url":"data:a/b;base64,eA==","mediaType":"a/b"}]}]}`,
		`{"id":"c","messages":[{"role":"assistant","parts":[{"type":"tool-x","toolCallId":"1","state":"approval-responded","approval":{"id":"2","approved":true}}]}],"answers":{"a":1}}`,
		`{"id":"c","trigger":"regenerate-message","messageId":"a","messages":[{}],"tools":{"a":{"parameters":{}}}}`,
		`{"id":"c","messages":[{}],"tools":[{"name":"a","inputSchema":null}]}`,
		`{"id":"c","messages":[{}],"tools":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		in, err := decode(doc)
		if err != nil {
			return
		}
		if in.ID == "" || len(in.Messages) == 0 || in.Trigger != submit && in.Trigger != regenerate {
			t.Errorf("decoded %s", doc)
		}
		in.continued()
		c := &chat{in: in}
		c.given()
		c.answerID()
		for i := range in.Messages {
			if content, err := in.Messages[i].content(i); err == nil {
				if _, err := content.MarshalJSON(); err != nil {
					t.Errorf("%v in %s", err, doc)
				}
			}
		}
	})
}
