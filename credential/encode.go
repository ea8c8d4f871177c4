package credential

import (
	"fmt"
	"maps"
	"slices"

	"github.com/parley-run/parley/internal/wire"
)

// Spelling is one of the two encodings of a login.
type Spelling int

const (
	// Camel is camelCase with the shapes and values of ADK: authType is "oauth2".
	Camel Spelling = iota
	// Snake is snake_case with values in upper case: auth_type is "OAUTH2", and an API
	// key and the key of a service account are objects. Names that OpenAPI defines are
	// unchanged.
	Snake
)

// AppendJSON appends the login to dst, including secrets, on one line and in a
// fixed order. It fails only if a member of an Extra is not JSON.
func (c *Config) AppendJSON(dst []byte, spelling Spelling) ([]byte, error) {
	return appendJSON(dst, c, spelling)
}

// AppendJSON appends the scheme to dst, on one line and in a fixed order. It fails
// only if a member of an Extra is not JSON.
func (s *Scheme) AppendJSON(dst []byte, spelling Spelling) ([]byte, error) {
	return appendJSON(dst, s, spelling)
}

// AppendJSON appends the credential to dst, including secrets, on one line and in a
// fixed order. It fails only if a member of an Extra is not JSON.
func (c *Credential) AppendJSON(dst []byte, spelling Spelling) ([]byte, error) {
	return appendJSON(dst, c, spelling)
}

// AppendJSON appends the key to dst, including the private key, in the format of
// its file. It fails only if a member of an Extra is not JSON.
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

// writer appends values. It keeps the first error.
type writer struct {
	dst      []byte
	spelling Spelling
	masked   bool // for display: secrets are masked, unknown members are omitted
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

// extra writes the unknown members, except those that resemble a known one.
func (w *writer) extra(t table) {
	if t.extra == nil || len(*t.extra) == 0 {
		return
	}
	known := t.folded()
	for _, name := range slices.Sorted(maps.Keys(*t.extra)) {
		if known[wire.Fold(name)] {
			continue
		}
		w.key(name)
		var err error
		if w.dst, err = wire.Compact(w.dst, (*t.extra)[name]); err != nil && w.err == nil {
			w.err = fmt.Errorf("%s: %w", name, err)
		}
	}
}

// spelled returns the member's name.
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
