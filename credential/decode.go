package credential

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-run/parley/internal/wire"
)

// DecodeConfig decodes an AuthConfig in either spelling, from an object or from a
// string that contains one. It treats null as absent. It does not check whether the
// login is complete; Validate does.
func DecodeConfig(raw json.RawMessage) (*Config, error) { return decode[Config](raw) }

// DecodeScheme decodes an AuthScheme in either spelling, from an object or from a
// string that contains one. It keeps unknown kinds unchanged.
func DecodeScheme(raw json.RawMessage) (*Scheme, error) { return decode[Scheme](raw) }

// DecodeCredential decodes an AuthCredential in either spelling, from an object or
// from a string that contains one.
func DecodeCredential(raw json.RawMessage) (*Credential, error) { return decode[Credential](raw) }

// DecodeAnswer decodes a client's answer to a credential request, as the server
// does; tests of clients use it to check what a client sends. The answer is an
// AuthConfig, an AuthCredential, or an API key as a string or a number. Any of them
// may also be the result member of an object, because function responses wrap bare
// values that way. An answer that is not an AuthConfig is returned as the exchanged
// credential of a new one.
func DecodeAnswer(raw json.RawMessage) (*Config, error) {
	if inner, ok := result(raw); ok {
		raw = inner
	}
	if key, ok, err := bareKey(raw); err != nil {
		return nil, err
	} else if ok {
		return &Config{Exchanged: &Credential{Type: TypeAPIKey, APIKey: key}}, nil
	}
	config, cred, err := shape(raw)
	switch {
	case err != nil:
		return nil, err
	case config:
		return DecodeConfig(raw)
	case cred:
		cred, err := DecodeCredential(raw)
		if err != nil {
			return nil, err
		}
		return &Config{Exchanged: cred}, nil
	}
	return nil, &wire.Error{
		Type: "value_error",
		Msg:  "An answer to a credential request is the updated AuthConfig, an AuthCredential, or an API key; this is none of them",
	}
}

// result returns the value of an object whose only member is result.
func result(raw json.RawMessage) (inner json.RawMessage, ok bool) {
	members := 0
	err := wire.Decode(raw, func(r *wire.Reader) error {
		return r.Object(func(name string) error {
			if members++; name != "result" {
				return r.Skip()
			}
			return r.Raw(&inner)
		})
	})
	return inner, err == nil && members == 1 && inner != nil
}

// bareKey decodes a string or a number as an API key, unless the string contains an
// object.
func bareKey(raw json.RawMessage) (key string, ok bool, err error) {
	err = wire.Decode(raw, func(r *wire.Reader) error {
		if r.Kind() != '"' && r.Kind() != '0' {
			return r.Skip()
		}
		if err := (apiKey{&key}).read(r); err != nil || holdsObject(key) {
			return err
		}
		if ok = strings.TrimSpace(key) != ""; !ok {
			return r.Errorf("value_error", "The API key is empty")
		}
		return nil
	})
	return key, ok, err
}

// shape infers from the members whether an object is a config or a credential.
func shape(raw json.RawMessage) (config, cred bool, err error) {
	keyed := false // credentialKey occurs in both
	err = wire.Decode(raw, func(r *wire.Reader) error {
		return unwrap(r, func(r *wire.Reader) error {
			return r.Object(func(name string) error {
				switch name {
				case "authScheme", "rawAuthCredential", "exchangedAuthCredential":
					config = true
				case "credentialKey":
					keyed = true
				case "authType", "apiKey", "http", "oauth2", "serviceAccount":
					cred = true
				}
				return r.Skip()
			})
		})
	})
	return config || keyed && !cred, cred, err
}

// UnmarshalJSON decodes a login in either spelling.
func (c *Config) UnmarshalJSON(doc []byte) error {
	v, err := DecodeConfig(doc)
	if err == nil {
		*c = *v
	}
	return err
}

// UnmarshalJSON decodes a scheme in either spelling.
func (s *Scheme) UnmarshalJSON(doc []byte) error {
	v, err := DecodeScheme(doc)
	if err == nil {
		*s = *v
	}
	return err
}

// UnmarshalJSON decodes a credential in either spelling.
func (c *Credential) UnmarshalJSON(doc []byte) error {
	v, err := DecodeCredential(doc)
	if err == nil {
		*c = *v
	}
	return err
}

// decode decodes one object, which may be inside a string.
func decode[T any, P interface {
	*T
	tabled
}](raw json.RawMessage) (*T, error) {
	v := new(T)
	err := wire.Decode(raw, func(r *wire.Reader) error {
		return unwrap(r, func(r *wire.Reader) error { return P(v).table().read(r) })
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// unwrap calls read on the next value or, if that is a string, on the object in it.
func unwrap(r *wire.Reader, read func(*wire.Reader) error) error {
	if r.Kind() != '"' {
		return read(r)
	}
	var s string
	if err := r.String(&s); err != nil {
		return err
	}
	if !holdsObject(s) {
		return r.Errorf("object_type", "Input should be an object, or a string that holds one")
	}
	err := wire.Decode([]byte(s), read)
	if inner, ok := errors.AsType[*wire.Error](err); ok {
		outer, _ := errors.AsType[*wire.Error](r.Errorf(inner.Type, "%s", inner.Msg))
		outer.Path = append(outer.Path, inner.Path...)
		return outer
	}
	return err
}

func holdsObject(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") }

// read decodes an object. It accepts names in their two spellings only. A member
// that resembles a known one, for example in another case, is neither decoded nor
// kept, because the next reader might take it for the known one.
func (t table) read(r *wire.Reader) error {
	var known map[string]bool
	err := r.Members(func(spelled string) error {
		if r.Null() {
			return nil
		}
		name := wire.Camel(spelled)
		for i := range t.members {
			if t.members[i].is(name) {
				return t.members[i].value.read(r)
			}
		}
		if known == nil {
			known = t.folded()
		}
		if t.extra == nil || known[wire.Fold(spelled)] {
			return r.Skip()
		}
		var v json.RawMessage
		if err := r.Raw(&v); err != nil {
			return err
		}
		if *t.extra == nil {
			*t.extra = map[string]json.RawMessage{}
		}
		(*t.extra)[spelled] = v
		return nil
	})
	if err == nil && t.done != nil {
		t.done()
	}
	return err
}

func (m *member) is(name string) bool {
	return name == m.name || m.also != "" && name == m.also || m.spec != "" && name == wire.Camel(m.spec)
}

// folded contains the normalized known names.
func (t table) folded() map[string]bool {
	names := make(map[string]bool, 2*len(t.members))
	for _, m := range t.members {
		names[wire.Fold(m.name)] = true
		if m.spec != "" {
			names[wire.Fold(m.spec)] = true
		}
		if m.also != "" {
			names[wire.Fold(m.also)] = true
		}
	}
	return names
}
