package sqlite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
)

// plan is how SQLite would answer a query.
func (s *backend) plan(t *testing.T, query string, args ...any) string {
	t.Helper()
	var steps []string
	err := s.read(t.Context(), func(c *conn) error {
		return c.each("EXPLAIN QUERY PLAN "+query, args, func(scan func(...any) error) error {
			var id, parent, unused int
			var step string
			err := scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "\n")
}

// A page of a list is read by an index in the order of the list, so that its
// cost does not grow with the number of sessions.
func TestListUsesIndex(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	for i := range 500 {
		key := session.Key{App: "a", User: fmt.Sprint("u", i%2), ID: fmt.Sprint(i)}
		state := session.State{session.MetadataKey: fmt.Appendf(nil, `{"displayName":"Talk %d","labels":{"tens":"%d","all":"yes"}}`, i, i/10)}
		if _, err := s.Create(t.Context(), session.NewSession{Key: key, State: state}); err != nil {
			t.Fatal(err)
		}
	}
	const byUser = "SEARCH sessions USING INDEX sessions_listed (owner=? AND rowid<?)"
	const byLabel = "SEARCH l USING PRIMARY KEY (owner=? AND name=? AND value=? AND session<?)\nSEARCH sessions USING INTEGER PRIMARY KEY (rowid=?)"
	for _, analyzed := range []bool{false, true} {
		for _, tt := range []struct {
			name   string
			filter session.Filter
			want   string
		}{
			{"all", session.Filter{}, byUser},
			{"title", session.Filter{Title: "9"}, byUser},
			{"time", session.Filter{Since: time.Unix(1, 0), Before: time.Now()}, byUser},
			{"label", session.Filter{Labels: map[string]string{"tens": "7"}}, byLabel},
			{"labels", session.Filter{Labels: map[string]string{"tens": "7", "all": "yes"}}, byLabel},
		} {
			query, args := listQuery(session.Key{App: "a", User: "u1"}, 1000, session.Page{Size: 20, Filter: tt.filter})
			got := s.plan(t, query, args...)
			if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "SCAN") || strings.Contains(got, "TEMP B-TREE") {
				t.Errorf("%s, analyzed %v: the plan is\n%s\nwant\n%s", tt.name, analyzed, got, tt.want)
			}
		}
		if err := s.write(t.Context(), func(c *conn) error { return c.script("ANALYZE") }); err != nil {
			t.Fatal(err)
		}
	}
}

// What is done all the time has an index, too.
func TestQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	for _, query := range []string{
		"SELECT name, value FROM state WHERE owner IN (1, x'01', x'02')",
		"SELECT seq, json, sum FROM events WHERE session = 1 AND seq > 7 ORDER BY seq",
		"SELECT " + runColumns + strings.ReplaceAll(firstOpen, "?", "1"),
		"SELECT 1 FROM runs WHERE session = 1 AND idempotency = 'x'",
		"SELECT 1 FROM runs WHERE session = 1 AND number < 7 ORDER BY number DESC LIMIT 20",
		"SELECT " + hasOpen + ", " + hasSubscriptions + ", " + hasEndpoints + ", " + hasNotes + " FROM sessions WHERE digest = x'01'",
		"DELETE FROM labels WHERE session = 1",
	} {
		if got := s.plan(t, query); strings.Contains(got, "SCAN") || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s:\n%s", query, got)
		}
	}
	// The newest sessions are materialized, and sorting their runs is all that is left.
	got := s.plan(t, strings.NewReplacer("owner = ?", "owner = x'01'", "LIMIT ?", "LIMIT 100", "OFFSET ?", "OFFSET 19").Replace(sqlRecent))
	if strings.Contains(got, "SCAN runs") || strings.Contains(got, "SCAN sessions") {
		t.Errorf("recent runs:\n%s", got)
	}
	if got := s.plan(t, "UPDATE runs SET lease = 1 WHERE owner = 'x' AND status = 'running'"); got != "SCAN runs USING INDEX runs_running" {
		t.Errorf("Renew looks at all runs that ever were: %s", got)
	}
}

