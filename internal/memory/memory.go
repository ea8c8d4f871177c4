// Package memory implements the memory of earlier sessions with a user: which texts are kept, and how they are found. A
// session.Store stores them.
package memory

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

const (
	maxFound = 20 // results of a search
	maxAsked = 64 // words of a question that count
)

// Session is the memory of the user of a session, for the calls of the session.
type Session struct {
	Sessions session.Sessions
	Memories session.Memories
	Key      session.Key
}

var _ tool.Memory = (*Session)(nil)

// Search finds texts that are related to a question.
func (m *Session) Search(ctx context.Context, question string) ([]*tool.Remembered, error) {
	words := Words(question)
	if len(words) == 0 {
		return nil, nil
	}
	found, err := m.Memories.Recall(ctx, m.Key.App, m.Key.User, words, maxFound)
	if err != nil {
		return nil, fmt.Errorf("search the memory: %w", err)
	}
	list := make([]*tool.Remembered, 0, len(found))
	for _, one := range found {
		content := &event.Content{}
		if err := content.UnmarshalJSON(one.Content); err != nil {
			continue // not written by this package
		}
		list = append(list, &tool.Remembered{Author: one.Author, Time: one.Time, Content: content})
	}
	return list, nil
}

// AddSession adds the texts of the session.
func (m *Session) AddSession(ctx context.Context) error {
	return Add(ctx, m.Sessions, m.Memories, m.Key)
}

// AddOther adds the texts of another session of the user.
func (m *Session) AddOther(ctx context.Context, id string) error {
	key := m.Key
	key.ID = id
	return Add(ctx, m.Sessions, m.Memories, key)
}

// Add adds the texts of a session to the memory of its user. Adding a session
// again adds what is new.
func Add(ctx context.Context, sessions session.Sessions, memories session.Memories, key session.Key) error {
	s, err := sessions.Get(ctx, key, session.Read{})
	if err != nil {
		return fmt.Errorf("add to the memory: %w", err)
	}
	var all []*session.Remembered
	for _, entry := range s.Seen() {
		ev, err := entry.Decode()
		if err != nil || ev.Content == nil {
			continue
		}
		one, err := remembered(ev)
		if err != nil {
			return fmt.Errorf("add to the memory: %w", err)
		}
		if one != nil {
			all = append(all, one)
		}
	}
	if err := memories.Remember(ctx, key, all); err != nil {
		return fmt.Errorf("add to the memory: %w", err)
	}
	return nil
}

// remembered returns what is kept of an event: its text, without thoughts, calls and files. It is nil if there is none.
func remembered(ev *event.Event) (*session.Remembered, error) {
	kept := &event.Content{Role: ev.Content.Role}
	var text strings.Builder
	for _, p := range ev.Content.Parts {
		if p.IsText() && !p.Thought && p.Text != "" {
			kept.Parts = append(kept.Parts, &event.Part{Text: p.Text})
			text.WriteString(p.Text + "\n")
		}
	}
	if len(kept.Parts) == 0 {
		return nil, nil
	}
	doc, err := kept.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return &session.Remembered{
		Event: ev.ID, Author: ev.Author, Time: time.UnixMicro(int64(math.Round(ev.Timestamp * 1e6))).UTC(),
		Content: doc, Words: indexOf(text.String()),
	}, nil
}

// Text returns a text as it is remembered: its content, and the words by which it is found.
func Text(text string) (content []byte, words []string, err error) {
	content, err = (&event.Content{Role: event.RoleUser, Parts: []*event.Part{{Text: text}}}).MarshalJSON()
	return content, indexOf(text), err
}

// Words returns the words of a question that count.
func Words(question string) []string {
	words := wordsOf(question)
	return words[:min(len(words), maxAsked)]
}
