package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// Compaction limits what a model is sent: when a conversation has become too
// long, the model gets a summary in place of the older part.
//
// The log is not changed. The summary is an event that names the first and the
// last event which it replaces, and those in between which it does not: calls
// without a final response, with the responses that they have so far. It never
// includes the latest message of the user and what follows it.
type Compaction struct {
	// Tokens is the size of a prompt, and Events the number of events, above
	// which the conversation is too long; 0 means no limit.
	Tokens int64
	Events int
	// OnRequest lets the model decide, with the tool ConsolidateContext. The
	// summary then includes everything before that call, also the current
	// message.
	OnRequest bool
	// Lead and Keep are the numbers of events at the beginning and at the end
	// that are not summarized.
	Lead, Keep int
	// Anchored keeps the summary: Compactions that leave out events do not
	// leave it out.
	Anchored bool
	// DropThoughts leaves out the thoughts of the model and nothing else,
	// whatever the size, except in the last Keep events and since the latest
	// message of the user. It makes no event, and ignores the other members but
	// Keep.
	DropThoughts bool
	// Summarize returns the summary; see Summarizer. Without it the older part
	// is left out. If it fails, it is called again with the next request; until
	// then the model gets everything.
	Summarize func(ctx *tool.Context, events []*event.Event) (*model.Response, error)
}

const summaryInstruction = `Summarise the conversation that follows for a reader who has to go on with it.
Keep what was asked for, what was decided and found out, names, numbers and everything that is still open. Leave out how it was said. Answer with the summary alone.`

// Summarizer returns a Compaction.Summarize that calls a model. An empty
// instruction selects one that suits most conversations.
func Summarizer(m model.Model, instruction string) func(*tool.Context, []*event.Event) (*model.Response, error) {
	if instruction == "" {
		instruction = summaryInstruction
	}
	return func(ctx *tool.Context, events []*event.Event) (*model.Response, error) {
		req := model.NewRequest(func() []*event.Content { return []*event.Content{event.Text(event.RoleUser, transcript(events))} })
		req.Instruction = instruction
		for resp, err := range agentrt.Ask(ctx, agentrt.Place{Agent: ctx.Agent}, m, req) {
			switch {
			case err != nil:
				return nil, err
			case resp.ErrorCode != "":
				return nil, fmt.Errorf("%s: %s", resp.ErrorCode, resp.ErrorMessage)
			case !resp.Partial:
				return resp, nil
			}
		}
		return nil, errors.New("the model ended without an answer")
	}
}

// transcript is a conversation in one text.
func transcript(events []*event.Event) string {
	var b builder
	for _, ev := range events {
		b.addContext(ev)
	}
	var text []byte
	for _, c := range b.out {
		for _, p := range c.Parts[1:] { // after the words that introduce it
			if p.IsText() {
				text = append(append(text, p.Text...), '\n')
			}
		}
	}
	return string(text)
}

// compacted is a part of the log that a summary stands for.
type compacted struct {
	at          int   // the event that says so
	first, last int   // the part
	kept        []int // what the model gets of it as it is, in order
	summary     *event.Content
	anchored    bool
}

// keeps reports whether the event at a place stays as it is.
func (c *compacted) keeps(i int) bool {
	_, ok := slices.BinarySearch(c.kept, i)
	return ok
}

// compactionNote is how an event names the part that it stands for.
type compactionNote struct {
	FirstEventID string `json:"firstEventId"`
	LastEventID  string `json:"lastEventId"`
	// KeptEventIDs are those in between that it does not stand for.
	KeptEventIDs []string `json:"keptEventIds,omitempty"`
	Anchored     bool     `json:"anchored,omitempty"`
}

const compactionMember = "compaction"

func isCompaction(ev *event.Event) bool { return ev.Actions.Extra[compactionMember] != nil }

// latestCompaction is the latest one of an agent in a branch, nil if there is
// none, or if what it is about is not there any more.
func latestCompaction(log agentrt.Log, agent, branch string) *compacted {
	key := viewKey{agent: agent, branch: branch}
	if v := viewOf(log, key); v != nil {
		return v.compaction(log, key)
	}
	return findCompaction(log, agent, branch, 0, log.Len())
}

