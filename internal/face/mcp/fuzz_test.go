package mcp

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/internal/face"
)

// No message makes the decoders panic, and what they accept is complete.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"message":"m","session":"s","answers":{"q":true}}}}`), "artifact:///s/a%20b/c", "AAAA.00")
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","result":{"action":"accept","content":{"approved":true}}}`), "artifact:///", "n-x")
	f.Fuzz(func(t *testing.T, doc []byte, uri, state string) {
		m, err := readMessage(doc)
		if err == nil && m.Method == "" && len(m.ID) == 0 {
			t.Error("a message without a method and an id is accepted")
		}
		for _, own := range []bool{false, true} {
			if a, err := readArguments(doc, own); err == nil && a == nil {
				t.Error("there are no arguments")
			}
		}
		if id, name, ok := parseURI(uri); ok {
			if id2, name2, ok := parseURI(artifactURI(id, name)); !ok || id2 != id || name2 != name {
				t.Errorf("%q and %q become %q and %q", id, name, id2, name2)
			}
		}
		_, _, _ = readState(state)
		readConnection(state)
		decodeHeader(state)
		for _, kind := range []face.QuestionKind{face.Confirmation, face.Input, face.Login} {
			q := &face.Question{ID: "q", Kind: kind, Schema: json.RawMessage(doc)}
			if json.Valid(doc) {
				if schema, _ := formOf(q, newestLegacy); !json.Valid(schema) {
					t.Errorf("the form is %s", schema)
				}
			}
			replyTo(q, doc, newestLegacy)
		}
		if len(doc) > 0 && json.Valid(doc) && !json.Valid(inputSchema(doc)) {
			t.Error("the schema is not JSON")
		}
	})
}
