package call

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// What is said in the user's place where an API wants the user to speak.
const (
	Start = "Do what the system instruction asks for."
	GoOn  = "Go on as instructed. When nothing is left to do, sum up what was done."
)

var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// ID is the id of a call in a form that every API takes, the same for the same
// call each time.
func ID(id, name string) string {
	id = cmp.Or(id, "call_"+name)
	if plainID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Tools are the tools that the model may choose from. The choice among several
// allowed ones is made by not telling of the others, which every API can.
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

// Kind is the type of a file without its parameters.
func Kind(mimeType string) string {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return strings.ToLower(mimeType)
	}
	return kind
}

// IsText reports whether a file of that kind can be read as text.
func IsText(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/sql", "application/toml":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

// LeftOut stands for a file that the model cannot take. The conversation has to
// go on without it, and the model has to know.
func LeftOut(name, kind string) string {
	return fmt.Sprintf("[The file %s of type %s was left out: this model cannot read it.]", cmp.Or(name, "without a name"), cmp.Or(kind, "unknown"))
}

// Code is code that ran, or what came of it, as text.
func Code(p *event.Part) string {
	if c := p.ExecutableCode; c != nil {
		return "```" + strings.ToLower(c.Language) + "\n" + c.Code + "\n```"
	}
	return "```\n" + p.CodeExecutionResult.Output + "\n```"
}
