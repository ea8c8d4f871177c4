// Package bounded limits the size of responses of models, tools, login providers and MCP servers. Every byte from one
// of them passes a Reader of this package, after decompression, so that no server can exhaust the memory of this one.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
)

// Limits bounds what other servers may send. Zero means the default.
type Limits struct {
	// ModelResponse is the size limit of a model's response, in bytes.
	ModelResponse int64
	// ToolResult is the size limit of the result of a tool call, in bytes. The results of all calls in one response of
	// a model may have four times as many together.
	ToolResult int64
	// ToolCalls is the maximum number of calls in one response of a model.
	ToolCalls int
}

// The defaults.
const (
	ModelResponse = 64 << 20
	ToolResult    = 10 << 20
	ToolCalls     = 256
)

// LoginAnswer is the size limit of a response of a login provider, in bytes. It is more than any of them needs.
const LoginAnswer = 1 << 20

// resultsPerStep is the size limit of all results of one response, as a multiple of ToolResult.
const resultsPerStep = 4

type limitsKey struct{}

// Context is a context with limits, which must not change any more. It is for those that
// make it a part of something else; see With.
type Context struct {
	context.Context

	Limits *Limits
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	if key == (limitsKey{}) {
		return c.Limits
	}
	return c.Context.Value(key)
}

// With returns a context with limits, which must not change any more.
func With(ctx context.Context, l *Limits) context.Context { return &Context{ctx, l} }

// From returns the limits of a context, with defaults.
func From(ctx context.Context) Limits {
	var l Limits
	if set, ok := ctx.Value(limitsKey{}).(*Limits); ok {
		l = *set
	}
	if l.ModelResponse <= 0 {
		l.ModelResponse = ModelResponse
	}
	if l.ToolResult <= 0 {
		l.ToolResult = ToolResult
	}
	if l.ToolCalls <= 0 {
		l.ToolCalls = ToolCalls
	}
	return l
}

// Error means that something exceeds its limit. Its text names the limit.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

func tooLarge(what string, limit int64) *Error {
	return &Error{what + " must not be larger than " + Size(limit)}
}

// CheckCalls reports whether a response of a model may have n calls.
func CheckCalls(ctx context.Context, n int) error {
	if n <= 1 { // no limit is less
		return nil
	}
	if most := From(ctx).ToolCalls; n > most {
		return &Error{fmt.Sprintf("a response of the model must not have more than %d calls of tools; the operator of the server can allow more with --max_tool_calls (Limits.ToolCalls)", most)}
	}
	return nil
}

