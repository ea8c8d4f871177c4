package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// Variant is what is different for models while a set is run.
type Variant = agentrt.Variant

const (
	// maxVariants is how many variants of a set one evaluation has, and together how many of
	// them run at the same time.
	maxVariants = 24
	together    = 3
	// maxInstruction is the size of an instruction of a variant, which is stored with its result.
	maxInstruction = 64 << 10
)

// VariantName is what is different in a variant, in a line.
func VariantName(v *Variant) string {
	var parts []string
	if v.Model != "" {
		parts = append(parts, v.Model)
	}
	if v.Temperature != nil {
		parts = append(parts, fmt.Sprintf("temperature %g", *v.Temperature))
	}
	for _, agent := range slices.Sorted(maps.Keys(v.Instructions)) {
		text := []rune(strings.Join(strings.Fields(v.Instructions[agent]), " "))
		if len(text) > 40 {
			text = append(text[:39], '…')
		}
		parts = append(parts, fmt.Sprintf("%s: %s", agent, string(text)))
	}
	if len(parts) == 0 {
		return "as it is"
	}
	return strings.Join(parts, ", ")
}

// variants are those of a plan, each of which can be run.
func (s *Service) variants(p *Plan) ([]Variant, error) {
	if len(p.Variants) == 0 {
		return []Variant{{}}, nil
	}
	if len(p.Variants) > maxVariants {
		return nil, invalid("These are %d variants: at most %d can be run at once", len(p.Variants), maxVariants)
	}
	for i := range p.Variants {
		v := &p.Variants[i]
		if t := v.Temperature; t != nil && (!(*t >= 0) || math.IsInf(*t, 0)) { // also if it is not a number
			return nil, invalid("The temperature of a variant must be a number that is not negative")
		}
		for agent, text := range v.Instructions {
			if len(text) > maxInstruction || len(agent) > maxInstruction {
				return nil, invalid("The instruction of a variant is too long: it can have %d bytes", maxInstruction)
			}
		}
		if v.Model == "" {
			continue
		}
		if s.Models == nil {
			return nil, invalid("There is no model by the name of %s", v.Model)
		}
		if _, err := s.Models(v.Model); err != nil {
			return nil, &Error{Kind: Invalid, Message: fmt.Sprintf("The model %s of a variant cannot be used: %v", v.Model, err), Cause: err}
		}
	}
	return p.Variants, nil
}

// runVariants runs the cases with each variant, and returns a result for each.
func (s *Service) runVariants(ctx context.Context, p *Plan, variants []Variant, cases []*Case, progress *running) ([]*SetResult, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var (
		all     sync.WaitGroup
		mu      sync.Mutex
		failure error // the first
		storing error
		results = make([]*SetResult, len(variants))
		slots   = make(chan struct{}, together)
		done    = p.Done
	)
	if done != nil {
		p.Done = func(v *Variant, c *CaseResult) {
			mu.Lock()
			defer mu.Unlock()
			done(v, c)
		}
	}
	for i := range variants {
		slots <- struct{}{} // in order
		all.Go(func() {
			defer func() { <-slots }()
			result, err := s.runVariant(ctx, p, &variants[i], cases, progress.variant(i))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case result == nil:
				if failure == nil {
					failure = err
				}
				stop(err)
			case err != nil:
				storing = err
			}
			results[i] = result
		})
	}
	all.Wait()
	if failure != nil {
		return nil, failure
	}
	return results, storing
}

// runVariant runs the cases one after the other, and stores the result.
func (s *Service) runVariant(ctx context.Context, p *Plan, v *Variant, cases []*Case, progress *runningVariant) (*SetResult, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result := &SetResult{Set: p.Set.ID, Cases: []*CaseResult{}, Group: progress.of.group}
	if result.Group != "" {
		result.Variant = v
	}
	if s.Code != nil {
		result.Code = s.Code(p.App)
	}
	for _, c := range cases {
		progress.next(c)
		one, err := s.runCase(ctx, p, v, c)
		if err != nil {
			return nil, err
		}
		result.Cases = append(result.Cases, one)
		boundTraces(result.Cases)
		progress.done(one)
		if p.Done != nil {
			p.Done(v, one)
		}
	}
	err := s.store(p.App, result)
	progress.over(result, err)
	return result, err
}

// store keeps a result where there is a place for it. Its time, which its id has, is its own.
func (s *Service) store(app string, result *SetResult) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	const step = 1e-5 // more than ids are rounded to
	result.Created = max(event.Seconds(s.Now()), s.stored+step)
	s.stored = result.Created
	f, ok := s.files(app)
	defer func() {
		for _, c := range result.Cases {
			c.spans = nil // the result is kept for longer
		}
	}()
	if !ok || len(result.Cases) == 0 {
		return nil
	}
	if err := f.writeResult(app, result); err != nil {
		return err
	}
	return f.writeTraces(result)
}

// edges are those of a case. They are nil if all is as it is, and nothing is recorded:
// by returns what records the runs, nil for nothing.
func (s *Service) edges(v *Variant, tools *recorded, by func() Recording) func(run.Beginning) run.Edges {
	plain := v.Model == "" && v.Temperature == nil && len(v.Instructions) == 0
	if plain && tools == nil && s.Record == nil {
		return nil
	}
	return func(b run.Beginning) run.Edges {
		var edges run.Edges = direct{}
		if tools != nil {
			edges = tools.edges(b)
		}
		if r := by(); r != nil {
			if by := r.Edges(b); by != nil {
				edges = noted{edges, by}
			}
		}
		if plain {
			return edges
		}
		return altered{Edges: edges, variant: v, models: s.Models}
	}
}

// altered are edges where models are called as a variant says.
type altered struct {
	run.Edges
	variant *Variant
	models  func(string) (model.Model, error)
}

// Ask implements agentrt.Edges.
func (a altered) Ask(ctx context.Context, at agentrt.Place, m model.Model, req *model.Request, yield func(*model.Response, error) bool) {
	models := func(name string) (model.Model, error) {
		other, err := a.models(name)
		if err != nil {
			return nil, err
		}
		return asked{other, a.Edges, at}, nil
	}
	a.variant.Ask(ctx, at, asked{m, a.Edges, at}, req, models, yield)
}

// direct are edges where everything is called.
type direct struct{}

func (direct) Ask(ctx context.Context, _ agentrt.Place, m model.Model, req *model.Request, yield func(*model.Response, error) bool) {
	m.Generate(ctx, req)(yield)
}

func (direct) Listed(agentrt.Place) ([]tool.Tool, bool) { return nil, false }

func (direct) Call(tc *tool.Context, _ agentrt.Place, t tool.Tool, args json.RawMessage) (any, error) {
	return t.Call(tc, args)
}

func (direct) Done() {}
