package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// variable is an environment variable that has no flag.
type variable struct{ names, use string }

// The groups of such variables, in the order of the page.
var variableGroups = []struct {
	title     string
	variables []variable
}{
	{"Models", []variable{
		{"GOOGLE_GENAI_API_KEY, GOOGLE_API_KEY, GEMINI_API_KEY", "key of the Gemini API; the first that is set is used"},
		{"GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GENAI_USE_ENTERPRISE", "`true` to use Vertex AI instead"},
		{"GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION", "project and location of Vertex AI, of managed sessions and of deployments"},
		{"GOOGLE_APPLICATION_CREDENTIALS", "file with Google Cloud credentials"},
		{"GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL", "another address of the Gemini API or of Vertex AI"},
		{"OPENAI_API_KEY, OPENAI_BASE_URL", "key and address of a server with OpenAI's chat completions"},
		{"OLLAMA_HOST, OLLAMA_API_KEY", "address of Ollama (default `localhost:11434`), and its key if it needs one"},
		{"ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL", "key and address of Anthropic"},
	}},
	{"Secrets of the server", []variable{
		{"PARLEY_CREDENTIAL_KEY", "key that seals logins, instead of `--credential_key_file`"},
		{"PARLEY_OIDC_CLIENT_SECRET", "secret of the OpenID Connect client, instead of `--oidc_client_secret_file`"},
	}},
	{"Telemetry", []variable{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "address to export traces and metrics to; nothing is exported without it"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "only `http/protobuf` is there"},
		{"OTEL_TRACES_SAMPLER", "which traces to export; see [observability](observability.md) for this and more of OpenTelemetry's variables"},
		{"OTEL_SDK_DISABLED", "`true` to export nothing"},
		{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "`true` to export messages as well"},
	}},
}

// TestConfiguration keeps docs/configuration.md equal to the flags of the server
// and to the environment variables that the sources name.
func TestConfiguration(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Generated from the commands: go test ./internal/cli -run TestConfiguration -update -->

A server is configured by flags of ` + "`parley api_server` and `parley web`" + `, by environment variables with the same
meaning, or by a file. The command line has precedence over variables, and these over the file. What else these commands do,
and all other commands, are in [command line](cli.md); programs in Go set the same in ` + "`parley.Config`" + `, see
[agents in Go](agents-go.md).

## The file

` + "`parley.yaml`" + ` in the directory of the agent, or else in the working directory, has values of flags by their names; ` + "`--config`" + `
and ` + "`PARLEY_CONFIG`" + ` name another file. One file is read.

` + "```yaml" + `
port: 9000
session_db_url: postgres://parley:${DB_PASSWORD}@db/parley
session_ttl: 720h
max_run_tokens: 200000
allow_origins:
  - https://app.example.com
  - https://admin.example.com
` + "```" + `

- A value is what one would write on the command line, relative paths included: they start at the working directory. A flag
  that can be repeated may have a list.
- ` + "`${NAME}`" + ` is the value of an environment variable, which must be set: passwords belong there, not into the file.
- The file is read by ` + "CONFIGURED" + `. Each uses the values of the flags
  that it has. A name that is not a flag of any of them is an error.
- ` + "`parley deploy`" + ` does not read the file, and copies it with the agent, for the server that it deploys; the address, ` + "`--access`" + `
  and what else the deployment decides have precedence. A file with a password in a URL is left out.
- The file is part of the agent's directory, and decides what the server allows: look at it before you serve the agents of others.
- The log of a server and ` + "`parley doctor`" + ` name the file that they have read.

## Flags and their variables
`)
	commands := "`parley " + strings.Join(configured, "`, `") + "`"
	last := strings.LastIndex(commands, ", ")
	page := strings.Replace(b.String(), "CONFIGURED", commands[:last]+" and"+commands[last+1:], 1)
	b.Reset()
	b.WriteString(page)
	server, _, err := newRoot(&Env{}).Find([]string{"api_server"})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{}
	for _, section := range sections(server) {
		fmt.Fprintf(&b, "\n### %s\n\n| Flag | Environment variable | Default | |\n|---|---|---|---|\n", section.Name())
		section.VisitAll(func(f *pflag.Flag) {
			flags["PARLEY_"+strings.ToUpper(f.Name)] = true
			if f.Hidden {
				return
			}
			kind, usage := pflag.UnquoteUsage(f)
			usage, standard := splitDefault(cellText(usage), f.DefValue)
			variable := "`PARLEY_" + strings.ToUpper(f.Name) + "`"
			if f.Name == "help" {
				variable = ""
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", cellText("--"+f.Name+" "+kind), variable, standard, usage)
		})
	}
	b.WriteString(`
## Other environment variables

An agent in TypeScript can have values of its own in its ` + "`.env`" + ` file.
`)
	for _, group := range variableGroups {
		fmt.Fprintf(&b, "\n### %s\n\n| Environment variable | |\n|---|---|\n", group.title)
		for _, v := range group.variables {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(v.names, ", ", "`, `"), v.use)
			for name := range strings.SplitSeq(v.names, ", ") {
				flags[name] = true
			}
		}
	}
	for _, name := range variablesInSources(t) {
		if !flags[name] {
			t.Errorf("the sources use %s, which the page does not describe", name)
		}
	}
	comparePage(t, "../../docs/configuration.md", b.String())
}

func cellText(usage string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(usage), " "), "|", `\|`)
}

var spokenDefault = regexp.MustCompile(` \(default ([^()]*)\)$`)

// splitDefault takes the default out of the text of a flag, or the value if the
// text has none.
func splitDefault(usage, value string) (text, standard string) {
	if m := spokenDefault.FindStringSubmatch(usage); m != nil {
		return strings.TrimSuffix(usage, m[0]), m[1]
	}
	if slices.Contains([]string{"", "false", "[]", "0", "0s"}, value) {
		return usage, ""
	}
	return usage, "`" + value + "`"
}

var (
	variableName  = regexp.MustCompile(`"((?:PARLEY|GOOGLE|GEMINI|OPENAI|ANTHROPIC|OLLAMA|OTEL)_[A-Z0-9_]*[A-Z0-9])"`)
	notAVariable  = []string{"GOOGLE_SEARCH", "GOOGLE_MAPS_GROUNDING"} // tools
	withoutServer = []string{"bench", "chaos", "conformance", "examples", "packaging", "testkit", "node_modules", "testdata", "web", "clients", ".git"}
)

// variablesInSources are the names of environment variables in the sources of the
// program.
func variablesInSources(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(withoutServer, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range variableName.FindAllSubmatch(text, -1) {
			if name := string(m[1]); !slices.Contains(notAVariable, name) {
				found[name] = true
			}
		}
		return err
	})
	if err != nil || len(found) < 10 {
		t.Fatalf("%d variables, %v", len(found), err)
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
