package model

import (
	"context"
	"fmt"
	"iter"

	"github.com/parley-run/parley/internal/modelname"
)

// Named is a model that is selected by its name, such as gpt-5 or
// claude-sonnet-4-5. The server that runs the agent resolves the name: with its
// keys, or to the offline model.
type Named string

// Name returns the name.
func (n Named) Name() string { return string(n) }

// Generate implements Model.
func (n Named) Generate(ctx context.Context, req *Request) iter.Seq2[*Response, error] {
	find, _ := ctx.Value(modelname.Key{}).(func(string) (Model, error))
	if find == nil {
		return failing(fmt.Errorf("the model %q is only a name here: a server knows what to make of it, or parley.NewModel", string(n)))
	}
	m, err := find(string(n))
	if err != nil {
		return failing(err)
	}
	return m.Generate(ctx, req)
}

func failing(err error) iter.Seq2[*Response, error] {
	return func(yield func(*Response, error) bool) { yield(nil, err) }
}
