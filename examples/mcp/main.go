// Mcp serves an agent whose tools come from a server of the Model Context
// Protocol. The server is this program, too, so that the example needs nothing
// else: no key, no network and no other program.
package main

import (
	"context"
	"log"
	"os"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/offline"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/mcp"
)

// newServer adds the agent to a configuration. Its tools are those of a command.
func newServer(cfg parley.Config, command string, args ...string) (*parley.Server, error) {
	notes, err := mcp.New(mcp.Config{
		Stdio:  &mcp.Stdio{Command: command, Args: args},
		Filter: mcp.Only("add_note", "list_notes"),
	})
	if err != nil {
		return nil, err
	}
	root, err := agent.NewLLM(agent.LLMConfig{
		Name:        "notes_agent",
		Description: "Keeps notes.",
		Model:       offline.New(),
		Instruction: "Keep notes with your tools.",
		Toolsets:    []tool.Toolset{notes},
	})
	if err != nil {
		return nil, err
	}
	cfg.Agents = map[string]*agent.Agent{"notes": root}
	return parley.Open(context.Background(), cfg)
}

type note struct {
	Title string `json:"title" jsonschema:"The title of the note."`
}

type report struct {
	Status string `json:"status"`
	Report string `json:"report"`
}

// serveNotes is the MCP server. It speaks on standard input and output.
func serveNotes(ctx context.Context) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	var mu sync.Mutex
	var titles []string
	sdk.AddTool(server, &sdk.Tool{Name: "add_note", Description: "Adds a note with a title."},
		func(_ context.Context, _ *sdk.CallToolRequest, in note) (*sdk.CallToolResult, report, error) {
			mu.Lock()
			defer mu.Unlock()
			titles = append(titles, in.Title)
			return nil, report{"success", "Noted: " + in.Title + "."}, nil
		})
	sdk.AddTool(server, &sdk.Tool{Name: "list_notes", Description: "Lists all notes.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, report, error) {
			mu.Lock()
			defer mu.Unlock()
			return nil, report{"success", "The notes are: " + strings.Join(titles, ", ") + "."}, nil
		})
	sdk.AddTool(server, &sdk.Tool{Name: "burn_notes", Description: "Burns all notes."}, // which the agent does not get
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, report, error) {
			return nil, report{"success", "They are gone."}, nil
		})
	return server.Run(ctx, &sdk.StdioTransport{})
}

func main() {
	ctx := context.Background()
	var err error
	if len(os.Args) == 2 && os.Args[1] == "notes" {
		err = serveNotes(ctx)
	} else {
		err = serveAgent(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serveAgent(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	srv, err := newServer(parley.Config{Network: parley.NetworkConfig{Port: 8000}}, self, "notes")
	if err != nil {
		return err
	}
	return srv.Run(ctx)
}
