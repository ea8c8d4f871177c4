package sse_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/parley-run/parley/internal/sse"
)

// decode reads all events, as lines of text, and the error after the last one.
func decode(d *sse.Decoder) (events []string, err error) {
	for {
		e, err := d.Next()
		if err == nil || errors.Is(err, sse.ErrIncomplete) {
			events = append(events, fmt.Sprintf("%s|%s|%s", e.Name, e.ID, e.Data))
		}
		if err != nil {
			return events, err
		}
	}
}

func TestDecoder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text  string
		want  string // events
		err   error  // io.EOF if nil
		retry time.Duration
	}{
		"nothing":                   {},
		"blank lines":               {text: "\n\r\n\r\r"},
		"one":                       {text: "data: a\n\n", want: "||a"},
		"all fields":                {text: "event: e\nid: 7\nretry: 1500\ndata: a\n\n", want: "e|7|a", retry: 1500 * time.Millisecond},
		"fields of their own event": {text: "event: e\nid: 7\ndata: a\n\ndata: b\n\n", want: "e|7|a ||b"},
		"without space":             {text: "event:e\nid:7\ndata:a\n\n", want: "e|7|a"},
		"one space is no data":      {text: "data:  a \n\n", want: "|| a "},
		"lines of data":             {text: "data: a\ndata\ndata:\ndata: b: c\n\n", want: "||a\n\n\nb: c"},
		"empty data":                {text: "data\n\n", want: "||"},
		"CRLF":                      {text: "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", want: "||a\nb ||c"},
		"CR":                        {text: "data: a\rdata: b\r\rdata: c\r\r", want: "||a\nb ||c"},
		"mixed":                     {text: "data: a\r\n\ndata: b\n\rdata: c\r\n\r", want: "||a ||b ||c"},
		"comments":                  {text: ": hello\n\n:\ndata: a\n: more\ndata: b\n\n: bye\n\n", want: "||a\nb"},
		"other fields":              {text: "datas: x\n data: x\nfoo\nDATA: x\ndata: a\n\n", want: "||a"},
		"without data":              {text: "event: e\nid: 1\n\ndata: a\n\n", want: "||a"},
		"an invalid id":             {text: "id: 1\x002\ndata: a\n\nid: 1\nid: 2\x00\ndata: b\n\n", want: "||a |1|b"},
		"an invalid time":           {text: "retry: 10\n\nretry: -1\nretry: +5\nretry: 1s\nretry: \nretry: 99999999999999999999\n\n", retry: 10 * time.Millisecond},
		"a byte order mark":         {text: "\uFEFFdata: a\n\n\uFEFFdata: b\n\n", want: "||a"},
		"incomplete":                {text: "data: a\n\nevent: e\ndata: b\n", want: "||a e||b", err: sse.ErrIncomplete},
		"an incomplete line":        {text: "data: a\n\nevent: e\ndata: b", want: "||a e||b", err: sse.ErrIncomplete},
		"incomplete without data":   {text: "data: a\n\nevent: e\nid", want: "||a"},
		"at the limit":              {text: "data: " + strings.Repeat("a", 94) + "\n\n", want: "||" + strings.Repeat("a", 94)},
		"a line above it":           {text: "data: a\n\ndata: " + strings.Repeat("a", 95) + "\n\n", want: "||a", err: bufio.ErrTooLong},
		"a comment above it":        {text: ": " + strings.Repeat("a", 95) + "9999\n\n", err: bufio.ErrTooLong},
		"data at the limit":         {text: "data: " + strings.Repeat("a", 90) + "\ndata: 123456789\n\n", want: "||" + strings.Repeat("a", 90) + "\n123456789"},
		"data above it":             {text: "data: " + strings.Repeat("a", 90) + "\ndata: 1234567890\n\n", err: bufio.ErrTooLong},
		"empty lines of data":       {text: strings.Repeat("data\n", 102) + "\n", err: bufio.ErrTooLong},
	} {
		for how, from := range map[string]func(io.Reader) io.Reader{
			"at once":       func(r io.Reader) io.Reader { return r },
			"byte for byte": iotest.OneByteReader,
			"with the end":  iotest.DataErrReader,
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				d := sse.NewDecoder(from(strings.NewReader(tt.text)), 100)
				got, err := decode(d)
				want := tt.err
				if want == nil {
					want = io.EOF
				}
				if strings.Join(got, " ") != tt.want || !errors.Is(err, want) {
					t.Errorf("got %q and %v, want %q and %v", got, err, tt.want, want)
				}
				if d.Retry() != tt.retry {
					t.Errorf("the time to connect again is %v, want %v", d.Retry(), tt.retry)
				}
			})
		}
	}
}

// An event is returned when its last line ends, even if a \n may follow the \r.
func TestDecoderDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n"} {
		from, to := io.Pipe()
		d := sse.NewDecoder(from, 100)
		for i := range 3 {
			go func() { _, _ = io.WriteString(to, "data: a"+end+end) }()
			if e, err := d.Next(); err != nil || string(e.Data) != "a" {
				t.Errorf("%q: event %d is %q and %v", end, i, e.Data, err)
			}
		}
	}
}

// What failed is not the end of a stream, and what was read of an event is not an event.
func TestDecoderFails(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{io.ErrUnexpectedEOF, errors.New("reset")} {
		from := io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(failure))
		if got, err := decode(sse.NewDecoder(from, 100)); len(got) != 1 || !errors.Is(err, failure) {
			t.Errorf("got %q and %v", got, err)
		}
	}
}

// A stream with long lines, which are not in the buffer as a whole.
func TestDecoderLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 1<<16)
	got, err := decode(sse.NewDecoder(strings.NewReader("data: "+long+"\r\ndata: "+long+"\r\n\r\ndata: b\n\n"), 2<<20))
	if len(got) != 2 || got[0] != "||"+long+"\n"+long || got[1] != "||b" || !errors.Is(err, io.EOF) {
		t.Errorf("got %d events and %v", len(got), err)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, text := range []string{
		"data: a\n\n", "\uFEFFevent: e\rid: 1\rdata\r\r", "data: a\r\ndata: b\r\n\r\n: c\n\nretry: 5\n", "data: " + strings.Repeat("x", 300),
	} {
		f.Add(text, 100)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(0, min(limit, 1<<20))
		events, err := decode(sse.NewDecoder(strings.NewReader(text), limit))
		slow, slowly := decode(sse.NewDecoder(iotest.OneByteReader(strings.NewReader(text)), limit))
		if strings.Join(events, " ") != strings.Join(slow, " ") || !errors.Is(slowly, err) {
			t.Errorf("at once %q and %v, byte for byte %q and %v", events, err, slow, slowly)
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, sse.ErrIncomplete) && !errors.Is(err, bufio.ErrTooLong) {
			t.Errorf("the error is %v", err)
		}
		if !strings.ContainsAny(text, "\r\n") { // what Append writes is what is read
			d := sse.NewDecoder(strings.NewReader(string(sse.Append(nil, "", "", []byte(text)))), len(text)+10)
			if e, err := d.Next(); err != nil || string(e.Data) != text {
				t.Errorf("got %q and %v", e.Data, err)
			}
		}
	})
}
