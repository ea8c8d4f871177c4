package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// The cryptography of node:crypto and of WebCrypto is that of Node.js: what is
// deterministic is the same, and each accepts the keys, signatures and secrets of the
// other.
func TestCryptoAgainstNode(t *testing.T) {
	t.Parallel()
	node := nodejs.Node(t)
	body, err := os.ReadFile("testdata/crypto.js")
	if err != nil {
		t.Fatal(err)
	}
	const imports = `import crypto from "node:crypto";`
	ours := newSandbox(t, Options{}, imports, string(body))
	dir := t.TempDir()
	program := imports + "\nimport { readFileSync } from 'node:fs';\nasync function main(params) {\n" + string(body) +
		"\n}\nconsole.log(JSON.stringify(await main(JSON.parse(readFileSync(process.argv[2])))));\n"
	if err := os.WriteFile(filepath.Join(dir, "main.mjs"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	theirs := func(params any) string {
		given, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "params.json"), given, 0o600); err != nil {
			t.Fatal(err)
		}
		// Node.js 20 deadlocks when it collects garbage while it
		// exports a key, so it gets a young generation that does not fill up.
		return nodejs.Run(t, dir, node, "--min-semi-space-size=64", "--max-semi-space-size=64", "main.mjs", "params.json")
	}
	type made struct {
		Same  map[string]any    `json:"same"`
		Other []json.RawMessage `json:"other"`
	}
	read := func(text string) (out made) {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%v: %.300s", err, text)
		}
		return out
	}
	mine, reference := read(ours.must(t, map[string]any{})), read(theirs(map[string]any{}))
	if diff := cmp.Diff(reference.Same, mine.Same); diff != "" {
		t.Errorf("Node.js (-), this runtime (+):\n%s", diff)
	}
	check := func(who, text string) {
		var lines []string
		if err := json.Unmarshal([]byte(text), &lines); err != nil {
			t.Fatalf("%s: %v: %.300s", who, err, text)
		}
		for _, line := range lines {
			if want := !strings.Contains(line, "other text"); strings.HasSuffix(line, " true") != want {
				t.Errorf("%s: %s", who, line)
			}
		}
		if len(lines) < 50 {
			t.Errorf("%s checks only %d things", who, len(lines))
		}
	}
	check("this runtime", ours.must(t, map[string]any{"other": reference.Other}))
	check("Node.js", theirs(map[string]any{"other": mine.Other}))
}
