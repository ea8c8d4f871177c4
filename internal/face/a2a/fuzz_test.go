package a2a

import (
	"encoding/json"
	"strings"
	"testing"
)

// Whatever a client sends is a message, or an error of the protocol.
func FuzzReadMessage(f *testing.F) {
	for _, doc := range []string{
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"raw":"eA=="},{"url":"data:,x"},{"data":{"a":1}}]}}`,
		`{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"file","file":{"bytes":"eA==","mimeType":"text/plain"}},` +
			`{"kind":"data","data":{"id":"c","name":"n","response":1},"metadata":{"adk_type":"function_response"}}]},"configuration":{"blocking":false}}`,
		`{"request":{"message_id":"m","role":"ROLE_USER","content":[{"file":{"fileWithUri":"https://example.com/x","mimeType":"text/plain"}},{"data":{"data":{"a":1}}}]}}`,
		`{}`, `[]`, ``, `{"message":null}`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, v := range []version{v0, v1, p0} {
			checkMessage(t, doc, v)
		}
	})
}

// checkMessage reads a message, and writes it.
func checkMessage(t *testing.T, doc []byte, v version) {
	t.Helper()
	in, err := readMessage(doc, v)
	if err != nil {
		if _, ok := err.(*failure); !ok { //nolint:errorlint // it is returned as it is
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	if in.id == "" || len(in.parts) == 0 || in.fingerprint() == "" {
		t.Fatalf("%+v", in)
	}
	o := &object{v: v}
	m := &message{id: in.id, user: true}
	for _, p := range in.parts {
		if p.InlineData != nil || p.FileData != nil {
			m.parts = append(m.parts, filePart(p))
		}
	}
	if o.message(m); !json.Valid(o.dst) {
		t.Fatalf("%s", o.dst)
	}
}

func FuzzPlace(f *testing.F) {
	f.Add("MTIzIGlk")
	f.Fuzz(func(t *testing.T, token string) {
		place, err := placeOf(token)
		if err == nil {
			if again, err := placeOf(place.token()); err != nil || again.id != place.id || !again.time.Equal(place.time) {
				t.Fatalf("%+v, %+v, %v", place, again, err)
			}
		}
	})
}

// Whatever a client sends is a config whose values can be headers, or an error of the
// protocol.
func FuzzReadPush(f *testing.F) {
	for _, doc := range []string{
		`{"id":"c","url":"https://example.com/hook","token":"t","authentication":{"scheme":"Bearer","credentials":"x"}}`,
		`{"url":"https://example.com/hook","authentication":{"schemes":["Basic"],"credentials":"eA=="}}`,
		`{"url":"x","token":"a\r\nb"}`, `{"url":null}`, `{}`, `[]`, ``,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := readPush(doc)
		if err != nil {
			if _, ok := err.(*failure); !ok { //nolint:errorlint // it is returned as it is
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, text := range []string{c.Token, c.Scheme, c.Credentials} {
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("%q", text)
			}
		}
		for _, v := range []version{v0, v1, p0} {
			if doc := (&exchange{v: v}).push(nil, "task", c); !json.Valid(doc) || c.URL == "" {
				t.Fatalf("%s", doc)
			}
		}
	})
}
