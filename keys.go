package parley

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/registry"
)

// keyPath returns the path of the file with the keyset that seals logins; empty for
// none.
func (c *Config) keyPath() (string, error) {
	if c.Logins.KeyFile != "" {
		return c.Logins.KeyFile, nil
	}
	beside, err := storeFile(c.Sessions.URL)
	if err != nil {
		return "", inField("Sessions.URL", err)
	}
	if beside == "" {
		return "", nil
	}
	return beside + ".key", nil
}

// keysets returns what reads keysets. field is the setting that asks for one.
func (c *Config) keysets(field string) (vault.Keysets, error) {
	keysets, ok := registry.Find[vault.Keysets]("")
	if !ok {
		return nil, inField(field, registry.Missing("the reader of keysets", "credential/keyset"))
	}
	if c.Logins.KMS != "" {
		if err := keysets.CheckKMS(c.Logins.KMS); err != nil {
			return nil, inField("Logins.KMS", err)
		}
	}
	return keysets, nil
}

// keyFile returns the keyset in the file at path.
func (c *Config) keyFile(path string) (vault.KeyFile, error) {
	keysets, err := c.keysets("Logins.KeyFile")
	if err != nil {
		return nil, err
	}
	return keysets.File(path, c.Logins.KMS, c.Log), nil
}

// sealingKeys returns the file with the keyset for changes of the file itself, and
// its path.
func (c *Config) sealingKeys() (file vault.KeyFile, path string, err error) {
	path, err = c.keyPath()
	switch {
	case err != nil:
		return nil, "", err
	case c.Logins.Key != "":
		return nil, "", wrong("Logins.Key", "a key that is in the configuration itself cannot be changed: keep it in a file, Logins.KeyFile")
	case path == "":
		return nil, "", wrong("Logins.KeyFile", "there is no key file: give Logins.KeyFile, or the SQLite file that it is beside with Sessions.URL")
	}
	file, err = c.keyFile(path)
	return file, path, err
}

// CreateSealingKeys creates the file with the key that seals logins, and returns its
// name. The file must not exist. It uses only Sessions.URL and the keys in Logins of
// the configuration.
func CreateSealingKeys(ctx context.Context, cfg Config) (file string, err error) {
	keys, path, err := cfg.sealingKeys()
	if err != nil {
		return "", err
	}
	switch err := keys.New(ctx); {
	case errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("parley: %s exists already, and stays as it is: RotateSealingKeys (parley credentials rotate) adds a key to it", path)
	case err != nil:
		return "", fmt.Errorf("parley: %w", err)
	}
	return path, nil
}

// PrepareSealingKeys adds a key to the file, which is not used before
// RotateSealingKeys, and returns the name of the file. It is for servers that have
// copies of the file: give the new file to all of them first.
func PrepareSealingKeys(ctx context.Context, cfg Config) (file string, err error) {
	keys, path, err := cfg.sealingKeys()
	if err != nil {
		return "", err
	}
	if err := keys.Prepare(ctx); err != nil {
		return "", fmt.Errorf("parley: %w", err)
	}
	return path, nil
}

// Resealed is what was done to the logins in a database.
type Resealed struct {
	File   string // with the keys
	Sealed int    // how many secrets were sealed with the newest key
	Lost   int    // how many secrets open with none of the keys
}

// RotateSealingKeys adds a key to the file, unless PrepareSealingKeys has, and
// seals all logins in the database again with it. Servers may use the database and
// the file at the same time: they read the file before they use it. The old keys
// stay; see PruneSealingKeys.
func RotateSealingKeys(ctx context.Context, cfg Config) (Resealed, error) {
	return cfg.reseal(ctx, func(keys vault.KeyFile) error { return keys.Rotate(ctx) }, nil)
}

// PruneSealingKeys seals all logins in the database with the newest key, and
// removes the other keys from the file. If only the removal fails, Resealed tells
// what was sealed.
func PruneSealingKeys(ctx context.Context, cfg Config) (Resealed, error) {
	return cfg.reseal(ctx, nil, func(keys vault.KeyFile) error { return keys.Prune(ctx) })
}

// reseal seals all logins with the newest key, and changes the keys before or
// after.
func (c *Config) reseal(ctx context.Context, before, after func(vault.KeyFile) error) (Resealed, error) {
	file, path, err := c.sealingKeys()
	if err != nil {
		return Resealed{}, err
	}
	switch {
	case inMemory(c.Sessions.URL):
		return Resealed{}, wrong("Sessions.URL", "there is no database: logins are kept in one")
	case volatile(c.Sessions.URL):
		return Resealed{}, wrong("Sessions.URL", "the session service keeps no logins")
	}
	store, err := openExisting(ctx, c.Sessions.URL)
	if err != nil {
		return Resealed{}, inField("Sessions.URL", err)
	}
	defer func() { _ = store.Close() }()
	if before != nil {
		if err := before(file); err != nil {
			return Resealed{}, fmt.Errorf("parley: %w", err)
		}
	}
	keys, err := file.Open(ctx)
	if err != nil {
		return Resealed{}, fmt.Errorf("parley: %w", err)
	}
	done, err := broker.Reseal(ctx, store, keys)
	if err != nil {
		return Resealed{}, fmt.Errorf("parley: %w; what is done is done, and it can be tried again", err)
	}
	resealed := Resealed{File: path, Sealed: done.Sealed, Lost: done.Lost}
	if after != nil {
		if err := after(file); err != nil {
			return resealed, fmt.Errorf("parley: %w", err)
		}
	}
	return resealed, nil
}
