package credential

import (
	"fmt"
	"maps"
	"slices"

	"github.com/parley-run/parley/internal/wire"
)

// Spelling is one of the two ways in which a login is written.
type Spelling int

const (
	// Camel is camelCase with ADK's shapes and values: authType is "oauth2".
	Camel Spelling = iota
	// Snake is snake_case with the specification's: auth_type is "OAUTH2",
	// an API key and a service account's key are objects. The names of
	// OpenAPI stay as they are.
	Snake
)

// AppendJSON appends the login to dst, secrets and all, on one line and always
// in the same order. It fails only when a member of an Extra is not JSON.
func (c *Config) AppendJSON(dst []byte, spelling Spelling) ([]byte, error) {
	return appendJSON(dst, c, spelling)
}

// AppendJSON appends the scheme to dst, on one line and always in the same
// order. It fails only when a member of an Extra is not JSON.
func (s *Scheme) AppendJSON(dst []byte, spelling Spelling) ([]byte, error) {
	return appendJSON(dst, s, spelling)
}

// AppendJSON appends the credential to dst, secrets and all, on one line and
// always in the same order. It fails only when a member of an Extra is not
// JSON.
func (c *Credential) AppendJSON(dst []byte, spelling Spelling) ([]byte, error) {
	return appendJSON(dst, c, spelling)
}

// AppendJSON appends the key to dst, private key and all, as its file has it.
// It fails only when a member of an Extra is not JSON.
func (k *ServiceAccountKey) AppendJSON(dst []byte) ([]byte, error) {
	return appendJSON(dst, k, Snake)
}

func appendJSON(dst []byte, v tabled, spelling Spelling) ([]byte, error) {
	w := writer{dst: dst, spelling: spelling}
	w.object(v.table())
	if w.err != nil {
		return dst, fmt.Errorf("encode credential: %w", w.err)
	}
	return w.dst, nil
}

// writer appends one value after another. The first failure sticks.
type writer struct {
	dst      []byte
	spelling Spelling
	masked   bool // for eyes: secrets are stars, and unknown members are left out
	err      error
}

func (w *writer) key(name string) {
	if w.dst[len(w.dst)-1] != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(wire.Quote(w.dst, name), ':')
}

func (w *writer) string(s string) { w.dst = wire.Quote(w.dst, s) }

func (w *writer) strings(list []string) {
	w.dst = append(w.dst, '[')
	for i, s := range list {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.string(s)
	}
	w.dst = append(w.dst, ']')
}

func (w *writer) object(t table) {
	w.dst = append(w.dst, '{')
	for i := range t.members {
		m := &t.members[i]
		if m.value.empty() && m.trait&always == 0 {
			continue
		}
		w.key(m.spelled(w.spelling))
		if w.masked && m.trait&(secret|quiet) != 0 {
			w.string("***")
			continue
		}
		m.value.write(w)
	}
	if !w.masked {
		w.extra(t)
	}
	w.dst = append(w.dst, '}')
}

// extra writes the members that are not ours, but none that could be taken for
// one of ours.
func (w *writer) extra(t table) {
	if t.extra == nil || len(*t.extra) == 0 {
		return
	}
	known := t.folded()
	for _, name := range slices.Sorted(maps.Keys(*t.extra)) {
		if known[fold(name)] {
			continue
		}
		w.key(name)
		var err error
		if w.dst, err = wire.Compact(w.dst, (*t.extra)[name]); err != nil && w.err == nil {
			w.err = fmt.Errorf("%s: %w", name, err)
		}
	}
}

// spelled is the member's name.
func (m *member) spelled(spelling Spelling) string {
	switch {
	case spelling == Camel:
		return m.name
	case m.spec != "":
		return m.spec
	}
	snake := make([]byte, 0, len(m.name)+4)
	for _, c := range []byte(m.name) {
		if 'A' <= c && c <= 'Z' {
			snake = append(snake, '_', c-'A'+'a')
		} else {
			snake = append(snake, c)
		}
	}
	return string(snake)
}
