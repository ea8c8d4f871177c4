package eval

import (
	"errors"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/session"
)

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
		Engine: func() (*run.Engine, session.Store, error) { // the first evaluation is under way
			_, meantime = s.Run(t.Context(), plan)
			return nil, nil, over
		},
	}
	for range 2 { // the second one comes when the first is over
		if _, err := s.Run(t.Context(), plan); !errors.Is(err, over) {
			t.Fatalf("an evaluation with nothing under way: %v", err)
		}
		if e, ok := errors.AsType[*Error](meantime); !ok || e.Kind != Busy {
			t.Errorf("an evaluation in the meantime: %v", meantime)
		}
	}
}
