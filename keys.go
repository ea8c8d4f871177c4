package parley

import (
	"context"
	"errors"
	"fmt"
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

// sealingKeys is keyFile for changes of the file itself.
func (c *Config) sealingKeys() (vault.File, error) {
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

// CreateSealingKeys makes the file with the key that seals logins, and returns its
// name. The file must not exist. Only Sessions.URL and the keys in Logins are used
// of the configuration.
func CreateSealingKeys(ctx context.Context, cfg Config) (file string, err error) {
	keys, err := cfg.sealingKeys()
	if err != nil {
		return "", err
	}
	switch err := keys.New(ctx); {
	case errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("parley: %s exists already, and stays as it is: RotateSealingKeys (parley credentials rotate) adds a key to it", keys.Path)
	case err != nil:
		return "", fmt.Errorf("parley: %w", err)
	}
	return keys.Path, nil
}

// PrepareSealingKeys adds a key to the file, which is not used before
// RotateSealingKeys, and returns the name of the file. It is for servers that have
// copies of the file: give the new file to all of them first.
func PrepareSealingKeys(ctx context.Context, cfg Config) (file string, err error) {
	keys, err := cfg.sealingKeys()
	if err != nil {
		return "", err
	}
	if err := keys.Prepare(ctx); err != nil {
		return "", fmt.Errorf("parley: %w", err)
	}
	return keys.Path, nil
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
	return cfg.reseal(ctx, func(keys vault.File) error { return keys.Rotate(ctx) }, nil)
}

// PruneSealingKeys seals all logins in the database with the newest key, and
// removes the other keys from the file. If only the removal fails, Resealed tells
// what was sealed.
func PruneSealingKeys(ctx context.Context, cfg Config) (Resealed, error) {
	return cfg.reseal(ctx, nil, func(keys vault.File) error { return keys.Prune(ctx) })
}

// reseal seals all logins with the newest key, and changes the keys before or
// after.
func (c *Config) reseal(ctx context.Context, before, after func(vault.File) error) (Resealed, error) {
	file, err := c.sealingKeys()
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
	resealed := Resealed{File: file.Path, Sealed: done.Sealed, Lost: done.Lost}
	if after != nil {
		if err := after(file); err != nil {
			return resealed, fmt.Errorf("parley: %w", err)
		}
	}
	return resealed, nil
}
