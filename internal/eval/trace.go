package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// Recording keeps what models and tools of a case were asked, and what they answered.
type Recording interface {
	// Edges returns the edges of a run; nil if it is not recorded.
	Edges(b run.Beginning) run.Edges
	// Spans returns what happened in the runs of a session as spans, each as JSON, with or
	// without what models and tools were sent and have answered.
	Spans(ctx context.Context, key session.Key, content bool) ([]json.RawMessage, error)
	Close()
}

// traceFile is the ending of the files with the spans of the sessions of a result, which
// are beside it.
const traceFile = ".parley_traces.json"

const (
	// maxTrace is the size of the spans of one case that are stored. Of more, what was
	// said is left out.
	maxTrace = 4 << 20
	// maxTraces is the size of those of one result.
	maxTraces = 32 << 20
)

// spansOf returns the spans of a case within bounds; nil if there are none.
func spansOf(ctx context.Context, r Recording, key session.Key) []json.RawMessage {
	if r == nil {
		return nil
	}
	for _, content := range []bool{true, false} {
		list, err := r.Spans(ctx, key, content)
		if err != nil {
			return nil // the result is of use without
		}
		size := 0
		for _, one := range list {
			size += len(one)
		}
		if size <= maxTrace {
			return list
		}
	}
	return nil
}

// boundTraces drops spans of cases that are more than is stored of a result: those of
// failed cases, which are looked at, stay first.
func boundTraces(cases []*CaseResult) {
	left := maxTraces
	for _, failed := range []bool{true, false} {
		for _, c := range cases {
			if failed != (c.Status == Failed) {
				continue
			}
			size := 0
			for _, one := range c.spans {
				size += len(one)
			}
			if size > left {
				c.spans = nil
				continue
			}
			left -= size
		}
	}
}

// writeTraces stores the spans of a result, and deletes those of old results: of as many
// as are searched for a session, they stay.
func (f files) writeTraces(result *SetResult) error {
	boundTraces(result.Cases)
	traces := map[string][]json.RawMessage{}
	for _, c := range result.Cases {
		if len(c.spans) > 0 {
			traces[c.Session] = c.spans
		}
	}
	if len(traces) == 0 {
		return nil
	}
	doc, err := json.Marshal(traces)
	if err != nil {
		return err
	}
	if err := f.write(path.Join(historyDir, result.ID+traceFile), doc); err != nil {
		return err
	}
	return f.dropTraces()
}

// dropTraces deletes the traces of old results.
func (f files) dropTraces() error {
	root, err := f.open()
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), historyDir)
	if err != nil {
		return err
	}
	var found []fs.FileInfo
	for _, one := range entries {
		if info, err := one.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(one.Name(), traceFile) {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range found[min(len(found), maxLatest):] {
		if err := root.Remove(path.Join(historyDir, old.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// saidAttributes are those of spans with what models and tools were sent and have answered.
var saidAttributes = []string{
	"gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response",
	"parley.request_origins",
}

// Spans returns the spans of the session of a case, of the runs that are not known, each as
// JSON; none if there are none.
func (s *Service) Spans(key session.Key, content bool, known map[string]bool) ([]json.RawMessage, error) {
	if c, ok := s.held(key); ok {
		return visible(c.spans, content, known)
	}
	id, _, err := s.find(key)
	if _, ok := errors.AsType[*Error](err); ok {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, _ := s.files(key.App)
	doc, err := f.read(path.Join(historyDir, id+traceFile), "Trace", id)
	if _, ok := errors.AsType[*Error](err); ok {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var traces map[string][]json.RawMessage
	if err := json.Unmarshal(doc, &traces); err != nil {
		return nil, fmt.Errorf("read the traces of the eval result %s: %w", id, err)
	}
	list, err := visible(traces[key.ID], content, known)
	if err != nil {
		return nil, fmt.Errorf("read the traces of the eval result %s: %w", id, err)
	}
	return list, nil
}

// visible returns the spans of the runs that are not known, with or without what was said.
func visible(spans []json.RawMessage, content bool, known map[string]bool) (list []json.RawMessage, err error) {
	for _, doc := range spans {
		var span map[string]json.RawMessage
		if err := json.Unmarshal(doc, &span); err != nil {
			return nil, err
		}
		var attributes map[string]json.RawMessage
		var of string
		if json.Unmarshal(span["attributes"], &attributes) != nil || json.Unmarshal(attributes["gcp.vertex.agent.invocation_id"], &of) != nil || known[of] {
			continue
		}
		if !content {
			for _, name := range saidAttributes {
				delete(attributes, name)
			}
			if span["attributes"], err = json.Marshal(attributes); err != nil {
				return nil, err
			}
		}
		one, err := json.Marshal(span)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// noted are edges that a recording also has: calls of models as they are made in the end,
// and calls of tools as they are answered.
type noted struct {
	run.Edges
	by run.Edges
}

// Ask implements agentrt.Edges.
func (n noted) Ask(ctx context.Context, at agentrt.Place, m model.Model, req *model.Request, yield func(*model.Response, error) bool) {
	n.by.Ask(ctx, at, m, req, yield)
}

// Call implements agentrt.Edges.
func (n noted) Call(tc *tool.Context, at agentrt.Place, t tool.Tool, args json.RawMessage) (any, error) {
	return n.by.Call(tc, at, answered{t, n.Edges, at}, args)
}

// Done implements run.Edges.
func (n noted) Done() {
	n.by.Done()
	n.Edges.Done()
}

// answered is a tool whose calls edges answer.
type answered struct {
	tool.Tool
	edges run.Edges
	at    agentrt.Place
}

func (a answered) Call(tc *tool.Context, args json.RawMessage) (any, error) {
	return a.edges.Call(tc, a.at, a.Tool, args)
}

// asked is a model that edges ask.
type asked struct {
	model.Model
	edges run.Edges
	at    agentrt.Place
}

func (a asked) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) { a.edges.Ask(ctx, a.at, a.Model, req, yield) }
}
