package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/wire"
)

// Sealer lets tools keep secrets in the state: what it has sealed may be stored
// and shown, and only it opens that again.
type Sealer interface {
	// Seal makes of a value what is stored under the key.
	Seal(key string, value json.RawMessage) (json.RawMessage, error)
	// Open undoes Seal. A value that was not sealed comes back as it is; one
	// that was, and does not open here, is nil.
	Open(key string, stored json.RawMessage) (value json.RawMessage, sealed bool)
}

// secrets are those that a call has got hold of.
type secrets struct {
	sealer Sealer // nil if nothing can be sealed

	mu   sync.Mutex
	list []string
}

// shortest is how long a text must be to be known for a secret when it turns up
// somewhere. A shorter one turns up by chance.
const shortest = 8

func (s *secrets) learn(list ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		if len(one) >= shortest && !slices.Contains(s.list, one) {
			s.list = append(s.list, one)
		}
	}
	// The longest first: one may be a part of another.
	slices.SortStableFunc(s.list, func(a, b string) int { return len(b) - len(a) })
}

func (s *secrets) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// sealed is what is sealed: a value, and the secrets in it.
type sealed struct {
	Value   json.RawMessage `json:"value"`
	Secrets []string        `json:"secrets,omitempty"`
}

// SealWith keeps secrets out of what is stored. A value that has a credential in
// it, or a secret that the call was given, or that takes the place of such a
// value, is sealed when it is set, and opened when somebody gets it.
func (s *State) SealWith(sealer Sealer) { s.secrets.sealer = sealer }

// open is a stored value as the call sees it.
func (s *State) open(key string, stored json.RawMessage) (json.RawMessage, bool) {
	if s.secrets.sealer == nil {
		return stored, true
	}
	value, isSealed := s.secrets.sealer.Open(key, stored)
	if !isSealed {
		return stored, true
	}
	var inside sealed
	if value == nil || json.Unmarshal(value, &inside) != nil {
		return nil, false // sealed for somebody else, who may have been this session's origin
	}
	s.secrets.learn(inside.Secrets...)
	return inside.Value, true
}

// seal is a value as it is stored.
func (s *State) seal(key string, value json.RawMessage) (json.RawMessage, error) {
	sealer := s.secrets.sealer
	if sealer == nil || string(value) == "null" {
		return value, nil
	}
	if _, already := sealer.Open(key, value); already {
		return value, nil
	}
	var inside []string
	for _, one := range s.secrets.known() {
		if _, found := conceal(value, []string{one}); found {
			inside = append(inside, one)
		}
	}
	if inside == nil && !credential.HoldsCredential(value) && !s.sealed(key) {
		return value, nil
	}
	if cred, err := credential.DecodeCredential(value); err == nil {
		inside = append(inside, cred.Secrets()...)
	}
	if cfg, err := credential.DecodeConfig(value); err == nil {
		inside = append(append(inside, cfg.Raw.Secrets()...), cfg.Exchanged.Secrets()...)
	}
	doc, err := json.Marshal(sealed{value, inside})
	if err != nil {
		return nil, err
	}
	return sealer.Seal(key, doc)
}

// sealed reports whether what is stored under a key is sealed: what takes its
// place is most likely a secret, too.
func (s *State) sealed(key string) bool {
	stored, ok := s.stored(key)
	if !ok {
		return false
	}
	_, is := s.secrets.sealer.Open(key, stored)
	return is
}

// Merge sets all values of a delta, in which null deletes a key.
func (s *State) Merge(delta map[string]json.RawMessage) error {
	for key, value := range delta {
		if err := s.put(key, value); err != nil {
			return err
		}
	}
	return nil
}

// Stored is a copy of the whole state as it is stored: what is sealed stays so.
func (s *State) Stored() map[string]json.RawMessage {
	all := s.base.All()
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for k, v := range s.actions.StateDelta {
		if string(v) == "null" {
			delete(all, k)
		} else {
			all[k] = v
		}
	}
	return all
}

// learn remembers the secrets of credentials that the call gets to see.
func (c *Context) learn(list ...*credential.Credential) {
	if c.State == nil {
		return
	}
	for _, cred := range list {
		c.State.secrets.learn(cred.Secrets()...)
	}
}

// hidden stands where a secret was.
const hidden = "[secret]"

// Conceal returns a JSON value without the secrets that the call was given.
func (c *Context) Conceal(value json.RawMessage) json.RawMessage {
	if c.State == nil {
		return value
	}
	out, _ := conceal(value, c.State.secrets.known())
	return out
}

// ConcealText returns a text without the secrets that the call was given.
func (c *Context) ConcealText(text string) string {
	if c.State == nil {
		return text
	}
	return concealText(text, c.State.secrets.known())
}

func concealText(text string, list []string) string {
	for _, one := range list {
		text = strings.ReplaceAll(text, one, hidden)
	}
	return text
}

// conceal takes secrets out of the strings of a JSON value, and reports whether
// there were any.
func conceal(value json.RawMessage, list []string) (out json.RawMessage, found bool) {
	if len(list) == 0 {
		return value, false
	}
	clean := func(text string) string {
		cleaned := concealText(text, list)
		found = found || cleaned != text
		return cleaned
	}
	err := wire.Decode(value, func(r *wire.Reader) error { return rewrite(r, &out, clean) })
	if err != nil {
		return json.RawMessage("null"), true // nobody can know what is in it
	}
	if !found {
		return value, false
	}
	return out, true
}

// rewrite copies the next value with other strings.
func rewrite(r *wire.Reader, out *json.RawMessage, change func(string) string) error {
	first := true
	next := func() {
		if !first {
			*out = append(*out, ',')
		}
		first = false
	}
	switch r.Kind() {
	case '{':
		*out = append(*out, '{')
		err := r.Members(func(name string) error {
			next()
			*out = append(wire.Quote(*out, change(name)), ':')
			return rewrite(r, out, change)
		})
		*out = append(*out, '}')
		return err
	case '[':
		*out = append(*out, '[')
		err := r.Array(func() error {
			next()
			return rewrite(r, out, change)
		})
		*out = append(*out, ']')
		return err
	case '"':
		var text string
		err := r.String(&text)
		*out = wire.Quote(*out, change(text))
		return err
	}
	var v json.RawMessage
	err := r.Raw(&v)
	*out = append(*out, v...)
	return err
}

func (s *State) put(key string, value json.RawMessage) error {
	value, err := s.seal(key, value)
	if err != nil {
		return fmt.Errorf("state %q: %w", key, err)
	}
	if s.actions.StateDelta == nil {
		s.actions.StateDelta = map[string]json.RawMessage{}
	}
	s.actions.StateDelta[key] = value
	return nil
}
