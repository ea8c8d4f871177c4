package credential

import (
	"encoding/json"

	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/wire"
)

// Redacted returns a copy for clients, without secrets but with everything that a
// user needs to log in. CredentialKey of the copy is always set, because it can no
// longer be derived.
func (c *Config) Redacted() *Config {
	if c == nil {
		return nil
	}
	out := c.Clone()
	out.CredentialKey = c.Key()
	clearSecrets(out.table())
	return out
}

// Redacted returns a copy without secrets.
func (c *Credential) Redacted() *Credential {
	if c == nil {
		return nil
	}
	out := c.Clone()
	clearSecrets(out.table())
	return out
}

// clearSecrets clears secrets. An unknown member of a credential is always a secret; an
// unknown member of a scheme is one if its name says so.
func clearSecrets(t table) {
	for _, m := range t.members {
		if m.trait&secret != 0 {
			m.value.clear()
		} else if h, ok := m.value.(holder); ok {
			if inner, ok := h.inner(); ok {
				clearSecrets(inner)
			}
		}
	}
	switch {
	case t.extra == nil:
	case !t.open:
		*t.extra = nil
	default:
		for name, v := range *t.extra {
			if redact.IsSecretName(name) {
				delete(*t.extra, name)
			} else {
				(*t.extra)[name] = scrub(v)
			}
		}
		if len(*t.extra) == 0 {
			*t.extra = nil // as a decoder would read it
		}
	}
}

// scrub returns a value without the members, at any depth, that have the name of a
// secret. It returns null for a value that cannot be decoded.
func scrub(raw json.RawMessage) json.RawMessage {
	var out []byte
	if err := wire.Decode(raw, func(r *wire.Reader) error { return scrubNext(r, &out) }); err != nil {
		return json.RawMessage("null")
	}
	return out
}

func scrubNext(r *wire.Reader, out *[]byte) error {
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
			if redact.IsSecretName(name) {
				return r.Skip()
			}
			next()
			*out = append(wire.Quote(*out, name), ':')
			return scrubNext(r, out)
		})
		*out = append(*out, '}')
		return err
	case '[':
		*out = append(*out, '[')
		err := r.Array(func() error {
			next()
			return scrubNext(r, out)
		})
		*out = append(*out, ']')
		return err
	}
	var v json.RawMessage
	err := r.Raw(&v)
	*out = append(*out, v...)
	return err
}
