package eval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// saying is a model that says who it is and what it was asked with, and counts tokens.
func saying(name string) model.Model {
	return scripted.Func(func(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		temperature := "none"
		if req.Config != nil && req.Config.Temperature != nil {
			temperature = fmt.Sprint(*req.Config.Temperature)
		}
		return func(yield func(*model.Response, error) bool) {
			yield(&model.Response{
				Content:      &event.Content{Role: event.RoleModel, Parts: []*event.Part{{Text: strings.TrimSpace(name + " " + temperature + " " + req.Instruction)}}},
				ModelVersion: name, Usage: &event.Usage{Prompt: 7, Candidates: 3, Total: 10},
			}, nil)
		}
	})
}

func TestVariants(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, saying("own"))
	s.Models = func(name string) (model.Model, error) {
		if name == "none" {
			return nil, errors.New("there is no such model")
		}
		return saying(name), nil
	}
	cold := 0.2
	plan := Plan{App: "app", Set: setOf(t, twoCases), Metrics: DefaultMetrics(), Variants: []Variant{
		{}, {Model: "other"}, {Temperature: &cold}, {Model: "other", Instructions: map[string]string{"helper": "Be brief.", "absent": "x"}, Temperature: &cold},
	}}
	told := map[string]int{}
	plan.Done = func(v *Variant, c *CaseResult) { told[VariantName(v)+"/"+c.ID]++ }
	results, err := s.RunVariants(t.Context(), plan)
	if err != nil || len(results) != 4 {
		t.Fatal(results, err)
	}
	seen := map[string]bool{}
	for i, want := range []string{"own none", "other none", "own 0.2", "other 0.2 Be brief."} {
		r := results[i]
		if got := r.Cases[0].Turns[0].Actual.Final.Text(); !strings.HasPrefix(got, want) || r.Group == "" || r.Group != results[0].Group || seen[r.ID] {
			t.Errorf("variant %d is %s and says %q, in %s", i, r.ID, got, r.Group)
		}
		seen[r.ID] = true
		if u := r.Cases[0].Usage; u.Tokens != 10 || u.CostUSD != nil || u.Unpriced != 10 { // there are no prices
			t.Errorf("usage of variant %d: %+v", i, u)
		}
	}
	if len(told) != 8 || told["as it is/a"] != 1 || told["other, temperature 0.2, absent: x, helper: Be brief./b"] != 1 {
		t.Errorf("told: %v", told)
	}
	now := s.Progress("app")
	if now.Status != "completed" || now.Total != 8 || len(now.Cases) != 8 || len(now.Variants) != 4 || now.Result != "" || now.Group != results[0].Group {
		t.Errorf("%+v", now)
	}
	for i, one := range now.Variants {
		if one.Status != "completed" || one.ID != results[i].ID || len(one.Cases) != 2 || one.Usage.Tokens != 20 || one.Cases[0].Session != results[i].Cases[0].Session {
			t.Errorf("variant %d: %+v", i, one)
		}
	}
	list, err := s.History("app", "s", now.Group)
	if err != nil || len(list) != 4 || len(list[0].Cases) != 2 || list[0].Usage.Unpriced != 20 || list[0].Variant == nil {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err = s.History("app", "s", ""); err != nil || len(list) != 4 || list[0].Cases != nil || list[0].Group == "" {
		t.Errorf("without a group: %+v, %v", list, err)
	}

	minus := -1.0
	for _, bad := range [][]Variant{{{Model: "none"}}, {{Temperature: &minus}}, make([]Variant, maxVariants+1), {{Instructions: map[string]string{"helper": strings.Repeat("x", maxInstruction+1)}}}} {
		plan.Variants = bad
		_, err := s.RunVariants(t.Context(), plan)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Invalid {
			t.Errorf("%v: %v", len(bad), err)
		}
	}
}

