package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// A set that is given as a file may have any id: its results are kept with the
// others, and under a name by which they are found.
func TestResultsHaveNames(t *testing.T) {
	t.Parallel()
	f := files{t.TempDir()}
	for i, id := range []string{"smoke", "../../../up", "a/b", `c\d`, "", ".", strings.Repeat("é", 300)} {
		result := &SetResult{Set: id, Created: float64(i), Cases: []*CaseResult{}}
		if err := f.writeResult("../app", result); err != nil {
			t.Errorf("%q: %v", id, err)
			continue
		}
		doc, err := f.result(result.ID)
		if err != nil {
			t.Errorf("%q is kept as %q: %v", id, result.ID, err)
			continue
		}
		var kept struct{ EvalSetID string }
		if err := json.Unmarshal(doc, &kept); err != nil || kept.EvalSetID != id {
			t.Errorf("%q is kept as %s", id, doc)
		}
	}
	if list, err := f.list(historyDir, resultFile); err != nil || len(list) != 7 {
		t.Errorf("results: %q, %v", list, err)
	}
}

// A name that is too long for a file is refused, however few letters it has.
func TestLongNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &Service{Dir: func(string) string { return dir }}
	for name, ok := range map[string]bool{strings.Repeat("ж", 110): true, strings.Repeat("ж", 111): false, strings.Repeat("a", 151): true, strings.Repeat("a", 152): false} {
		err := s.Create("a", NewSet(name, time.Now()))
		problem, refused := errors.AsType[*Error](err)
		if ok != (err == nil) || !ok && (!refused || problem.Kind != Invalid) {
			t.Errorf("%.10s, %d bytes: %v", name, len(name), err)
		}
	}
}

// A request for sessions does not read all results that were ever stored.
func TestSessionsOfLatestResults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := files{dir}
	s := &Service{Dir: func(string) string { return dir }}
	key := func(i int) session.Key {
		return session.Key{App: "a", User: "u", ID: fmt.Sprint(sessionPrefix, i, "x")}
	}
	for i := range maxLatest + 1 {
		result := &SetResult{Set: "s", Created: float64(i), Cases: []*CaseResult{{Session: key(i).ID, User: "u", Details: json.RawMessage(`{"id":1}`)}}}
		if err := f.writeResult("a", result); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(i), 0)
		if err := os.Chtimes(filepath.Join(dir, historyDir, result.ID+resultFile), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int]bool{0: false, 1: true, maxLatest: true, maxLatest + 1: false} {
		doc, err := s.Session(key(i))
		if e, missing := errors.AsType[*Error](err); want != (err == nil) || !want && (!missing || e.Kind != NotFound) {
			t.Errorf("the session of result %d: %s, %v", i, doc, err)
		}
	}
}

func TestOneEvaluationAtATime(t *testing.T) {
	t.Parallel()
	set, err := ReadSet([]byte(`{"eval_set_id":"s","eval_cases":[{"eval_id":"c","conversation":[{"user_content":{"parts":[{"text":"hi"}]}}]}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	var (
		s        *Service
		meantime error
		over     = errors.New("over")
	)
	plan := Plan{App: "a", Set: set, Metrics: DefaultMetrics()}
	s = &Service{
		Dir: func(string) string { return "" }, Now: time.Now,
		Engine: func(func(run.Beginning) run.Edges) (*run.Engine, session.Store, error) { // the first evaluation is in progress
			_, meantime = s.Run(t.Context(), plan)
			return nil, session.Store{}, over
		},
	}
	for range 2 { // the second one comes when the first is over
		if _, err := s.Run(t.Context(), plan); !errors.Is(err, over) {
			t.Fatalf("an evaluation with nothing in progress: %v", err)
		}
		if e, ok := errors.AsType[*Error](meantime); !ok || e.Kind != Busy {
			t.Errorf("an evaluation in the meantime: %v", meantime)
		}
	}
}