// findCompaction is latestCompaction for one that is said in a part of the log, before
// end.
func findCompaction(log agentrt.Log, agent, branch string, first, end int) *compacted {
	for at := end - 1; at >= first; at-- {
		ev := log.At(at)
		if !isCompaction(ev) || ev.Author != agent || ev.Branch != branch {
			continue
		}
		var note compactionNote
		var said struct {
			Content *event.Content `json:"compactedContent"`
		}
		if json.Unmarshal(ev.CustomMetadata[compactionMember], &note) != nil || json.Unmarshal(ev.Actions.Extra[compactionMember], &said) != nil {
			continue
		}
		c := &compacted{at: at, first: -1, last: -1, summary: said.Content, anchored: note.Anchored}
		kept := make(map[string]bool, len(note.KeptEventIDs))
		for _, id := range note.KeptEventIDs {
			kept[id] = true
		}
		for i := at - 1; i >= 0 && c.first < 0; i-- {
			id := log.At(i).ID
			if kept[id] {
				c.kept = append(c.kept, i)
			}
			switch {
			case c.last < 0 && id == note.LastEventID:
				c.last = i
				if id == note.FirstEventID {
					c.first = i
				}
			case id == note.FirstEventID:
				c.first = i
			}
		}
		if c.first >= 0 && c.last >= 0 {
			slices.Reverse(c.kept)
			return c
		}
	}
	return nil
}

// compact makes the conversation shorter if it has become too long.
func (l *llm) compact(ctx *Context, emit Emit) error {
	for _, c := range l.cfg.Compactions {
		before := latestCompaction(ctx.inv.Log, ctx.agent.name, ctx.branch)
		if !l.due(ctx, c, before) {
			continue
		}
		part := c.part(ctx, before)
		if part.last < part.first || before != nil && part.last <= before.last {
			continue // there is nothing more to summarise
		}
		if ctx.spend() != nil {
			return nil //nolint:nilerr // the request that comes next says so
		}
		ev := &event.Event{}
		tc := ctx.toolContext(&ev.Actions)
		if err := ctx.inv.hooks.beforeCompaction(tc, c); err != nil {
			return err
		}
		if err := c.fill(ev, ctx, before, part); err != nil {
			if p, ok := errors.AsType[*agentrt.Panic](err); ok {
				return p
			}
			return ctx.Err()
		}
		if err := ctx.inv.hooks.afterCompaction(tc, c); err != nil {
			return err
		}
		if c.OnRequest {
			tc.State.Delete(consolidateKey)
			tc.State.Delete(consolidateDetailKey)
		}
		return emit(ev)
	}
	return nil
}

// due reports whether it is time for a compaction.
func (l *llm) due(ctx *Context, c *Compaction, before *compacted) bool {
	switch {
	case c.DropThoughts:
		return false // what it does, requests show
	case c.OnRequest:
		return ctx.consolidates()
	}
	return l.tooLong(ctx, c, before)
}

// tooLong reports whether the prompt has outgrown the bounds.
func (l *llm) tooLong(ctx *Context, c *Compaction, before *compacted) bool {
	log := ctx.inv.Log
	from := 0
	if before != nil {
		from = before.last + 1
	}
	if c.Events > 0 {
		n := 0
		for i := from; i < log.Len(); i++ {
			if ctx.sees(log.At(i)) {
				n++
			}
		}
		if n > c.Events {
			return true
		}
	}
	if c.Tokens <= 0 {
		return false
	}
	for i := log.Len() - 1; i >= 0 && (before == nil || i > before.at); i-- {
		if ev := log.At(i); ev.Author == ctx.agent.name && ev.Branch == ctx.branch && ev.Usage != nil {
			return ev.Usage.Prompt > c.Tokens
		}
	}
	// No model has counted yet. A token is some four characters.
	size := int64(0)
	b := builder{agent: ctx.agent.name, thoughts: l.thoughtsFrom(ctx)}
	for _, content := range b.read(log, ctx.branch, l.cfg.IncludeContents, before) {
		for _, p := range content.Parts {
			size += int64(len(p.Text))
			if p.FunctionCall != nil {
				size += int64(len(p.FunctionCall.Args))
			}
			if p.FunctionResponse != nil {
				size += int64(len(p.FunctionResponse.Response))
			}
		}
	}
	return size/4 > c.Tokens
}

// sees reports whether an event is sent to the agent's model.
func (c *Context) sees(ev *event.Event) bool {
	return !ev.Partial && ev.Content != nil && len(ev.Content.Parts) > 0 && visible(ev.Branch, c.branch) && !new(builder).hidden(ev)
}

// part is what the summary is to stand for, and what of it stays as it is.
func (c *Compaction) part(ctx *Context, before *compacted) *compacted {
	log := ctx.inv.Log
	p := &compacted{}
	for lead := 0; p.first < log.Len() && lead < c.Lead; p.first++ {
		if ctx.sees(log.At(p.first)) {
			lead++
		}
	}
	if before != nil {
		p.first = before.first
	}
	if c.OnRequest {
		p.last = ctx.consolidateCall() - 1
	} else {
		p.last = c.older(ctx, p.first)
	}
	p.kept = openIn(log, p.first, p.last)
	for n := len(p.kept); n > 0 && p.kept[n-1] == p.last; n-- { // they need not be part of it
		p.kept = p.kept[:n-1]
		p.last--
	}
	return p
}

