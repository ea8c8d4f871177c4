package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The document in JSON has what the files say.
func TestUpToDate(t *testing.T) {
	t.Parallel()
	have, err := os.ReadFile("../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := convert("../openapi", &want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want.Bytes()) {
		t.Error("openapi.json differs from the files in openapi: run make api")
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	const main = "openapi: 3.0.3\npaths:\n  /b: {get: {}}\ncomponents:\n  schemas:\n    B: {type: object}\n"
	for name, test := range map[string]struct{ part, want string }{
		"members":        {"paths:\n  /a: {get: {}}\ncomponents:\n  schemas:\n    A: {type: object}\n  examples:\n    E: {value: 1}\n", `{"openapi":"3.0.3","paths":{"/b":{"get":{}},"/a":{"get":{}}},"components":{"schemas":{"B":{"type":"object"},"A":{"type":"object"}},"examples":{"E":{"value":1}}}}`},
		"a path twice":   {"paths:\n  /b: {post: {}}\n", "/paths//b is defined in another file"},
		"a schema twice": {"components:\n  schemas:\n    B: {type: string}\n", "/components/schemas/B is defined in another file"},
		"not YAML":       {"paths: [", "part.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{mainFile: main, "part.yaml": test.part} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			err := convert(dir, &out)
			got := strings.NewReplacer(" ", "", "\n", "").Replace(out.String())
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
