package stream

import (
	"bytes"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// Secrets is what a Redactor needs to know about the secrets of a run.
type Secrets interface {
	agentrt.Secrets
	// Knows reports whether Scrub would look for anything.
	Knows() bool
	// Decided returns how many bytes of an incomplete text can be scrubbed and
	// shown: the rest may be the beginning of a secret.
	Decided(text string) int
}

// Redactor removes secrets from pieces, including secrets that span several pieces:
// it holds back the end of a text that may be the beginning of one. It must be used
// by one goroutine at a time.
type Redactor struct {
	secrets Secrets
	held    []*heldText
}

// NewRedactor returns a Redactor for one run. secrets may be nil.
func NewRedactor(secrets Secrets) Redactor { return Redactor{secrets: secrets} }

// heldText is the end of a message that has not been shown: the next piece decides
// whether it is the beginning of a secret.
type heldText struct {
	last    *event.Event // the latest piece
	text    string
	thought string
}

// of returns the held text, or the held thoughts.
func (h *heldText) of(thought bool) *string {
	if thought {
		return &h.thought
	}
	return &h.text
}

// Piece returns a piece with the text held back before it, and without the text
// held back now; nil if nothing remains.
func (r *Redactor) Piece(ev *event.Event) (*event.Event, error) {
	if r.secrets == nil || !r.secrets.Knows() {
		return ev, nil
	}
	return r.scrub(r.decided(ev))
}

func (r *Redactor) decided(ev *event.Event) *event.Event {
	if ev.Content == nil || !slices.ContainsFunc(ev.Content.Parts, (*event.Part).IsText) {
		return ev
	}
	i := r.find(ev.Author, ev.Branch)
	if i < 0 {
		i = len(r.held)
		r.held = append(r.held, &heldText{})
	}
	rest := r.held[i]
	shown := *ev // do not change what an agent has emitted
	rest.last = &shown
	shown.Content = &event.Content{Role: ev.Content.Role}
	for _, p := range ev.Content.Parts {
		if !p.IsText() {
			shown.Content.Parts = append(shown.Content.Parts, p)
			continue
		}
		held := rest.of(p.Thought)
		text := *held + p.Text
		n := r.secrets.Decided(text)
		*held = text[n:]
		if n > 0 || p.Text == "" {
			part := *p
			part.Text = agentrt.ScrubText(r.secrets, text[:n])
			shown.Content.Parts = append(shown.Content.Parts, &part)
		}
	}
	if len(shown.Content.Parts) == 0 {
		return nil
	}
	return &shown
}

// Rest returns a piece with the held text of a complete message; nil if there is
// none.
func (r *Redactor) Rest(author, branch string) (*event.Event, error) {
	i := r.find(author, branch)
	if i < 0 {
		return nil, nil
	}
	rest := r.held[i]
	r.held = slices.Delete(r.held, i, i+1)
	shown := *rest.last
	shown.Content = &event.Content{Role: shown.Content.Role}
	for _, thought := range []bool{true, false} {
		if text := *rest.of(thought); text != "" {
			shown.Content.Parts = append(shown.Content.Parts, &event.Part{Text: agentrt.ScrubText(r.secrets, text), Thought: thought})
		}
	}
	if len(shown.Content.Parts) == 0 {
		return nil, nil
	}
	return r.scrub(&shown)
}

func (r *Redactor) find(author, branch string) int {
	return slices.IndexFunc(r.held, func(h *heldText) bool { return h.last.Author == author && h.last.Branch == branch })
}

// scrub returns a piece without secrets in its other members.
func (r *Redactor) scrub(ev *event.Event) (*event.Event, error) {
	if ev == nil {
		return nil, nil
	}
	doc, err := ev.AppendJSON(nil)
	if err != nil {
		return nil, err
	}
	clean := r.secrets.Scrub(doc)
	if bytes.Equal(clean, doc) {
		return ev, nil
	}
	out := new(event.Event)
	return out, out.UnmarshalJSON(clean)
}
