package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// steps lead from an empty database to the current schema. Released steps never
// change.
var steps = []string{
	"migrations/001_sessions.sql", "migrations/002_secrets.sql", "migrations/003_memories.sql", "migrations/004_access.sql",
	"migrations/005_waits.sql", "migrations/006_resumed.sql", "migrations/007_origin.sql", "migrations/008_deaths.sql",
	"migrations/009_sums.sql", "migrations/010_outbox.sql", "migrations/011_usage.sql", "migrations/012_recordings.sql",
	"migrations/013_slots.sql", "migrations/014_schedules.sql", "migrations/015_said.sql", "migrations/016_costs.sql",
	"migrations/017_endpoints.sql", "migrations/018_inbox.sql", "migrations/019_recent.sql", "migrations/020_recording_parts.sql",
	"migrations/021_traces.sql", "migrations/022_feedback.sql", "migrations/023_runs_listed.sql", "migrations/024_said_checks.sql",
}

// migrationLock is the number of the advisory lock that guards the schema.
const migrationLock = 0x7061726c6579 // "parley"

// sqlNoTimeouts removes the limits that the role or the database has, for the
// transaction or for the connection.
const sqlNoTimeouts = `SELECT set_config(name, '0', $1::boolean) FROM pg_settings
	WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout')`

// migrate updates the schema. If it is current, nothing is locked, and no
// permission to change it is required.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	var schema *string
	var encoding string
	if err := conn.QueryRow(ctx, `SELECT current_schema(), current_setting('server_encoding')`).Scan(&schema, &encoding); err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	if schema == nil {
		return errors.New("the search_path of the database names no schema that is there")
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s: it has to be UTF8", encoding)
	}
	version, err := versionOf(ctx, conn)
	if err != nil || version == len(steps) {
		return err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("changing the schema: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, sqlNoTimeouts, true); err != nil {
		return fmt.Errorf("changing the schema: %w", err)
	}
	// Processes that start concurrently wait here for one of them.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::bigint)`, int64(migrationLock)); err != nil {
		return fmt.Errorf("locking the schema: %w", err)
	}
	if version, err = versionOf(ctx, conn); err != nil || version == len(steps) {
		return err
	}
	if err := apply(ctx, conn, version); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("changing the schema: %w", err)
	}
	return nil
}

// versionOf returns the version of the schema; 0 for none.
func versionOf(ctx context.Context, conn *pgx.Conn) (int, error) {
	var there bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_tables
		WHERE schemaname = current_schema() AND tablename = 'parley_schema')`).Scan(&there)
	version := 0
	if err == nil && there {
		err = conn.QueryRow(ctx, `SELECT max(version) FROM parley_schema`).Scan(&version)
	}
	if err != nil {
		return 0, fmt.Errorf("reading the version of the schema: %w", err)
	}
	if version > len(steps) {
		return 0, fmt.Errorf("the database was written by a newer version of Parley (schema %d, this one knows %d): "+
			"use that version, or another database", version, len(steps))
	}
	return version, nil
}

func apply(ctx context.Context, conn *pgx.Conn, version int) error {
	exec := func(sql string) error {
		_, err := conn.PgConn().Exec(ctx, sql).ReadAll() // several statements together
		return err
	}
	if version == 0 {
		if err := exec(`CREATE TABLE parley_schema (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())`); err != nil {
			return fmt.Errorf("making the table of schema versions: %w", err)
		}
	}
	for i, name := range steps[version:] {
		sql, err := migrations.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if err := exec(string(sql)); err != nil {
			return fmt.Errorf("applying %s: %w", name, err)
		}
		if err := exec(fmt.Sprintf(`INSERT INTO parley_schema (version) VALUES (%d)`, version+i+1)); err != nil {
			return fmt.Errorf("noting the version of the schema: %w", err)
		}
	}
	return nil
}
