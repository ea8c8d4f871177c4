package run

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// maxTools is how many tools a request may have. Providers accept 128.
const maxTools = 128

// toolName is the name of a function that all providers accept.
var toolName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// checkTools refuses tools of a client that models cannot be offered.
func checkTools(tools []tool.Declaration) error {
	problem := func(i int, member, format string, args ...any) error {
		return &wire.Error{Type: "value_error", Path: []any{"tools", i, member}, Msg: fmt.Sprintf(format, args...)}
	}
	if len(tools) > maxTools {
		return &wire.Error{Type: "value_error", Path: []any{"tools"}, Msg: fmt.Sprintf("A request may have at most %d tools", maxTools)}
	}
	seen := make(map[string]bool, len(tools))
	for i, t := range tools {
		switch {
		case !toolName.MatchString(t.Name):
			return problem(i, "name", "The name of a tool must begin with a letter, and have at most 64 letters, digits, _ and -")
		case agentrt.IsReserved(t.Name) || t.Name == tool.InputCall || t.Name == tool.ChoiceCall:
			return problem(i, "name", "The name %s is reserved for questions of the server", t.Name)
		case seen[t.Name]:
			return problem(i, "name", "Two tools have the name %s", t.Name)
		}
		seen[t.Name] = true
		var object map[string]json.RawMessage
		if len(t.Parameters) > 0 && json.Unmarshal(t.Parameters, &object) != nil {
			return problem(i, "parameters", "The parameters of a tool must be a JSON Schema of an object")
		}
	}
	return nil
}
