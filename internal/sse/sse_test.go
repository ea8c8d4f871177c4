package sse_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/sse"
)

// recorder notes what is done with a connection and with a response.
type recorder struct {
	*httptest.ResponseRecorder
	net.Conn

	log    []string
	failed error
}

func (r *recorder) Gather()        { r.log = append(r.log, "gather") }
func (r *recorder) Release() error { r.log = append(r.log, "release"); return r.failed }

func (*recorder) SetWriteDeadline(time.Time) error { return nil }

func (r *recorder) Write(b []byte) (int, error) {
	r.log = append(r.log, strings.TrimSpace(string(b[:min(len(b), 20)])))
	return r.ResponseRecorder.Write(b)
}

// items is a reader of texts. Those that are empty make it wait.
type items struct {
	texts []string
	late  bool // Take may wait
	ready chan struct{}
}

func (i *items) Take(context.Context) (string, bool, error) {
	if len(i.texts) == 0 {
		return "", false, io.EOF
	}
	text := i.texts[0]
	i.texts = i.texts[1:]
	if text == "" {
		i.ready <- struct{}{}
	}
	return text, text != "", nil
}

func (i *items) Ready() <-chan struct{} { return i.ready }
func (i *items) Begun() bool            { return true }
func (i *items) Prompt() bool           { return !i.late }

func follow(t *testing.T, rec *recorder, reader *items) error {
	t.Helper()
	rec.ResponseRecorder, reader.ready = httptest.NewRecorder(), make(chan struct{}, 1)
	request := httptest.NewRequestWithContext(sse.WithConn(t.Context(), rec), http.MethodGet, "/", nil)
	out := sse.New(rec, request)
	return sse.Follow(t.Context(), out, reader, func(text string) error { return out.Data([]byte(text)) })
}

// What is there at the same time is written at once, and nothing is held back while the
// stream waits.
func TestFollowGathers(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 64<<10)
	for name, tt := range map[string]struct {
		reader items
		want   string
	}{
		"some at once":   {items{texts: []string{"1", "2", "", "3"}}, "gather, data: 1, gather, data: 2, release, gather, data: 3, release"},
		"a large one":    {items{texts: []string{"1", large}}, "gather, data: 1, gather, release, data: xxxxxxxxxxxxxx, xxxxxx, release"},
		"Take may wait":  {items{texts: []string{"1", "2"}, late: true}, "release, data: 1, release, data: 2, release"},
		"nothing at all": {items{}, "release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := &recorder{}
			if err := follow(t, rec, &tt.reader); !errors.Is(err, io.EOF) {
				t.Errorf("Follow: %v", err)
			}
			if got := strings.Join(rec.log, ", "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A client that is gone shows when what was gathered is written.
func TestFollowGone(t *testing.T) {
	t.Parallel()
	rec := &recorder{failed: errors.New("broken pipe")}
	if err := follow(t, rec, &items{texts: []string{"1", "", "2"}}); !errors.Is(err, sse.ErrGone) {
		t.Errorf("Follow: %v", err)
	}
}
