package adk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/parley-run/parley/tool"
)

// ownSet is a toolset that is implemented by the author; see js/adk/define-tools.js.
// All tools of a set are called with one function there, because functions get their
// numbers when the application is loaded, and tools come later.
type ownSet struct {
	app  *App
	list int

	mu    sync.Mutex
	last  []byte // what tools were made of
	tools []tool.Tool
}

// Tools are the tools of the moment; see tool.Toolset.
func (s *ownSet) Tools(ctx *tool.Context) ([]tool.Tool, error) {
	out, err := s.app.callWith(ctx, s.list, map[string]any{"alone": s.app.Single})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Equal(s.last, out.Value) {
		return s.tools, nil
	}
	var defs []toolDefinition
	if err := json.Unmarshal(out.Value, &defs); err != nil {
		return nil, fmt.Errorf("read what is in a toolset: %w", err)
	}
	tools := make([]tool.Tool, len(defs))
	for i, def := range defs {
		def.shared = true
		if tools[i], err = s.app.tool(def); err != nil {
			return nil, fmt.Errorf("the tool %s: %w", def.Name, err)
		}
	}
	s.last, s.tools = out.Value, tools
	return tools, nil
}
