// Package database tests the example.
package database

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/all"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/internal/testkit/replaytest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The agent answers what its README says, from Postgres, with the model that needs no
// key; and what a model writes changes nothing.
func TestDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs a package, and starts a database")
	}
	nodejs.Install(t, ".")
	t.Setenv("SHOP_DATABASE_URL", pgtest.Quick(t).Database(t))
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: "."}, Offline: true, Recording: parley.RecordingConfig{Share: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.Background()) })
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		say, want  string
		documented bool
	}{
		{`Find the orders of customer "Ada"`, `{"orders":[{"id":1,"product":"kettle","quantity":1,"total":39.9,"ordered":"2026-03-02"},{"id":2,"product":"lamp","quantity":4,"total":98,"ordered":"2026-03-02"}]}`, true},
		{`List the tables`, `{"table":"customers","columns":"id integer, name text, city text"}`, true},
		{"Run the query `SELECT count(*) FROM orders`", `{"rows":[{"count":"5"}],"more":false}`, true},
		{`Find the orders of customer "Zoe"`, "There is no order of Zoe.", false},
		{"Run the query `DELETE FROM orders`", "cannot execute DELETE in a read-only transaction", false},
		{"Run the query `SELECT nonsense`", `column \"nonsense\" does not exist`, false},
		{"Run the query `COMMIT; DELETE FROM orders`", "cannot insert multiple commands into a prepared statement", false},
		{"Run the query `SELECT generate_series(1, 51)`", `"more":true`, false},
		{"Run the query `SELECT count(*) FROM orders`", `{"rows":[{"count":"5"}],"more":false}`, false},
	} {
		if tt.documented && !strings.Contains(string(readme), "`"+tt.say) && !strings.Contains(string(readme), "`` "+tt.say) {
			t.Errorf("the README does not have %s", tt.say)
		}
		var got strings.Builder
		for ev, err := range srv.Stream(t.Context(), parley.Request{App: "database", User: "u", Session: "s", Message: event.Text(event.RoleUser, tt.say)}) {
			if err != nil {
				t.Fatalf("%s: %v", tt.say, err)
			}
			for _, r := range ev.FunctionResponses() {
				got.Write(r.Response)
			}
		}
		if text := got.String(); !strings.Contains(text, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.say, text, tt.want)
		}
	}
	replaytest.Runs(t, srv, "database", "u")
}
