package redact

import (
	"bytes"
	"io"
	"slices"
)

// Reader returns r without the secrets of the set, in any spelling that a text or JSON may have. It does not change
// other bytes.
func (s *Set) Reader(r io.Reader) io.Reader {
	f := &file{r: r}
	for _, one := range s.secrets() {
		for _, word := range one.spelled {
			f.add([]byte(word), one.instead)
		}
		for _, word := range one.variants {
			f.add(word, one.instead)
		}
	}
	if len(f.words) == 0 {
		return r
	}
	// Longest first: one may be a part of another.
	slices.SortStableFunc(f.words, func(a, b word) int { return len(b.text) - len(a.text) })
	return f
}

type word struct{ text, instead []byte }

type file struct {
	r     io.Reader
	words []word
	held  []byte // read, and possibly the beginning of a secret
	ready []byte // scrubbed
	err   error
}

func (f *file) add(text, instead []byte) {
	if !slices.ContainsFunc(f.words, func(w word) bool { return bytes.Equal(w.text, text) }) {
		f.words = append(f.words, word{text, instead})
	}
}

const chunk = 32 << 10

func (f *file) Read(p []byte) (int, error) {
	for len(f.ready) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		n := len(f.held)
		f.held = slices.Grow(f.held, chunk)
		read, err := f.r.Read(f.held[n : n+chunk])
		f.held, f.err = f.held[:n+read], err
		cut := len(f.held)
		if err == nil {
			cut = f.decided()
		}
		f.ready = bytes.Clone(f.held[:cut])
		f.held = append(f.held[:0], f.held[cut:]...)
		for _, w := range f.words {
			f.ready = bytes.ReplaceAll(f.ready, w.text, w.instead)
		}
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// decided returns how many of the held bytes can be returned before more is read.
func (f *file) decided() int {
	cut := max(0, len(f.held)-len(f.words[0].text)+1)
	for moved := true; moved; {
		moved = false
		for _, w := range f.words {
			// A secret across the cut.
			from, to := max(0, cut-len(w.text)+1), min(len(f.held), cut+len(w.text)-1)
			if from >= to {
				continue
			}
			if i := bytes.Index(f.held[from:to], w.text); i >= 0 {
				cut, moved = from+i, true
			}
		}
	}
	return cut
}
