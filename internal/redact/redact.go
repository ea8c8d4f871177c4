// Package redact removes secrets from everything that is shown, stored or logged: JSON documents, streamed texts, files
// and log records.
package redact

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/parley-run/parley/internal/wire"
)

// Sealed is what clients and events show instead of a sealed value of the state, as JSON. Tools read the value itself.
const Sealed = `"(sealed)"`

// Shortest is the minimum length of a secret: shorter ones occur in ordinary words, and in the contract's own.
const Shortest = 8

// Set is a set of secrets. The zero value is empty. It is safe for concurrent use.
type Set struct {
	list atomic.Pointer[[]secret] // longest first: one may be a part of another
}

type secret struct {
	plain    string
	spelled  []string // spellings in a text
	variants [][]byte // spellings in JSON
	instead  []byte
}

func (s *secret) in(doc []byte) bool {
	return slices.ContainsFunc(s.variants, func(v []byte) bool { return bytes.Contains(doc, v) })
}

func (s *Set) secrets() []secret {
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

// Add adds secrets, except for those shorter than Shortest.
func (s *Set) Add(secrets ...string) {
	for _, plain := range secrets {
		if len(plain) < Shortest {
			continue
		}
		one := newSecret(plain)
		for {
			old := s.list.Load()
			var list []secret
			if old != nil {
				if slices.ContainsFunc(*old, func(h secret) bool { return h.plain == plain }) {
					break
				}
				list = slices.Clone(*old)
			}
			list = append(list, one)
			slices.SortStableFunc(list, func(a, b secret) int { return len(b.plain) - len(a.plain) })
			if s.list.CompareAndSwap(old, &list) {
				break
			}
		}
	}
}

func newSecret(plain string) secret {
	one := secret{plain: plain, instead: []byte("[redacted]")}
	if strings.Trim(plain, "0123456789") == "" {
		one.instead = []byte("1") // it may appear as a number
	}
	one.spelled = []string{plain}
	for _, word := range []string{url.QueryEscape(plain), url.PathEscape(plain)} {
		if !slices.Contains(one.spelled, word) {
			one.spelled = append(one.spelled, word)
		}
	}
	inner := func(quoted []byte) []byte { return quoted[1 : len(quoted)-1] }
	quoted := func(text string) []byte { return inner(wire.Quote(nil, text)) }
	html, err := json.Marshal(plain) // escapes some characters differently
	if err == nil {
		one.variants = append(one.variants, inner(html))
	}
	for _, v := range [][]byte{
		quoted(plain), quoted(url.QueryEscape(plain)), quoted(url.PathEscape(plain)),
		bytes.ReplaceAll(quoted(plain), []byte("/"), []byte(`\/`)), // as some encoders do
	} {
		if !slices.ContainsFunc(one.variants, func(w []byte) bool { return bytes.Equal(v, w) }) {
			one.variants = append(one.variants, v)
		}
	}
	return one
}

// Empty reports whether the set has no secrets.
func (s *Set) Empty() bool { return len(s.secrets()) == 0 }

// In returns the secrets that are in a JSON document.
func (s *Set) In(doc []byte) (found []string) {
	for _, one := range s.secrets() {
		if one.in(doc) {
			found = append(found, one.plain)
		}
	}
	return found
}

// Decided returns how much of a text can be scrubbed and shown while it is incomplete: the rest may be the beginning of
// a secret.
func (s *Set) Decided(text string) int {
	list := s.secrets()
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
	// A complete secret is not split, so that JSON finds it.
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
