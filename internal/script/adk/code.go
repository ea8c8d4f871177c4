package adk

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// codeDefinition is an executor as js/adk/code.js describes it.
type codeDefinition struct {
	BuiltIn      bool        `json:"builtIn"`
	Fn           int         `json:"fn"` // of the author's own
	Effect       tool.Effect `json:"effect"`
	Blocks       []codeBlock `json:"blocks"`
	ResultBlock  codeBlock   `json:"resultBlock"`
	ErrorRetries int         `json:"errorRetries"`
	DataFiles    bool        `json:"dataFiles"`
	Stateful     bool        `json:"stateful"`
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
	cfg := &code.Config{
		Executor: &ownExecutor{a, def.Fn, def.Effect}, Blocks: []code.Block{}, ResultBlock: code.Block(def.ResultBlock),
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
	result := &code.Result{Stdout: r.Stdout, Stderr: r.Stderr}
	for _, f := range r.Files {
		result.Files = append(result.Files, code.File{Name: f.Name, MIMEType: f.MIMEType, Data: f.Data})
	}
	return result, nil
}
