package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/faceclient"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// serve starts a server with the applications of the fixture.
func serve(t *testing.T, cfg parley.Config) *httptest.Server {
	t.Helper()
	if cfg.Agents == nil {
		cfg.Agents = testkit.NewFixture().Apps()
	}
	return faceclient.Serve(t, cfg)
}

const modern, older = "2026-07-28", "2025-11-25"

// post sends a JSON-RPC message and returns the last one of the response.
func post(t *testing.T, web *httptest.Server, version string, header map[string]string, message string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/apps/weather/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(patienceHeader, impatient)
	if version != "" {
		req.Header.Set("MCP-Protocol-Version", version)
	}
	var in struct {
		Method string
		Params struct{ Name, URI, TaskID string }
	}
	_ = json.Unmarshal([]byte(message), &in)
	if version == modern {
		req.Header.Set("Mcp-Method", in.Method)
		if name := in.Params.Name + in.Params.URI + in.Params.TaskID; name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	last := string(body)
	if i := strings.LastIndex(last, "data: "); i >= 0 {
		last = last[i+len("data: "):]
	}
	var out map[string]any
	if strings.TrimSpace(last) != "" {
		if err := json.Unmarshal([]byte(last), &out); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
	}
	return resp.StatusCode, out
}

// request returns a request of version 2026-07-28.
func request(method, params, capabilities string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s}}}`,
		method, params, modern, capabilities)
}

func call(arguments string) string { return `"name":"weather","arguments":` + arguments }

const tasks = `{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// at returns a member of a document.
func at(doc any, path ...string) any {
	for _, name := range path {
		switch v := doc.(type) {
		case map[string]any:
			doc = v[name]
		case []any:
			i := int(name[0] - '0')
			if i >= len(v) {
				return nil
			}
			doc = v[i]
		default:
			return nil
		}
	}
	return doc
}

// Messages that are wrong are errors of the protocol, with a status from 2026-07-28 on.
func TestErrors(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{})
	for _, tt := range []struct {
		name, version, message string
		header                 map[string]string
		status                 int
		code                   float64
	}{
		{"not JSON", older, "x", nil, 400, -32700},
		{"empty", older, "", nil, 400, -32700},
		{"batch", older, `[]`, nil, 400, -32600},
		{"no method", older, `{"jsonrpc":"2.0","id":1}`, nil, 400, -32600},
		{"null id", older, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, -32600},
		{"unknown method", older, `{"jsonrpc":"2.0","id":1,"method":"soap"}`, nil, 200, -32601},
		{"unknown version", "1999-01-01", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil, 400, -32022},
		{"unknown tool", older, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"soap"}}`, nil, 200, -32602},
		{"wrong type", older, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, nil, 200, -32602},
		{"unknown method now", modern, request("ping", "", "{}"), nil, 404, -32601},
		{"no meta", modern, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, 400, -32602},
		{"other method in header", modern, request("tools/list", "", "{}"), map[string]string{"Mcp-Method": "tools/call"}, 400, -32020},
		{"other name in header", modern, request("tools/call", call(`{}`), "{}"), map[string]string{"Mcp-Name": "x"}, 400, -32020},
		{"no version in header", "", request("tools/list", "", "{}"), nil, 400, -32020},
		{"tasks without capability", modern, request("tasks/get", `"taskId":"x"`, "{}"), nil, 400, -32021},
		{"unknown task", modern, request("tasks/get", `"taskId":"x"`, tasks), nil, 200, -32602},
		{"forged state", modern, request("tools/call", call(`{}`)+`,"requestState":"AAAA"`, "{}"), nil, 400, -32602},
		{"unknown resource", modern, request("resources/read", `"uri":"artifact:///x/y"`, "{}"), nil, 200, -32602},
		{"unknown prompt", modern, request("prompts/get", `"name":"x"`, "{}"), nil, 200, -32602},
		{"bad cursor", modern, request("resources/list", `"cursor":"x"`, "{}"), nil, 200, -32602},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, got := post(t, web, tt.version, tt.header, tt.message)
			if status != tt.status || at(got, "error", "code") != tt.code || strings.Contains(fmt.Sprint(got), " Go ") {
				t.Errorf("%d %v", status, got)
			}
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		req, _ := http.NewRequestWithContext(t.Context(), method, web.URL+"/apps/weather/mcp", nil)
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, resp.StatusCode)
		}
	}
}

// connect connects the official client for Go.
func connect(t *testing.T, web *httptest.Server, version string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: web.URL + "/apps/weather/mcp", HTTPClient: web.Client(), DisableStandaloneSSE: true},
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func say(t *testing.T, c *sdk.ClientSession, args map[string]any) (text, session string, result *sdk.CallToolResult) {
	t.Helper()
	params := &sdk.CallToolParams{Name: "weather", Arguments: args}
	params.SetProgressToken("p")
	result, err := c.CallTool(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Content) > 0 {
		if one, ok := result.Content[0].(*sdk.TextContent); ok {
			text = one.Text
		}
	}
	session, _ = at(result.StructuredContent, "session").(string)
	return text, session, result
}

// The client for Go holds conversations in the newest version, and in the one before.
func TestClientForGo(t *testing.T) {
	t.Parallel()
	for _, version := range []string{modern, older, "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			web := serve(t, parley.Config{})
			pieces := make(chan string, 100)
			asked := make(chan string, 10)
			c := connect(t, web, version, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { pieces <- r.Params.Message },
				ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked <- r.Params.Message
					if strings.Contains(r.Params.Message, "How many") {
						return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"n": 4}}, nil
					}
					if strings.Contains(r.Params.Message, "two") {
						return &sdk.ElicitResult{Action: "decline"}, nil
					}
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approved": true}}, nil
				},
			})
			list, err := c.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "weather" || list.Tools[0].Description != "Tells the weather in any city." {
				t.Fatal(list, err)
			}
			text, id, _ := say(t, c, map[string]any{"message": "weather in Paris"})
			if !strings.Contains(text, "Paris") || id == "" {
				t.Error(text, id)
			}
			if text, again, _ := say(t, c, map[string]any{"message": "hello", "session": id}); text != "You said: hello" || again != id {
				t.Error(text, again)
			}
			if got := <-pieces; got == "" {
				t.Error("there is no progress")
			}
			if text, _, result := say(t, c, map[string]any{"message": "fail", "session": id}); !result.IsError {
				t.Error(text)
			}
			if text, _, result := say(t, c, map[string]any{"message": "hello", "session": "other"}); !result.IsError || !strings.Contains(text, "no session") {
				t.Error(text)
			}
			if text, _, _ := say(t, c, map[string]any{"message": "ask", "session": id}); !strings.Contains(text, "4") {
				t.Error("the answer to an input: ", text)
			}
			if text, _, _ := say(t, c, map[string]any{"message": "danger one", "session": id}); !strings.Contains(text, "delete_table returned") {
				t.Error("the answer to a confirmation: ", text)
			}
			if text, _, _ := say(t, c, map[string]any{"message": "dangers", "session": id}); !strings.Contains(text, "delete_table") {
				t.Error("the answers to two: ", text)
			}
			if len(asked) != 4 {
				t.Errorf("the user was asked %d times", len(asked))
			}
			_, _, result := say(t, c, map[string]any{"message": "art a.txt hello", "session": id})
			var link *sdk.ResourceLink
			for _, one := range result.Content {
				if l, ok := one.(*sdk.ResourceLink); ok {
					link = l
				}
			}
			if link == nil {
				t.Fatal("the result has no link to the artifact")
			}
			resources, err := c.ListResources(t.Context(), nil)
			if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != link.URI {
				t.Fatal(resources, err)
			}
			file, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI})
			if err != nil || len(file.Contents) != 1 || file.Contents[0].Text != "hello" {
				t.Fatal(file, err)
			}
		})
	}
}
