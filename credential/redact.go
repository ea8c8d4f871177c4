package credential

import (
	"bytes"
	"encoding/json"
	"strings"

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
	redact(out.table())
	return out
}

// Redacted returns a copy without secrets.
func (c *Credential) Redacted() *Credential {
	if c == nil {
		return nil
	}
	out := c.Clone()
	redact(out.table())
	return out
}

// redact clears secrets. An unknown member of a credential is always a secret; an
// unknown member of a scheme is one if its name says so.
func redact(t table) {
	for _, m := range t.members {
		if m.trait&secret != 0 {
			m.value.clear()
		} else if h, ok := m.value.(holder); ok {
			if inner, ok := h.inner(); ok {
				redact(inner)
			}
		}
	}
	switch {
	case t.extra == nil:
	case !t.open:
		*t.extra = nil
	default:
		for name, v := range *t.extra {
			if secretNames[fold(name)] {
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

// secretNames are the normalized names of members that hold secrets.
var secretNames = map[string]bool{
	"clientsecret": true, "codeverifier": true, "accesstoken": true, "refreshtoken": true, "idtoken": true,
	"authcode": true, "authresponseuri": true, "password": true, "token": true, "privatekey": true,
	"privatekeyid": true, "apikey": true, "additionalheaders": true,
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
			if secretNames[fold(name)] {
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

// SecretsIn returns the strings in a value whose members have the name of a secret,
// at any depth and also inside strings that are JSON.
func SecretsIn(raw json.RawMessage) []string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	var list []string
	collect(value, false, &list)
	return list
}

func collect(value any, named bool, list *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			collect(member, named || secretNames[fold(name)], list)
		}
	case []any:
		for _, item := range v {
			collect(item, named, list)
		}
	case string:
		var inner any
		switch text := strings.TrimSpace(v); {
		case strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &inner) == nil:
			collect(inner, named, list)
		case named && v != "":
			*list = append(*list, v)
		}
	}
}

// HoldsCredential reports whether a value is, or contains at any depth, a
// credential object or a login with one, in either spelling, also inside a string
// that is JSON. A credential object has an authType and one of apiKey, http, oauth2
// and serviceAccount. Such a value must not be displayed.
func HoldsCredential(raw json.RawMessage) bool {
	// All relevant names contain these letters, unless they are escaped.
	if !bytes.Contains(raw, []byte("uth")) && !bytes.Contains(raw, []byte(`\u`)) {
		return false
	}
	found := false
	err := wire.Decode(raw, func(r *wire.Reader) error { return lookNext(r, &found) })
	return err == nil && found
}

func lookNext(r *wire.Reader, found *bool) error {
	switch r.Kind() {
	case '{':
		typed, filled := false, false
		err := r.Members(func(name string) error {
			if r.Null() {
				return nil
			}
			switch wire.Camel(name) {
			case "authType":
				typed = typed || r.Kind() == '"'
			case "apiKey", "http", "oauth2", "serviceAccount":
				filled = true
			}
			return lookNext(r, found)
		})
		*found = *found || typed && filled
		return err
	case '[':
		return r.Array(func() error { return lookNext(r, found) })
	case '"':
		var s string
		if err := r.String(&s); err != nil {
			return err
		}
		s = strings.TrimSpace(s)
		if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
			*found = *found || HoldsCredential(json.RawMessage(s))
		}
		return nil
	}
	return r.Skip()
}
