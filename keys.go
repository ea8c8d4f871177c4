package parley

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
)

// keyFile is the file with the keyset that seals logins; its path is empty when
// there is none.
func (c *Config) keyFile() (vault.File, error) {
	file := vault.File{Path: c.CredentialKeyFile, KMS: c.CredentialKMS, Log: c.Log}
	if path, isSQLite := strings.CutPrefix(c.SessionDBURL, "sqlite:"); file.Path == "" && isSQLite {
		path, err := sqlitePath(path)
		if err != nil {
			return file, fmt.Errorf("SessionDBURL: %w", err)
		}
		file.Path = path + ".key"
	}
	return file, nil
}

// keysIn is keyFile for those who work on the file itself.
func (c *Config) keysIn() (vault.File, error) {
	file, err := c.keyFile()
	switch {
	case err != nil:
		return file, fmt.Errorf("parley: %w", err)
	case c.CredentialKey != "":
		return file, errors.New("parley: a key that is in the configuration itself cannot be changed from here: keep it in a file, CredentialKeyFile (--credential_key_file)")
	case file.Path == "":
		return file, errors.New("parley: it is not said which keys are meant: name their file with CredentialKeyFile (--credential_key_file), or the SQLite file that it is beside with SessionDBURL (--session_db_url)")
	}
	if c.CredentialKMS != "" {
		if err := vault.CheckKMS(c.CredentialKMS); err != nil {
			return file, fmt.Errorf("parley: CredentialKMS: %w", err)
		}
	}
	return file, nil
}

// CreateKeys makes the file with the key that seals logins, which must not be
// there yet. Of the configuration, only what is about keys counts.
func CreateKeys(ctx context.Context, cfg Config, out io.Writer) error {
	file, err := cfg.keysIn()
	if err != nil {
		return err
	}
	switch err := file.New(ctx); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("parley: %s exists already, and stays as it is: RotateKeys (parley credentials rotate) adds a key to it", file.Path)
	case err != nil:
		return fmt.Errorf("parley: %w", err)
	}
	fmt.Fprintf(out, "The key is in %s. Keep a copy: without it, users have to log in again.\n", file.Path)
	return nil
}

// PrepareKeys adds a key to the file, which is not used before RotateKeys. It is
// for servers that have copies of the file: give the new file to all of them
// first.
func PrepareKeys(ctx context.Context, cfg Config, out io.Writer) error {
	file, err := cfg.keysIn()
	if err != nil {
		return err
	}
	if err := file.Prepare(ctx); err != nil {
		return fmt.Errorf("parley: %w", err)
	}
	fmt.Fprintf(out, "A new key is in %s, and not used yet.\n", file.Path)
	return nil
}

// RotateKeys adds a key to the file, unless PrepareKeys has, from now on seals
// with it, and seals all logins in the database anew. Servers may be at work
// meanwhile: they look at the file before they use it. The old keys stay; see
// PruneKeys.
func RotateKeys(ctx context.Context, cfg Config, out io.Writer) error {
	return cfg.reseal(ctx, out, func(file vault.File) error { return file.Rotate(ctx) }, nil)
}

// PruneKeys removes the keys from the file with which nothing is sealed any more:
// all but the newest one.
func PruneKeys(ctx context.Context, cfg Config, out io.Writer) error {
	return cfg.reseal(ctx, out, nil, func(file vault.File) error { return file.Prune(ctx) })
}

// reseal seals all logins with the newest key, and does something to the keys
// before or after.
func (c *Config) reseal(ctx context.Context, out io.Writer, before, after func(vault.File) error) error {
	file, err := c.keysIn()
	if err != nil {
		return err
	}
	switch {
	case inMemory(c.SessionDBURL):
		return errors.New("parley: SessionDBURL: it is not said in which database the logins are")
	case inEngine(c.SessionDBURL):
		return errors.New("parley: SessionDBURL: the session service keeps no logins")
	}
	store, err := openExisting(ctx, c.SessionDBURL)
	if err != nil {
		return fmt.Errorf("parley: SessionDBURL: %w", err)
	}
	defer func() { _ = store.Close() }()
	if before != nil {
		if err := before(file); err != nil {
			return fmt.Errorf("parley: %w", err)
		}
	}
	keys, err := file.Open(ctx)
	if err != nil {
		return fmt.Errorf("parley: %w", err)
	}
	done, err := broker.Reseal(ctx, store, keys)
	if err != nil {
		return fmt.Errorf("parley: %w; what is done is done, and it can be tried again", err)
	}
	fmt.Fprintf(out, "%d secrets were sealed anew with the newest key.\n", done.Sealed)
	if done.Lost > 0 {
		fmt.Fprintf(out, "%d secrets open with none of the keys: those users have to log in again.\n", done.Lost)
	}
	if after != nil {
		if err := after(file); err != nil {
			return fmt.Errorf("parley: %w", err)
		}
		fmt.Fprintf(out, "The newest key is the only one in %s.\n", file.Path)
	}
	return nil
}
