package agent

import (
	"encoding/json"
	"strings"

	"github.com/parley-run/parley/internal/agentrt"
)

// known reports whether the log says how the run ended, or that it waits.
func (r *nodeRun) known() (bool, error) {
	b := r.before
	if b != nil && b.ended {
		if f := b.failed; f != nil {
			return true, &agentrt.Failure{Code: f.ErrorCode, Message: "node " + r.info.Path + ": " + f.ErrorMessage}
		}
		r.adopt(b)
		return true, nil
	}
	if r.node.Agent != nil {
		return r.knownAgent()
	}
	if b == nil || len(b.asked) == 0 {
		return false, nil
	}
	rerun := r.node.RerunOnResume || r.node.Tool != nil
	if b.open() {
		if rerun && b.answered {
			return false, nil
		}
		if ready, err := r.loggedIn(); ready || err != nil {
			return err != nil, err
		}
		return true, r.waits()
	}
	if answer := b.answeredCall(r.node.Tool); answer != nil {
		r.adopt(b)
		r.output = answer
		return true, nil
	}
	inputs := b.inputs()
	if rerun || len(inputs) == 0 {
		return false, nil
	}
	r.adopt(b)
	r.output = inputs[0].answer
	if len(inputs) > 1 {
		all := make([]json.RawMessage, len(inputs))
		for i, q := range inputs {
			all[i] = q.answer
		}
		r.output = rawJSON(all)
	}
	return true, nil
}

// adopt takes the outcome from the log.
func (r *nodeRun) adopt(b *nodeRecord) {
	r.output, r.routes = b.output, b.routes
	if b.branch != "" {
		r.ctx.branch = b.branch
	}
}

// knownAgent is known for agents. What they did in this run they repeat from the
// log themselves.
func (r *nodeRun) knownAgent() (bool, error) {
	var resume *agentrt.Resume
	open, earlier, now := false, false, false
	r.ctx.inv.nodes().within(r.scope, func(b *nodeRecord) {
		open = open || b.open()
		now = now || b.now || b.answered
		earlier = earlier || !b.now || len(b.asked) > 0
		if !b.answered {
			return
		}
		for _, q := range b.asked {
			name := q.event.Author
			if b.scope != r.scope {
				name, _, _ = strings.Cut(b.scope[len(r.scope)+1:], ".")
				name, _, _ = strings.Cut(name, "@")
			}
			if resume == nil {
				resume = &agentrt.Resume{Agent: name, InvocationID: q.event.InvocationID}
			} else if !resume.Names(name) {
				resume.Others = append(resume.Others, name)
			}
		}
	})
	switch {
	case resume != nil:
		r.ctx.resume = resume
		return false, nil
	case now || !earlier:
		return false, nil
	case open:
		return true, ErrWaiting
	case r.own().graph != nil:
		// Its nodes have finished: they say what its output is.
		a := r.agent()
		return true, a.guarded(r.ctx.enter(a), r.emit)
	}
	if r.before != nil {
		r.adopt(r.before)
	}
	return true, nil
}
