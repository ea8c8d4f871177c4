package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Event is an event of a stream.
type Event struct {
	Name string // empty if the event does not name its type
	ID   string // empty if the event has none of its own
	Data []byte // its lines of data, joined with \n; valid until the next call of Next
}

// ErrIncomplete means that the stream ended before the blank line that ends an event.
var ErrIncomplete = errors.New("the stream of events ended within an event")

// errTooLong tells callers that know bufio, too.
var errTooLong = fmt.Errorf("an event of the stream is larger than its limit: %w", bufio.ErrTooLong)

// Decoder reads Server-Sent Events, as the HTML standard defines them. It holds one event
// in memory, and no more than the limit of it.
type Decoder struct {
	in    *bufio.Reader
	limit int
	begun bool          // what may be a byte order mark has been read
	cr    bool          // the last line ended with \r; a \n that follows belongs to it
	long  []byte        // a line that is not in the buffer of in as a whole
	data  []byte        // of the event
	retry time.Duration // see Retry
}

// NewDecoder returns a decoder of a stream. Each line, and the data of each event, may have
// limit bytes.
func NewDecoder(r io.Reader, limit int) *Decoder {
	return &Decoder{in: bufio.NewReader(r), limit: limit}
}

// Retry returns the time after which the server wants its clients to connect again, and 0 if
// it has not said so.
func (d *Decoder) Retry() time.Duration { return d.retry }

// Next returns the next event that has data. After the last, the error is io.EOF; after an
// event that is too large, it is bufio.ErrTooLong.
//
// If it is ErrIncomplete, the event is what there was of the last one. The standard has
// clients ignore it, but some servers omit the last blank line.
func (d *Decoder) Next() (Event, error) {
	d.data = d.data[:0]
	var e Event
	some := false
	for {
		line, err := d.line()
		switch {
		case errors.Is(err, io.EOF) && some:
			e.Data = d.data
			return e, ErrIncomplete
		case err != nil:
			return Event{}, err
		case len(line) == 0 && some:
			e.Data = d.data
			return e, nil
		case len(line) == 0:
			e = Event{} // without data, it is not an event
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if some {
				d.data = append(d.data, '\n')
			}
			if len(value) > d.limit-len(d.data) {
				return Event{}, errTooLong
			}
			d.data, some = append(d.data, value...), true
		case "event":
			e.Name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.ID = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				d.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// byteOrderMark may precede the first line.
const byteOrderMark = "\uFEFF"

// line returns the next line without what ends it: \n, \r\n or \r. It is valid until the
// next call.
func (d *Decoder) line() ([]byte, error) {
	if !d.begun {
		d.begun = true
		if start, _ := d.in.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
			_, _ = d.in.Discard(len(start))
		}
	}
	d.long = d.long[:0]
	for {
		if _, err := d.in.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && len(d.long) > 0 {
				return d.long, nil
			}
			return nil, err
		}
		// Not more than there is: what has arrived is not kept until more does.
		buffered, _ := d.in.Peek(d.in.Buffered())
		if d.cr {
			d.cr = false
			if buffered[0] == '\n' {
				_, _ = d.in.Discard(1)
				continue
			}
		}
		end := lineEnd(buffered)
		if end > d.limit-len(d.long) {
			return nil, errTooLong
		}
		if end == len(buffered) {
			d.long = append(d.long, buffered...)
			_, _ = d.in.Discard(end)
			continue
		}
		d.cr = buffered[end] == '\r'
		_, _ = d.in.Discard(end + 1)
		if len(d.long) > 0 {
			d.long = append(d.long, buffered[:end]...)
			return d.long, nil
		}
		return buffered[:end], nil // what is discarded stays until the next read
	}
}

// lineEnd returns the index of the first \n or \r, or the length.
func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		return i
	}
	return len(b)
}
