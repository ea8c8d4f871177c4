package run

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// ledger counts the usage of a run, and tracks its calls without a response and its
// errors without a following event. It is safe for concurrent use.
type ledger struct {
	prices *price.Table
	tokens atomic.Int64 // the total usage of the run
	nanos  atomic.Int64 // what it has cost, as far as that is known

	mu      sync.Mutex
	logged  counted // of the events in the log
	private counted // of agents that are tools, whose events are not in the log
	calls   []openCall
	first   [1]openCall // where calls begins, which saves an allocation (BenchmarkRun)
	errors  []branchError
}

// counted is usage, also by model.
type counted struct {
	event.Usage
	models []session.ModelUsage
}

// count adds the usage of a call of a model. l.mu must be held.
func (l *ledger) count(to *counted, version string, u *event.Usage) {
	to.Add(u)
	one := session.ModelUsage{Model: to.modelName(version), Tokens: *u}
	one.Tokens.Extra = nil
	var known bool
	if one.Nanos, known = l.prices.Cost(version, u); !known {
		one.Unpriced = max(u.Total, 0)
	}
	to.models = session.AddModels(to.models, one)
	l.tokens.Add(u.Total)
	l.nanos.Add(one.Nanos)
}

const (
	// maxModels is the number of models of a run that are counted separately, and
	// maxModelName the size of their names: providers choose them.
	maxModels    = 50
	maxModelName = 128
)

// modelName returns the name under which a model is counted.
func (c *counted) modelName(version string) string {
	if len(version) > maxModelName {
		version = version[:maxModelName]
	}
	version = strings.ReplaceAll(strings.ToValidUTF8(version, ""), "\x00", "")
	if len(c.models) >= maxModels && !slices.ContainsFunc(c.models, func(m session.ModelUsage) bool { return m.Model == version }) {
		return ""
	}
	return version
}

// setTotals sets the sums. l.mu must be held.
func (l *ledger) setTotals() {
	l.tokens.Store(l.logged.Total + l.private.Total)
	nanos := int64(0)
	for _, list := range [][]session.ModelUsage{l.logged.models, l.private.models} {
		for i := range list {
			nanos += list[i].Nanos
		}
	}
	l.nanos.Store(nanos)
}

// openCall is a call without a response.
type openCall struct {
	id, name, author, branch string
	long                     bool // the answer may come from outside
}

// branchError is an error after which no agent that could see it has emitted an
// event.
type branchError struct{ branch, code, message string }

// reset discards everything that came from the log.
func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logged, l.calls, l.errors = counted{}, nil, nil
	l.setTotals()
}

// add counts an event of the log.
func (l *ledger) add(ev *event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := ev.Usage; u != nil {
		l.count(&l.logged, ev.ModelVersion, u)
	}
	l.addError(ev)
	if ev.Content == nil {
		return
	}
	for _, p := range ev.Content.Parts {
		switch {
		case p.FunctionCall != nil:
			if l.calls == nil {
				l.calls = l.first[:0]
			}
			l.calls = append(l.calls, openCall{
				id: p.FunctionCall.ID, name: p.FunctionCall.Name, author: ev.Author, branch: ev.Branch,
				long: slices.Contains(ev.LongRunningToolIDs, p.FunctionCall.ID),
			})
		case p.FunctionResponse != nil:
			l.calls = slices.DeleteFunc(l.calls, func(c openCall) bool { return c.id == p.FunctionResponse.ID })
		}
	}
}

// addError keeps an error until an agent that could see it emits an event, because
// then the run has continued. Parallel branches do not see each other's errors.
func (l *ledger) addError(ev *event.Event) {
	failed := ev.ErrorCode != "" || ev.ErrorMessage != ""
	if ev.Author == event.User || ev.Content == nil && !failed {
		return
	}
	l.errors = slices.DeleteFunc(l.errors, func(e branchError) bool { return !agentrt.Apart(e.branch, ev.Branch) })
	if failed {
		l.errors = append(l.errors, branchError{ev.Branch, cmp.Or(ev.ErrorCode, "UNKNOWN_ERROR"), cmp.Or(ev.ErrorMessage, ev.ErrorCode)})
	}
}

// addPrivate counts the tokens of a model call that is not in the log, by an agent
// that is used as a tool. note receives their sum.
func (l *ledger) addPrivate(version string, u *event.Usage, note func(event.Usage, []session.ModelUsage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(&l.private, version, u)
	note(l.private.Usage, l.private.models)
}

// restorePrivate sets the usage that an earlier worker on the run has noted.
func (l *ledger) restorePrivate(doc, models []byte) {
	var c counted
	if doc == nil || c.UnmarshalJSON(doc) != nil {
		return
	}
	c.models, _ = sessionrt.DecodeModels(models) // what it lacks has no known cost
	l.mu.Lock()
	defer l.mu.Unlock()
	l.private = c
	l.setTotals()
}

// usage returns the total usage of the run, also by model.
func (l *ledger) usage() (sum event.Usage, models []session.ModelUsage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum.Add(&l.logged.Usage)
	sum.Add(&l.private.Usage)
	return sum, session.AddModels(slices.Clone(l.logged.models), l.private.models...)
}

// open returns the calls without a response.
func (l *ledger) open() []openCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// failure returns the first error without a following event, or nil.
func (l *ledger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errors) == 0 {
		return nil
	}
	return &agentrt.Failure{Code: l.errors[0].code, Message: l.errors[0].message}
}
