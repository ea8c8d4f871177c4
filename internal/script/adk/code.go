package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/coderun"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
	"github.com/parley-run/parley/tool/code/container"
	"github.com/parley-run/parley/tool/code/javascript"
)

// codeDefinition is an executor as js/adk/code.js describes it.
type codeDefinition struct {
	BuiltIn      bool            `json:"builtIn"`
	Hosted       *hostedExecutor `json:"hosted"`
	Fn           int             `json:"fn"` // of the author's own
	Effect       tool.Effect     `json:"effect"`
	Blocks       []codeBlock     `json:"blocks"`
	ResultBlock  codeBlock       `json:"resultBlock"`
	ErrorRetries int             `json:"errorRetries"`
	DataFiles    bool            `json:"dataFiles"`
	Stateful     bool            `json:"stateful"`
}

type codeBlock struct {
	Open     string `json:"open"`
	Close    string `json:"close"`
	Language string `json:"language"`
}

func (def *codeDefinition) config(a *App) (*code.Config, error) {
	if def.BuiltIn {
		return &code.Config{Executor: code.BuiltIn{}}, nil
	}
	executor := code.Executor(&ownExecutor{a, def.Fn, def.Effect})
	if def.Hosted != nil {
		var err error
		if executor, err = a.executors.find(*def.Hosted, a); err != nil {
			return nil, err
		}
	}
	cfg := &code.Config{
		Executor: executor, Blocks: []code.Block{}, ResultBlock: code.Block(def.ResultBlock),
		ErrorRetries: def.ErrorRetries, DataFiles: def.DataFiles, Stateful: def.Stateful,
	}
	for _, b := range def.Blocks {
		cfg.Blocks = append(cfg.Blocks, code.Block(b))
	}
	return cfg, def.Effect.Check()
}

// ownExecutor is an executor of the author.
type ownExecutor struct {
	app    *App
	fn     int
	effect tool.Effect
}

// Effect is that of an execution; see code.EffectOf.
func (e *ownExecutor) Effect() tool.Effect { return e.effect }

// codeFile is a file as js/adk/code.js has it.
type codeFile struct {
	Name     string  `json:"name"`
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text,omitempty"` // instead of Data, if it is text
	Data     []byte  `json:"data,omitempty"`
}

func codeFiles(files []code.File) []codeFile {
	out := make([]codeFile, len(files))
	for i, f := range files {
		out[i] = codeFile{Name: f.Name, MIMEType: f.MIMEType, Data: f.Data}
		if utf8.Valid(f.Data) {
			text := string(f.Data)
			out[i].Text, out[i].Data = &text, nil
		}
	}
	return out
}

// codeResult is the result of an execution as js/adk/code.js has it.
type codeResult struct {
	Stdout string     `json:"stdout"`
	Stderr string     `json:"stderr"`
	Files  []codeFile `json:"files"`
}

func (e *ownExecutor) Execute(tc *tool.Context, req *code.Request) (*code.Result, error) {
	params := map[string]any{"code": req.Code, "language": req.Language, "files": codeFiles(req.Files)}
	if req.ID != "" {
		params["executionId"] = req.ID
	}
	out, err := e.app.callWith(tc, e.fn, params)
	if err != nil {
		return nil, err
	}
	var r codeResult
	if err := json.Unmarshal(out.Value, &r); err != nil {
		return nil, fmt.Errorf("executeCode returned something that is not a result: %w", err)
	}
	return &code.Result{Stdout: r.Stdout, Stderr: r.Stderr, Files: receivedFiles(r.Files)}, nil
}

func receivedFiles(files []codeFile) []code.File {
	var out []code.File
	for _, f := range files {
		out = append(out, code.File{Name: f.Name, MIMEType: f.MIMEType, Data: f.Data})
	}
	return out
}

// hostedExecutor describes an executor of Go.
type hostedExecutor struct {
	Kind           string  `json:"kind"`
	TimeoutSeconds float64 `json:"timeoutSeconds"`
	Memory         int64   `json:"memory"`
	Image          string  `json:"image"`
	Program        string  `json:"program"`
	CPUs           float64 `json:"cpus"`
	Processes      int     `json:"processes"`
	Disk           int64   `json:"disk"`
}

// executors are the executors of an application. Those with the same description
// are one, so that their limits hold for all agents.
type executors struct {
	mu sync.Mutex
	by map[hostedExecutor]code.Executor
}

func (x *executors) find(h hostedExecutor, a *App) (code.Executor, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.by[h]; e != nil {
		return e, nil
	}
	e, err := h.open(a)
	if err != nil {
		return nil, err
	}
	if x.by == nil {
		x.by = map[hostedExecutor]code.Executor{}
	}
	x.by[h] = e
	return e, nil
}

// maxJavaScriptMemory is the memory that the code of an application can have an
// execution use, inside of the server.
const maxJavaScriptMemory = 256 << 20

func (h *hostedExecutor) open(a *App) (code.Executor, error) {
	timeout := time.Duration(h.TimeoutSeconds * float64(time.Second))
	if timeout < 0 || h.Memory < 0 || h.CPUs < 0 || h.Processes < 0 || h.Disk < 0 {
		return nil, errors.New("limits are positive numbers")
	}
	switch h.Kind {
	case "javascript":
		if h.Memory > maxJavaScriptMemory {
			return nil, fmt.Errorf("memory is at most %d bytes", maxJavaScriptMemory)
		}
		return javascript.New(javascript.Config{Timeout: timeout, Memory: h.Memory}), nil
	case "container":
		if !a.Processes {
			return nil, errors.New("a ContainerCodeExecutor starts processes, and the server does not allow agents to start processes: " +
				"the operator allows it with --allow_processes (Config.Scripts.AllowProcesses in Go)")
		}
		environ := []string{} // nil would be that of the server
		for name, value := range a.Env {
			environ = append(environ, name+"="+value)
		}
		return container.New(container.Config{
			Program: h.Program, Environ: environ, Image: h.Image, Memory: h.Memory, CPUs: h.CPUs, Processes: h.Processes, Disk: h.Disk, Timeout: timeout,
		})
	}
	return nil, fmt.Errorf("there is no executor of the kind %q", h.Kind)
}

// executeCode runs code for JavaScript in an executor of Go.
func (a *App) executeCode(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		Executor hostedExecutor `json:"executor"`
		Input    struct {
			Code        string     `json:"code"`
			Language    string     `json:"language"`
			Files       []codeFile `json:"files"`
			ExecutionID string     `json:"executionId"`
			Args        []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"args"`
		} `json:"input"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	e, err := a.executors.find(p.Executor, a)
	if err != nil {
		return err
	}
	tc := &tool.Context{}
	if sc, _ := engine.Scope(ctx).(*scope); sc != nil && sc.tool != nil {
		*tc = *sc.tool
	}
	tc.Context = ctx
	req := &code.Request{Code: p.Input.Code, Language: p.Input.Language, Files: receivedFiles(p.Input.Files), ID: p.Input.ExecutionID}
	for _, arg := range p.Input.Args {
		req.Args = append(req.Args, code.Arg{Name: arg.Name, Value: arg.Value})
	}
	result, err := coderun.Execute(tc, e, req, 0)
	if err != nil {
		return err
	}
	return yield(codeResult{result.Stdout, result.Stderr, codeFiles(result.Files)})
}
