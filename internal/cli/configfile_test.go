package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// write writes a file below a directory.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// in runs a command in a directory.
func in(t *testing.T, dir string, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // servers end as soon as they are ready
	var out, errs bytes.Buffer
	code = Main(ctx, &Env{Args: args, Environ: environ, Dir: dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

// A flag comes before its variable, a variable before the file of the agent, this one
// before that of the working directory, and any of them before the default.
func TestConfigPrecedence(t *testing.T) {
	const agent = `import { LlmAgent } from '@google/adk';
		export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash' });`
	// The limit that is out of range is named by its value.
	for _, test := range []struct {
		name, own, working, variable string
		args                         []string
		want                         string
	}{
		{name: "default"},
		{name: "working directory", working: "engine_memory: 4", want: "4"},
		{name: "agent", own: "engine_memory: 3", working: "engine_memory: 4", want: "3"},
		{name: "variable", own: "engine_memory: 3", variable: "PARLEY_ENGINE_MEMORY=2", want: "2"},
		{name: "flag", own: "engine_memory: 3", variable: "PARLEY_ENGINE_MEMORY=2", args: []string{"--engine_memory", "1"}, want: "1"},
		{name: "named", own: "engine_memory: 3", args: []string{"--config", "other.yaml"}, want: "5"},
		{name: "named by a variable", own: "engine_memory: 3", variable: "PARLEY_CONFIG=other.yaml", want: "5"},
		{name: "one file", own: "offline: true", working: "engine_memory: 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "agent/index.ts", agent)
			write(t, dir, "other.yaml", "engine-memory: 5")
			for file, text := range map[string]string{"agent/parley.yaml": test.own, "parley.yaml": test.working} {
				if text != "" {
					write(t, dir, file, text)
				}
			}
			for _, args := range [][]string{{"api_server", "agent", "--port=0"}, {"run", "agent"}, {"run", "agent/index.ts"}, {"web", "--agent_dir=agent", "--port=0"}} {
				_, _, stderr := in(t, dir, []string{test.variable}, append(args, test.args...)...)
				if got := strings.Contains(stderr, "--engine_memory: "+test.want+" bytes"); got != (test.want != "") {
					t.Errorf("%q: it says %q", args, stderr)
				}
			}
		})
	}
}

// The file sets flags of every kind as the command line does.
func TestConfigValues(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "parley.yaml", `# of the server
port: 9000
host: "::1"
session-ttl: 720h          # dashes are fine
record: 0.25
verbose: yes-it-is
`)
	if code, _, stderr := in(t, dir, nil, "api_server"); code != ExitUsage || !strings.Contains(stderr, filepath.Join(dir, "parley.yaml")+":6: verbose: ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	write(t, dir, "parley.yaml", `# of the server
port: 9000
host: "::1"
session-ttl: 720h          # dashes are fine
record: 0.25
verbose: true
session_service_uri: postgres://u:${PASSWORD}@h/${DB}?x=$y
allow_origins: [https://a.example, "https://b.example"]
faces: a2a,mcp
oidc_admin:
- groups=a,b
public_url: >-
  https://c.example
`)
	root := newRoot(&Env{Stdout: io.Discard})
	cmd, _, err := root.Find([]string{"web"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(nil); err != nil {
		t.Fatal(err)
	}
	env := &Env{Dir: dir, Environ: []string{"PASSWORD=p:w", "DB=d"}}
	if err := env.configure(cmd, nil); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range env.config.settings {
		got[s.name] = cmd.Flags().Lookup(s.name).Value.String()
	}
	want := map[string]string{
		"port": "9000", "host": "::1", "session_ttl": "720h0m0s", "record": "0.25", "verbose": "true", "session_db_url": "postgres://u:p:w@h/d?x=$y",
		"allow_origins": "[https://a.example,https://b.example]", "faces": "[a2a,mcp]", "oidc_admin": `["groups=a,b"]`, "public_url": "https://c.example",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"prot: 8000", ":1: there is no flag prot; did you mean port?"},
		{"\nsomething_else: 1", ":2: there is no flag something_else"},
		{"project: p", ":1: there is no flag project"}, // of deployments
		{"config: other.yaml", ":1: there is no flag config"},
		{"port: 70000", ":1: port: must be a number from 0 to 65535"},
		{"access: friends", ":1: access: must be one of local, public, platform, oidc, keys"},
		{"port: [1, 2]", ":1: port: it must be one value, not a list"},
		{"port:", ":1: port: it has no value"},
		{"port: {a: 1}", ":1: port: it must be a value, or a list of values"},
		{"port: 1\nport: 2", "already defined"},
		{"session_db_url: a\nsession-db-url: b", ":2: session_db_url is there twice"},
		{"session_db_url: x${NOT_THERE}", ":1: session_db_url: the environment variable NOT_THERE is not set"},
		{"a: &x 1\nb: *x", "it must be a value"},
		{"just words", ": it must have lines such as port: 8000"},
		{"- port", ": it must have lines such as port: 8000"},
		{"port: 1\n---\nport: 2", ": it must be one document"},
		{"port: \"", ": it is not YAML: "},
		{strings.Repeat("[", 1000), ": it has more than 256 brackets"},
		{strings.Repeat("#", maxConfig+1), "is larger than 64 KiB"},
		{"session_ttl: -1s", "--session_ttl: must not be negative"}, // found by the server, as for flags
	} {
		dir := t.TempDir()
		write(t, dir, "index.ts", "")
		write(t, dir, "parley.yaml", test.text)
		if code, _, stderr := in(t, dir, nil, "api_server"); code == ExitOK || !strings.Contains(stderr, test.want) {
			t.Errorf("%.40q: exit code %d, and it says %q", test.text, code, stderr)
		}
		// Other commands do not care.
		for _, args := range []string{"version", "help", "api_server --help"} {
			if code, _, stderr := in(t, dir, nil, strings.Fields(args)...); code != ExitOK {
				t.Errorf("%.40q: parley %s: %s", test.text, args, stderr)
			}
		}
	}
	if code, _, stderr := command(t, nil, "run", "--config", "nowhere.yaml"); code != ExitUsage || !strings.Contains(stderr, "--config: ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	// A file without values is none.
	for _, text := range []string{"", "# nothing\n", "---\n"} {
		if list, err := parseConfig([]byte(text), nil); len(list) > 0 || err != nil {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
}

// Every command that has flags of agents or of a database reads the file.
func TestConfiguredCommands(t *testing.T) {
	for _, cmd := range newRoot(&Env{}).Commands() {
		reads := false
		for _, one := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
			reads = reads || one.Flags().Lookup("session_db_url") != nil || one.Flags().Lookup("engine") != nil
		}
		if got := cmd.Name() != "deploy" && reads; got != slices.Contains(configured, cmd.Name()) {
			t.Errorf("%s: it reads the file: %v", cmd.Name(), !got)
		}
	}
}

// parley doctor says which file it has read, and a server logs it.
func TestConfigIsNamed(t *testing.T) {
	dir := t.TempDir()
	database := "sqlite:///" + filepath.ToSlash(filepath.Join(dir, "parley.db"))
	if code, _, stderr := command(t, nil, "keys", "create", "--user", "u", "--session_db_url", database); code != ExitOK {
		t.Fatal(stderr)
	}
	file := write(t, dir, "parley.yaml", "session_db_url: "+database)
	if code, stdout, stderr := in(t, dir, nil, "doctor"); code != ExitOK && !strings.Contains(stderr, "context canceled") || !strings.HasPrefix(stdout, file+" sets session_db_url\n") {
		t.Errorf("exit code %d: %s %s", code, stdout, stderr)
	}
	if _, _, stderr := in(t, dir, nil, "api_server", "--session_ttl=-1s"); !strings.Contains(stderr, "file="+file) {
		t.Errorf("it says %q", stderr)
	}
}

// What is deployed reads the file of the agent, unless it has a password.
func TestDeployConfig(t *testing.T) {
	for text, copied := range map[string]bool{
		"session_ttl: 24h\n":                               true,
		"session_db_url: postgres://u:${P}@db/parley\n":    true,
		"session_db_url: postgres://u@db:5432/parley\n":    true,
		"session_db_url: postgres://u:secret@db/parley\n":  false,
		"project: ignored\nport: also by this command\n":   true,
		"session_db_url: 'postgres://:secret@db/parley'\n": false,
	} {
		b := newBench(t)
		b.file("weather/parley.yaml", text)
		code, stdout, stderr := b.deploy("docker", "weather")
		if code != ExitOK {
			t.Fatalf("%q: exit code %d: %s", text, code, stderr)
		}
		_, err := os.Stat(filepath.Join(b.record, "source", "agents", "weather", "parley.yaml"))
		if got := err == nil; got != copied || strings.Contains(stdout, "left out: parley.yaml (a password") == copied {
			t.Errorf("%q: copied %v: %s", text, got, stdout)
		}
	}
}
