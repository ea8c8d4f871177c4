//go:build !kms

package keyring_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/broker/vault/keyring"
)

// A program without the clients says what it lacks.
func TestNoKMS(t *testing.T) {
	for _, address := range []string{"aws-kms://arn:aws:kms:eu-west-1:1:key/k", "gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k"} {
		_, err := keyring.File{Path: filepath.Join(t.TempDir(), "keys.json"), KMS: address}.Create(t.Context())
		if err == nil || !strings.Contains(err.Error(), "-tags kms") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
