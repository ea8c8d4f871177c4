package playback

import (
	"context"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// A run that was cancelled during calls is repeated up to these calls: models say again
// what readers had seen of their answers, and then the replay is cancelled, too.

// cancelled reports whether a client or the shutdown of a server ended the run.
func (o *original) cancelled() bool { return o.run.Status == session.Cancelled }

// wasShown reports whether an event is what readers had seen of an answer when the run
// was cancelled.
func (o *original) wasShown(ev *event.Event) bool {
	return o.cancelled() && ev.Interrupted && ev.ErrorCode == "" && ev.Author != event.User
}

// closes reports whether an event is one of those that end a cancelled run.
func (o *original) closes(ev *event.Event) bool {
	return o.cancelled() && (ev.ErrorCode == run.Aborted || o.wasShown(ev))
}

// wasCancelled reports whether the run was cancelled during a recorded call; nil is a
// call that did not return before the recording ended.
func (p *player) wasCancelled(s *replay.Step) bool {
	return p.of.cancelled() && (s == nil || s.Cancelled || strings.HasSuffix(s.Error, context.Canceled.Error())) // that of earlier versions
}

func (p *player) askUntilCancelled(ctx context.Context, at agentrt.Place, c *replay.Call, yield func(*model.Response, error) bool) {
	for _, ev := range p.of.events {
		if ev.Author != at.Agent || ev.Branch != at.Branch || !p.of.wasShown(ev) {
			continue
		}
		for _, part := range ev.Content.Parts {
			piece := &event.Content{Role: event.RoleModel, Parts: []*event.Part{part}}
			if !yield(&model.Response{Content: piece, Partial: true, ModelVersion: ev.ModelVersion}, nil) {
				return
			}
		}
	}
	err := p.untilCancelled(ctx, c, errDiverged)
	p.recall(nil)
	yield(nil, err)
}

// untilCancelled cancels the replay when all other calls of the recording were made,
// and waits for that. If they are not made, because the code is another one, the
// replay ends with diverged.
func (p *player) untilCancelled(ctx context.Context, c *replay.Call, diverged error) error {
	p.mu.Lock()
	p.ending++
	c.Cancelled, c.Missing = true, false
	p.mu.Unlock()
	p.order.notify()
	complete := p.order.until(ctx, func() bool {
		for i, ev := range p.order.expected {
			if !p.order.stored[i] && !p.of.closes(ev) {
				return false
			}
		}
		return p.reachedEnd()
	})
	switch {
	case complete:
		p.stop(nil)
	case ctx.Err() == nil:
		p.mu.Lock()
		c.Cancelled, c.Missing = false, c.Recorded == 0
		p.mu.Unlock()
		p.stop(diverged)
	}
	<-ctx.Done()
	return ctx.Err()
}

// reachedEnd reports whether all recorded calls were made, as far as the run got.
func (p *player) reachedEnd() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := 0
	for _, s := range p.recording.Steps {
		if !p.used[s] {
			return false
		}
		if p.wasCancelled(s) {
			last++
		}
	}
	return p.ending >= last
}
