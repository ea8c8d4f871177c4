package redact

import (
	"encoding/json"
	"maps"
	"strings"
)

// SecretPrefix begins the keys of a state that only tools can read: it is tool.SecretPrefix.
const SecretPrefix = "secret:"

// IsSecretKey reports whether only tools can read a key of a state.
func IsSecretKey(key string) bool { return strings.HasPrefix(key, SecretPrefix) }

// State returns a state, or a change of one, without the keys that only tools can read. It returns state itself if there
// are none, and does not change it.
func State(state map[string]json.RawMessage) map[string]json.RawMessage {
	for key := range state {
		if IsSecretKey(key) {
			rest := maps.Clone(state)
			maps.DeleteFunc(rest, func(key string, _ json.RawMessage) bool { return IsSecretKey(key) })
			return rest
		}
	}
	return state
}
