//go:build unix

package hostile_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/hostile"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/mcp"
	"github.com/parley-run/parley/tool/openapi"
)

// tools are the tools that are elsewhere.
func tools() []adapter {
	return []adapter{
		{name: "openapi", prepare: api, follows: true},
		{name: "openapi/document", prepare: document, follows: true, more: 32 << 20},
		{name: "mcp/json", prepare: remote(false, "tools/call"), follows: true},
		{name: "mcp/stream", stream: true, prepare: remote(true, "tools/call"), follows: true},
		{name: "mcp/list", prepare: remote(false, "tools/list"), follows: true},
		{name: "mcp/connect", prepare: remote(false, ""), follows: true},
		{name: "mcp/process", process: true, prepare: process},
	}
}

func toolContext(ctx context.Context) *tool.Context {
	return &tool.Context{Context: ctx, App: "app", User: "u", FunctionCallID: "c1", Actions: &event.Actions{}}
}

// api calls an operation.
func api(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error) {
	t.Helper()
	srv := hostile.Start(t, m, everything(hostile.JSON(nil)))
	set, err := openapi.New(t.Context(), openapi.Config{BaseURL: srv.URL, Spec: []byte(`{
		"openapi": "3.0.3", "info": {"title": "t", "version": "1"},
		"paths": {"/ask": {"get": {"operationId": "ask", "responses": {"200": {"description": "d"}}}}}
	}`)})
	if err != nil {
		t.Fatal(err)
	}
	ask, _ := set.Tool("ask")
	return srv, func(ctx context.Context) error { return failed(ask.Call(toolContext(ctx), nil)) }
}

// document fetches the description of an API.
func document(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error) {
	t.Helper()
	srv := hostile.Start(t, m, everything(hostile.JSON(map[string]any{"openapi": "3.0.3"})))
	return srv, func(ctx context.Context) error {
		_, err := openapi.New(ctx, openapi.Config{URL: srv.URL})
		return err
	}
}

// remote calls a tool of an MCP server, which misbehaves at one method, or at
// everything.
func remote(stream bool, method string) func(*testing.T, hostile.Misbehaviour) (server, func(context.Context) error) {
	return func(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error) {
		t.Helper()
		good := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return asked() }, &sdk.StreamableHTTPOptions{JSONResponse: true})
		srv := hostile.Start(t, m, func(w http.ResponseWriter, r *http.Request) (hostile.Speech, bool) {
			body, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(body), method) || r.Method != http.MethodPost {
				r.Body = io.NopCloser(bytes.NewReader(body))
				good.ServeHTTP(w, r)
				return hostile.Speech{}, false
			}
			return hostile.MCP(body, stream), true
		})
		return srv, ask(t, mcp.Config{HTTP: &mcp.HTTP{URL: srv.URL}})
	}
}

// ask calls the tool of an MCP server. It waits until the session has ended.
func ask(t *testing.T, cfg mcp.Config) func(context.Context) error {
	t.Helper()
	set, err := mcp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return func(ctx context.Context) error {
		defer set.Close()
		tools, err := set.Tools(toolContext(ctx))
		if err != nil {
			return err
		}
		at := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Declaration().Name == "ask" })
		if at < 0 {
			return nil // the list was taken for one
		}
		return failed(tools[at].Call(toolContext(ctx), nil))
	}
}

// asked is a server that behaves, with the tool ask.
func asked() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
	return s
}

// processEnv names the misbehaviour of this process, which is an MCP server for
// another one. It notes in the file of countEnv how many bytes it has sent.
const (
	processEnv = "HOSTILE_MCP_SERVER"
	countEnv   = "HOSTILE_MCP_COUNT"
)

// child is a server that is a process.
type child struct {
	count string
}

func (c *child) Sent() int64 {
	doc, err := os.ReadFile(c.count)
	if err != nil || len(doc) < 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(doc))
}

// Reached is closed when the process has noted that it hangs.
func (c *child) Reached() <-chan struct{} {
	reached := make(chan struct{})
	fifo, err := os.Open(c.count + ".reached")
	if err != nil {
		panic(err)
	}
	go func() {
		_, _ = fifo.Read(make([]byte, 1))
		_ = fifo.Close()
		close(reached)
	}()
	return reached
}

func process(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	srv := &child{count: filepath.Join(t.TempDir(), "count")}
	if err := mkfifo(srv.count + ".reached"); err != nil {
		t.Fatal(err)
	}
	return srv, ask(t, mcp.Config{Stdio: &mcp.Stdio{Command: binary, Env: []string{processEnv + "=" + m.Name, countEnv + "=" + srv.count}}})
}

// beProcess is the life of such a process.
func beProcess(name string) {
	at := slices.IndexFunc(hostile.All, func(m hostile.Misbehaviour) bool { return m.Name == name })
	count, err := os.Create(os.Getenv(countEnv))
	if err != nil {
		panic(err)
	}
	in, good := io.Pipe()
	go func() {
		_ = asked().Run(context.Background(), &sdk.IOTransport{Reader: in, Writer: os.Stdout})
	}()
	gone := make(chan struct{})
	go func() {
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				close(gone)
				return
			}
			if !bytes.Contains(line, []byte(`"tools/call"`)) {
				_, _ = good.Write(line)
				continue
			}
			go func() {
				if hostile.All[at].Hangs {
					if reached, err := os.OpenFile(os.Getenv(countEnv)+".reached", os.O_WRONLY, 0); err == nil {
						fmt.Fprint(reached, "x")
					}
				}
				hostile.Speak(hostile.All[at], hostile.MCP(line, false), &noted{to: count}, gone)
				if strings.HasPrefix(name, "cut") {
					os.Exit(1)
				}
			}()
		}
	}()
	<-gone
}

// noted is the standard output. How much was written there is in a file.
type noted struct {
	to *os.File
	n  uint64
}

func (w *noted) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	w.n += uint64(n)
	_, _ = w.to.WriteAt(binary.BigEndian.AppendUint64(nil, w.n), 0)
	return n, err
}
