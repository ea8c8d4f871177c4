package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// files makes a directory with files of the given texts.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestListAgent(t *testing.T) {
	keep := []string{
		"index.ts", "package.json", "node_modules/forge/key.js", "data/cities.json", "data/openapi.json", ".eslintrc", "environment.ts", "keys.ts",
		"data/keyboard.json", ".adk/settings.json", "eval_history/a.json", "docs.artifacts/a",
	}
	drop := []string{
		".env", ".env.local", "prod.env", "sub/.ENV", ".git/config", "sub/.git/HEAD", "sessions.db", "sessions.db-wal", "x.sqlite3", "sessions.db.key", "tls.pem",
		"id_rsa", ".npmrc", "key.json", "login.json", "client.json", ".ssh/config",
		"odd.json", "account", "ring.json", "ring.txt", "wrapped.json", "snake.json", "sessions.db.artifacts/u/file", "data/X.SQLITE3.artifacts/u/file",
		".adk/eval_history/a.json", "sub/.adk/eval_history/b.json",
		"sessions", "sessions-wal", "sessions.artifacts/u/file", "old.db.bak", "signing", ".env-prod", ".env_old", ".dev.vars",
	}
	texts := map[string]string{
		"data/openapi.json": `{"paths": {"/token": {"client_secret": "string", "private_key": {}}}}`,
		// SQLite files, and keys, by any name.
		"sessions": "SQLite format 3\x00...", "sessions-wal": "\x37\x7f\x06\x82...", "old.db.bak": "SQLite format 3\x00...",
		"signing":     "-----BEGIN EC PRIVATE KEY-----\n...",
		"key.json":    `{"type": "service_account", "private_key": "-----BEGIN"}`,
		"login.json":  `{"type": "authorized_user", "refresh_token": "1//x"}`,
		"client.json": `{"web": {"client_secret": "x"}}`,
		// Whatever the other members are, and whatever the file is called.
		"odd.json": `{"private_key": "-----BEGIN", "refresh_token": {"a": 1}, "web": "https://example.com", "installed": true}`,
		"account":  "\ufeff\n{\"private_key\": \"-----BEGIN\"}",
		// What parley credentials makes, with and without a key management service.
		"ring.json":          `{"primaryKeyId":1, "key":[{"keyData":{"value":"GiA="}, "keyId":1}]}`,
		"ring.txt":           ` {"key":[{"keyData":{"value":"GiA="}, "keyId":1}], "primaryKeyId":1}`,
		"wrapped.json":       `{"encryptedKeyset":"GiA=", "keysetInfo":{"primaryKeyId":1}}`,
		"snake.json":         `{"primary_key_id":1, "key":[{"key_data":{"value":"GiA="}, "key_id":1}]}`,
		"data/keyboard.json": `{"key": ["a", "b"], "web": "https://example.com", "private_key": {}, "refresh_token": ""}`,
	}
	for _, name := range append(slices.Clone(keep), drop...) {
		if texts[name] == "" {
			texts[name] = "text"
		}
	}
	dir := files(t, texts)
	for link, target := range map[string]string{"inner": "data/cities.json", "outer": "../elsewhere", "absolute": "/etc/passwd"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	list, leftOut, err := listAgent(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range list {
		got = append(got, filepath.ToSlash(one.name))
	}
	want := append(keep, "inner")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deployed (-want +got):\n%s", diff)
	}
	// A directory stands for all that is in it.
	if want := len(drop) + 2; len(leftOut) != want {
		t.Errorf("%d left out, want %d: %q", len(leftOut), want, leftOut)
	}
}

