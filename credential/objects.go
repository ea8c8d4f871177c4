package credential

import (
	"slices"

	"github.com/parley-run/parley/internal/wire"
)

// object is a member that is an object with its own table.
type object[T any, P interface {
	*T
	tabled
}] struct{ at **T }

func (v object[T, P]) empty() bool { return *v.at == nil }
func (v object[T, P]) clear()      { *v.at = nil }

func (v object[T, P]) read(r *wire.Reader) error {
	*v.at = new(T)
	return P(*v.at).table().read(r)
}

func (v object[T, P]) write(w *writer) { w.object(P(*v.at).table()) }

func (v object[T, P]) inner() (table, bool) {
	if *v.at == nil {
		return table{}, false
	}
	return P(*v.at).table(), true
}

// group is an object in JSON whose members are fields of the outer struct in Go.
type group struct{ of table }

func (v group) empty() bool {
	return !slices.ContainsFunc(v.of.members, func(m member) bool { return !m.value.empty() })
}

func (v group) clear() {
	for _, m := range v.of.members {
		m.value.clear()
	}
}

func (v group) read(r *wire.Reader) error {
	v.clear()
	return v.of.read(r)
}

func (v group) write(w *writer)      { w.object(v.of) }
func (v group) inner() (table, bool) { return v.of, true }

// keyFile is the key of a service account: an object, or the text of the file. It
// has a single spelling, that of the file.
type keyFile struct{ at **ServiceAccountKey }

func (v keyFile) empty() bool { return *v.at == nil }
func (v keyFile) clear()      { *v.at = nil }

func (v keyFile) read(r *wire.Reader) error {
	*v.at = &ServiceAccountKey{}
	return unwrap(r, (*v.at).table().read)
}

func (v keyFile) write(w *writer) {
	outer := w.spelling
	w.spelling = Snake
	w.object((*v.at).table())
	w.spelling = outer
}