// Rebuild makes good whatever was damaged, and leaves alone what is shared.
func TestRebuildRepairs(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	key := session.Key{App: "a", User: "u", ID: "s"}
	_, err := s.Create(t.Context(), session.NewSession{Key: key, State: session.State{
		"a": []byte("1"), "user:b": []byte("2"), session.MetadataKey: []byte(`{"displayName":"Tea","labels":{"l":"1"}}`),
	}, Log: []*session.Entry{say("e1"), say("e2")}})
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := s.Rebuild(t.Context(), key); changed || err != nil {
		t.Fatalf("nothing was wrong: %v, %v", changed, err)
	}
	for _, damage := range []string{
		"UPDATE sessions SET seq = 7",
		"UPDATE sessions SET rewound = 1",
		"UPDATE sessions SET title = 'coffee'",
		"DELETE FROM labels",
		"UPDATE labels SET value = '2'",
		"UPDATE labels SET owner = x'00'",
		"UPDATE state SET value = x'32' WHERE name = 'a'",
		"DELETE FROM state WHERE name = 'a'",
		"INSERT INTO state (owner, name, value) SELECT ordinal, 'c', x'31' FROM sessions",
	} {
		if err := s.write(t.Context(), func(c *conn) error { return c.script(damage) }); err != nil {
			t.Fatalf("%s: %v", damage, err)
		}
		if changed, err := s.Rebuild(t.Context(), key); !changed || err != nil {
			t.Errorf("after %s: %v, %v", damage, changed, err)
		}
		list, _, err := s.List(t.Context(), "a", "u", session.Page{Filter: session.Filter{Title: "TEA", Labels: map[string]string{"l": "1"}}})
		if err != nil || len(list) != 1 || list[0].Seq != 2 || list[0].Rewound != 0 || len(list[0].State) != 3 ||
			string(list[0].State["a"]) != "1" || string(list[0].State["user:b"]) != "2" {
			t.Errorf("after %s: listed are %v, error %v", damage, list, err)
		}
	}
}

// A page of the runs of all sessions is read by an index of each status, in their order. Those that have not ended
// are read by theirs.
func TestFindRunsUsesIndexes(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	err := s.write(t.Context(), func(c *conn) error {
		return c.script(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
			INSERT INTO sessions (digest, owner, app, user, id, hidden, created, updated) SELECT CAST(i AS BLOB), CAST(i % 10 AS BLOB), 'a', 'u', i, 0, i, i FROM n;
			INSERT INTO runs (session, id, status, created) SELECT ordinal, id, CASE ordinal % 50 WHEN 0 THEN 'failed' ELSE 'completed' END, created FROM sessions`)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, analyzed := range []bool{false, true} {
		for index, q := range map[string]session.RunQuery{
			"runs_of_app (list_app=? AND status=? AND ":   {App: "a"},
			"runs_of_user (list_user=? AND status=? AND ": {App: "a", User: "u", Statuses: []session.Status{session.Failed}},
		} {
			query, args := findRunsQuery(&q, 1<<40, 1, 20)
			got := s.plan(t, query, args...)
			ended := len(q.Wanted())
			if q.Selects(session.Running) {
				ended -= 2
			}
			rest := strings.NewReplacer("SCAN runs USING INDEX runs_open", "", "SCAN runs USING INDEX runs_running", "").Replace(got)
			if strings.Count(got, index) != ended || strings.Contains(rest, "SCAN runs") || strings.Contains(rest, "SCAN sessions") || strings.Count(rest, "TEMP B-TREE FOR ORDER BY") != len(q.Wanted())-ended {
				t.Errorf("analyzed %v: the plan of %+v is\n%s", analyzed, q, got)
			}
		}
		if err := s.write(t.Context(), func(c *conn) error { return c.script("ANALYZE") }); err != nil {
			t.Fatal(err)
		}
	}
}
