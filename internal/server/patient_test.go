package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// limited records the read deadline of a body.
type limited struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (l *limited) SetReadDeadline(until time.Time) error {
	l.until = until
	return nil
}

// paced is a body that arrives in pieces, with pauses.
type paced struct {
	size  int
	pause time.Duration
	to    *limited
}

func (p *paced) Read(b []byte) (int, error) {
	time.Sleep(p.pause)
	if time.Now().After(p.to.until) {
		return 0, io.ErrUnexpectedEOF
	}
	return min(p.size, len(b)), nil
}

// A body may be slow, but must neither stall nor trickle.
func TestPatience(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size  int
		pause time.Duration
		whole bool
	}{
		"steady": {64 << 10, time.Second, true}, "slow": {30 << 10, 6 * time.Second, true},
		"stops": {64 << 10, 61 * time.Second, false}, "trickles": {1, 45 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to := &limited{ResponseRecorder: httptest.NewRecorder()}
				body := newDeadlineReader(&paced{tt.size, tt.pause, to}, http.NewResponseController(to))
				_, err := io.CopyN(struct{ io.Writer }{io.Discard}, body, int64(20*tt.size))
				if (err == nil) != tt.whole {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
