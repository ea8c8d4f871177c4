package call

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// Texts in place of the user's where an API requires a message of the user.
const (
	Start = "Do what the system instruction asks for."
	GoOn  = "Go on as instructed. When nothing is left to do, sum up what was done."
)

var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// ID returns the id of a call in a form that every API accepts, always the same for
// the same call.
func ID(id, name string) string {
	id = cmp.Or(id, "call_"+name)
	if plainID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Tools returns the tools that the model may choose from. A choice among several
// allowed ones is made by omitting the others, which works with every API.
func Tools(req *model.Request) []model.Declaration {
	if req.Config == nil || req.Config.ToolChoice == nil || req.Config.ToolChoice.Mode != model.ToolsAny || len(req.Config.ToolChoice.Allowed) == 0 {
		return req.Tools
	}
	var out []model.Declaration
	for _, t := range req.Tools {
		if slices.Contains(req.Config.ToolChoice.Allowed, t.Name) {
			out = append(out, t)
		}
	}
	return out
}

// LeftOut replaces a file that the model does not support. The conversation
// continues without it, and the model must know.
func LeftOut(name, kind string) string {
	return fmt.Sprintf("[The file %s of type %s was left out: this model cannot read it.]", cmp.Or(name, "without a name"), cmp.Or(kind, "unknown"))
}

// Code returns code that was run, or its result, as text.
func Code(p *event.Part) string {
	if c := p.ExecutableCode; c != nil {
		return "```" + strings.ToLower(c.Language) + "\n" + c.Code + "\n```"
	}
	return "```\n" + p.CodeExecutionResult.Output + "\n```"
}

// NoProviderTools returns the error of a model that is asked for tools of Gemini.
func NoProviderTools(c *model.Config) error {
	if c == nil || len(c.ProviderTools) == 0 {
		return nil
	}
	return NoTool(c.ProviderTools[0], "only Gemini has: use a Gemini model, or a tool of your own")
}

// NoTool rejects a provider tool that only another provider has.
func NoTool(doc json.RawMessage, whose string) error {
	return &RefusalError{Code: "INVALID_ARGUMENT", Message: ToolName(doc) + " is a tool that " + whose}
}

// ToolName returns the name of a tool that the provider runs.
func ToolName(doc json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) == nil {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			return name
		}
	}
	return "of the provider"
}
