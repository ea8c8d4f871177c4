package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// pgbench is the program that comes with Postgres. It sends the statements of a
// run, one run after the other on each of 16 connections, which is as many as
// the store uses.
//
// The statements are those that the database has seen Parley send, with the same
// values, sent together where Parley did so. What has to differ from run to run
// is reckoned by pgbench: the session (found by a digest of its number), the id
// of the run, the length of the log. The epoch cannot be, since it is in an
// answer: so that is compared with itself.
type pgbench struct {
	place    place
	program  string
	script   string
	sessions int // made so far
	done     int // runs
	drop     func()
}

const pgbenchConns = 16

func newPgbench(ctx context.Context, b *bench) (_ *pgbench, err error) {
	p := &pgbench{}
	if p.program, err = findPgbench(); err != nil {
		return nil, err
	}
	groups, err := recordRun(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("recording the statements of a run: %w", err)
	}
	where, drop, err := b.place(ctx, inPostgres)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		drop()
		return nil, err
	}
	p.place, p.drop = where, func() { _ = os.RemoveAll(dir); drop() }
	p.script = filepath.Join(dir, "run.sql")
	if err := os.WriteFile(p.script, []byte(pgbenchScript(groups)), 0o600); err != nil {
		p.Close()
		return nil, err
	}
	if b.profiles != "" { // for who wants to see what was compared
		_ = os.MkdirAll(b.profiles, 0o755)
		_ = os.WriteFile(filepath.Join(b.profiles, "run_postgres.sql"), []byte(pgbenchScript(groups)), 0o600)
	}
	return p, nil
}

func (p *pgbench) Close() { p.drop() }

func findPgbench() (string, error) {
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path, nil
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/pgbench", "/usr/pgsql-*/bin/pgbench", "/opt/homebrew/opt/postgresql*/bin/pgbench"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("%w: pgbench was not found", errNoPostgres)
}

// runs does about n runs, and returns how many of them there were in a second.
func (p *pgbench) runs(ctx context.Context, n int) (float64, error) {
	sessions := max(1, n/turnsPerSession/pgbenchConns) // for each connection
	first := p.sessions + 1
	if err := p.grow(ctx, sessions*pgbenchConns); err != nil {
		return 0, err
	}
	each := sessions * turnsPerSession
	out, err := exec.CommandContext(ctx, p.program, "-n", "-f", p.script, "-M", "prepared",
		"-c", strconv.Itoa(pgbenchConns), "-j", "2", "-t", strconv.Itoa(each),
		"-D", fmt.Sprintf("first=%d", first), "-D", fmt.Sprintf("sessions=%d", sessions), "-D", "turn=-1", p.place.url).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	p.done += each * pgbenchConns
	if err := p.check(ctx); err != nil {
		return 0, err
	}
	tps := regexp.MustCompile(`tps = ([0-9.]+)`).FindSubmatch(out)
	if tps == nil {
		return 0, fmt.Errorf("pgbench says nothing of its speed:\n%s", out)
	}
	return strconv.ParseFloat(string(tps[1]), 64)
}

