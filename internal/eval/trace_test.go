package eval

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
)

// While cases run, no more of them is kept than is stored.
func TestTracesOfRunningCasesAreBounded(t *testing.T) {
	t.Parallel()
	half := []json.RawMessage{json.RawMessage(strings.Repeat("1", maxTraces/2))}
	var cases []*CaseResult
	for i := range 8 {
		c := &CaseResult{Status: Passed, spans: half}
		if i == 5 {
			c.Status = Failed
		}
		cases = append(cases, c)
		boundTraces(cases)
		kept := 0
		for _, one := range cases {
			kept += len(one.spans)
		}
		if kept > 2 || c.Status == Failed && c.spans == nil {
			t.Errorf("after %d cases, the traces of %d are kept", i+1, kept)
		}
	}
}

// Traces are stored within bounds: those of failed cases first, and of the latest results.
func TestTracesAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := files{dir}
	s := &Service{Dir: func(string) string { return dir }}
	large := json.RawMessage(`{"attributes":{"gcp.vertex.agent.invocation_id":"e-1","text":"` + strings.Repeat("a", maxTraces/2) + `"}}`)
	result := &SetResult{Set: "s", Created: 1}
	for i := range 3 {
		c := &CaseResult{ID: fmt.Sprint(i), Session: fmt.Sprint(sessionPrefix, i), User: "u", Details: json.RawMessage(`{"id":1}`), Status: Passed, spans: []json.RawMessage{large}}
		if i == 2 {
			c.Status = Failed
		}
		result.Cases = append(result.Cases, c)
	}
	if err := f.writeResult("a", result); err != nil {
		t.Fatal(err)
	}
	if err := f.writeTraces(result); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 0, 1} { // with those of the format, two halves are too much
		list, err := s.Spans(session.Key{App: "a", User: "u", ID: fmt.Sprint(sessionPrefix, i)}, true, nil)
		if err != nil || len(list) != want {
			t.Errorf("case %d has %d spans, want %d (%v)", i, len(list), want, err)
		}
	}
	if list, err := s.Spans(session.Key{App: "a", User: "u", ID: sessionPrefix + "2"}, true, map[string]bool{"e-1": true}); err != nil || len(list) != 0 {
		t.Errorf("%d spans of a run that is known, %v", len(list), err)
	}
	small := []json.RawMessage{json.RawMessage(`{"attributes":{}}`)}
	for i := range maxLatest {
		one := &SetResult{ID: fmt.Sprint("r", i), Cases: []*CaseResult{{Session: "x", spans: small}}}
		if err := f.writeTraces(one); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i+1) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, historyDir, one.ID+traceFile), at, at); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, historyDir, "*"+traceFile))
	if err != nil || len(left) != maxLatest {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if _, err := os.Stat(filepath.Join(dir, historyDir, result.ID+traceFile)); !os.IsNotExist(err) {
		t.Errorf("the oldest is still there: %v", err)
	}
	if ids, err := f.latest(); err != nil || len(ids) != 1 {
		t.Errorf("results: %v, %v", ids, err)
	}
}
