package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/parley-run/parley"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// command is what a command line does: its exit code and its output.
func command(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(t.Context(), &Env{
		Args: args, Environ: environ, Dir: t.TempDir(),
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
	})
	return code, out.String(), errs.String()
}

// The help of every command is a file in testdata/help, to be read in a diff.
func TestHelp(t *testing.T) {
	root := newRoot(&Env{Stdout: io.Discard, Stderr: io.Discard})
	known := map[string]bool{}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		args := strings.Fields(cmd.CommandPath())[1:]
		name := strings.Join(strings.Fields(cmd.CommandPath()), "_") + ".golden"
		known[name] = true
		t.Run(name, func(t *testing.T) {
			code, got, stderr := command(t, nil, append(args, "--help")...)
			if code != ExitOK || stderr != "" {
				t.Errorf("exit code %d, error %q", code, stderr)
			}
			for line := range strings.Lines(got) {
				if len(line) > 101 {
					t.Errorf("too long for a terminal: %q", line)
				}
			}
			file := filepath.Join("testdata", "help", name)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("run go test ./internal/cli -update if it is meant to be so (-want +got):\n%s", diff)
			}
		})
	}
	root.InitDefaultHelpCmd() // adds the one that was given
	check(root)
	files, err := os.ReadDir(filepath.Join("testdata", "help"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[file.Name()] {
			t.Errorf("%s is the help of no command", file.Name())
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		args string
		want int
	}{
		{"", ExitOK},
		{"help", ExitOK},
		{"version", ExitOK},
		{"run nowhere", ExitFailure},
		{"api_server nowhere", ExitFailure},
		{"api_server --host 0.0.0.0", ExitFailure},
		{"run --replay nowhere", ExitFailure},
		{"serve", ExitUsage},
		{"help serve", ExitUsage},
		{"--nothing", ExitUsage},
		{"version now", ExitUsage},
		{"create", ExitUsage},
		{"create 1", ExitUsage},
		{"api_server --port 70000", ExitUsage},
		{"keys", ExitOK},
		{"keys list", ExitUsage},
		{"keys revoke --keys_db_url sqlite:x.db", ExitUsage},
		{"api_server --access oidc", ExitFailure},
		{"api_server --access keys", ExitFailure},
		{"api_server --oidc_issuer https://i.example", ExitFailure},
		{"api_server --engines -1", ExitUsage},
		{"api_server a --agent-dir b", ExitUsage},
	} {
		if code, _, stderr := command(t, nil, strings.Fields(test.args)...); code != test.want || (code == ExitOK) != (stderr == "") {
			t.Errorf("parley %s: exit code %d, want %d; it says %q", test.args, code, test.want, stderr)
		} else if strings.Contains(stderr, "See 'parley") != (code == ExitUsage) {
			t.Errorf("parley %s: it says %q", test.args, stderr)
		}
	}
}

// A mistake is answered with what is wrong, and what is wanted instead.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	entry, taken, queries := filepath.Join(dir, "index.ts"), filepath.Join(dir, "keys.json"), filepath.Join(dir, "queries.json")
	for file, text := range map[string]string{entry: "", taken: "{}", queries: `{"queries": "Hello"}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agents, err := filepath.Abs("../../examples/weather")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"run " + taken, taken + " is not an agent: an application is a directory with an index.ts"},
		{"api_server --agent_dir " + taken, taken + " is not an agent: an application is a directory with an index.ts"},
		{"create", "the name of the agent must be given"},
		{"create one two", `the argument "two" is one too many`},
		{"version now", `the argument "now" is one too many`},
		{"replay", "the session must be given"},
		{"completion", "the name of a shell: bash, zsh, fish or powershell must be given"},
		{"api_server --max_run_cost much", `invalid argument "much" for "--max_run_cost" flag: must be a number`},
		{"api_server --offline=perhaps", `invalid argument "perhaps" for "--offline" flag: must be true or false`},
		{"keys lst", `there is no command "lst" of parley keys; did you mean list?`},
		{"deploy nothing", `there is no command "nothing" of parley deploy`},
		{"eval", "the directory of the agent must be given"},
		{"keys revoke", "the id of the key must be given"},
		{"run --replay " + queries, queries + `: it must be like {"state": {}, "queries": ["Hello"]}`},
		{"credentials create", "parley: --credential_key_file: there is no key file: give --credential_key_file, or the SQLite file that it is beside with --session_db_url"},
		{"api_server " + agents + " --access oidc", "parley: --oidc_issuer: identity tokens need an issuer"},
		{"api_server " + agents + " --access oidc --oidc_issuer https://i.example", "parley: --oidc_audience: identity tokens need an audience"},
		{"web", "; make one with parley create my_agent\n"},
		{"run", "; make one with parley create my_agent\n"},
		{"api_server nowhere", "parley: --agent_dir: the agent directory"},
		{"api_server " + dir + " --session_db_url nonsense", "parley: --session_db_url: it is not the URL of a store: it must be like sqlite:///"},
		{"api_server " + dir + " --session_db_url foo://secret@x/y", "parley: --session_db_url: there is no store for foo://: it must be like sqlite:///path/to/file.db, postgres://user@host/database or agentengine://ID\n"},
		{"api_server " + dir + " --artifact_service_uri nonsense", "parley: --artifact_service_uri: "},
		{"api_server " + dir + " --session_ttl=-1s", "parley: --session_ttl: must not be negative"},
		{"doctor --session_db_url sqlite://" + dir + "/none.db", "parley: --session_db_url: there is no database"},
		{"keys list --session_db_url sqlite://" + dir + "/none.db", "parley: --session_db_url: there is no database"},
		{"keys revoke x --keys_db_url sqlite://" + dir + "/none.db", "parley: --keys_db_url: there is no database"},
		{"sessions list --session_db_url sqlite://" + dir + "/none.db", "--app_name must be given: it names the application in the database"},
		{"sessions list --session_db_url memory:// --app_name a", "--session_db_url: sessions in memory are gone with their server"},
		{"runs list --app_name a --user=", "--user must not be empty"},
		{"keys list --session_db_url nonsense", "parley: --session_db_url: it is not the URL of a store: it must be like"},
		{"keys list --keys_db_url foo+bar://x", "parley: --keys_db_url: there is no store for foo+bar://: it must be like"},
		{"sessions list --session_db_url foo://x --app_name a", "parley: --session_db_url: there is no store for foo://: it must be like"},
		{"replay s --agent_dir " + agents + " --session_db_url sqlite://" + dir + "/none.db", "parley: --session_db_url: there is no database"},
		{"credentials create --credential_key_file " + taken, taken + " exists already"},
	} {
		if code, _, stderr := command(t, nil, strings.Fields(test.args)...); code == ExitOK || !strings.Contains(stderr, test.want) {
			t.Errorf("parley %s: exit code %d, and it says %q", test.args, code, stderr)
		}
	}
	if made, _ := filepath.Glob(filepath.Join(dir, "none*")); len(made) > 0 {
		t.Errorf("%v was made by a command that only looks", made)
	}
}

// A server that is interrupted while it loads its agents has done what it was
// asked for, too.
func TestInterruptedWhileLoading(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	release, closed := make(chan struct{}), make(chan struct{})
	srv, err := load(ctx, func() (*parley.Server, error) {
		interrupt()
		<-release // the agents take their time
		defer close(closed)
		return nil, errors.New("too late")
	})
	if srv != nil || err != nil {
		t.Errorf("%v, %v", srv, err)
	}
	close(release)
	<-closed
}

func TestReloadIsForTerminals(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		cmd := newAPIServer(&Env{StdoutTerminal: terminal})
		if got, err := cmd.Flags().GetBool("reload_agents"); err != nil || got != terminal {
			t.Errorf("with a terminal %v: reload_agents is %v, %v", terminal, got, err)
		}
	}
}

// Agents may start processes if the operator says so, and where authors try
// agents of their own.
func TestAllowProcesses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(`import { LlmAgent, MCPToolset } from '@google/adk';
		export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash', tools: [new MCPToolset({ serverParams: { command: 'true' } })] });`), 0o600); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	const yes, no = "PARLEY_ALLOW_PROCESSES=true", "PARLEY_ALLOW_PROCESSES=false"
	for _, test := range []struct {
		args, variable string
		allowed        bool
	}{
		{"run", "", true},
		{"run --allow_processes=false", "", false},
		{"run", no, false},
		{"run --allow-processes", no, true},
		{"web --port 0", "", true},
		{"web --port 0 --host localhost", "", true},
		{"web --port 0 --host localhost", no, false},
		{"web --port 0 --host 0.0.0.0 --access public", "", false},
		{"web --port 0 --access public", "", false},
		{"web --port 0 --host 0.0.0.0 --access public --allow_processes", "", true},
		{"api_server --port 0", "", false},
		{"api_server --port 0 --with_ui", "", false},
		{"api_server --port 0 --allow_processes", "", true},
		{"api_server --port 0", yes, true},
	} {
		var stderr bytes.Buffer
		args := append(strings.Fields(test.args), "--agent_dir", dir)
		Main(done, &Env{Args: args, Environ: []string{test.variable}, Dir: dir, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr})
		if got := !strings.Contains(stderr.String(), "--allow_processes (Config.Scripts.AllowProcesses in Go)"); got != test.allowed {
			t.Errorf("parley %s with %q: allowed %v, want %v: %s", test.args, test.variable, got, test.allowed, stderr.String())
		}
	}
}

// The memory of an application is the operator's to set, with every command that
// runs one.
func TestEngineMemory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(`import { LlmAgent } from '@google/adk';
		export const kept = new Uint8Array(48 << 20).fill(1);
		export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash' });`), 0o600); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	const out, wrong = "(32 MB)", "--engine_memory: %s bytes are not from 16 MiB to 16 GiB"
	for _, test := range []struct{ args, variable, want string }{
		{"run", "", ""},
		{"run --engine_memory 33554432", "", out},
		{"run --engine_memory 100000000", "PARLEY_ENGINE_MEMORY=33554432", ""},
		{"web --port 0", "PARLEY_ENGINE_MEMORY=33554432", out},
		{"api_server --port 0 --engine_memory 33554432", "", out},
		{"api_server --port 0 --engine_memory 100000000", "", ""},
		{"api_server --port 0 --engine_memory 1000", "", fmt.Sprintf(wrong, "1000")},
		{"api_server --port 0 --engine_memory -1", "", fmt.Sprintf(wrong, "-1")},
		{"run --engine_memory 17179869185", "", fmt.Sprintf(wrong, "17179869185")},
	} {
		var stderr bytes.Buffer
		args := append(strings.Fields(test.args), "--offline", "--agent_dir", dir)
		Main(done, &Env{Args: args, Environ: []string{test.variable}, Dir: dir, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr})
		said := stderr.String()
		if !strings.Contains(said, test.want) || test.want == "" && strings.Contains(said, "memory") {
			t.Errorf("parley %s with %q: %q, want %q", test.args, test.variable, said, test.want)
		}
	}
}

