package main

import (
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/replaytest"
)

// It answers, and repeated with what was recorded, the run is the same.
func TestWeather(t *testing.T) {
	srv, err := newServer(parley.Config{Recording: parley.RecordingConfig{Share: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	said := ""
	for ev, err := range srv.Stream(t.Context(), parley.Request{
		App: "weather", User: "u", Session: "s", Message: event.Text(event.RoleUser, "What is the weather in New York?"),
	}) {
		if err != nil {
			t.Fatal(err)
		}
		said += ev.Content.Text()
	}
	if !strings.Contains(said, "The weather in New York is sunny") {
		t.Errorf("it says %q", said)
	}
	replaytest.Runs(t, srv, "weather", "u")
}
