package vault

import (
	"context"
	"log/slog"
)

// Keysets opens vaults with keysets of Tink, which the key of a key management
// service may have wrapped. kms is the URL of that key; empty for none. Package
// credential/keyset registers it.
type Keysets interface {
	// CheckKMS rejects the URL of a key of an unknown service.
	CheckKMS(kms string) error
	// Open opens a vault with the keyset in a text.
	Open(ctx context.Context, text []byte, kms string) (*Vault, error)
	// File returns the keyset in a file. log reports a changed file that cannot be
	// read.
	File(path, kms string, log *slog.Logger) KeyFile
}

// KeyFile is a keyset in a file.
type KeyFile interface {
	// Open opens a vault, which changes when the file does. Create is like Open, and
	// creates the file if there is none.
	Open(ctx context.Context) (*Vault, error)
	Create(ctx context.Context) (*Vault, error)
	// New creates the file with a new key. It returns fs.ErrExist if the file exists.
	New(ctx context.Context) error
	// Prepare adds a key that is not used for sealing yet. Rotate makes the latest
	// key the primary one, and adds one if it is that already. Prune removes all
	// others.
	Prepare(ctx context.Context) error
	Rotate(ctx context.Context) error
	Prune(ctx context.Context) error
}
