package playback

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// encodings keeps the encoded forms of what is the same in most requests of an agent.
type encodings struct {
	mu      sync.Mutex
	agents  map[agentOf]*fixed
	byTools map[*model.Declaration]encodedTools
	configs map[*model.Config]encodedMember
}

type encodedTools struct {
	of []model.Declaration
	encodedMember
}

// encodedMember is a member of a request: a part that the recordings of a session share,
// or, if it is short, text.
type encodedMember struct {
	value json.RawMessage
	part  *session.RecordingPart
	text  []byte
}

// minPart is how many bytes are worth a part.
const minPart = 64

func newMember(name string, value []byte) encodedMember {
	text := slices.Concat([]byte(`,"`+name+`":`), value)
	if len(text) < minPart {
		return encodedMember{value: value, text: text}
	}
	text[0] = '{'
	return encodedMember{value: value, part: session.NewRecordingPart(append(text, '}'))}
}

// maxEncodings is how many forms are kept. Agents have few; toolsets and callbacks may
// make new ones for each request.
const maxEncodings = 1000

func (e *encodings) tools(list []model.Declaration) encodedMember {
	if len(list) == 0 {
		return encodedMember{}
	}
	e.mu.Lock()
	known, ok := e.byTools[&list[0]]
	e.mu.Unlock()
	if ok && len(known.of) == len(list) {
		return known.encodedMember
	}
	docs := make([]replay.Declaration, len(list))
	for i, d := range list {
		docs[i] = replay.Declaration(d)
	}
	doc, err := json.Marshal(docs)
	if err != nil {
		return encodedMember{}
	}
	m := newMember("tools", doc)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byTools == nil || len(e.byTools) >= maxEncodings {
		e.byTools = map[*model.Declaration]encodedTools{}
	}
	e.byTools[&list[0]] = encodedTools{list, m}
	return m
}

func (e *encodings) config(c *model.Config) encodedMember {
	if c == nil {
		return encodedMember{}
	}
	e.mu.Lock()
	known, ok := e.configs[c]
	e.mu.Unlock()
	if ok {
		return known
	}
	set := map[string]any{}
	for _, s := range agentrt.Settings(c) {
		set[s.Name] = s.Value
	}
	doc, err := json.Marshal(set)
	if err != nil {
		return encodedMember{}
	}
	m := newMember("config", doc)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.configs == nil || len(e.configs) >= maxEncodings {
		e.configs = map[*model.Config]encodedMember{}
	}
	e.configs[c] = m
	return m
}

type agentOf struct{ app, agent string }

// fixed is what is the same in most requests of an agent.
type fixed struct {
	instruction string
	tools       []model.Declaration
	config      *model.Config
	name        string // of the model
	step        []byte // the members of the step
	doc         []byte // the members of the request that are not parts
	parts       []*session.RecordingPart
}

// is reports whether a request has the same.
func (f *fixed) is(name string, req *model.Request) bool {
	return f.config == req.Config && f.name == name && f.instruction == req.Instruction && len(f.tools) == len(req.Tools) &&
		(len(f.tools) == 0 || &f.tools[0] == &req.Tools[0])
}

// of returns what a request of an agent has in common with others.
func (e *encodings) of(app, agent, name string, req *model.Request) *fixed {
	at := agentOf{app, agent}
	e.mu.Lock()
	last := e.agents[at]
	e.mu.Unlock()
	if last != nil && last.is(name, req) {
		return last
	}
	f := &fixed{instruction: req.Instruction, tools: req.Tools, config: req.Config, name: name}
	f.step = wire.Quote(append(member(nil, "agent", agent), `,"name":`...), name)
	members := []encodedMember{e.tools(req.Tools), e.config(req.Config)}
	if f.instruction != "" {
		members = append(members, newMember("instruction", wire.Quote(nil, f.instruction)))
	}
	for _, m := range members {
		if f.doc = append(f.doc, m.text...); m.part != nil {
			f.parts = append(f.parts, m.part)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.agents == nil || len(e.agents) >= maxEncodings {
		e.agents = map[agentOf]*fixed{}
	}
	e.agents[at] = f
	return f
}
