package main

import (
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
)

func TestWeather(t *testing.T) {
	srv, err := newServer()
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
}
