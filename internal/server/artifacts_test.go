package server_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/server"
)

// upload begins to save a file of which nobody knows how large it is.
func upload(t *testing.T, srv http.Handler, path string, body io.Reader, headers ...string) <-chan *httptest.ResponseRecorder {
	t.Helper()
	req := request(t, http.MethodPost, path+"/artifacts", "", headers...)
	req.Body, req.ContentLength = io.NopCloser(body), -1
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

// One caller leaves room for others.
func TestLargeArtifactsOfOneCaller(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), func(o *server.Options) { o.Gate = access.Platform("X-User") })
	for _, user := range []string{"mallory", "u"} {
		at := strings.Replace(session1, "/u/", "/"+user+"/", 1)
		wantStatus(t, do(t, srv, http.MethodPost, at, "", "X-User: "+user), http.StatusOK)
		var bodies []*io.PipeWriter
		var answers []<-chan *httptest.ResponseRecorder
		for range server.MostOfOne {
			body, to := io.Pipe()
			answers, bodies = append(answers, upload(t, srv, at, body, "X-User: "+user)), append(bodies, to)
			if _, err := io.WriteString(to, `{"filename":"f","artifact":{"inlineData":{"data":"`); err != nil {
				t.Fatal(err)
			}
		}
		wantStatus(t, <-upload(t, srv, at, unread{t}, "X-User: "+user), http.StatusTooManyRequests)
		t.Cleanup(func() {
			for i, to := range bodies {
				_ = to.Close()
				<-answers[i]
			}
		})
	}
}

// The size of a file counts, not that of the body that it comes in.
func TestArtifactLargerThanBodies(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), func(o *server.Options) { o.Artifacts, o.MaxBody, o.MaxArtifact = artifact.NewMemory(), 1000, 100_000 })
	wantStatus(t, do(t, srv, http.MethodPost, session1, ""), http.StatusOK)
	for size, want := range map[int]int{100: 200, 10_000: 200, 100_000: 200, 100_001: 413} {
		data := base64.StdEncoding.EncodeToString(make([]byte, size))
		rec := do(t, srv, http.MethodPost, session1+"/artifacts", `{"filename":"f","artifact":{"inlineData":{"mimeType":"image/png","data":"`+data+`"}}}`)
		if rec.Code != want {
			t.Errorf("%d bytes: %d %s", size, rec.Code, rec.Body)
		}
	}
}
