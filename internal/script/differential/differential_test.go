// Package differential runs agents under @google/adk and under Parley, with the
// same scripted models, and compares what the clients and the models get.
//
// An agent is a directory in testdata/agents. The comments at the top of its
// agent.ts are the conversation:
//
//	// > hello                       the user says hello
//	// > ask returned {"a":1}        the user answers the latest call of ask
//	// state {"a":1}                 the state that the session begins with
//	// stream                        the client asks for partial events
//	// parallel                      agents work at the same time: the order is that of their names
//
// What differs is in differs.diff beside the agent, if anything does: lines of
// @google/adk with -, those of Parley with +, after the names of the differences
// in the table deliberate. go test -update writes these files.
package differential

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

var update = flag.Bool("update", false, "write the files of differences")

// scenario is an agent and a conversation with it.
type scenario struct {
	Name     string          `json:"name"`
	File     string          `json:"file"` // for Node.js
	State    json.RawMessage `json:"state,omitempty"`
	Turns    []turn          `json:"turns"`
	Stream   bool            `json:"stream"`
	parallel bool
	dir      string
}

// turn is a message: a text, or the answer to a call.
type turn struct {
	Text     string          `json:"text,omitempty"`
	Answers  string          `json:"answers,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

// transcript is what happened in a scenario.
type transcript struct {
	Requests []any `json:"requests"`
	Events   []any `json:"events"`
	State    any   `json:"state"`
}

func TestDifferences(t *testing.T) {
	installPackages(t)
	nodejs.Remember(t, filepath.Join("testdata", "agents"))
	remoteServer(t)
	all := scenarios(t)
	theirs := runNode(t, all)
	ours := runParley(t, all)
	used := map[string]bool{}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			a, b := canonical(theirs[s.Name], s.parallel), canonical(ours[s.Name], s.parallel)
			checkDifference(t, s, lineDiff(a, b), used)
		})
	}
	for name := range deliberate {
		if !used[name] {
			t.Errorf("no agent shows the difference %q", name)
		}
	}
}

// The documentation lists every difference with its reason.
func TestDifferencesAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "from-adk.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(deliberate)
	maps.Copy(all, everywhere)
	for name, reason := range all {
		if !strings.Contains(string(text), "| "+name+" | "+reason+" |") {
			t.Errorf("docs/from-adk.md lacks the line\n| %s | %s |", name, reason)
		}
	}
}

var nameLine = regexp.MustCompile(`(?m)^# (.+)\n`)

// checkDifference compares a difference with the one that is expected.
func checkDifference(t *testing.T, s scenario, got string, used map[string]bool) {
	t.Helper()
	file := filepath.Join(s.dir, "differs.diff")
	want, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	names := nameLine.FindAllStringSubmatch(string(want), -1)
	for _, name := range names {
		if _, ok := deliberate[name[1]]; !ok {
			t.Errorf("%s: %q is not in the table of deliberate differences", file, name[1])
		}
		used[name[1]] = true
	}
	head, body := "", nameLine.ReplaceAllString(string(want), "")
	for _, name := range names {
		head += name[0]
	}
	switch {
	case got == body && (got == "" || head != ""):
	case *update && got == "":
		_ = os.Remove(file)
	case *update:
		if head == "" {
			head = "# (the name of a deliberate difference)\n"
		}
		if err := os.WriteFile(file, []byte(head+got), 0o644); err != nil {
			t.Fatal(err)
		}
		fallthrough
	default:
		t.Errorf("from @google/adk (-) to Parley (+):\n%s\nexpected:\n%s", got, body)
	}
}

// scenarios reads the agents.
func scenarios(t *testing.T) (all []scenario) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "agents", "*", "agent.ts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := scenario{Name: filepath.Base(filepath.Dir(file)), dir: filepath.Dir(file)}
		for line := range strings.Lines(string(text)) {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), "// ")
			if !ok {
				break
			}
			s.read(rest)
		}
		if len(s.Turns) == 0 {
			t.Fatalf("%s has no conversation", file)
		}
		all = append(all, s)
	}
	return all
}

// read reads a line of the comment.
func (s *scenario) read(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case ">":
		if name, response, ok := strings.Cut(rest, " returned "); ok {
			s.Turns = append(s.Turns, turn{Answers: name, Response: json.RawMessage(response)})
		} else {
			s.Turns = append(s.Turns, turn{Text: rest})
		}
	case "state":
		s.State = json.RawMessage(rest)
	case "stream":
		s.Stream = true
	case "parallel":
		s.parallel = true
	}
}

// runNode runs the scenarios under @google/adk, in one process.
func runNode(t *testing.T, all []scenario) map[string]*transcript {
	t.Helper()
	// Packages are found from there.
	dir, err := filepath.Abs(filepath.Join("testdata", "node_modules", ".differential"))
	if err != nil {
		t.Fatal(err)
	}
	build := api.BuildOptions{
		Bundle: true, Packages: api.PackagesExternal, Platform: api.PlatformNode, Format: api.FormatESModule,
		Outdir: dir, OutExtension: map[string]string{".js": ".mjs"}, Write: true,
	}
	for i, s := range all {
		build.EntryPointsAdvanced = append(build.EntryPointsAdvanced, api.EntryPoint{InputPath: filepath.Join(s.dir, "agent.ts"), OutputPath: s.Name})
		all[i].File = filepath.Join(dir, s.Name+".mjs")
	}
	if result := api.Build(build); len(result.Errors) > 0 {
		t.Fatal(result.Errors)
	}
	plan, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	in, out := filepath.Join(t.TempDir(), "plan.json"), filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(in, plan, 0o600); err != nil {
		t.Fatal(err)
	}
	nodejs.Run(t, "testdata", nodejs.Node(t), "run.js", in, out)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]*transcript{}
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	return results
}

// canonical is a transcript as text, without what differs from one run to the
// next.
func canonical(tr *transcript, parallel bool) string {
	n := normalizer{ids: map[string]string{}}
	for i := range tr.Requests {
		tr.Requests[i] = n.request(tr.Requests[i])
	}
	for i := range tr.Events {
		tr.Events[i] = n.event(tr.Events[i])
	}
	tr.Events = slices.DeleteFunc(tr.Events, func(ev any) bool { return ev == nil })
	if parallel {
		slices.SortStableFunc(tr.Requests, byText)
		slices.SortStableFunc(tr.Events, func(a, b any) int { return strings.Compare(author(a), author(b)) })
	}
	var out strings.Builder
	for _, r := range tr.Requests {
		fmt.Fprintf(&out, "request %s\n", indented(n.named(r)))
	}
	for _, e := range tr.Events {
		fmt.Fprintf(&out, "event %s\n", indented(n.named(e)))
	}
	fmt.Fprintf(&out, "state %s\n", indented(tr.State))
	return out.String()
}

func byText(a, b any) int { return strings.Compare(indented(a), indented(b)) }

func author(ev any) string {
	m, _ := ev.(map[string]any)
	return fmt.Sprint(m["branch"], m["author"])
}

func indented(v any) string {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	// A long text is easier to compare in lines.
	return strings.ReplaceAll(strings.TrimSpace(text.String()), `\n`, "\\n\n")
}
