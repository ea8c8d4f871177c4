package agent

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// trail records where the parts of a request to a model come from: the changes
// since the last note are attributed to the code that ran in between. It is nil
// unless an observer wants details.
type trail struct {
	instruction string
	filled      []filled // the places of the agent's instruction
	parts       []instructionPart
	contents    map[*event.Content]source
	last        []*event.Content // of the request, as it was noted last
	tools       map[string]string
}

// instructionPart is a part of the instruction. The parts are joined by an empty line.
type instructionPart struct {
	text, by string
	filled   []filled // the places in text that were filled in
}

// source is where a part comes from, and the event that it is, if it is one.
type source struct{ by, event string }

// between is what stands between the parts of an instruction.
const between = "\n\n"

// trail returns that of one request; nil unless an observer wants details.
func (l *llm) trail(ctx *Context) *trail {
	if ctx.inv.Observer == nil || !ctx.inv.Observer.Detailed() {
		return nil
	}
	t := &trail{contents: map[*event.Content]source{}, tools: map[string]string{}}
	for name, one := range ctx.box.tools {
		_, ofClient := one.(clientTool)
		switch {
		case ofClient:
			t.tools[name] = "tool of the client"
		case name == transferTool:
			t.tools[name] = "transfer of agent " + ctx.agent.name
		case l.own.tools[name] != nil:
			t.tools[name] = "tool of agent " + ctx.agent.name
		default:
			t.tools[name] = l.toolsetOf(name) + " of agent " + ctx.agent.name
		}
	}
	return t
}

// toolsetOf says which toolset a tool is of.
func (l *llm) toolsetOf(name string) string {
	l.sets.mu.Lock()
	defer l.sets.mu.Unlock()
	for i, tools := range l.sets.last {
		for _, t := range tools {
			if t.Declaration().Name != name {
				continue
			}
			return setName(l.cfg.Toolsets[i], i)
		}
	}
	return "a toolset"
}

// note attributes what is new in the request to by, or to something of an
// agent's.
func (t *trail) note(req *model.Request, by string, of *Agent) {
	if t == nil {
		return
	}
	if of != nil {
		by += " of agent " + of.name
	}
	t.noteInstruction(req.Instruction, by)
	t.noteContents(req.Contents(), by)
	for _, d := range req.Tools {
		if _, known := t.tools[d.Name]; !known {
			t.tools[d.Name] = by
		}
	}
}

// noteContents finds out which contents are new. Code in another language hands
// back copies of what it was given: they are known by what they say, each in the
// place of one that is not there any more.
func (t *trail) noteContents(now []*event.Content, by string) {
	isKnown := func(c *event.Content) bool { _, known := t.contents[c]; return known }
	if !slices.ContainsFunc(now, func(c *event.Content) bool { return !isKnown(c) }) {
		t.last = slices.Clone(now)
		return
	}
	here := make(map[*event.Content]bool, len(now))
	for _, c := range now {
		here[c] = true
	}
	gone := map[string][]source{}
	for _, c := range t.last {
		if !here[c] {
			key := likeness(c)
			gone[key] = append(gone[key], t.contents[c])
		}
	}
	for _, c := range now {
		if isKnown(c) {
			continue
		}
		from := source{by: by}
		if len(gone) > 0 {
			key := likeness(c)
			if same := gone[key]; len(same) > 0 {
				from, gone[key] = same[0], same[1:]
			}
		}
		t.contents[c] = from
	}
	t.last = slices.Clone(now)
}

// likeness is the same for contents that say the same.
func likeness(c *event.Content) string {
	key := contentJSON(c)
	if c == nil {
		return string(key)
	}
	for _, p := range c.Parts {
		if isLarge(p) {
			key = strconv.AppendUint(key, maphash.Bytes(seed, p.InlineData.Data), 16)
		}
	}
	return string(key)
}

var seed = maphash.MakeSeed()

func (t *trail) noteInstruction(now, by string) {
	was := t.instruction
	t.instruction = now
	if now == was {
		return
	}
	if was == "" {
		t.parts = []instructionPart{{text: now, by: by}}
		return
	}
	if added, ok := strings.CutPrefix(now, was+between); ok {
		t.parts = append(t.parts, instructionPart{text: added, by: by})
		return
	}
	if added, ok := strings.CutSuffix(now, between+was); ok {
		t.parts = append([]instructionPart{{text: added, by: by}}, t.parts...)
		return
	}
	t.parts = []instructionPart{{text: now, by: "changed by " + by}}
	if now == "" {
		t.parts = nil
	}
}

// noteFilled attributes the places that were filled in to the part of the instruction
// that ends with the agent's own, which was noted last.
func (t *trail) noteFilled(own string) {
	if t == nil || len(t.filled) == 0 || len(t.parts) == 0 {
		return
	}
	part := &t.parts[len(t.parts)-1]
	if !strings.HasSuffix(part.text, own) {
		return
	}
	part.filled = t.filled
	for i := range part.filled {
		part.filled[i].from += len(part.text) - len(own)
		part.filled[i].to += len(part.text) - len(own)
	}
}

// value is a place of the instruction that was filled in. From and To count UTF-16 code
// units, as JavaScript does.
type value struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Key    string `json:"key"`
	Source string `json:"source"`
	// Written is the place as it is in the template.
	Written string `json:"written"`
}

// values are the places of a part of the instruction that were filled in.
func (p *instructionPart) values() (list []value) {
	at, units := 0, 0
	count := func(to int) int {
		for _, r := range p.text[at:to] {
			units += utf16.RuneLen(r)
		}
		at = to
		return units
	}
	for _, f := range p.filled {
		list = append(list, value{From: count(f.from), To: count(f.to), Key: f.key, Source: f.source(), Written: f.written()})
	}
	return list
}

// saw attributes a content of the conversation to the event that it was made of.
func (t *trail) saw(c *event.Content, from source) {
	if _, twice := t.contents[c]; !twice {
		t.contents[c] = from
		t.last = append(t.last, c)
	}
}

// replace puts another content in place of one that was seen.
func (t *trail) replace(seen, by *event.Content) {
	t.contents[by] = t.contents[seen]
	delete(t.contents, seen)
	if i := slices.Index(t.last, seen); i >= 0 {
		t.last[i] = by
	}
}

// origins is the list of where the parts of a request come from, in JSON.
func (t *trail) origins(req *model.Request) []byte {
	type origin struct {
		Path   string  `json:"path"`
		Origin string  `json:"origin"`
		Event  string  `json:"event,omitempty"`
		Values []value `json:"values,omitempty"`
	}
	list := []origin{}
	for i, p := range t.parts {
		list = append(list, origin{Path: fmt.Sprintf("config.systemInstruction[%d]", i), Origin: p.by, Values: p.values()})
	}
	for i, d := range req.Tools {
		list = append(list, origin{Path: fmt.Sprintf("config.tools[%d]", i), Origin: t.tools[d.Name]})
	}
	for i, c := range req.Contents() {
		from := t.contents[c]
		list = append(list, origin{Path: fmt.Sprintf("contents[%d]", i), Origin: from.by, Event: from.event})
	}
	return rawJSON(list)
}

// changer is the name of the plugin whose hook before the model comes at a place;
// after them come the callbacks of the agent.
func (h *hooks) changer(place int) string {
	for _, p := range h.plugins {
		if p.BeforeModel == nil {
			continue
		}
		if place--; place < 0 {
			if p.Name == globalInstruction {
				return "global instruction"
			}
			return "plugin " + p.Name
		}
	}
	return "callback before model"
}