// What the code of agents fetches is bounded by a flag of the server.
func TestFetchLimit(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("a", 1001)) }))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(`import { LlmAgent } from '@google/adk';
		export const fetched = await (await fetch('`+srv.URL+`')).text();
		export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash' });`), 0o600); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for limit, want := range map[string]string{"1001": "", "1000": "must not be larger than 1000 bytes; the operator of the server can allow more (--max_model_response_bytes)"} {
		var stderr bytes.Buffer
		args := []string{"api_server", "--port", "0", "--offline", "--max_model_response_bytes", limit, "--agent_dir", dir}
		Main(done, &Env{Args: args, Dir: dir, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr})
		if said := stderr.String(); !strings.Contains(said, want) || want == "" && strings.Contains(said, "larger") {
			t.Errorf("with %s bytes: %q, want %q", limit, said, want)
		}
	}
}

// Who sets PARLEY_ACCESS where the command line says otherwise is told.
func TestAccessOfTheCommandLineWins(t *testing.T) {
	for _, test := range []struct {
		args string
		warn bool
	}{{"--access public", true}, {"--access keys", false}, {"", false}} {
		_, _, stderr := command(t, []string{"PARLEY_ACCESS=keys"}, append([]string{"api_server", "nowhere"}, strings.Fields(test.args)...)...)
		if got := strings.Contains(stderr, "PARLEY_ACCESS"); got != test.warn {
			t.Errorf("%q: it says %q", test.args, stderr)
		}
	}
}

