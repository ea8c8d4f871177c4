package broker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// statePrefix is what the names of sealed values of the state begin with; their
// keys follow.
const statePrefix = "state/"

// sealedValue is a value of the state that is kept sealed.
type sealedValue struct {
	Value json.RawMessage `json:"value"`
	// Secrets are what is secret in it: whoever opens the value must not show
	// them.
	Secrets []string `json:"secrets,omitempty"`
}

func (*sealedValue) about() about { return about{} }

// stateID is where a sealed value of the state is.
func (s *Session) stateID(key string) session.SecretID {
	id := session.SecretID{App: s.key.App, User: s.key.User, Session: s.key.ID, Name: statePrefix + key}
	if session.ScopeOf(key) == session.ScopeUser {
		id.Session = ""
	}
	return id
}

// Seal puts away what is secret in a delta of the state.
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
			if session.IsNull(value) {
				err = s.broker.remove(ctx, s.stateID(key))
			} else {
				err = s.put(ctx, key, value)
			}
		case string(value) == tool.Sealed:
		case s.secret(value):
			change(key, json.RawMessage(tool.Sealed))
			err = s.put(ctx, key, value)
		case before != nil:
			if was, _ := before.Get(key); string(was) == tool.Sealed {
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
var errShared = refuse(http.StatusUnprocessableEntity,
	"A credential cannot be kept for all users of an application: keep it under a key of the session or, with user:, of the user")

// put seals a value of the state.
func (s *Session) put(ctx context.Context, key string, value json.RawMessage) error {
	if session.ScopeOf(key) == session.ScopeApp {
		return errShared
	}
	secrets := credential.SecretsIn(value)
	s.remember(secrets...)
	for _, one := range s.handed() {
		if one.in(value) {
			secrets = append(secrets, one.plain)
		}
	}
	return s.broker.replace(ctx, s.stateID(key), &sealedValue{value, secrets})
}

// secret tells whether a value must not be seen.
func (s *Session) secret(value json.RawMessage) bool {
	if credential.HoldsCredential(value) {
		return true
	}
	return slices.ContainsFunc(s.handed(), func(one handedOut) bool { return one.in(value) })
}

// Open finds what was put away for a key of the state.
func (s *Session) Open(ctx context.Context, key string) (json.RawMessage, bool, error) {
	v, _, err := load[sealedValue](ctx, s.broker, s.stateID(key))
	if errors.Is(err, ErrNoKey) {
		return nil, false, nil // then nothing was put away
	}
	if err != nil || v == nil {
		return nil, false, err
	}
	s.remember(v.Secrets...)
	return v.Value, true, nil
}

// shortest is how long a secret must be for it to be looked for in what is
// said: shorter ones are found in ordinary words.
const shortest = 8

// handedOut is a secret that tools of the run have got.
type handedOut struct {
	plain    string
	spelled  []string // how it may be spelled in a text
	variants [][]byte // and in JSON
	instead  []byte
}

func (h *handedOut) in(doc []byte) bool {
	return slices.ContainsFunc(h.variants, func(v []byte) bool { return bytes.Contains(doc, v) })
}

// Knows reports whether tools of the run have got a secret.
func (s *Session) Knows() bool { return len(s.handed()) > 0 }

// Decided is how much of a text can be scrubbed and shown while the text goes
// on: what comes after it may be the beginning of a secret.
func (s *Session) Decided(text string) int {
	list := s.handed()
	cut := len(text)
	for _, one := range list {
		for _, word := range one.spelled {
			for n := min(len(word)-1, len(text)); n > len(text)-cut; n-- {
				if strings.HasSuffix(text, word[:n]) {
					cut = len(text) - n
				}
			}
		}
	}
	// A secret that is complete stays whole, for Scrub to find.
	for moved := true; moved; {
		moved = false
		for _, one := range list {
			for _, word := range one.spelled {
				for at := 0; ; at += len(word) {
					i := strings.Index(text[at:], word)
					if i < 0 || at+i >= cut {
						break
					}
					if at += i; at+len(word) > cut {
						cut, moved = at, true
					}
				}
			}
		}
	}
	return cut
}

func (s *Session) handed() []handedOut {
	list := s.out.Load()
	if list == nil {
		return nil
	}
	return *list
}

// remember takes note of secrets that a tool gets to see.
func (s *Session) remember(secrets ...string) {
	for _, plain := range secrets {
		if len(plain) < shortest {
			continue
		}
		one := newHandedOut(plain)
		for {
			old := s.out.Load()
			var list []handedOut
			if old != nil {
				if slices.ContainsFunc(*old, func(h handedOut) bool { return h.plain == plain }) {
					break
				}
				list = slices.Clone(*old)
			}
			list = append(list, one)
			// The longest first: one may be a part of another.
			slices.SortStableFunc(list, func(a, b handedOut) int { return len(b.plain) - len(a.plain) })
			if s.out.CompareAndSwap(old, &list) {
				break
			}
		}
	}
}

func newHandedOut(plain string) handedOut {
	one := handedOut{plain: plain, instead: []byte("[redacted]")}
	if strings.Trim(plain, "0123456789") == "" {
		one.instead = []byte("1") // it may stand there as a number
	}
	one.spelled = []string{plain}
	for _, word := range []string{url.QueryEscape(plain), url.PathEscape(plain)} {
		if !slices.Contains(one.spelled, word) {
			one.spelled = append(one.spelled, word)
		}
	}
	inner := func(quoted []byte) []byte { return quoted[1 : len(quoted)-1] }
	quoted := func(text string) []byte { return inner(wire.Quote(nil, text)) }
	html, err := json.Marshal(plain) // which spells some letters differently
	if err == nil {
		one.variants = append(one.variants, inner(html))
	}
	for _, v := range [][]byte{
		quoted(plain), quoted(url.QueryEscape(plain)), quoted(url.PathEscape(plain)),
		bytes.ReplaceAll(quoted(plain), []byte("/"), []byte(`\/`)), // as some programs write it
	} {
		if !slices.ContainsFunc(one.variants, func(w []byte) bool { return bytes.Equal(v, w) }) {
			one.variants = append(one.variants, v)
		}
	}
	return one
}

// handing takes note of a credential that a tool gets.
func (s *Session) handing(cred *credential.Credential, err error) (*credential.Credential, error) {
	s.remember(secretsOf(cred)...)
	return cred, err
}

// secretsOf are the strings in a credential that must not be seen.
func secretsOf(c *credential.Credential) []string {
	if c == nil {
		return nil
	}
	doc, err := c.AppendJSON(nil, credential.Camel)
	if err != nil {
		return nil // then no tool can have got it
	}
	list := credential.SecretsIn(doc)
	if h := c.HTTP; h != nil && h.Password != "" {
		list = append(list, base64.StdEncoding.EncodeToString([]byte(h.Username+":"+h.Password)))
	}
	return list
}
