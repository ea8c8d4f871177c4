package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

const (
	kits = "testdata/kits"
	kit  = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	next = "node_modules/conformance-next/dist/index.js"

	inspector = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
)

// The conformance tests and the inspector of the protocol are satisfied.
func TestKits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it installs packages")
	}
	nodejs.Install(t, kits)
	t.Run("conformance", testConformance)
	t.Run("inspector", testInspector)
}

// The conformance tests of the protocol pass: all scenarios that a kit lists, for all
// versions of the protocol that it has them for, and without a warning. The only ones
// that are left out are those of features that the server does not declare.
func testConformance(t *testing.T) {
	t.Parallel()
	for _, k := range []struct{ name, program string }{{"0.1.16", kit}, {"0.2.0", next}} {
		process := startKit(t, k.program)
		for _, s := range scenarios(t, k.program) {
			args := []string{"server", "--scenario", s.name}
			if k.program == next {
				args = append(args, "--timeout", "600000")
				if s.version != "extension" { // an extension has no version
					args = append(args, "--spec-version", s.version)
				}
			}
			t.Run(k.name+" "+s.version+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				g := newGateway(t)
				if feature := undeclared(s.name, g.declared(t, s.version)); feature != "" {
					t.Skipf("the server does not declare %s", feature)
				}
				got := process.run(t, append(args, "--url", g.url)...)
				passed := totals.FindString(got.Text)
				if got.Code != 0 || !strings.Contains(passed, " 0 failed, 0 warnings") || strings.HasPrefix(passed, "Passed: 0/") && !skips.MatchString(got.Text) {
					t.Errorf("exit code %d\n%s", got.Code, got.Text)
				}
				t.Log(passed)
			})
		}
	}
}

type scenario struct{ name, version string }

// scenarios returns all that a kit has for servers.
func scenarios(t *testing.T, program string) (all []scenario) {
	t.Helper()
	out := nodejs.Run(t, kits, nodejs.Node(t), "--import", "./glob.js", program, "list", "--server")
	for _, found := range listed.FindAllStringSubmatch(out, -1) {
		of := strings.Split(found[2], ",")
		if program == kit { // it has one run for all versions
			of = of[len(of)-1:]
		}
		for _, version := range of {
			all = append(all, scenario{found[1], version})
		}
	}
	if len(all) < 30 {
		t.Fatalf("the kit lists %v", out)
	}
	return all
}

// features are what scenarios need that servers may have and declare, by the beginnings
// of their names: a capability, or a member of one of the tools or prompts that the
// server lists. A scenario whose name does not begin so needs nothing.
var features = []struct{ scenario, path string }{
	{"prompts-get-", "prompt/name"},
	{"input-required-result-non-tool-request", "prompt/name"}, // it gets a prompt
	{"completion-", "capabilities/completions"},
	{"logging-", "capabilities/logging"},
	{"tools-call-with-logging", "capabilities/logging"},
	{"resources-subscribe", "capabilities/resources/subscribe"},
	{"resources-unsubscribe", "capabilities/resources/subscribe"},
	{"sep-2640-skills-", "capabilities/extensions/io.modelcontextprotocol|skills"},
	// It calls a tool that only clients with tasks can call. 2025-11-25 declares these so,
	// later versions have nothing for it, and ours can all be called without.
	{"tasks-required-task-error", "tool/execution/taskSupport"},
}

// undeclared returns what a scenario needs and the server does not declare; empty if
// there is nothing.
func undeclared(scenario string, declared any) string {
	for _, f := range features {
		if strings.HasPrefix(scenario, f.scenario) {
			path := strings.Split(f.path, "/")
			for i := range path {
				path[i] = strings.ReplaceAll(path[i], "|", "/")
			}
			if at(declared, path...) == nil {
				return f.path
			}
		}
	}
	return ""
}

// The command line of the inspector lists what there is, and calls the tool, in both
// kinds of versions.
func testInspector(t *testing.T) {
	t.Parallel()
	base := listen(t, testkit.NewFixture().Apps())
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			inspect := func(method string, args ...string) (result any) {
				t.Helper()
				args = append([]string{inspector, "--cli", base + "/apps/weather/mcp", "--transport", "http", "--protocol-era", era, "--method", method}, args...)
				cmd := exec.CommandContext(t.Context(), nodejs.Node(t), args...)
				cmd.Dir, cmd.Env = kits, append(cmd.Environ(), "HOME="+t.TempDir())
				out, err := cmd.Output()
				if err == nil {
					err = json.Unmarshal(out, &result)
				}
				if failed, ok := errors.AsType[*exec.ExitError](err); ok {
					out = append(out, failed.Stderr...)
				}
				if err != nil {
					t.Fatalf("%s: %v\n%s", method, err, out)
				}
				return result
			}
			if got := inspect("tools/list", "--strict"); at(got, "tools", "0", "name") != "weather" {
				t.Error(got)
			}
			if got := inspect("prompts/list"); len(at(got, "prompts").([]any)) > 0 {
				t.Error(got)
			}
			call := func(message string, args ...string) any {
				t.Helper()
				return inspect("tools/call", append([]string{"--tool-name", "weather", "--tool-arg", "message=" + message}, args...)...)
			}
			got := call("art " + era + ".txt hello")
			id, _ := at(got, "structuredContent", "session").(string)
			if got := call("weather in Oslo", "session="+id); at(got, "content", "0", "text") != "It is sunny in Oslo." || at(got, "structuredContent", "session") != id {
				t.Error(got)
			}
			uri := "artifact:///" + id + "/" + era + ".txt"
			list, _ := json.Marshal(inspect("resources/list"))
			if !strings.Contains(string(list), `"`+uri+`"`) {
				t.Errorf("%s is not in %s", uri, list)
			}
			if got := inspect("resources/read", "--uri", uri); at(got, "contents", "0", "text") != "hello" {
				t.Error(got)
			}
			if got := inspect("resources/templates/list"); at(got, "resourceTemplates", "0", "uriTemplate") == nil {
				t.Error(got)
			}
		})
	}
}

var (
	totals = regexp.MustCompile(`Passed: \d+/\d+, \d+ failed, \d+ warnings`)
	listed = regexp.MustCompile(`(?m)^  - (\S+) \[(.+)\]$`)
	skips  = regexp.MustCompile(`SKIPPED`) // what the kit itself cannot check yet
)

// listen serves applications at an address of this machine, so that requests under
// another name are refused.
func listen(t *testing.T, apps map[string]*agent.Agent) string {
	t.Helper()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: apps})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		srv.Close(context.Background())
	})
	return "http://" + listener.Addr().String()
}
