package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// migrations are the steps from an empty database to the current schema, in the
// order of their names. Released steps never change.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate applies the missing steps in one transaction. It excludes other writers,
// so any number of processes may start concurrently.
func (w *writer) migrate(ctx context.Context) error {
	return w.submit(ctx, &op{do: migrate, done: make(chan error, 1)})
}

func migrate(c *conn) error {
	steps, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	version, err := schema(c)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("the database was written by a newer version of Parley (schema %d, this one knows %d): use that version, or another database", version, len(steps))
	}
	for i, step := range steps[version:] {
		text, err := migrations.ReadFile(step)
		if err != nil {
			return err
		}
		if err := c.script(string(text)); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
		if err := c.exec("INSERT INTO parley_schema (version, applied) VALUES (?, ?)", version+i+1, now()); err != nil {
			return err
		}
	}
	return nil
}

// schema returns the number of the last applied step.
func schema(c *conn) (version int, err error) {
	var tables, ours int
	err = c.one("SELECT count(*), count(*) FILTER (WHERE name = 'parley_schema') FROM sqlite_schema WHERE type = 'table'", nil, &tables, &ours)
	switch {
	case err != nil:
		return 0, err
	case ours > 0:
		err = c.one("SELECT coalesce(max(version), 0) FROM parley_schema", nil, &version)
	case tables > 0:
		err = errors.New("it has tables that are not Parley's: use another database")
	default:
		err = c.script("CREATE TABLE parley_schema (version INTEGER PRIMARY KEY, applied INTEGER NOT NULL) STRICT")
	}
	return version, err
}

// script runs statements that are needed once.
func (c *conn) script(text string) error {
	c.changed = true
	_, err := c.sql.ExecContext(c.ctx, text)
	return err
}
