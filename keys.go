package parley

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
)

// keyFile is the file with the keyset that seals logins; its path is empty when
// there is none.
func (c *Config) keyFile() (vault.File, error) {
	file := vault.File{Path: c.Logins.KeyFile, KMS: c.Logins.KMS, Log: c.Log}
	if file.Path == "" {
		beside, err := storeFile(c.Sessions.URL)
		if err != nil {
			return file, inField("Sessions.URL", err)
		}
		if beside != "" {
			file.Path = beside + ".key"
		}
	}
	return file, nil
}

// keysIn is keyFile for those who work on the file itself.
func (c *Config) keysIn() (vault.File, error) {
	file, err := c.keyFile()
	switch {
	case err != nil:
		return file, err
	case c.Logins.Key != "":
		return file, wrong("Logins.Key", "a key that is in the configuration itself cannot be changed: keep it in a file, Logins.KeyFile")
	case file.Path == "":
		return file, wrong("Logins.KeyFile", "there is no key file: give Logins.KeyFile, or the SQLite file that it is beside with Sessions.URL")
	}
	if c.Logins.KMS != "" {
		if err := vault.CheckKMS(c.Logins.KMS); err != nil {
			return file, inField("Logins.KMS", err)
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
	case inMemory(c.Sessions.URL):
		return wrong("Sessions.URL", "there is no database: logins are kept in one")
	case volatile(c.Sessions.URL):
		return wrong("Sessions.URL", "the session service keeps no logins")
	}
	store, err := openExisting(ctx, c.Sessions.URL)
	if err != nil {
		return inField("Sessions.URL", err)
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
