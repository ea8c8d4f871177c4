package server

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/parley-run/parley/internal/wire"
)

// spool takes the bytes of a file out of the JSON that they come in, so that the
// JSON is small and the file need not be in memory: it is decoded on its way to
// a temporary file.
type spool struct {
	in      *bufio.Reader
	rest    bytes.Buffer // the JSON, with an empty text in the place of the bytes
	maxRest int64
	maxData int64
	data    *os.File // nil until there are bytes
	nowhere bool     // the file has no name any more
	leave   func()   // makes room for another one; nil for nothing
	path    []string // names of the members that lead to where the reader is; empty ones for items
}

// How many files are on their way at once, in all and of one caller: each may need
// as much room on disk as a file may have.
const (
	mostSpools = 8
	mostOfOne  = 2
)

// spools counts the files that are on their way.
type spools struct {
	mu  sync.Mutex
	of  map[string]int // by caller
	all int
}

// enter makes room for one more, of a caller unless that is empty. leave is nil if
// there is none.
func (s *spools) enter(caller string) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == mostSpools || caller != "" && s.of[caller] == mostOfOne {
		return nil
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[caller]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[caller]--; s.of[caller] == 0 {
			delete(s.of, caller)
		}
	}
}

// mostLevels is how deep the JSON may be nested. No decoder takes more.
const mostLevels = 10_000

// inlined are the members that hold the bytes, in both spellings.
func inlined(path []string) bool {
	return len(path) == 3 && path[0] == "artifact" && (path[1] == "inlineData" || path[1] == "inline_data") && path[2] == "data"
}

// Close removes the file.
func (s *spool) Close() {
	if s.leave != nil {
		defer s.leave()
	}
	if s.data == nil {
		return
	}
	_ = s.data.Close()
	if !s.nowhere {
		_ = os.Remove(s.data.Name()) //nolint:gosec // the name is ours
	}
}

// read reads to the end. Whether the rest is JSON at all is found out by whoever
// decodes it: what is not comes out as it went in.
func (s *spool) read() error {
	name := "" // of the member that comes next
	naming := false
	for {
		b, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch b {
		case '{', '[':
			if len(s.path) == mostLevels {
				return &wire.Error{Type: "json_invalid", Msg: "nested too deeply"}
			}
			s.path = append(s.path, "")
			naming = b == '{'
		case '}', ']':
			s.path = s.path[:max(0, len(s.path)-1)]
			naming = false
		case ',':
			naming = len(s.path) > 0 && s.path[len(s.path)-1] != ""
		case ':':
			if naming = false; len(s.path) > 0 {
				s.path[len(s.path)-1] = name
			}
		case '"':
			if !naming && inlined(s.path) {
				if err := s.file(); err != nil {
					return err
				}
				continue
			}
			from := s.rest.Len()
			if err := s.text(); err != nil {
				return err
			}
			if naming {
				name = string(bytes.Trim(s.rest.Bytes()[from:], `"`))
			}
			continue
		}
		if err := s.keep(b); err != nil {
			return err
		}
	}
}

func (s *spool) keep(b byte) error {
	if int64(s.rest.Len()) >= s.maxRest {
		return &http.MaxBytesError{Limit: s.maxRest}
	}
	return s.rest.WriteByte(b)
}

// text keeps a text whose opening quote has been read.
func (s *spool) text() error {
	if err := s.keep('"'); err != nil {
		return err
	}
	for escaped := false; ; {
		b, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.keep(b); err != nil {
			return err
		}
		if b == '"' && !escaped {
			return nil
		}
		escaped = b == '\\' && !escaped
	}
}

// file decodes a text whose opening quote has been read. There is one file: to
// write it again and again would be work without end.
func (s *spool) file() error {
	if s.data != nil {
		return &wire.Error{Type: "json_invalid", Path: []any{"artifact", "inlineData", "data"}, Msg: "there twice"}
	}
	var err error
	if s.data, err = os.CreateTemp("", "parley-artifact-*"); err != nil { // its mode is 0600
		return err
	}
	// Where a file may lose its name while it is open, nothing is left of it when
	// the process dies.
	s.nowhere = os.Remove(s.data.Name()) == nil
	letters := &letters{in: s.in}
	out := &written{File: s.data}
	n, err := io.Copy(out, io.LimitReader(base64.NewDecoder(base64.RawStdEncoding, letters), s.maxData+1))
	switch {
	case n > s.maxData:
		return &http.MaxBytesError{Limit: s.maxData}
	case letters.failed != nil:
		return letters.failed
	case out.failed != nil:
		return out.failed
	}
	value := `""`
	if err != nil || letters.strange {
		value = `"*"` // which no decoder takes for base64
	}
	s.rest.WriteString(value)
	return letters.finish()
}

// written is a file that remembers why it could not be written to.
type written struct {
	*os.File
	failed error
}

func (w *written) Write(b []byte) (n int, err error) {
	n, err = w.File.Write(b)
	w.failed = err
	return n, err
}

// ReadFrom is hidden: io.Copy is to write.
func (w *written) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, 64<<10))
}

// letters reads base64 out of a text in JSON, up to its end, in either alphabet
// and without padding.
type letters struct {
	in      *bufio.Reader
	ended   bool
	padded  bool
	strange bool // there are letters of both alphabets, or after the padding, or of none
	plain   bool // letters of the standard alphabet alone
	web     bool // letters of the other
	failed  error
}

func (l *letters) Read(p []byte) (n int, err error) {
	for n < len(p) && !l.ended && !l.strange && l.failed == nil {
		var b byte
		if b, err = l.in.ReadByte(); err != nil {
			break
		}
		switch { // what is of JSON
		case b == '"':
			l.ended = true
			continue
		case b < ' ':
			l.strange = true
			continue
		case b == '\\':
			b, err = l.escaped()
		}
		if err != nil {
			break
		}
		switch b { // and of base64
		case '\n', '\r':
			continue
		case '=':
			l.padded = true
			continue
		case '-':
			b, l.web = '+', true
		case '_':
			b, l.web = '/', true
		case '+', '/':
			l.plain = true
		}
		if l.strange = l.padded || l.web && l.plain; !l.strange {
			p[n] = b
			n++
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.failed = err
	}
	switch {
	case n > 0:
		return n, nil
	case l.failed != nil:
		return 0, l.failed
	}
	return 0, io.EOF
}

// escaped is a letter whose backslash has been read. Some programs write others
// than they have to in this way.
func (l *letters) escaped() (byte, error) {
	b, err := l.in.ReadByte()
	if err != nil {
		return 0, err
	}
	switch b {
	case '/':
		return b, nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 'u':
		digits := make([]byte, 4)
		if _, err := io.ReadFull(l.in, digits); err != nil {
			return 0, err
		}
		if code, err := strconv.ParseUint(string(digits), 16, 7); err == nil {
			return byte(code), nil
		}
	}
	return '*', nil // which is no letter of base64
}

// finish reads to the end of the text.
func (l *letters) finish() error {
	escaped := false
	for !l.ended {
		b, err := l.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		l.ended = b == '"' && !escaped
		escaped = b == '\\' && !escaped
	}
	return nil
}
