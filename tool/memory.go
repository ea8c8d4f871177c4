package tool

import (
	"context"
	"errors"
	"time"

	"github.com/parley-run/parley/event"
)

// Memory is what was said in earlier sessions of a user with the application. It
// is safe for concurrent use.
type Memory interface {
	// Search finds what has to do with a question, the best first. It may be
	// nothing.
	Search(ctx context.Context, question string) ([]*Remembered, error)
	// AddSession remembers what has been said in the session so far.
	AddSession(ctx context.Context) error
}

// Remembered is something that somebody said.
type Remembered struct {
	Author  string
	Time    time.Time
	Content *event.Content
}

var errNoMemory = errors.New("Memory service is not initialized. Only what an agent of a server runs has a memory")

// SearchMemory finds what was said in earlier sessions of the user and has to do
// with a question.
func (c *Context) SearchMemory(question string) ([]*Remembered, error) {
	if c.Memory == nil {
		return nil, errNoMemory
	}
	return c.Memory.Search(c, question)
}

// AddSessionToMemory remembers what has been said in this session so far. To do
// it again adds what is new.
func (c *Context) AddSessionToMemory() error {
	if c.Memory == nil {
		return errNoMemory
	}
	return c.Memory.AddSession(c)
}
