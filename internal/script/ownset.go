package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/parley-run/parley/tool"
)

// ownSet is a toolset of the author's own. js/adk/define-tools.js is the other
// half: all tools of a set are called with one function there, because functions
// are numbered when the application is loaded, and tools come later.
type ownSet struct {
	in   *instance
	list int

	mu    sync.Mutex
	said  []byte // what it was last made of
	tools []tool.Tool
}

// Tools are the tools of the moment; see tool.Toolset.
func (s *ownSet) Tools(ctx *tool.Context) ([]tool.Tool, error) {
	out, err := s.in.callWith(ctx, s.list, map[string]any{"alone": s.in.engines <= 1})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Equal(s.said, out.Value) {
		return s.tools, nil
	}
	var defs []toolDefinition
	if err := json.Unmarshal(out.Value, &defs); err != nil {
		return nil, fmt.Errorf("read what is in a toolset: %w", err)
	}
	tools := make([]tool.Tool, len(defs))
	for i, def := range defs {
		def.shared = true
		if tools[i], err = s.in.tool(def); err != nil {
			return nil, fmt.Errorf("the tool %s: %w", def.Name, err)
		}
	}
	s.said, s.tools = out.Value, tools
	return tools, nil
}
