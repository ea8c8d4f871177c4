package call

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// Cut is the finish reason of a model that was cut off.
const Cut = "MAX_TOKENS"

// Arguments returns the arguments of a call as the model wrote them, which may be
// incomplete. cut means that the model was cut off directly after the call: then
// missing arguments differ from no arguments.
func Arguments(text string, cut bool) (json.RawMessage, bool) {
	doc := bytes.TrimSpace([]byte(text))
	if len(doc) == 0 || string(doc) == "null" {
		return json.RawMessage("{}"), !cut
	}
	return doc, doc[0] == '{' && json.Valid(doc)
}

// Answers reports whether c has an answer: thoughts alone are not one.
func Answers(c *event.Content) bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *event.Part) bool {
		return !p.Thought && (p.Text != "" || !p.IsText() || p.Extra != nil)
	})
}

// Finish sets the error of a response without an answer. broken is the name of a
// tool whose arguments cannot be decoded: a call that cannot be made must not look
// like an answer, and no other call may be made with it.
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
