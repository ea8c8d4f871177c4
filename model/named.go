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

// Generate fails: a name alone cannot answer.
func (n Named) Generate(context.Context, *Request) iter.Seq2[*Response, error] {
	return func(yield func(*Response, error) bool) {
		yield(nil, fmt.Errorf("the model %q is only a name here: a server makes the model, or parley.NewModel", string(n)))
	}
}
