// Package coderun runs code in an executor within the limits of package code.
// Agents and skills share it.
package coderun

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// Run runs code, and saves the files that it has written as artifacts. An error
// is for the model, unless it is that of tc or a panic.
func Run(tc *tool.Context, e code.Executor, req *code.Request, timeout time.Duration) (*code.Result, error) {
	result, err := Execute(tc, e, req, timeout)
	if err != nil {
		return nil, err
	}
	for _, f := range result.Files {
		if _, err := tc.SaveArtifact(f.Name, &event.Part{InlineData: &event.Blob{MIMEType: f.MIMEType, Data: f.Data}}); err != nil {
			return nil, fmt.Errorf("save the file %s: %w", f.Name, err)
		}
	}
	return result, nil
}

// Execute is Run without saving files.
func Execute(tc *tool.Context, e code.Executor, req *code.Request, timeout time.Duration) (*code.Result, error) {
	if len(req.Code) > code.MaxCode {
		return nil, fmt.Errorf("the code has %d bytes, and at most %d are allowed: write less", len(req.Code), code.MaxCode)
	}
	if err := checkFiles(req.Files); err != nil {
		return nil, err
	}
	if timeout <= 0 {
		timeout = code.DefaultTimeout
	}
	result, err := execute(tc, e, req, timeout)
	if err != nil {
		return nil, err
	}
	if err := checkFiles(result.Files); err != nil {
		return nil, fmt.Errorf("the code has written too much, and nothing was saved: %w", err)
	}
	out := &code.Result{Stdout: shorten(result.Stdout), Stderr: shorten(result.Stderr), Files: slices.Clone(result.Files)}
	for i := range out.Files {
		if f := &out.Files[i]; f.MIMEType == "" {
			f.MIMEType = typeOf(f.Name)
		}
	}
	return out, nil
}

// execute calls the executor within its time.
func execute(tc *tool.Context, e code.Executor, req *code.Request, timeout time.Duration) (result *code.Result, err error) {
	defer agentrt.Recover(&err, "code executor", fmt.Sprintf("%T", e))
	ctx, cancel := code.WithTimeout(tc.Context, timeout)
	defer cancel()
	within := *tc
	within.Context = ctx
	result, err = e.Execute(&within, req)
	switch {
	case err != nil && tc.Err() == nil && errors.Is(context.Cause(ctx), code.ErrTimeout):
		return nil, fmt.Errorf("%w: %v", code.ErrTimeout, timeout)
	case err == nil && result == nil:
		return &code.Result{}, nil
	}
	return result, err
}

// checkFiles returns an error if there are too many files, or one that is outside
// of the working directory.
func checkFiles(files []code.File) error {
	if len(files) > code.MaxFiles {
		return fmt.Errorf("there are %d files, and at most %d are allowed", len(files), code.MaxFiles)
	}
	total := 0
	for _, f := range files {
		if clean := path.Clean(f.Name); f.Name == "" || clean != f.Name || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(clean, `\`) {
			return fmt.Errorf("the name %q of a file is not a relative path", f.Name)
		}
		total += len(f.Data)
	}
	if total > code.MaxBytes {
		return fmt.Errorf("the files have %d bytes, and at most %d are allowed", total, code.MaxBytes)
	}
	return nil
}

// typeOf returns the type of a file by its name.
func typeOf(name string) string {
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// shorten cuts the end off an output that is too long, and makes it valid UTF-8.
func shorten(text string) string {
	cut := len(text) > code.MaxOutput
	if cut {
		text = text[:code.MaxOutput]
		for !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]) && len(text) > code.MaxOutput-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if cut {
		text += "\n[The rest was left out: the output is too long.]"
	}
	return text
}
