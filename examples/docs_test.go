package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
)

// TestDocumentedCommands runs the curl commands of the documentation against
// the weather example, in order, and compares the first answer of each block with the
// JSON that is shown below it.
func TestDocumentedCommands(t *testing.T) {
	for _, file := range []string{"../README.md", "../docs/api.md", "../docs/artifacts-and-memory.md"} {
		t.Run(file, func(t *testing.T) {
			weather, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: "weather"}, Offline: true})
			if err != nil {
				t.Fatal(err)
			}
			defer weather.Close(context.Background())
			srv := httptest.NewServer(weather.Handler())
			defer srv.Close()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ran, first := 0, ""
			for _, block := range blocks(string(text)) {
				switch block.kind {
				case "sh":
					first = ""
					for line := range strings.Lines(block.text) {
						if !strings.HasPrefix(line, "curl ") {
							continue
						}
						if strings.Contains(line, "$RUN") {
							line = strings.ReplaceAll(line, "$RUN", newestRun(t, srv.URL))
						}
						answer := curl(t, srv.URL, line)
						if first == "" {
							first = answer
						}
						ran++
					}
				case "json":
					if diff := cmp.Diff(normal(t, block.text), normal(t, first)); diff != "" {
						t.Errorf("the answer is not as shown (-shown +got):\n%s", diff)
					}
				}
			}
			if ran < 4 {
				t.Errorf("only %d commands were found", ran)
			}
		})
	}
}

type block struct{ kind, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```")

func blocks(text string) []block {
	var list []block
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		list = append(list, block{m[1], m[2]})
	}
	return list
}

// client leaves no connections behind.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

var word = regexp.MustCompile(`'[^']*'|\S+`)

// curl does what the curl command would.
func curl(t *testing.T, base, line string) string {
	t.Helper()
	method, url, kind, body := "GET", "", "", io.Reader(nil)
	words := word.FindAllString(line, -1)[1:]
	for i := 0; i < len(words); i++ {
		switch arg := strings.Trim(words[i], "'"); arg {
		case "-N":
		case "-X":
			i++
			method = words[i]
		case "-H":
			i++
			kind = strings.TrimPrefix(strings.Trim(words[i], "'"), "Content-Type: ")
		case "-d":
			i++
			body = strings.NewReader(strings.Trim(words[i], "'"))
		default:
			url = strings.Replace(arg, "localhost:8000", base, 1)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
		t.Errorf("%s: status %d, %s", line, resp.StatusCode, answer)
	}
	return string(answer)
}

var changing = regexp.MustCompile(`"(id|invocationId)":"[a-z0-9-]{16,}"|"(timestamp|lastUpdateTime|createTime)":[0-9.]+`)

// normal is JSON with the parts taken out that differ from run to run.
func normal(t *testing.T, doc string) any {
	t.Helper()
	doc = changing.ReplaceAllStringFunc(doc, func(m string) string { return m[:strings.Index(m, ":")] + `:"…"` })
	var v any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return v
}

// TestDocumentedCode makes sure that the Go code in the documentation is code
// that the tests run.
func TestDocumentedCode(t *testing.T) {
	var examples []byte
	for _, name := range []string{"../agent/example_test.go", "../example_test.go", "../example_store_test.go", "../example_model_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, text...)
	}
	page, err := os.ReadFile("../docs/agents-go.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(string(page)) {
		if block.kind == "go" && !strings.Contains(string(examples), block.text) {
			t.Errorf("not in the examples:\n%s", block.text)
		}
	}
}

// TestDocumentedAgent serves the agent of the page about TypeScript.
func TestDocumentedAgent(t *testing.T) {
	page, err := os.ReadFile("../docs/agents-typescript.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks(string(page)) {
		if block.kind != "ts" {
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(block.text), 0o600); err != nil {
			t.Fatal(err)
		}
		srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}, Offline: true})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close(context.Background())
		said := ""
		for ev, err := range srv.Stream(t.Context(), parley.Request{
			App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "What is the weather in Oslo?"),
		}) {
			if err != nil {
				t.Fatal(err)
			}
			said += ev.Content.Text()
		}
		if said != "It is sunny in Oslo." {
			t.Errorf("the agent says %q", said)
		}
		return
	}
	t.Error("the page has no agent")
}

