package broker

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

var _ tool.Sealer = (*Session)(nil)

// sealedPrefix is what a sealed value begins with where it stands in the state.
var sealedPrefix = []byte(`"` + vault.Prefix)

// Seal makes a value unreadable that a tool keeps in the state. It opens again
// under the same key, in the same session or, as the key says, for the same user
// or in the same application.
func (s *Session) Seal(key string, value json.RawMessage) (json.RawMessage, error) {
	if s.broker.vault == nil {
		return nil, ErrNoKey
	}
	sealed, err := s.broker.vault.Seal(value, s.stateOwner(key))
	if err != nil {
		return nil, err
	}
	return wire.Quote(nil, string(sealed)), nil
}

// Open undoes Seal.
func (s *Session) Open(key string, stored json.RawMessage) (value json.RawMessage, sealed bool) {
	if !bytes.HasPrefix(stored, sealedPrefix) {
		return stored, false
	}
	if s.broker.vault == nil {
		return nil, true
	}
	value, err := s.broker.vault.Open(bytes.Trim(stored, `"`), s.stateOwner(key))
	if err != nil {
		return nil, true
	}
	return value, true
}

// stateOwner is whose a value of the state is.
func (s *Session) stateOwner(key string) []byte {
	user, id := s.key.User, s.key.ID
	switch {
	case strings.HasPrefix(key, "app:"):
		user, id = "", ""
	case strings.HasPrefix(key, "user:"):
		id = ""
	}
	return vault.Bind("state", s.key.App, user, id, key)
}