// Size formats a number of bytes for people.
func Size(bytes int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes >= u.size && bytes%u.size == 0 {
			return strconv.FormatInt(bytes/u.size, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}

// Unit is what a limit applies to.
type Unit int

// The units: everything that is read, each line, or each server-sent event,
// which ends with an empty line.
const (
	Whole Unit = iota
	Line
	Event
)

// valueSize is the minimum number of bytes that a JSON value counts for. A value of two bytes takes hundreds of them
// when it is decoded.
const valueSize = 64

// Reader fails with an *Error when there is more to read than the limit allows, and closes its source at once, so that
// the sender notices.
type Reader struct {
	src   io.ReadCloser
	what  string
	limit int64
	unit  Unit
	left  int64
	empty bool   // nothing was read since the last line end
	share *share // nil outside of tool calls
	err   error  // the reason why reading has stopped

	// For JSON that will be decoded.
	decoded         bool
	values          int64 // in the current unit
	quoted, escaped bool  // inside of a string, and after a backslash there
}

// NewReader bounds src. what names it in errors.
func NewReader(src io.ReadCloser, limit int64, unit Unit, what string) *Reader {
	return &Reader{src: src, what: what, limit: limit, unit: unit, left: limit, empty: true}
}

// NewDecoded is like NewReader for JSON that will be decoded: a unit may have one value for each 64 bytes of the limit.
func NewDecoded(src io.ReadCloser, limit int64, unit Unit, what string) *Reader {
	r := NewReader(src, limit, unit, what)
	r.decoded = true
	return r
}

// NewResult bounds the result of a tool call. It counts for the budget that the call shares with the others of its
// step.
func NewResult(ctx context.Context, src io.ReadCloser) *Reader {
	r := NewReader(src, From(ctx).ToolResult, Whole, "the result")
	r.share, _ = ctx.Value(shareKey{}).(*share)
	return r
}

func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if int64(len(p)) > r.left+1 { // one more byte shows whether there is more
		p = p[:r.left+1]
	}
	n, err := r.src.Read(p)
	r.count(p[:n])
	switch {
	case r.left < 0:
		n, err = n-1, tooLarge(r.what, r.limit)
	case r.values > r.limit/valueSize:
		err = &Error{fmt.Sprintf("%s must not have more than %d JSON values", r.what, r.limit/valueSize)}
	case r.share != nil:
		if over := r.share.take(int64(n)); over != nil {
			err = over
		}
	}
	if _, over := errors.AsType[*Error](err); over {
		r.err = err
		_ = r.src.Close()
	}
	return n, err
}

// count counts what was read.
func (r *Reader) count(p []byte) {
	r.left -= int64(len(p))
	if r.unit == Whole && !r.decoded {
		return
	}
	for i, c := range p {
		if r.decoded {
			r.countValue(c)
		}
		switch {
		case c == '\n':
			// What precedes the last end of a unit is shorter than p, and so than the limit.
			if r.unit == Line || r.unit == Event && r.empty {
				r.left, r.values = r.limit-int64(len(p)-i-1), 0
			}
			r.empty = true
		case c != '\r':
			r.empty = false
		}
	}
}

// countValue counts bytes that can begin a value. A line end also ends a string, so that a line that is not JSON does
// not affect the count of the next one.
func (r *Reader) countValue(c byte) {
	switch {
	case c == '\n':
		r.quoted, r.escaped = false, false
	case r.escaped:
		r.escaped = false
	case r.quoted:
		r.escaped, r.quoted = c == '\\', c != '"'
	case c == '"':
		r.quoted = true
	case c == '{', c == '[', c == ',':
		r.values++
	}
}

// Close closes the source.
func (r *Reader) Close() error { return r.src.Close() }

// ReadAll reads src, up to the limit, and closes it.
func ReadAll(src io.ReadCloser, limit int64, what string) ([]byte, error) {
	defer func() { _ = src.Close() }()
	return io.ReadAll(NewReader(src, limit, Whole, what))
}

// Budget bounds the results of all calls in one response of a model together.
type Budget struct {
	each  int64 // the limit of one result
	limit int64
	left  atomic.Int64

	first share // of the first call, which saves an allocation (BenchmarkRun in package bench)
	calls atomic.Int64
}

// NewBudget returns the budget of one response, by the limits of ctx.
func NewBudget(ctx context.Context) *Budget {
	b := &Budget{}
	b.Begin(ctx)
	return b
}

// Begin makes b, which must be new, the budget of one response.
func (b *Budget) Begin(ctx context.Context) {
	b.each = From(ctx).ToolResult
	b.limit = resultsPerStep * b.each
	b.left.Store(b.limit)
}

// share is the context of one call, with what the call has taken from the budget.
type share struct {
	context.Context
	budget *Budget
	taken  atomic.Int64
}

type shareKey struct{}

// Value implements context.Context.
func (s *share) Value(key any) any {
	if key == (shareKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// Call returns the context of one call whose result counts for the budget.
func (b *Budget) Call(ctx context.Context) context.Context {
	s := &b.first
	if b.calls.Add(1) > 1 {
		s = &share{}
	}
	s.Context, s.budget = ctx, b
	return s
}

func (s *share) take(n int64) error {
	s.taken.Add(n)
	if s.budget.left.Add(-n) < 0 {
		return tooLarge("the results of all calls that are made at once", s.budget.limit)
	}
	return nil
}

// Fits reports whether a result of n bytes is within the limit of one result, and within the budget, if ctx is that of
// a call. It replaces what the call has taken from the budget so far.
func Fits(ctx context.Context, n int64) error {
	s, _ := ctx.Value(shareKey{}).(*share)
	if s != nil {
		s.budget.left.Add(s.taken.Swap(0))
	}
	var limit int64
	if s != nil {
		limit = s.budget.each
	} else {
		limit = From(ctx).ToolResult
	}
	if n > limit {
		return fmt.Errorf("%w, and this one has %s", tooLarge("the result", limit), Size(n))
	}
	if s == nil {
		return nil
	}
	err := s.take(n)
	if err != nil {
		s.budget.left.Add(s.taken.Swap(0))
	}
	return err
}
