// Package javascript runs JavaScript inside of the process: in an interpreter of
// its own for each execution, without network and files, and with limits of
// memory and time. Nothing of an execution is left for the next one.
//
// What the code prints with console.log is its output. The global files has the
// files of the request by their names, writeFile(name, data) writes a file, and
// require finds scripts among the files. Code may await at its top level.
//
// Importing the package links the interpreter.
package javascript

import (
	"cmp"
	"context"
	_ "embed" // for library
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"modernc.org/quickjs"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// Config has the limits of an executor. The zero value is ready for use.
type Config struct {
	Memory   int64         // bytes of an execution; 0 means 64 MB
	Timeout  time.Duration // of an execution; 0 means 10 seconds
	Parallel int           // executions at a time, others wait; 0 means 4
}

// Executor runs JavaScript.
type Executor struct {
	cfg   Config
	slots chan struct{}
}

var _ code.Executor = (*Executor)(nil)

// New returns an executor.
func New(cfg Config) *Executor {
	cfg.Memory = cmp.Or(cfg.Memory, 64<<20)
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.Parallel = max(cmp.Or(cfg.Parallel, 4), 1)
	return &Executor{cfg: cfg, slots: make(chan struct{}, cfg.Parallel)}
}

// Effect is that of an execution: code can only compute, so it may be repeated.
func (e *Executor) Effect() tool.Effect { return tool.Pure }

//go:embed library.js
var source string

// library is source as bytecode.
var library = sync.OnceValues(func() ([]byte, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	defer func() { _ = vm.Close() }()
	return vm.Compile(source, quickjs.EvalModule)
})

// Execute runs the code of a request. It is code.Executor.
func (e *Executor) Execute(ctx *tool.Context, req *code.Request) (*code.Result, error) {
	if req.Language != "" && req.Language != code.JavaScript {
		return &code.Result{Stderr: fmt.Sprintf("Code in %s cannot be run here. Write JavaScript.", req.Language)}, nil
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	within, cancel := code.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	return e.run(within, req)
}

func (e *Executor) run(ctx context.Context, req *code.Request) (*code.Result, error) {
	bytecode, err := library()
	if err != nil {
		return nil, err
	}
	x, err := newExecution(req)
	if err != nil {
		return nil, err
	}
	// The context ends the execution: closing the engine stops its code.
	limits := engine.Limits{Memory: e.cfg.Memory, Turn: 2 * e.cfg.Timeout, Call: 2 * e.cfg.Timeout, Load: 2 * e.cfg.Timeout}
	js, err := engine.New(engine.QuickJS, limits, slog.New(slog.DiscardHandler), engine.Host{Functions: map[string]engine.Function{
		"input": x.read, "write": x.write, "writeFile": x.writeFile, "fail": x.fail, "rejected": x.reject,
	}})
	if err != nil {
		return nil, err
	}
	defer js.Close()
	if _, err = js.Load(ctx, bytecode, "main.js", "await __run();"); err == nil {
		err = idle(ctx, js)
	}
	if errors.Is(context.Cause(ctx), code.ErrTimeout) {
		return nil, fmt.Errorf("%w: %v", code.ErrTimeout, e.cfg.Timeout)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return x.result(err), nil
}

// idle waits until no timer of the code is left.
func idle(ctx context.Context, js *engine.Engine) error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !js.Idle() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-js.Done():
			return js.Err()
		case <-look.C:
		}
	}
	return js.Err()
}

// execution is what code reads and writes. The engine calls its functions one
// after the other, and none after it was closed.
type execution struct {
	input string

	mu     sync.Mutex
	out    strings.Builder
	failed string // why the code has failed
	files  []code.File
	size   int // of the files
}

// file is a file as library.js has it. A file that is not text has a character for
// each byte.
type file struct {
	Name   string  `json:"name"`
	Text   *string `json:"text,omitempty"`
	Binary string  `json:"binary,omitempty"`
}

func newExecution(req *code.Request) (*execution, error) {
	in := struct {
		Code  string   `json:"code"`
		Files []file   `json:"files"`
		Args  []string `json:"args"`
	}{Code: req.Code, Files: []file{}, Args: []string{}}
	for _, f := range req.Files {
		one := file{Name: f.Name}
		if utf8.Valid(f.Data) {
			text := string(f.Data)
			one.Text = &text
		} else {
			one.Binary = fromBytes(f.Data)
		}
		in.Files = append(in.Files, one)
	}
	for _, a := range req.Args {
		if a.Name != "" {
			in.Args = append(in.Args, "--"+a.Name)
		}
		in.Args = append(in.Args, a.Value)
	}
	text, err := json.Marshal(in)
	return &execution{input: string(text)}, err
}

func fromBytes(data []byte) string {
	var b strings.Builder
	for _, c := range data {
		b.WriteRune(rune(c))
	}
	return b.String()
}

func (x *execution) read(string) (string, error) { return x.input, nil }

// maxPrinted is how much is kept of what code prints; more is cut off later,
// with a note.
const maxPrinted = code.MaxOutput + 1

func (x *execution) write(text string) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.WriteString(text[:min(len(text), maxPrinted-x.out.Len())])
	return "", nil
}

func (x *execution) writeFile(payload string) (string, error) {
	var f file
	if err := json.Unmarshal([]byte(payload), &f); err != nil {
		return "", err
	}
	var data []byte
	if f.Text != nil {
		data = []byte(*f.Text)
	}
	for _, r := range f.Binary {
		data = append(data, byte(r))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.size += len(data); x.size > code.MaxBytes || len(x.files) == code.MaxFiles {
		return "", fmt.Errorf("no more than %d files with %d bytes can be written", code.MaxFiles, code.MaxBytes)
	}
	for i := range x.files {
		if x.files[i].Name == f.Name {
			x.files[i].Data = data
			return "", nil
		}
	}
	x.files = append(x.files, code.File{Name: f.Name, Data: data})
	return "", nil
}

func (x *execution) fail(text string) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failed = text
	return "", nil
}

// reject notes a promise that was rejected and that nothing awaits.
func (x *execution) reject(text string) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed == "" {
		x.failed = text
	}
	return "", nil
}

// result is what came of the code. err is why the engine stopped it.
func (x *execution) result(err error) *code.Result {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := &code.Result{Stdout: x.out.String(), Stderr: x.failed, Files: x.files}
	if err != nil {
		r.Stderr, _, _ = strings.Cut(err.Error(), "; the operator") // which is about applications
	}
	return r
}
