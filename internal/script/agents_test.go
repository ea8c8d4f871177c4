package script_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/parley-run/parley/event"
)

// places is a service that agents call.
func places(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/places/old town" {
		http.Error(w, "no such place", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"name":"Old Town","key":"` + r.Header.Get("Authorization") + `"}`))
}

func TestAgents(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(places))
	t.Run("talk", func(t *testing.T) {
		for _, c := range slices.Concat(talks, layouts) {
			t.Run(c.dir, func(t *testing.T) {
				t.Parallel()
				c.run(t, "SERVICE_URL="+service.URL, "FROM_OUTSIDE=from-process")
			})
		}
	})
	service.Close()
}

// A tool learns that its run was cancelled.
func TestAgentsAbort(t *testing.T) {
	h, err := serve(t, "testdata/agents/patience", says{flash: "call wait{}"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range h.send(context.Background(), event.Text(event.RoleUser, "Wait"), false) {
		}
	}()
	h.log.await(t, "waiting")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	h.srv.Close(over)
	h.log.await(t, "given up: true AbortError")
	<-ended
}
