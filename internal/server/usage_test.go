package server

import (
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

func TestSumSessions(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 1, 23, 59, 0, 0, time.UTC)
	runs := []*session.Run{
		{Key: session.Key{App: "a", User: "u", ID: "s"}, Created: day, Usage: event.Usage{Total: 1}},
		{Key: session.Key{App: "a", User: "u", ID: "s"}, Created: day.Add(time.Minute), Usage: event.Usage{Total: 2}},
		{Key: session.Key{App: "a", User: "v", ID: "s"}, Created: day, Usage: event.Usage{Total: 4}},
	}
	of := func(fail error) iter.Seq2[*session.Run, error] {
		return func(yield func(*session.Run, error) bool) {
			for _, run := range runs {
				if !yield(run, nil) {
					return
				}
			}
			if fail != nil {
				yield(nil, fail)
			}
		}
	}
	sums, err := sumSessions(of(nil), false, len(runs))
	if err != nil || len(sums) != 2 || sums[sessionUsageKey{App: "a", User: "u", Session: "s"}].Tokens.Total != 3 || sums[sessionUsageKey{App: "a", User: "v", Session: "s"}].Runs != 1 {
		t.Errorf("by session: %v, %v", sums, err)
	}
	sums, err = sumSessions(of(nil), true, len(runs))
	if err != nil || len(sums) != 3 || sums[sessionUsageKey{"2026-11-02", "a", "u", "s"}].Tokens.Total != 2 {
		t.Errorf("by day: %v, %v", sums, err)
	}
	var refused *httpError
	if _, err := sumSessions(of(nil), false, len(runs)-1); !errors.As(err, &refused) || refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.message, "more than 2 runs") {
		t.Errorf("too many: %v", err)
	}
	failed := errors.New("the store fails")
	if _, err := sumSessions(of(failed), false, 100); !errors.Is(err, failed) {
		t.Errorf("after a failure: %v", err)
	}
}
