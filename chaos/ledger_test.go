//go:build unix

package chaos

import (
	"os"
	"strings"
)

// ledger is what tools have really done.
type ledger struct {
	starts int
	ids    map[string]map[string]int // tool, call id
	keys   map[string]map[string]int // tool, key of the call
	ended  map[string]bool           // call ids
}

func (w *world) readLedger() *ledger {
	b, err := os.ReadFile(w.ledger)
	if err != nil {
		w.Fatal(err)
	}
	l := &ledger{ids: map[string]map[string]int{}, keys: map[string]map[string]int{}, ended: map[string]bool{}}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 6 {
			w.Errorf("the ledger has a line %q", line)
			continue
		}
		what, id, tool, key := f[0], f[1], f[2], f[3]
		if what == "end" {
			l.ended[id] = true
			continue
		}
		l.starts++
		if l.ids[tool] == nil {
			l.ids[tool], l.keys[tool] = map[string]int{}, map[string]int{}
		}
		l.ids[tool][id]++
		l.keys[tool][key]++
	}
	return l
}

// calls looks whether what the log says was done was done, and how often: by
// the call and, for tools that work once, also by what the call is for, in case
// that it was made again under another id.
func (v *verdict) calls(l *ledger) {
	for i, ev := range v.events {
		for _, p := range ev.Content.Parts {
			if r := p.FunctionResponse; r != nil && r.Response.Did != "" && !l.ended[r.ID] {
				v.problem("#%d: the call %s has a result, and was not executed to its end", v.entries[i].Seq, r.ID)
			}
			call := p.FunctionCall
			if call == nil {
				continue
			}
			limit := 1
			if r := v.runs[ev.InvocationID]; r != nil && call.Name != "once" {
				limit = r.Attempt
			}
			if n := l.ids[call.Name][call.ID]; n > limit {
				v.problem("#%d: the call %s of %s was executed %d times, at most %d is right", v.entries[i].Seq, call.ID, call.Name, n, limit)
			}
			delete(l.ids[call.Name], call.ID)
			// What was rewound may be done again.
			if n := l.keys["once"][call.Args.Key]; call.Name == "once" && n > 1 && !v.conv.rewound {
				v.problem("#%d: %s was executed %d times, with several ids", v.entries[i].Seq, call.Args.Key, n)
			}
		}
	}
}

// executions looks for those that no log knows of.
func (w *world) executions(l *ledger) {
	for tool, ids := range l.ids {
		for id := range ids {
			w.Errorf("%s was executed for the call %s, which is in no log", tool, id)
		}
	}
}
