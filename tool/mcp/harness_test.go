//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/mcp"
)

// serverEnv says that this process is an MCP server for another one.
const serverEnv = "PARLEY_MCP_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(serverEnv) {
	case "":
		leak.Main(m)
	case "mute": // takes everything and says nothing, and does not end with its input
		time.Sleep(time.Hour)
	case "broken":
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(3)
	case "host": // a program that has a server, and is to be killed
		set, err := mcp.New(mcp.Config{Stdio: stdio("")})
		if err != nil {
			panic(err)
		}
		tools, err := set.Tools(toolContext(context.Background()))
		if err != nil {
			panic(err)
		}
		pid, err := named(tools, "pid").Call(toolContext(context.Background()), nil)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", pid)
		select {}
	case "deaf", "strict":
		serveOld(os.Getenv(serverEnv) == "strict")
	default:
		if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
	}
}

// serveOld serves as one who knows nothing but initialize to begin with, ends at
// everything else if it is strict, and else does not hear it.
func serveOld(strict bool) {
	if starts, err := os.OpenFile(os.Getenv("STARTS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = starts.WriteString("x")
		_ = starts.Close()
	}
	in := bufio.NewReader(os.Stdin)
	first, err := in.ReadString('\n')
	for !strings.Contains(first, `"initialize"`) {
		if strict || err != nil {
			os.Exit(1)
		}
		first, err = in.ReadString('\n')
	}
	if err := newServer().Run(context.Background(), &sdk.IOTransport{
		Reader: io.NopCloser(io.MultiReader(strings.NewReader(first), in)), Writer: os.Stdout,
	}); err != nil {
		os.Exit(1)
	}
}

// stdio is this test as a server of its own.
func stdio(kind string, env ...string) *mcp.Stdio {
	binary, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if kind == "" {
		kind = "tools"
	}
	return &mcp.Stdio{Command: binary, Env: append([]string{serverEnv + "=" + kind}, env...)}
}

type (
	echoIn struct {
		Text string `json:"text" jsonschema:"what to say"`
	}
	sizeIn struct {
		Bytes int `json:"bytes"`
	}
	pointOut struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
)

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// newServer is a server with tools of all kinds.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	read := func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "It is " + req.Params.URI}}}, nil
	}
	s.AddResource(&sdk.Resource{URI: "test://notes", Name: "notes", Description: "What was noted.", MIMEType: "text/plain"}, read)
	s.AddResource(&sdk.Resource{URI: "test://gone", Name: "gone"}, func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	})
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *sdk.CallToolRequest, in echoIn) (*sdk.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "point", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, pointOut, error) {
		return nil, pointOut{1, 2}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "image.draw", Title: "Draws."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Here:"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("out of paper")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "huge"}, func(_ context.Context, _ *sdk.CallToolRequest, in sizeIn) (*sdk.CallToolResult, any, error) {
		return text(strings.Repeat("x", in.Bytes)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "slow"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(s, &sdk.Tool{Name: "pid", Annotations: &sdk.ToolAnnotations{IdempotentHint: true}}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return text(fmt.Sprint(os.Getpid())), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		os.Exit(1)
		return nil, nil, nil
	})
	// Dies the first time, and then no more.
	sdk.AddTool(s, &sdk.Tool{Name: "die_once", Annotations: &sdk.ToolAnnotations{IdempotentHint: true}}, func(_ context.Context, _ *sdk.CallToolRequest, in echoIn) (*sdk.CallToolResult, any, error) {
		if _, err := os.Stat(in.Text); err != nil {
			_ = os.WriteFile(in.Text, nil, 0o600)
			os.Exit(1)
		}
		return text("alive"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "environment"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return text(strings.Join(os.Environ(), "\n")), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "child"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		cmd := exec.Command("sleep", "600")
		cmd.Stdout = os.Stderr // holds on to our output
		if err := cmd.Start(); err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprint(cmd.Process.Pid)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "who"}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		header := http.Header{}
		if req.Extra != nil {
			header = req.Extra.Header
		}
		return text(header.Get("X-User") + " " + header.Get("X-Key")), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("new"), nil, nil
		})
		return text("ok"), nil, nil
	})
	return s
}

func toolContext(ctx context.Context) *tool.Context {
	actions := &event.Actions{}
	return &tool.Context{Context: ctx, User: "u", FunctionCallID: "c1", Actions: actions}
}

func named(tools []tool.Tool, name string) tool.Tool {
	at := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Declaration().Name == name })
	if at < 0 {
		return nil
	}
	return tools[at]
}

// kit is a toolset under test.
type kit struct {
	*mcp.Toolset
	t   *testing.T
	log *testkit.Buffer
}

func open(t *testing.T, cfg mcp.Config) *kit {
	t.Helper()
	k := &kit{t: t, log: &testkit.Buffer{}}
	cfg.Log = slog.New(slog.NewTextHandler(k.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	set, err := mcp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	k.Toolset = set
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func (k *kit) tools() []tool.Tool {
	k.t.Helper()
	tools, err := k.Tools(toolContext(k.t.Context()))
	if err != nil {
		k.t.Fatalf("%v\n%s", err, k.log)
	}
	return tools
}

// call calls a tool; the result is as JSON, or "error: " and its text.
func (k *kit) call(name, args string) string {
	k.t.Helper()
	return k.callAs(toolContext(k.t.Context()), name, args)
}

func (k *kit) callAs(ctx *tool.Context, name, args string) string {
	k.t.Helper()
	t := named(k.tools(), name)
	if t == nil {
		k.t.Fatalf("there is no tool %s", name)
	}
	value, err := t.Call(ctx, json.RawMessage(args))
	if err != nil {
		return "error: " + err.Error()
	}
	doc, err := json.Marshal(value)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(doc)
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.After(5 * time.Minute); !holds(); {
		select {
		case <-late:
			t.Fatalf("it does not come about: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
