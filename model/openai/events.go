package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds a line of a stream, which may contain an image.
const maxLine = 64 << 20

// events decodes the data of server-sent events. This API does not use names and
// ids.
type events struct {
	lines *bufio.Scanner
	data  []byte
}

func newEvents(r io.Reader) *events {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4<<10), maxLine)
	s.Split(line)
	return &events{lines: s}
}

// next returns the data of the next event that has any; io.EOF after the last. It
// is valid until the next call.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	some := false
	for e.lines.Scan() {
		text := e.lines.Bytes()
		if len(text) == 0 {
			if some {
				return e.data, nil
			}
			continue
		}
		value, ok := bytes.CutPrefix(text, []byte("data"))
		if !ok || len(value) > 0 && value[0] != ':' {
			continue // a comment, or another field
		}
		value = bytes.TrimPrefix(bytes.TrimPrefix(value, []byte(":")), []byte(" "))
		if some {
			e.data = append(e.data, '\n')
		}
		e.data, some = append(e.data, value...), true
	}
	switch err := e.lines.Err(); {
	case err != nil:
		return nil, err
	case some:
		return e.data, nil // some servers omit the last empty line
	}
	return nil, io.EOF
}

// line splits at \n, \r\n and \r, as the format defines.
func line(data []byte, atEOF bool) (advance int, token []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case i < 0 && len(data) >= maxLine:
		return 0, nil, errors.New("a line of the stream is too long")
	case i < 0:
		return 0, nil, nil
	case data[i] == '\n':
		return i + 1, data[:i], nil
	case i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	case i+1 == len(data) && !atEOF:
		return 0, nil, nil // the \n may still come
	}
	return i + 1, data[:i], nil
}
