package model

import (
	"context"
	"fmt"
	"iter"
)

// Named is the model of that name, such as gpt-5 or claude-sonnet-4-5. Whoever
// runs the agent makes it: with the keys that are at hand there, or as the
// offline model.
type Named string

// Name is the name.
func (n Named) Name() string { return string(n) }

// Generate asks the model of that name.
func (n Named) Generate(ctx context.Context, req *Request) iter.Seq2[*Response, error] {
	find, _ := ctx.Value(namesKey{}).(func(string) (Model, error))
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

type namesKey struct{}

// WithNames is a context in which a Named is the model that find gives for it.
func WithNames(ctx context.Context, find func(name string) (Model, error)) context.Context {
	return context.WithValue(ctx, namesKey{}, find)
}
