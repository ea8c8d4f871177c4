package run

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// unsaid is the end of a message that is said piece by piece, as far as it may
// be the beginning of a secret: what follows decides.
type unsaid struct {
	last    *event.Event // the latest piece
	text    string
	thought string
}

// of is what is held back of the text, or of the thoughts.
func (u *unsaid) of(thought bool) *string {
	if thought {
		return &u.thought
	}
	return &u.text
}

// piece shows a part of an event that is still being made, without secrets: also
// those that come in several pieces. It wants t.mu held.
func (t *task) piece(ev *event.Event) error {
	if len(ev.Actions.StateDelta) > 0 { // which is sealed when the whole event comes
		shown := *ev
		shown.Actions.StateDelta = maps.Clone(withhold(ev.Actions.StateDelta, session.State{}))
		maps.DeleteFunc(shown.Actions.StateDelta, func(key string, _ json.RawMessage) bool { return tool.IsSecret(key) })
		ev = &shown
	}
	if t.wallet == nil || !t.wallet.Knows() {
		return t.feed.piece(ev)
	}
	ev, err := t.scrubbed(t.decided(ev))
	if err != nil || ev == nil {
		return err
	}
	return t.feed.piece(ev)
}

// decided is a piece with what was held back before it, and without what is held
// back now; nil when nothing is left of it.
func (t *task) decided(ev *event.Event) *event.Event {
	if ev.Content == nil || !slices.ContainsFunc(ev.Content.Parts, (*event.Part).IsText) {
		return ev
	}
	i := slices.IndexFunc(t.unsaid, func(u *unsaid) bool { return u.last.Author == ev.Author && u.last.Branch == ev.Branch })
	if i < 0 {
		i = len(t.unsaid)
		t.unsaid = append(t.unsaid, &unsaid{})
	}
	rest := t.unsaid[i]
	shown := *ev // what an agent has emitted stays as it is
	rest.last = &shown
	shown.Content = &event.Content{Role: ev.Content.Role}
	for _, p := range ev.Content.Parts {
		if !p.IsText() {
			shown.Content.Parts = append(shown.Content.Parts, p)
			continue
		}
		held := rest.of(p.Thought)
		text := *held + p.Text
		n := t.wallet.Decided(text)
		*held = text[n:]
		if n > 0 || p.Text == "" {
			part := *p
			part.Text = tool.ScrubText(t.wallet, text[:n])
			shown.Content.Parts = append(shown.Content.Parts, &part)
		}
	}
	if len(shown.Content.Parts) == 0 {
		return nil
	}
	return &shown
}

// say shows what was held back of a message, because the message is complete. It
// wants t.mu held.
func (t *task) say(author, branch string) error {
	i := slices.IndexFunc(t.unsaid, func(u *unsaid) bool { return u.last.Author == author && u.last.Branch == branch })
	if i < 0 {
		return nil
	}
	rest := t.unsaid[i]
	t.unsaid = slices.Delete(t.unsaid, i, i+1)
	shown := *rest.last
	shown.Content = &event.Content{Role: shown.Content.Role}
	for _, thought := range []bool{true, false} {
		if text := *rest.of(thought); text != "" {
			shown.Content.Parts = append(shown.Content.Parts, &event.Part{Text: tool.ScrubText(t.wallet, text), Thought: thought})
		}
	}
	if len(shown.Content.Parts) == 0 {
		return nil
	}
	ev, err := t.scrubbed(&shown)
	if err != nil {
		return err
	}
	return t.feed.piece(ev)
}

// scrubbed is a piece without secrets in its other members.
func (t *task) scrubbed(ev *event.Event) (*event.Event, error) {
	if ev == nil {
		return nil, nil
	}
	doc, err := ev.AppendJSON(nil)
	if err != nil {
		return nil, err
	}
	clean := t.wallet.Scrub(doc)
	if bytes.Equal(clean, doc) {
		return ev, nil
	}
	out := new(event.Event)
	return out, out.UnmarshalJSON(clean)
}