// grow makes sessions, with digests that pgbench can reckon.
func (p *pgbench) grow(ctx context.Context, n int) error {
	store, err := p.place.store(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	for range n {
		p.sessions++
		key := session.Key{App: weatherApp, User: user, ID: fmt.Sprintf("loop-%d", p.sessions)}
		if _, err := store.Create(ctx, session.NewSession{Key: key, State: twoKeys}); err != nil {
			return err
		}
	}
	return execPostgres(ctx, p.place, "UPDATE parley_sessions SET digest = sha256(int8send(ordinal)) WHERE seq = 0")
}

// check makes sure that the runs have left behind what Parley's do.
func (p *pgbench) check(ctx context.Context) error {
	return onPostgres(ctx, p.place.url, func(conn *pgx.Conn) error {
		var runs, events, length int
		err := conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM parley_runs WHERE status = 'completed' AND last = first + 3),
			(SELECT count(*) FROM parley_events), (SELECT coalesce(sum(seq), 0) FROM parley_sessions WHERE NOT busy)`).Scan(&runs, &events, &length)
		if err == nil && (runs != p.done || events != 4*p.done || length != 4*p.done) {
			err = fmt.Errorf("pgbench was to do %d runs, and there are %d with %d events in %d places", p.done, runs, events, length)
		}
		return err
	})
}

// pgbenchScript is one run for pgbench. Statements that were sent together are.
func pgbenchScript(groups [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `\set turn :turn + 1
\set ordinal :first + :client_id * :sessions + :turn / %d
\set after 4 * (:turn %% %d)
\set nonce random(1, 1000000000000000000)
\set id random(100000000000, 999999999999)
`, turnsPerSession, turnsPerSession)
	for _, group := range groups {
		if len(group) > 1 {
			b.WriteString("\\startpipeline\n")
		}
		for _, statement := range group {
			b.WriteString(statement + ";\n")
		}
		if len(group) > 1 {
			b.WriteString("\\endpipeline\n")
		}
	}
	return b.String()
}

// recordRun has Parley do a run, and returns the statements that the database
// has received for it, by transactions, as they are for pgbench.
func recordRun(ctx context.Context, b *bench) (groups [][]string, err error) {
	where, drop, err := b.place(ctx, inPostgres)
	if err != nil {
		return nil, err
	}
	defer drop()
	logged := place{url: where.url + "&log_statement=all"}
	srv, err := parleyServer(openGate(), runTurn, logged)
	if err != nil {
		return nil, err
	}
	defer srv.Close(ctx)
	err = onPostgres(ctx, logged.url, func(conn *pgx.Conn) error {
		// Numbers by which values can be told from others.
		if _, err := conn.Exec(ctx, "ALTER TABLE parley_sessions ALTER COLUMN ordinal RESTART WITH 3000001"); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "SELECT setval('parley_epochs', 7000001)"); err != nil {
			return err
		}
		// On a busy machine, the answer of a run may be stored after the result before it.
		const id, turns, attempts = "recorded", 7, 100
		requests := []request{create(weatherApp, user, id)}
		for range turns {
			requests = append(requests, runTurn.request(id))
		}
		if _, err := answers(ctx, srv.Handler(), requests...); err != nil {
			return err
		}
		for n := range attempts {
			if groups, err = recordLogged(ctx, conn, srv.Handler(), id, turns+n); err != nil || len(groups) == 3 {
				return err
			}
		}
		return fmt.Errorf("there are %d transactions, not three", len(groups))
	})
	return groups, err
}

// recordLogged returns the statements of one more turn of a session, by transaction.
func recordLogged(ctx context.Context, conn *pgx.Conn, handler http.Handler, id string, before int) ([][]string, error) {
	from, err := logMark(ctx, conn)
	if err != nil {
		return nil, err
	}
	if _, err := answers(ctx, handler, runTurn.request(id)); err != nil {
		return nil, err
	}
	to, err := logMark(ctx, conn)
	if err != nil {
		return nil, err
	}
	digest := session.Key{App: weatherApp, User: user, ID: id}.Digest()
	known := map[string]string{
		fmt.Sprintf(`'\x%x'`, digest): "sha256(int8send(:ordinal))",
		fmt.Sprintf("'%d'", 4*before): ":after",
	}
	var ordinal, epoch int64
	var run string
	if err := conn.QueryRow(ctx, "SELECT session, epoch, id FROM parley_runs ORDER BY number DESC LIMIT 1").Scan(&ordinal, &epoch, &run); err != nil {
		return nil, err
	}
	known[fmt.Sprintf("'%d'", ordinal)] = ":ordinal"
	known[fmt.Sprintf("'%d'", epoch)] = "s.epoch"
	known["'"+run+"'"] = fmt.Sprintf("('%s' || :id)", run[:len(run)-12])
	return statements(ctx, conn, from, to, fmt.Sprintf(`\x%x`, digest), known)
}

// logMark leaves a mark in the log of the database.
func logMark(ctx context.Context, conn *pgx.Conn) (string, error) {
	mark := event.NewID()
	_, err := conn.Exec(ctx, "SELECT '"+mark+"'", pgx.QueryExecModeSimpleProtocol)
	return mark, err
}

// The columns of a log that are used; see the manual, "Using CSV-Format Log
// Output".
const (
	columnTransaction = 9
	columnMessage     = 13
	columnDetail      = 14
)

var (
	parameter = regexp.MustCompile(`\$(\d+) = (NULL|'(?:[^']|'')*')`)
	place1    = regexp.MustCompile(`\$(\d+)`)
	slice     = regexp.MustCompile(`:(\d)`)
	random    = regexp.MustCompile(`^'-?\d{13,19}'$`)
)

// statements finds those in the log, between two marks, that are about a
// session, with their values in their places.
func statements(ctx context.Context, conn *pgx.Conn, from, to, digest string, known map[string]string) (groups [][]string, err error) {
	var text string
	for range 100 { // it is written by another process
		if err := conn.QueryRow(ctx, "SELECT pg_read_file(pg_current_logfile('csvlog'))").Scan(&text); err != nil {
			return nil, err
		}
		if strings.Contains(text, to) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	_, text, _ = strings.Cut(text, from)
	text, _, found := strings.Cut(text, to)
	_, text, _ = strings.Cut(text, "\n")
	if end := strings.LastIndex(text, "\n"); found && end >= 0 {
		text = text[:end+1]
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	byTransaction, order := map[string][]string{}, []string{}
	about := map[string]bool{}
	for _, r := range records {
		_, statement, ok := strings.Cut(r[columnMessage], ": ")
		if !ok || !strings.HasPrefix(r[columnMessage], "execute ") {
			continue
		}
		id := r[columnTransaction]
		if !slices.Contains(order, id) {
			order = append(order, id)
		}
		about[id] = about[id] || strings.Contains(r[columnDetail], digest)
		byTransaction[id] = append(byTransaction[id], fillIn(statement, r[columnDetail], known))
	}
	for _, id := range order {
		if about[id] {
			groups = append(groups, byTransaction[id])
		}
	}
	return groups, nil
}

// fillIn puts values in the places of parameters.
func fillIn(statement, detail string, known map[string]string) string {
	values := map[string]string{}
	for _, m := range parameter.FindAllStringSubmatch(detail, -1) {
		switch to, ok := known[m[2]]; {
		case ok:
			values[m[1]] = to
		case random.MatchString(m[2]):
			values[m[1]] = ":nonce"
		default:
			values[m[1]] = m[2]
		}
	}
	statement = strings.Join(strings.Fields(statement), " ")
	statement = slice.ReplaceAllString(statement, ": $1") // which pgbench would take for a variable
	return place1.ReplaceAllStringFunc(statement, func(p string) string { return values[p[1:]] })
}

// transactions is how many there were for each run, with all that the server
// does besides runs, but for making the sessions. The server must have ended.
func transactions(ctx context.Context, b *bench, where place, load *crowd) (each float64, err error) {
	server, err := b.postgres.get(ctx)
	if err != nil {
		return 0, err
	}
	config, err := pgx.ParseConfig(where.url)
	if err != nil {
		return 0, err
	}
	err = onPostgres(ctx, server.URL(), func(conn *pgx.Conn) error {
		var done int
		for backends := 1; backends > 0; {
			time.Sleep(50 * time.Millisecond)
			err := conn.QueryRow(ctx, "SELECT numbackends, xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1", config.Database).Scan(&backends, &done)
			if err != nil {
				return err
			}
		}
		each = float64(done-load.sessions) / float64(load.runs)
		return nil
	})
	return each, err
}

func execPostgres(ctx context.Context, where place, statement string) error {
	return onPostgres(ctx, where.url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

func onPostgres(ctx context.Context, url string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(context.WithoutCancel(ctx)))
}