func TestKubernetesServiceIsNotAPort(t *testing.T) {
	cmd := newAPIServer(&Env{})
	env := &Env{Environ: []string{"PARLEY_PORT=9", "PARLEY_PORT=tcp://10.3.240.10:80", "PARLEY_HOST=localhost"}}
	if err := env.defaults(cmd.Flags()); err != nil {
		t.Fatal(err)
	}
	if got := cmd.Flag("port").Value.String() + cmd.Flag("host").Value.String(); got != "8000localhost" {
		t.Errorf("port and host are %s", got)
	}
}

// The names that similar servers have for flags.
func TestOtherNames(t *testing.T) {
	for arg, want := range map[string]string{"-p=9000": "port", "--reload=true": "reload_agents", "--session_service_uri=x": "session_db_url"} {
		cmd := newAPIServer(&Env{})
		cmd.Flags().SetNormalizeFunc(underscores) // as the root command does
		_, value, _ := strings.Cut(arg, "=")
		if err := cmd.ParseFlags([]string{arg}); err != nil || cmd.Flag(want).Value.String() != value {
			t.Errorf("%s: --%s is %s, error %v", arg, want, cmd.Flag(want).Value, err)
		}
	}
}

func TestRelativePaths(t *testing.T) {
	env := &Env{Dir: filepath.Join("/", "home")}
	if got, want := env.path("a/../b"), filepath.Join("/", "home", "b"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	abs := t.TempDir()
	if got := env.path(abs); got != abs {
		t.Errorf("%s, want %s", got, abs)
	}
}

// Numbers that a flag does not accept are numbers all the same: the error says which ones
// it accepts, on the command line, in the environment and in the file alike.
func TestNumbers(t *testing.T) {
	for _, test := range []struct{ flag, value, want string }{
		{"max_concurrent_runs", "many", "must be a whole number"},
		{"max_concurrent_runs", "1.5", "must be a whole number"},
		{"max_run_tokens", "1e6", "must be a whole number"},
		{"max_run_tokens", "99999999999999999999", "is too large"},
		{"max_run_tokens", "-99999999999999999999", "is too small"},
		{"engines", "-1", "must be a whole number, 0 or more"},
		{"engines", "1.5", "must be a whole number, 0 or more"},
		{"engines", "99999999999999999999", "is too large"},
		{"max_run_cost", "much", "must be a number"},
		{"max_run_cost", "1e999", "is too large"},
		{"max_run_cost", "-1e999", "is too small"},
		{"offline", "perhaps", "must be true or false"},
	} {
		file := filepath.Join(t.TempDir(), "parley.yaml")
		if err := os.WriteFile(file, []byte(test.flag+": '"+test.value+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		variable := variableOf(test.flag)
		for _, how := range []struct {
			environ, args []string
			want          string
		}{
			{nil, []string{"--" + test.flag + "=" + test.value}, fmt.Sprintf("invalid argument %q for \"--%s\" flag: %s\n", test.value, test.flag, test.want)},
			{[]string{variable + "=" + test.value}, nil, fmt.Sprintf("invalid value %q of the environment variable %s: %s\n", test.value, variable, test.want)},
			{nil, []string{"--config", file}, fmt.Sprintf("%s:1: %s: %s\n", file, test.flag, test.want)},
		} {
			code, _, stderr := command(t, how.environ, append([]string{"api_server", "nowhere"}, how.args...)...)
			if !strings.HasPrefix(stderr, "parley: "+how.want) || code != ExitUsage {
				t.Errorf("--%s %s: exit code %d, it says %q, want %q", test.flag, test.value, code, stderr, how.want)
			}
		}
	}
}

func TestSuggestions(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"port", "", 4},
		{"", "port", 4},
		{"prot", "port", 2},
		{"allow_origin", "allow_origins", 1},
		{"kitten", "sitting", 3},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q it is %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
