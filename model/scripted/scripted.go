// Package scripted is a model for tests: what it answers is written down
// beforehand.
//
// New takes one Step for each call that is expected. Func takes a single Step
// that answers every call, usually by looking at the request:
//
//	m := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
//		if len(scripted.LastResponses(req)) > 0 {
//			return scripted.Say("Done.")(ctx, req)
//		}
//		return scripted.Call("send", map[string]string{"to": scripted.LastUserText(req)})(ctx, req)
//	})
package scripted

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// Model is a model whose responses are given in advance. It is safe for
// concurrent use.
type Model struct {
	next func(call int) Step

	mu       sync.Mutex
	requests []*model.Request
}

// New returns a model that takes one step for each call, in order. A call after
// the last step fails with an error that says so.
func New(steps ...Step) *Model {
	return &Model{next: func(call int) Step {
		if call < len(steps) {
			return steps[call]
		}
		return Fail(fmt.Errorf("scripted model: call %d, but the script has %d steps", call+1, len(steps)))
	}}
}

// Func returns a model that answers every call with answer, which must be safe
// for concurrent use if the model is used so.
func Func(answer Step) *Model {
	return &Model{next: func(int) Step { return answer }}
}

// Name returns "scripted".
func (m *Model) Name() string { return "scripted" }

// Generate takes the next step. It does so immediately, even if the caller does not
// range over the result.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return m.next(m.remember(req))(ctx, req)
}

// remember stores a copy of the request, because callers may change theirs
// later and Contents is not safe for use by two goroutines. It returns the
// number of calls before this one.
func (m *Model) remember(req *model.Request) int {
	seen := *req
	seen.SetContents(slices.Clone(req.Contents()))
	seen.Tools = slices.Clone(req.Tools)

	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, &seen)
	return len(m.requests) - 1
}

// Calls returns the number of calls so far.
func (m *Model) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

// Requests returns copies of the requests so far, in order.
func (m *Model) Requests() []*model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// LastUserText returns the latest text of the user in the request, or "".
func LastUserText(req *model.Request) string {
	for _, c := range slices.Backward(req.Contents()) {
		if c != nil && c.Role == event.RoleUser && c.Text() != "" {
			return c.Text()
		}
	}
	return ""
}

// LastResponses returns the results of tools that the request ends with; none
// if it ends with another content.
func LastResponses(req *model.Request) []*event.FunctionResponse {
	contents := req.Contents()
	if len(contents) == 0 || contents[len(contents)-1] == nil {
		return nil
	}
	return contents[len(contents)-1].FunctionResponses()
}