// An agent without its main file is not deployed, also if that is a link that
// leads to what is left out.
func TestMainFile(t *testing.T) {
	for link, bad := range map[string]bool{"../shared/index.ts": true, "key.pem": true, "hop.ts": true, "agent.ts": false, "lib/main.ts": false} {
		dir := filepath.Join(files(t, map[string]string{"shared/index.ts": "", "weather/agent.ts": "", "weather/key.pem": "", "weather/lib/main.ts": "", "program": "MZ"}), "weather")
		for name, target := range map[string]string{"index.ts": link, "hop.ts": "../shared/index.ts"} {
			if err := os.Symlink(filepath.FromSlash(target), filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
		}
		o := Options{AgentDir: dir, Port: 8000}
		_, err := o.image(&Env{Executable: "none", Version: "v1.2.3"}, "", nil)
		if refused := err != nil && strings.Contains(err.Error(), "index.ts"); refused != bad || err != nil && !bad {
			t.Errorf("%s: %v", link, err)
		}
	}
}

// A name cannot become an instruction, or another argument.
func TestDockerfileQuotes(t *testing.T) {
	plain := strings.Split((&image{program: "x", app: "weather", access: "public", variables: []flag{{"A", "b"}}}).dockerfile(), "\n")
	rapid.Check(t, func(rt *rapid.T) {
		app := awkward().Draw(rt, "app")
		if checkAppName(app) != nil {
			return
		}
		lines := strings.Split((&image{program: "x", app: app, access: "public", variables: []flag{{"A", app}}}).dockerfile(), "\n")
		if len(lines) != len(plain) {
			rt.Fatalf("%q has %d lines: %q", app, len(lines), lines)
		}
		for i, line := range lines {
			switch word, rest, _ := strings.Cut(line, " "); word {
			case "CMD":
				var args []string
				if err := json.Unmarshal([]byte(rest), &args); err != nil || !slices.Equal(args, []string{"api_server", "--agent_dir", "/agents/" + app, "--host", "0.0.0.0", "--port", "0", "--access", "public"}) {
					rt.Errorf("%q became %s, %v", app, rest, err)
				}
			case "ENV":
				value, ok := strings.CutPrefix(rest, "A=")
				if got := unquoteDocker(value); !ok || got != app {
					rt.Errorf("%q became %q", app, got)
				}
			default:
				if line != plain[i] {
					rt.Errorf("%q changes %q to %q", app, plain[i], line)
				}
			}
		}
	})
}

// unquoteDocker reads a value in double quotes as a builder does. A variable
// in it would be replaced.
func unquoteDocker(value string) string {
	inner, begins := strings.CutPrefix(value, `"`)
	inner, ends := strings.CutSuffix(inner, `"`)
	if !begins || !ends {
		return "not quoted: " + value
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '\\':
			i++
			if i == len(inner) {
				return "escapes the end: " + value
			}
			b.WriteByte(inner[i])
		case '"', '$':
			return "means something: " + value
		default:
			b.WriteByte(inner[i])
		}
	}
	return b.String()
}

// On machines whose own program cannot run in the image, a release is built in
// it, and other builds are refused.
func TestProgram(t *testing.T) {
	dir := files(t, map[string]string{"index.ts": "", "program": "MZ"})
	for version, want := range map[string]string{
		"v1.2.3": "parley@v1.2.3\n", "v1.2.3-rc.1": "parley@v1.2.3-rc.1\n", "devel": "", "v0.0.0-20261115105306-abcdef123456+dirty": "", "v1\nRUN x": "",
		"v0.0.0-20261115105306-abcdef123456": "", "v1.2.4-0.20261115105306-abcdef123456": "", "v1.2.3-rc.1.0.20261115105306-abcdef123456": "",
	} {
		o := Options{AgentDir: dir, Port: 8000, WithUI: true, AllowProcesses: true}
		im, err := o.image(&Env{Executable: filepath.Join(dir, "program"), Version: version}, "", nil)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "--binary") {
				t.Errorf("%s: %v", version, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text := im.dockerfile()
		if !strings.Contains(text, want) || !strings.Contains(text, "COPY --from=build /go/bin/parley /parley\n") || !strings.Contains(text, `"--with_ui", "--allow_processes"`) {
			t.Errorf("%s: %s", version, text)
		}
	}
	// For another architecture it is built on that of the builder, which needs no emulation.
	o := Options{AgentDir: dir, Port: 8080, arch: "arm64"}
	im, err := o.image(&Env{Executable: filepath.Join(dir, "program"), Version: "v1.2.3"}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `FROM --platform=$BUILDPLATFORM golang:1.26 AS build
RUN CGO_ENABLED=0 GOARCH=arm64 go install -trimpath -tags grpcnotrace -ldflags="-s -w" github.com/parley-run/parley/cmd/parley@v1.2.3 && if [ -d /go/bin/linux_arm64 ]; then mv /go/bin/linux_arm64/parley /go/bin/parley; fi
`
	if text := im.dockerfile(); !strings.Contains(text, want) {
		t.Errorf("%s", text)
	}
}
