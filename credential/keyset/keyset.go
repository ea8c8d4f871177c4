// Package keyset lets a program seal the credentials of users with keysets of Tink,
// whose keys can be rotated: in parley.Config.Logins.KeyFile, or in Logins.Key as
// JSON. With Logins.KMS, a key management service unwraps them. Import it for its
// side effect:
//
//	import _ "github.com/parley-run/parley/credential/keyset"
//
// A program needs no import for a Logins.Key of 32 bytes in base64, nor for
// sessions in memory. Package session/sqlite imports this one, because the keyset of
// a database is in a file beside it.
package keyset

import (
	"context"
	"log/slog"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/broker/vault/keyring"
	"github.com/parley-run/parley/internal/registry"
)

func init() { registry.Register[vault.Keysets]("", keysets{}) }

type keysets struct{}

func (keysets) CheckKMS(kms string) error { return keyring.CheckKMS(kms) }

func (keysets) Open(ctx context.Context, text []byte, kms string) (*vault.Vault, error) {
	if kms == "" {
		return keyring.New(text)
	}
	return keyring.Unwrap(ctx, text, kms)
}

func (keysets) File(path, kms string, log *slog.Logger) vault.KeyFile {
	return keyring.File{Path: path, KMS: kms, Log: log}
}
