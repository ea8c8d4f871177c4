package credential

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-run/parley/internal/wire"
)

// DecodeConfig reads an AuthConfig in either spelling: an object, or a string
// that holds one. Nulls count as absent. Whether the login is complete is for
// Validate to say.
func DecodeConfig(raw json.RawMessage) (*Config, error) { return decode[Config](raw) }

// DecodeScheme reads an AuthScheme in either spelling: an object, or a string
// that holds one. Kinds that Parley does not know are kept as they are.
func DecodeScheme(raw json.RawMessage) (*Scheme, error) { return decode[Scheme](raw) }

// DecodeCredential reads an AuthCredential in either spelling: an object, or a
// string that holds one.
func DecodeCredential(raw json.RawMessage) (*Credential, error) { return decode[Credential](raw) }

// DecodeAnswer reads what a client answers to a request for a credential. That
// is an AuthConfig, an AuthCredential alone, or a bare API key (a string or a
// number); any of them may also be the result member of an object, which is
// where bare values stand in a function response. What is not an AuthConfig
// comes back as the exchanged credential of one.
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

// result is the value of an object that has nothing but a result.
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

// bareKey takes a string or a number for an API key, but not a string that
// holds an object.
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

// shape tells by its members what an object is.
func shape(raw json.RawMessage) (config, cred bool, err error) {
	keyed := false // either may be
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

// UnmarshalJSON reads a login in either spelling.
func (c *Config) UnmarshalJSON(doc []byte) error {
	v, err := DecodeConfig(doc)
	if err == nil {
		*c = *v
	}
	return err
}

// UnmarshalJSON reads a scheme in either spelling.
func (s *Scheme) UnmarshalJSON(doc []byte) error {
	v, err := DecodeScheme(doc)
	if err == nil {
		*s = *v
	}
	return err
}

// UnmarshalJSON reads a credential in either spelling.
func (c *Credential) UnmarshalJSON(doc []byte) error {
	v, err := DecodeCredential(doc)
	if err == nil {
		*c = *v
	}
	return err
}

// decode reads one object, which may be inside of a string.
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

// unwrap runs read on the next value, or on the object that it holds when it
// is a string.
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

// read reads an object. Names count in their two spellings only: a member that
// looks like a known one, in another case for instance, is neither read nor
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
		if t.extra == nil || known[fold(spelled)] {
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

// folded has the known names in no particular spelling.
func (t table) folded() map[string]bool {
	names := make(map[string]bool, 2*len(t.members))
	for _, m := range t.members {
		names[fold(m.name)] = true
		if m.spec != "" {
			names[fold(m.spec)] = true
		}
		if m.also != "" {
			names[fold(m.also)] = true
		}
	}
	return names
}
