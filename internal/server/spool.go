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

// spool extracts the bytes of a file from the JSON around them and decodes them into a temporary file, so that the file
// need not fit into memory.
type spool struct {
	in       *bufio.Reader
	rest     bytes.Buffer // the JSON, with an empty string in place of the bytes
	maxRest  int64
	maxData  int64
	data     *os.File // nil until there are bytes
	unlinked bool     // the file has been removed from its directory
	leave    func()   // releases the reservation; nil if there is none
	path     []string // names of the members that lead to the current position; empty for items of arrays
}

// The number of concurrent uploads, in total and per caller. Each may need as much disk space as the largest file.
const (
	mostSpools = 8
	mostOfOne  = 2
)

// spools counts the uploads in progress.
type spools struct {
	mu  sync.Mutex
	of  map[string]int // by caller
	all int
}

// enter reserves a place for an upload, of a caller unless that is empty. leave is nil if there is none.
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

// mostLevels bounds the nesting of the JSON. No decoder accepts more.
const mostLevels = 10_000

// inlined reports whether path is the member that holds the bytes, in either spelling.
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
	if !s.unlinked {
		_ = os.Remove(s.data.Name()) //nolint:gosec // the name is ours
	}
}

// read reads to the end. It does not validate the rest: invalid JSON is copied as it is, and its decoder reports it.
func (s *spool) read() error {
	name := "" // of the next member
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

// text copies a string whose opening quote has been read.
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

// file decodes a string whose opening quote has been read. Only one file is allowed: a document must not make the
// server write any number of them.
func (s *spool) file() error {
	if s.data != nil {
		return &wire.Error{Type: "json_invalid", Path: []any{"artifact", "inlineData", "data"}, Msg: "there twice"}
	}
	var err error
	if s.data, err = os.CreateTemp("", "parley-artifact-*"); err != nil { // its mode is 0600
		return err
	}
	// Where an open file can be removed, the system frees it even if the process is killed.
	s.unlinked = os.Remove(s.data.Name()) == nil
	letters := &base64Reader{in: s.in}
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
	if err != nil || letters.invalid {
		value = `"*"` // not valid base64, so the decoder refuses it
	}
	s.rest.WriteString(value)
	return letters.finish()
}

// written is a file that records its write error.
type written struct {
	*os.File
	failed error
}

func (w *written) Write(b []byte) (n int, err error) {
	n, err = w.File.Write(b)
	w.failed = err
	return n, err
}

// ReadFrom hides that of os.File, so that io.Copy calls Write.
func (w *written) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, 64<<10))
}

// base64Reader decodes base64 from a JSON string, up to its end, in either alphabet and without padding.
type base64Reader struct {
	in       *bufio.Reader
	ended    bool
	padded   bool
	invalid  bool // invalid characters, both alphabets, or data after the padding
	standard bool // characters of the standard alphabet only
	urlSafe  bool // characters of the URL alphabet only
	failed   error
}

func (l *base64Reader) Read(p []byte) (n int, err error) {
	for n < len(p) && !l.ended && !l.invalid && l.failed == nil {
		var b byte
		if b, err = l.in.ReadByte(); err != nil {
			break
		}
		switch { // JSON
		case b == '"':
			l.ended = true
			continue
		case b < ' ':
			l.invalid = true
			continue
		case b == '\\':
			b, err = l.escaped()
		}
		if err != nil {
			break
		}
		switch b { // base64
		case '\n', '\r':
			continue
		case '=':
			l.padded = true
			continue
		case '-':
			b, l.urlSafe = '+', true
		case '_':
			b, l.urlSafe = '/', true
		case '+', '/':
			l.standard = true
		}
		if l.invalid = l.padded || l.urlSafe && l.standard; !l.invalid {
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

// escaped returns the character of an escape sequence whose backslash has been read. Some encoders escape more than
// necessary.
func (l *base64Reader) escaped() (byte, error) {
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
	return '*', nil // not a character of base64
}

// finish reads to the end of the string.
func (l *base64Reader) finish() error {
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
