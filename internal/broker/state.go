package broker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// statePrefix begins the names of sealed state values; their keys follow.
const statePrefix = "state/"

// sealedValue is a sealed value of the state.
type sealedValue struct {
	Value json.RawMessage `json:"value"`
	// Secrets are the secrets in it, which must not be shown.
	Secrets []string `json:"secrets,omitempty"`
}

func (*sealedValue) about() about { return about{} }

// stateID returns the id of a sealed state value.
func (s *Session) stateID(key string) session.SecretID {
	id := session.SecretID{App: s.key.App, User: s.key.User, Session: s.key.ID, Name: statePrefix + key}
	if session.ScopeOf(key) == session.ScopeUser {
		id.Session = ""
	}
	return id
}

// Seal seals the secrets in a delta of the state.
func (s *Session) Seal(ctx context.Context, delta map[string]json.RawMessage, before tool.Lookup) (map[string]json.RawMessage, error) {
	rest, ours := delta, false
	change := func(key string, value json.RawMessage) {
		if !ours {
			rest, ours = maps.Clone(delta), true
		}
		if delete(rest, key); value != nil {
			rest[key] = value
		}
	}
	for key, value := range delta {
		var err error
		switch {
		case tool.IsSecret(key):
			change(key, nil)
			if sessionrt.IsNull(value) {
				err = s.broker.remove(ctx, s.stateID(key))
			} else {
				err = s.put(ctx, key, value)
			}
		case string(value) == redact.Sealed:
		case s.secret(value):
			change(key, json.RawMessage(redact.Sealed))
			err = s.put(ctx, key, value)
		case before != nil:
			if was, _ := before.Get(key); string(was) == redact.Sealed {
				err = s.broker.remove(ctx, s.stateID(key))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("state %q: %w", key, err)
		}
	}
	return rest, nil
}

// errShared refuses to share the credential of a user with others.
var errShared = refuse(Incomplete,
	"A credential cannot be kept for all users of an application: keep it under a key of the session or, with user:, of the user")

// put seals a value of the state.
func (s *Session) put(ctx context.Context, key string, value json.RawMessage) error {
	if session.ScopeOf(key) == session.ScopeApp {
		return errShared
	}
	secrets := redact.SecretsIn(value)
	s.out.Add(secrets...)
	secrets = append(secrets, s.out.In(value)...)
	return s.broker.replace(ctx, s.stateID(key), &sealedValue{value, secrets})
}

// secret reports whether a value must not be shown.
func (s *Session) secret(value json.RawMessage) bool {
	if redact.HoldsCredential(value) {
		return true
	}
	return len(s.out.In(value)) > 0
}

// Open returns the sealed value for a key of the state.
func (s *Session) Open(ctx context.Context, key string) (json.RawMessage, bool, error) {
	v, _, err := load[sealedValue](ctx, s.broker, s.stateID(key))
	if errors.Is(err, ErrNoKey) {
		return nil, false, nil // then nothing was sealed
	}
	if err != nil || v == nil {
		return nil, false, err
	}
	s.out.Add(v.Secrets...)
	return v.Value, true, nil
}

// Scrub returns a JSON document without the secrets that tools of the run have received.
func (s *Session) Scrub(doc []byte) []byte { return s.out.JSON(doc) }

// ScrubFile is like Scrub for a file.
func (s *Session) ScrubFile(content io.Reader) io.Reader { return s.out.Reader(content) }

// Knows reports whether tools of the run have received a secret.
func (s *Session) Knows() bool { return !s.out.Empty() }

// Decided returns how much of a text can be scrubbed and shown while it is incomplete: the rest may be the beginning of
// a secret.
func (s *Session) Decided(text string) int { return s.out.Decided(text) }

// handing records the secrets of a credential that a tool receives.
func (s *Session) handing(cred *credential.Credential, err error) (*credential.Credential, error) {
	s.out.Add(secretsOf(cred)...)
	return cred, err
}

// secretsOf returns the strings in a credential that must not be shown.
func secretsOf(c *credential.Credential) []string {
	if c == nil {
		return nil
	}
	doc, err := c.AppendJSON(nil, credential.Camel)
	if err != nil {
		return nil // then no tool can have received it
	}
	list := redact.SecretsIn(doc)
	if h := c.HTTP; h != nil && h.Password != "" {
		list = append(list, base64.StdEncoding.EncodeToString([]byte(h.Username+":"+h.Password)))
	}
	return list
}
