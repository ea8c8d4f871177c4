package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-run/parley/internal/server"
)

// upload begins to save a file of which nobody knows how large it is.
func upload(t *testing.T, srv http.Handler, path string, body io.Reader) <-chan *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path+"/artifacts", body)
	req.ContentLength = -1
	req.Header.Set("Content-Type", "application/json")
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		rec := httptest.NewRecorder()
		srv.ServeHTTP(rec, req)
		answer <- rec
	}()
	return answer
}

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.ErrUnexpectedEOF
}

// Large files are on disk before they are saved: not for a session that is not
// there, and not too many at once.
func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather())
	wantStatus(t, <-upload(t, srv, session1, unread{t}), http.StatusNotFound)
	wantStatus(t, do(t, srv, http.MethodPost, session1, ""), http.StatusOK)
	var bodies []*io.PipeWriter
	var answers []<-chan *httptest.ResponseRecorder
	for range server.MostSpools {
		body, to := io.Pipe()
		answers, bodies = append(answers, upload(t, srv, session1, body)), append(bodies, to)
		// It is under way when somebody has read of it.
		if _, err := io.WriteString(to, `{"filename":"f","artifact":{"inlineData":{"data":"`); err != nil {
			t.Fatal(err)
		}
	}
	refused := <-upload(t, srv, session1, unread{t})
	wantStatus(t, refused, http.StatusTooManyRequests)
	if refused.Header().Get("Retry-After") == "" {
		t.Error("nobody says when to try again")
	}
	for i, to := range bodies {
		_, _ = io.WriteString(to, `eA=="}`) // an object is left open
		_ = to.Close()
		wantStatus(t, <-answers[i], http.StatusUnprocessableEntity)
	}
	body, to := io.Pipe()
	again := upload(t, srv, session1, body)
	_ = to.Close()
	wantStatus(t, <-again, http.StatusUnprocessableEntity) // an empty body, and not too many
}
