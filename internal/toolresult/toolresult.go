// Package toolresult encodes what tools return for models.
package toolresult

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/internal/wire"
)

// Encoded is what Of has returned. Of returns it as it is.
type Encoded json.RawMessage

// Of encodes what a tool returned as the JSON object that the model gets.
func Of(value any) (json.RawMessage, error) {
	if done, ok := value.(Encoded); ok {
		return json.RawMessage(done), nil
	}
	raw, ok := value.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("encode the result: %w", err)
		}
		if raw[0] == '{' && wire.IsKept(raw) {
			return raw, nil
		}
	}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	// A RawMessage comes from the tool unchecked: an invalid one can still be
	// reported to the model here; later it would break the event.
	out, err := wire.Compact([]byte(`{"result":`), raw)
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	if object := out[len(`{"result":`):]; object[0] == '{' {
		return object, nil
	}
	return append(out, '}'), nil
}

// Error returns the JSON object that tells a model that a call failed.
func Error(message string) json.RawMessage {
	return append(wire.Quote([]byte(`{"status":"error","error_message":`), message), '}')
}