// older is the place of the last event that need not stay as it is: there are
// Keep events after it, and the latest message of the user.
func (c *Compaction) older(ctx *Context, first int) (last int) {
	log := ctx.inv.Log
	kept := 0
	for last = log.Len() - 1; last >= first; last-- {
		ev := log.At(last)
		if !ctx.sees(ev) {
			continue
		}
		kept++
		if ev.Author == event.User && len(ev.FunctionResponses()) == 0 {
			break // what was said since is being worked on
		}
	}
	for last--; last >= first && kept < c.Keep; last-- {
		if ctx.sees(log.At(last)) {
			kept++
		}
	}
	return last
}

// openIn are the places of the events in a part of the log with a call that has
// no final response in the same part. With them are the first and the latest
// response to each of their calls, so that no call is without one.
func openIn(log agentrt.Log, first, last int) []int {
	type answers struct {
		first, latest int
		made, final   bool
	}
	all := map[string]*answers{}
	kept := map[int]bool{}
	for i := last; i >= first; i-- {
		ev := log.At(i)
		for _, r := range ev.FunctionResponses() {
			a := all[r.ID]
			if a == nil {
				a = &answers{latest: i}
				all[r.ID] = a
			}
			a.first = i
			if !agentrt.Unmade(ev, r) {
				a.made = true
				a.final = a.final || ev.Author == event.User && !r.Interim() || agentrt.Closed(r)
			}
		}
		calls := ev.FunctionCalls()
		open := slices.ContainsFunc(calls, func(call *event.FunctionCall) bool {
			a := all[call.ID]
			return a == nil || !a.made || !a.final && slices.Contains(ev.LongRunningToolIDs, call.ID)
		})
		for _, call := range calls {
			if a := all[call.ID]; open && a != nil {
				kept[a.first], kept[a.latest] = true, true
			}
			delete(all, call.ID) // an earlier call with the same id is another one
		}
		if open {
			kept[i] = true
		}
	}
	return slices.Sorted(maps.Keys(kept))
}

// fill makes ev the summary of a part of the log.
func (c *Compaction) fill(ev *event.Event, ctx *Context, before, part *compacted) error {
	log := ctx.inv.Log
	var events []*event.Event
	add := func(i int) {
		if ev := log.At(i); ctx.sees(ev) && !part.keeps(i) {
			events = append(events, ev)
		}
	}
	from := part.first
	if before != nil {
		if before.summary != nil {
			earlier := log.At(before.at)
			events = append(events, &event.Event{Author: ctx.agent.name, Content: before.summary, Actions: event.Actions{Extra: earlier.Actions.Extra}, CustomMetadata: earlier.CustomMetadata})
		}
		for _, i := range before.kept {
			add(i)
		}
		from = before.last + 1
	}
	for i := from; i <= part.last; i++ {
		add(i)
	}
	if c.OnRequest {
		events = append(events, ctx.consolidateDetail()...)
	}
	summary, note := "", compactionNote{FirstEventID: log.At(part.first).ID, LastEventID: log.At(part.last).ID}
	for _, i := range part.kept {
		note.KeptEventIDs = append(note.KeptEventIDs, log.At(i).ID)
	}
	switch {
	case c.Summarize != nil:
		resp, err := c.summary(ctx, events, &ev.Actions)
		if err != nil {
			return err
		}
		ev.Usage, ev.ModelVersion = resp.Usage, resp.ModelVersion
		// The model gets it as a message.
		summary, note.Anchored = "What was said before, in short: "+resp.Content.Text(), c.Anchored
	case before != nil && before.anchored:
		summary, note.Anchored = before.summary.Text(), true
	}
	doc := fmt.Appendf(nil, `{"startTimestamp":%f,"endTimestamp":%f`, log.At(part.first).Timestamp, log.At(part.last).Timestamp)
	if summary != "" {
		doc = wire.Quote(append(doc, `,"compactedContent":{"role":"user","parts":[{"text":`...), summary)
		doc = append(doc, `}]}`...)
	}
	noted, err := json.Marshal(note)
	if err != nil {
		return err
	}
	ev.Actions.Extra = map[string]json.RawMessage{compactionMember: append(doc, '}')}
	ev.CustomMetadata = map[string]json.RawMessage{compactionMember: noted}
	return nil
}

func (c *Compaction) summary(ctx *Context, events []*event.Event, actions *event.Actions) (resp *model.Response, err error) {
	defer agentrt.Recover(&err, "summary for agent", ctx.agent.name)
	if resp, err = c.Summarize(ctx.toolContext(actions), events); err == nil && (resp == nil || resp.Content == nil) {
		err = errors.New("the summary is empty")
	}
	return resp, err
}