// TestDocumentedTools serves the agents of the page about TypeScript whose tools
// call an API: the one with its key, and the one that asks for a login.
func TestDocumentedTools(t *testing.T) {
	page, err := os.ReadFile("../docs/agents-typescript.md")
	if err != nil {
		t.Fatal(err)
	}
	key := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.URL.Path + " " + r.Header.Get("X-Key")
		_, _ = io.WriteString(w, `{"name":"Rex"}`)
	}))
	defer api.Close()
	type note struct {
		Title string `json:"title"`
	}
	notes := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	sdk.AddTool(notes, &sdk.Tool{Name: "add_note", Description: "Adds a note."}, func(_ context.Context, req *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
		text := fmt.Sprintf("Noted: %s, with %s.", in.Title, req.Extra.Header.Get("Authorization"))
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	})
	notesAPI := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return notes }, nil))
	defer notesAPI.Close()
	for name, value := range map[string]string{
		"NOTES_URL": notesAPI.URL, "NOTES_TOKEN": "n0tes", "PETS_URL": api.URL, "PETS_KEY": "hunter2-hunter2", "CALENDAR_AUTH_URL": "https://login.example.com/authorize",
		"CALENDAR_TOKEN_URL": "https://login.example.com/token", "CALENDAR_CLIENT_ID": "parley", "CALENDAR_CLIENT_SECRET": "secret-of-parley", "CALENDAR_API": api.URL,
	} {
		t.Setenv(name, value)
	}
	said := map[string]string{}
	for _, block := range blocks(string(page)) {
		for name, question := range map[string]string{"pets": "Get the pet rex1", "calendar": "List my events", "notes": `Add a note with the title "buy milk"`} {
			if block.kind != "ts" || !strings.Contains(block.text, "name: '"+name+"'") {
				continue
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(block.text), 0o600); err != nil {
				t.Fatal(err)
			}
			srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}, Offline: true})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close(context.Background())
			for ev, err := range srv.Stream(t.Context(), parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, question)}) {
				if err != nil {
					t.Fatal(err)
				}
				doc, err := ev.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				said[name] += string(doc)
			}
		}
	}
	if !strings.HasPrefix(key, "/pets/") || !strings.HasSuffix(key, " hunter2-hunter2") || !strings.Contains(said["pets"], "Rex") {
		t.Errorf("the API saw %q, the agent says %s", key, said["pets"])
	}
	if !strings.Contains(said["notes"], "Noted: buy milk, with Bearer n0tes.") {
		t.Errorf("the agent says %s", said["notes"])
	}
	if !strings.Contains(said["calendar"], "https://login.example.com/authorize?") || !strings.Contains(said["calendar"], "Log in to see your calendar.") || strings.Contains(said["calendar"], "secret-of-parley") {
		t.Errorf("the agent says %s", said["calendar"])
	}
}

// TestThreatModel: the tests that the page names are there.
func TestThreatModel(t *testing.T) {
	page, err := os.ReadFile("../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	err = filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllSubmatch(text, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(page, -1)
	for _, m := range named {
		if !there[string(m[1])] {
			t.Errorf("there is no test %s", m[1])
		}
	}
	if len(named) < 30 {
		t.Errorf("only %d tests are named", len(named))
	}
}

// newestRun returns the id of the latest run of the session of the documents.
func newestRun(t *testing.T, base string) string {
	t.Helper()
	var runs []struct{ ID string }
	if err := json.Unmarshal([]byte(curl(t, base, "curl localhost:8000/apps/weather/users/u_123/sessions/s_123/runs")), &runs); err != nil || len(runs) == 0 {
		t.Fatalf("the runs are %v, %v", runs, err)
	}
	return runs[0].ID
}