// A variant that is over when the others are cancelled has a result, and those have none.
func TestCancelVariants(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{}, maxVariants)
	s := serviceOf(t, scripted.Func(scripted.Say("Hello.")))
	s.Models = func(string) (model.Model, error) {
		return scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			waiting <- struct{}{}
			<-ctx.Done()
			return scripted.Fail(ctx.Err())(ctx, req)
		}), nil
	}
	plan := Plan{App: "app", Set: setOf(t, twoCases), Metrics: DefaultMetrics(), Variants: []Variant{{}, {Model: "slow"}, {Model: "slow"}, {Model: "slow"}, {Model: "slow"}}}
	over := make(chan error, 1)
	if _, err := s.Begin(t.Context(), plan, func(_ []*SetResult, err error) { over <- err }); err != nil {
		t.Fatal(err)
	}
	for range together { // so the first is over
		<-waiting
	}
	now, err := s.Cancel(t.Context(), "app")
	if err != nil || now.Status != "cancelled" || !errors.Is(<-over, errCancelled) {
		t.Fatalf("%+v, %v", now, err)
	}
	for i, one := range now.Variants {
		if want := map[bool]string{true: "completed", false: "cancelled"}[i == 0]; one.Status != want || (one.ID != "") != (i == 0) {
			t.Errorf("variant %d: %+v", i, one)
		}
	}
	if list, err := s.History("app", "", now.Group); err != nil || len(list) != 1 || list[0].Passed != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// What models that judge have used is in the result, in its stored form, in its forms for people and
// programs, and in the history: apart from what the conversations have used.
func TestUsageOfJudges(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, saying("own"))
	var err error
	if s.Prices, err = price.Load(""); err != nil {
		t.Fatal(err)
	}
	s.Models = func(name string) (model.Model, error) {
		return scripted.Func(func(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
			return func(yield func(*model.Response, error) bool) {
				_ = yield(&model.Response{Partial: true, ModelVersion: name, Usage: &event.Usage{Prompt: 1, Total: 1}}, nil) &&
					yield(&model.Response{Content: event.Text(event.RoleModel, `{"valid": true}`), ModelVersion: name, Usage: &event.Usage{Prompt: 1000, Candidates: 100, Total: 1100}}, nil)
			}
		}), nil
	}
	judged := func(name string, samples int) Plan {
		return Plan{App: "app", Set: setOf(t, twoCases), Metrics: []Metric{{Name: matchMetric, Threshold: 1, Criterion: &Criterion{Judge: &Judge{name, samples}}}}}
	}
	for _, test := range []struct {
		model string
		want  string
	}{
		{"gemini-2.5-flash", "  Tokens of judges: 4400, cost: $0.0022\n"}, // 2 cases, and 2 of 3 opinions are a majority
		{"unpriced", "  Tokens of judges: 4400, cost: unknown\n"},
	} {
		result, err := s.Run(t.Context(), judged(test.model, 3))
		if err != nil {
			t.Fatal(err)
		}
		stored, err := s.StoredResult("app", result.ID)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, r := range []*SetResult{result, stored} {
			var text strings.Builder
			Summary(&text, []*SetResult{r})
			if !strings.Contains(text.String(), test.want) {
				t.Errorf("%s: %s", test.model, &text)
			}
			doc, err := JSON("app", []*SetResult{r}, nil)
			if err != nil || strings.Count(string(doc), `"judges": {`) != 3 || !strings.Contains(string(doc), `"tokens": 4400`) || !strings.Contains(string(doc), `"tokens": 20`) {
				t.Errorf("%s: %s, %v", test.model, doc, err)
			}
			texts = append(texts, string(doc))
		}
		if texts[0] != texts[1] {
			t.Errorf("stored: %s, want %s", texts[1], texts[0])
		}
		list, err := s.History("app", "", "")
		if err != nil || list[0].JudgeUsage == nil || list[0].JudgeUsage.Tokens != 4400 || list[0].Usage.Tokens != 20 {
			t.Errorf("%+v, %v", list, err)
		}
	}
	plan := judged("gemini-2.5-flash", 1)
	plan.Metrics = DefaultMetrics()
	result, err := s.Run(t.Context(), plan)
	if err != nil || result.Cases[0].JudgeUsage != nil {
		t.Errorf("no model has judged: %+v, %v", result.Cases[0].JudgeUsage, err)
	}
	var text strings.Builder
	if Summary(&text, []*SetResult{result}); strings.Contains(text.String(), "judges") {
		t.Errorf("no model has judged: %s", &text)
	}
}

func TestUsageAdds(t *testing.T) {
	t.Parallel()
	var u Usage
	cent := 0.01
	for _, one := range []Usage{{Tokens: 1, Unpriced: 1, Seconds: 1}, {Tokens: 2, CostUSD: &cent}, {Tokens: 3, CostUSD: &cent, Seconds: 2}} {
		u.add(&one)
	}
	if u.Tokens != 6 || u.Unpriced != 1 || u.Seconds != 3 || u.CostUSD == nil || *u.CostUSD != 0.02 || cent != 0.01 {
		t.Errorf("%+v", u)
	}
}

var _ agentrt.Edges = direct{}
