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

// upload starts to save a file of unknown size.
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

// unreadable is a body that must not be read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.ErrUnexpectedEOF
}

// Large files are spooled to disk before they are saved: not for a session that does not exist, and not too many at
// once.
func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather())
	wantStatus(t, <-upload(t, srv, session1, unreadable{t}), http.StatusNotFound)
	wantStatus(t, do(t, srv, http.MethodPost, session1, ""), http.StatusOK)
	var bodies []*io.PipeWriter
	var answers []<-chan *httptest.ResponseRecorder
	for range server.MostSpools {
		body, to := io.Pipe()
		answers, bodies = append(answers, upload(t, srv, session1, body)), append(bodies, to)
		// The upload is in progress once the server has read a part of it.
		if _, err := io.WriteString(to, `{"filename":"f","artifact":{"inlineData":{"data":"`); err != nil {
			t.Fatal(err)
		}
	}
	refused := <-upload(t, srv, session1, unreadable{t})
	wantStatus(t, refused, http.StatusTooManyRequests)
	if refused.Header().Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	for i, to := range bodies {
		_, _ = io.WriteString(to, `eA=="}`) // the object is not closed
		_ = to.Close()
		wantStatus(t, <-answers[i], http.StatusUnprocessableEntity)
	}
	body, to := io.Pipe()
	again := upload(t, srv, session1, body)
	_ = to.Close()
	wantStatus(t, <-again, http.StatusUnprocessableEntity) // the body is incomplete, but the limit is not exceeded
}

// One caller cannot use all of the space.
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
		wantStatus(t, <-upload(t, srv, at, unreadable{t}, "X-User: "+user), http.StatusTooManyRequests)
		t.Cleanup(func() {
			for i, to := range bodies {
				_ = to.Close()
				<-answers[i]
			}
		})
	}
}

// The limit applies to the size of the file, not to that of the encoded body.
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
