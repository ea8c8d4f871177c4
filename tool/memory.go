package tool

import (
	"context"
	"errors"
	"time"

	"github.com/parley-run/parley/event"
)

// Memory searches earlier sessions of a user with the application. It is safe
// for concurrent use.
type Memory interface {
	// Search returns what is relevant to a question, the best first; it may be
	// nothing.
	Search(ctx context.Context, question string) ([]*Remembered, error)
	// AddSession stores what has been said in the session so far.
	AddSession(ctx context.Context) error
}

// Remembered is a message of an earlier session.
type Remembered struct {
	Author  string
	Time    time.Time
	Content *event.Content
}

var errNoMemory = errors.New("Memory service is not initialized. Only what an agent of a server runs has a memory")

// SearchMemory returns what earlier sessions of the user contain about a
// question.
func (c *Context) SearchMemory(question string) ([]*Remembered, error) {
	if c.Memory == nil {
		return nil, errNoMemory
	}
	return c.Memory.Search(c, question)
}

// AddSessionToMemory stores what has been said in this session so far. Calling
// it again adds what is new.
func (c *Context) AddSessionToMemory() error {
	if c.Memory == nil {
		return errNoMemory
	}
	return c.Memory.AddSession(c)
}
