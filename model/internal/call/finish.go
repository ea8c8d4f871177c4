package call

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// Cut is why a model stopped that was not at its end.
const Cut = "MAX_TOKENS"

// Arguments are those of a call as the model wrote them, which may be cut off.
// cut means that the model was, and that nothing came after the call: then
// nothing is not the same as no arguments.
func Arguments(text string, cut bool) (json.RawMessage, bool) {
	doc := bytes.TrimSpace([]byte(text))
	if len(doc) == 0 || string(doc) == "null" {
		return json.RawMessage("{}"), !cut
	}
	return doc, doc[0] == '{' && json.Valid(doc)
}

// Answers reports whether there is an answer in c: thoughts alone are none.
func Answers(c *event.Content) bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *event.Part) bool {
		return !p.Thought && (p.Text != "" || !p.IsText() || p.Extra != nil)
	})
}

// Finish says in a response why it has no answer, if it has none. broken is the
// name of a tool whose arguments cannot be read: a call that cannot be made
// must not look like an answer, and no other may be made beside it.
func Finish(r *model.Response, broken string) {
	if broken != "" {
		r.ErrorMessage = "The model was cut off in its call of " + broken + "."
		if r.FinishReason != Cut {
			r.FinishReason, r.ErrorMessage = "MALFORMED_FUNCTION_CALL", "The model called "+broken+" with arguments that cannot be read."
		}
		r.ErrorCode = r.FinishReason
		if r.Content != nil {
			var words []*event.Part
			for _, p := range r.Content.Parts {
				if p.FunctionCall == nil {
					words = append(words, p)
				}
			}
			if r.Content.Parts = words; words == nil {
				r.Content = nil
			}
		}
		return
	}
	switch {
	case Answers(r.Content) || r.FinishReason == "STOP":
	case r.FinishReason == "":
		r.ErrorCode, r.ErrorMessage = "UNKNOWN_ERROR", "The model gave neither an answer nor a reason."
	default:
		r.ErrorCode, r.ErrorMessage = r.FinishReason, "The model stopped without an answer."
	}
}
