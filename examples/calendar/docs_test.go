package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// page is the documentation, whose code is run here.
func page(t *testing.T, kind string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/tool-authentication.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```"+kind+"\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("the page has no %s", kind)
	}
	return blocks
}

// hosted is the example as go run ./examples/calendar -serve has it.
func hosted(t *testing.T) (base string) {
	t.Helper()
	p := provider.Start(t, provider.Options{Events: []provider.Event{{Title: "Dentist", Start: "14:00"}}})
	id, secret := p.Client()
	srv, err := newServer(t.Context(), site{p.Issuer(), id, secret}, parley.Config{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	return web.URL
}

const dentist = "In your calendar: 14:00 Dentist."

// get is a request to the example.
func get(t *testing.T, method, address, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s, %v", method, address, resp.Status, answer, err)
	}
	return answer
}

func TestDocumentedGo(t *testing.T) {
	var code string
	for _, file := range []string{"agent.go", "client.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code += string(text)
	}
	for _, block := range page(t, "go") {
		if !strings.Contains(code, block) {
			t.Errorf("not in the example:\n%s", block)
		}
	}
}

// The commands are run as they are, by a user who pastes where the provider has
// sent them.
func TestDocumentedCurl(t *testing.T) {
	for _, program := range []string{"bash", "curl", "jq"} {
		testkit.Program(t, program, program, program)
	}
	base := hosted(t)
	var script strings.Builder
	for _, block := range page(t, "sh") {
		if !strings.HasPrefix(block, "go run") {
			script.WriteString(block)
		}
	}
	file := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(file, []byte("set -eu -o pipefail\n"+strings.ReplaceAll(script.String(), "localhost:8000", base)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", file)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	address, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	callback, err := provider.Visit(t.Context(), strings.TrimSpace(address), "ann", true)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(stdin, callback)
	said, _ := out.ReadString('\n')
	listed, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.TrimSpace(said) != dentist {
		t.Errorf("the agent says %q", said)
	}
	list, _, _ := strings.Cut(string(listed), "null") // which is what the DELETE answers
	shown := page(t, "json")
	alike(t, "the list", decoded(t, shown[len(shown)-1]), decoded(t, list))
	if left := string(get(t, http.MethodGet, base+"/apps/calendar/users/you/credentials", "")); left != "[]" {
		t.Errorf("after the last command: %s", left)
	}
}

// The code is run by Parley's own engine, in a tool.
func TestDocumentedTypeScript(t *testing.T) {
	base, dir := hosted(t), t.TempDir()
	get(t, http.MethodPost, base+"/apps/calendar/users/you/sessions/s2", "")
	for name, text := range map[string]string{
		"client.ts": strings.ReplaceAll(page(t, "ts")[0], "http://localhost:8000", base),
		"index.ts": `
			import { FunctionTool, LlmAgent } from "@google/adk";
			import { say } from "./client";
			async function visit(address: string): Promise<string> {
			  for (address += "&auto_login=ann"; !address.startsWith("http://localhost:3000/"); ) {
			    const response = await fetch(address, { redirect: "manual" });
			    address = new URL(response.headers.get("location")!, address).href;
			  }
			  return address;
			}
			const login = new FunctionTool({
			  name: "log_in", description: "Logs in.",
			  execute: async () => ({ report: (await say("List the events in my calendar", visit)).at(-1).content.parts[0].text }),
			});
			export const rootAgent = new LlmAgent({ name: "tester", model: "gemini-2.5-flash", tools: [login] });`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(context.Background())
	said := ""
	for ev, err := range srv.Stream(t.Context(), parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "Log in")}) {
		if err != nil {
			t.Fatal(err)
		}
		said += ev.Content.Text()
	}
	if said != dentist {
		t.Errorf("it says %q", said)
	}
}

// What is shown of a request, and of a failure, is in the events.
func TestDocumentedEvents(t *testing.T) {
	base, shown := hosted(t), page(t, "json")
	get(t, http.MethodPost, base+"/apps/calendar/users/you/sessions/s", "")
	run := func(part string) (events []any) {
		body := `{"appName":"calendar","userId":"you","sessionId":"s","newMessage":{"parts":[` + part + `]}}`
		if err := json.Unmarshal(get(t, http.MethodPost, base+"/run", body), &events); err != nil {
			t.Fatal(err)
		}
		return events
	}
	asked := run(`{"text":"List the events in my calendar"}`)[1].(map[string]any)
	alike(t, "the request", decoded(t, shown[0]), asked)
	call := asked["content"].(map[string]any)["parts"].([]any)[0].(map[string]any)["functionCall"].(map[string]any)
	args := call["args"].(map[string]any)
	oauth2 := args["auth_config"].(map[string]any)["exchanged_auth_credential"].(map[string]any)["oauth2"].(map[string]any)
	denied, err := provider.Visit(t.Context(), oauth2["auth_uri"].(string)+"&redirect_uri=http://localhost:3000/callback", "ann", false)
	if err != nil {
		t.Fatal(err)
	}
	oauth2["auth_response_uri"] = denied
	answer, err := json.Marshal(map[string]any{"functionResponse": map[string]any{"id": call["id"], "name": call["name"], "response": args["auth_config"]}})
	if err != nil {
		t.Fatal(err)
	}
	alike(t, "the failure", decoded(t, shown[1]), run(string(answer))[0])
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// alike makes sure that everything that is shown is there. … stands for any text,
// and numbers are examples.
func alike(t *testing.T, where string, shown, got any) {
	t.Helper()
	switch shown := shown.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, v := range shown {
			alike(t, where+"."+name, v, object[name])
		}
	case []any:
		list, _ := got.([]any)
		if len(list) != len(shown) {
			t.Errorf("%s is %v, and shown is %v", where, got, shown)
			return
		}
		for i, v := range shown {
			alike(t, fmt.Sprint(where, "[", i, "]"), v, list[i])
		}
	case string:
		text, _ := got.(string)
		pattern := strings.ReplaceAll(regexp.QuoteMeta(shown), "…", ".+")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(text) {
			t.Errorf("%s is %v, and shown is %q", where, got, shown)
		}
	case float64:
		if _, ok := got.(float64); !ok {
			t.Errorf("%s is %v, and shown is a number", where, got)
		}
	}
}
