package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/replaytest"
)

// The MCP server of the test is the test itself.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "notes" {
		if err := serveNotes(context.Background()); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestNotes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := newServer(parley.Config{Recording: parley.RecordingConfig{Share: 1}}, self, "notes")
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(context.Background())
	for say, want := range map[string]string{
		`Add a note with the title "buy milk"`: "Noted: buy milk.",
		"Burn all notes":                       "", // there is no such tool
	} {
		said, called := "", ""
		for ev, err := range srv.Stream(t.Context(), parley.Request{App: "notes", User: "u", Session: "s", Message: event.Text(event.RoleUser, say)}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range ev.FunctionCalls() {
				called += call.Name
			}
			said += ev.Content.Text()
		}
		if !strings.Contains(said, want) || strings.Contains(called, "burn") {
			t.Errorf("%s: it calls %s and says %q", say, called, said)
		}
	}
	replaytest.Runs(t, srv, "notes", "u") // without a call of the MCP server
}
