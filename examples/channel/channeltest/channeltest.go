// Package channeltest starts a Parley server for the tests of the recipes.
package channeltest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/all" // the offline model, and agents in TypeScript
	"github.com/parley-run/parley/examples/channel"
	"github.com/parley-run/parley/internal/testkit/replaytest"
)

// Start serves the agent of examples/approval, with the triggers of the recipe in the
// current directory, and sends its webhooks to what open returns. It returns the address of
// the server. When the test ends, it repeats the runs of a user with what was recorded:
// they must be the same.
func Start(t *testing.T, user string, open func(p channel.Parley, secret string) (http.Handler, error)) string {
	t.Helper()
	apps := t.TempDir()
	if err := os.Mkdir(filepath.Join(apps, "approval"), 0o700); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"../approval/index.ts": "index.ts", "triggers.yaml": "triggers.yaml"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(apps, "approval", to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	srv, err := parley.Open(t.Context(), parley.Config{
		Scripts: parley.ScriptConfig{Dir: apps}, Offline: true, Recording: parley.RecordingConfig{Share: 1},
		Logins:  parley.LoginConfig{Key: base64.StdEncoding.EncodeToString(key)},
		Network: parley.NetworkConfig{AllowPrivateWebhooks: []string{"127.0.0.0/8"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		replaytest.Runs(t, srv, "approval", user)
		srv.Close(context.WithoutCancel(t.Context()))
	})
	server := httptest.NewServer(srv.Handler())
	t.Cleanup(server.Close)

	var webhooks http.Handler
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { webhooks.ServeHTTP(w, r) }))
	t.Cleanup(receiver.Close)
	var made struct {
		Secret string `json:"secret"`
	}
	in := map[string]any{"url": receiver.URL + "/webhook", "events": []string{"run.completed", "run.waiting", "run.failed"}}
	if _, err := channel.Call(t.Context(), http.MethodPost, server.URL+"/apps/approval/webhooks", nil, in, &made); err != nil {
		t.Fatal(err)
	}
	if webhooks, err = open(channel.Parley{URL: server.URL}, made.Secret); err != nil {
		t.Fatal(err)
	}
	return server.URL
}

// Send sends what a service would to a trigger, or to a recipe, and returns the answer.
func Send(t *testing.T, address string, header http.Header, body []byte) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// JSON encodes a document of a test.
func JSON(t *testing.T, v any) []byte {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Next returns the next value of a channel.
func Next[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-t.Context().Done():
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
