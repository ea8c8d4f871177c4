package logins

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// No secret of a login is sent, logged, or stored in clear, whether the login is
// pending, complete, refreshed or refused.
func TestNoSecretIsRevealed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		c := w.talk(t, custom, "s")
		a := c.asked(c.say("call list_events"))
		callback := c.visit(a, true)
		codes := []string{code(callback)}
		c.done(c.send(a.answer(callback)), 1)
		c.say("call list_events")
		b := c.asked(c.say("call list_contacts"))
		refused := c.visit(b, true)
		codes = append(codes, code(refused))
		broken := w.provider.Break(provider.TokenPath, provider.OAuthError("invalid_grant", "no"))
		c.send(b.answer(refused))
		broken.Repair()
		pending := c.asked(c.say("call list_contacts"))

		var all strings.Builder
		for _, path := range []string{c.path(), c.path() + "/export", c.path() + "/runs", "/apps/" + custom + "/users/ann/sessions", "/apps/" + custom + "/users/ann/credentials"} {
			all.Write(c.client.Do(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Body)
		}
		told := all.Len()
		all.WriteString(w.stored(t))
		w.server.Close(t.Context()) // it says nothing more
		all.WriteString(w.log.String())
		if !strings.Contains(all.String(), pending.id) || w.database != "" && !strings.Contains(all.String()[told:], pending.id) {
			t.Error("the test does not see what is there")
		}
		_, secret := w.provider.Client()
		words := append(codes, secret)
		used.Range(func(token, _ any) bool {
			words = append(words, strings.TrimPrefix(token.(string), "Bearer "))
			return true
		})
		for _, word := range words {
			if word == "" || strings.Contains(all.String(), word) || strings.Contains(all.String(), url.QueryEscape(word)) {
				t.Errorf("%q is to be found", word)
			}
		}
	}, func(o *provider.Options, _ *parley.Config) { o.AccessTokenLife = 30 * time.Second })
}

// stored is all that the database has, as text.
func (w *world) stored(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	if path, ok := strings.CutPrefix(w.database, "sqlite://"); ok {
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, ".key") {
				continue
			}
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(content)
		}
		return all.String()
	}
	if w.database == "" {
		return ""
	}
	db, err := pgx.Connect(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	rows, err := db.Query(t.Context(), `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		rows, err := db.Query(t.Context(), `SELECT * FROM `+pgx.Identifier{table}.Sanitize())
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			for _, value := range rows.RawValues() {
				all.Write(value)
				all.WriteByte(' ')
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
