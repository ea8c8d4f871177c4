package credential

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/parley-run/parley/internal/wire"
)

// Redacted returns a copy for clients, without anything secret: what a user
// needs to log in stays. Its key is spelled out, because it can no longer be
// derived.
func (c *Config) Redacted() *Config {
	if c == nil {
		return nil
	}
	out := c.Clone()
	out.CredentialKey = c.Key()
	redact(out.table())
	return out
}

// Redacted returns a copy without anything secret.
func (c *Credential) Redacted() *Credential {
	if c == nil {
		return nil
	}
	out := c.Clone()
	redact(out.table())
	return out
}

// redact clears what is secret. Members that Parley does not know are secret
// in a credential, and in a scheme when they are called so.
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
			*t.extra = nil // as it would be read
		}
	}
}

// secretNames are names of members that hold secrets, in no particular
// spelling.
var secretNames = map[string]bool{
	"clientsecret": true, "codeverifier": true, "accesstoken": true, "refreshtoken": true, "idtoken": true,
	"authcode": true, "authresponseuri": true, "password": true, "token": true, "privatekey": true,
	"privatekeyid": true, "apikey": true, "additionalheaders": true,
}

// scrub returns a value without the members, at any depth, that are called
// like secrets. A value that cannot be read is null.
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

// SecretsIn are the strings of a value, at any depth and also inside of strings
// that are JSON, whose members are called like secrets.
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

// HoldsCredential reports whether a value is a credential object, or a login that
// has one, in either spelling, or has one anywhere inside, also in a string that
// is JSON. It says yes to an object with an authType and one of apiKey, http,
// oauth2 and serviceAccount; such a value must not be shown.
func HoldsCredential(raw json.RawMessage) bool {
	// All names that count have these letters, unless they are escaped.
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
