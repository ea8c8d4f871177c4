package call

import (
	"bytes"
	"encoding/json"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// Arguments are those of a call as the model wrote them, which may be cut off.
func Arguments(text string) (json.RawMessage, bool) {
	doc := bytes.TrimSpace([]byte(text))
	if len(doc) == 0 || string(doc) == "null" {
		return json.RawMessage("{}"), true
	}
	return doc, doc[0] == '{' && json.Valid(doc)
}

// Finish says in a response why it has no answer, if it has none. broken is the
// name of a tool whose arguments cannot be read: a call that cannot be made
// must not look like an answer, and no other may be made beside it.
func Finish(r *model.Response, broken string) {
	if broken != "" {
		if r.FinishReason != "MAX_TOKENS" { // then that is why
			r.FinishReason = "MALFORMED_FUNCTION_CALL"
		}
		r.ErrorCode, r.ErrorMessage = r.FinishReason, "The model called "+broken+" with arguments that cannot be read."
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
	case r.Content != nil || r.FinishReason == "STOP":
	case r.FinishReason == "":
		r.ErrorCode, r.ErrorMessage = "UNKNOWN_ERROR", "The model gave neither an answer nor a reason."
	default:
		r.ErrorCode, r.ErrorMessage = r.FinishReason, "The model stopped without an answer."
	}
}
