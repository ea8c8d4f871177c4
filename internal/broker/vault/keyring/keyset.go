// Package keyring makes vaults of keysets of Tink: in files, which may change while they are in use, or in texts. A key
// management service may have wrapped them.
package keyring

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/secretdata"

	"github.com/parley-run/parley/internal/broker/vault"
)

// The errors of parse are vault.ErrKey and this one. They do not wrap the errors of
// the libraries: a parser quotes what it does not understand, and here that may be
// a key.
var errEncrypted = errors.New("vault: the keyset is wrapped: set the key that unwraps it, --credential_kms (Logins.KMS)")

// New creates a vault from a keyset in cleartext JSON, as Generate and the tools of
// Tink write it, or from a key of 32 bytes in base64.
func New(keysetJSON []byte) (*vault.Vault, error) {
	handle, err := parse(keysetJSON)
	if err != nil {
		return nil, err
	}
	return FromHandle(handle)
}

// FromHandle creates a vault from a keyset of Tink, for instance one that a key
// management service has unwrapped.
func FromHandle(handle *keyset.Handle) (*vault.Vault, error) {
	r, err := newRing(handle)
	if err != nil {
		return nil, err
	}
	same := func() *vault.Ring { return r }
	return vault.FromRing(same, same), nil
}

func newRing(handle *keyset.Handle) (*vault.Ring, error) {
	if handle == nil {
		return nil, vault.ErrKey
	}
	first, err := handle.Primary()
	if err != nil {
		return nil, vault.ErrKey
	}
	key, ok := first.Key().(interface{ OutputPrefix() []byte })
	if !ok || len(key.OutputPrefix()) == 0 {
		return nil, errors.New("vault: the primary key adds no prefix to what it seals (its prefix type is RAW): " +
			"create the keyset with the template AES256_GCM")
	}
	primitive, err := aead.New(handle)
	if err != nil { // it might quote the keyset
		return nil, errors.New("vault: the keyset holds a key that is not for authenticated encryption: create it with the template AES256_GCM")
	}
	return &vault.Ring{AEAD: primitive, Primary: bytes.Clone(key.OutputPrefix()), Keys: handle.Len()}, nil
}

// Generate creates a keyset with one new key.
func Generate() ([]byte, error) {
	handle, err := newHandle()
	if err != nil {
		return nil, err
	}
	return write(handle)
}

// newHandle creates a keyset with one new key.
func newHandle() (*keyset.Handle, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("vault: cannot create a key: %w", err)
	}
	return handle, nil
}

// rotated makes the latest key the primary one. If it already is, rotated adds a
// key first.
func rotated(handle *keyset.Handle) (*keyset.Handle, error) {
	latest, err := handle.Entry(handle.Len() - 1)
	if err != nil {
		return nil, vault.ErrKey
	}
	if latest.IsPrimary() {
		if handle, err = prepared(handle); err != nil {
			return nil, err
		}
		if latest, err = handle.Entry(handle.Len() - 1); err != nil {
			return nil, vault.ErrKey
		}
	}
	manager := keyset.NewManagerFromHandle(handle)
	if err := manager.SetPrimary(latest.KeyID()); err != nil {
		return nil, vault.ErrKey
	}
	return manager.Handle()
}

// prepared adds a key that is not used for sealing yet, unless there is one.
func prepared(handle *keyset.Handle) (*keyset.Handle, error) {
	if latest, err := handle.Entry(handle.Len() - 1); err != nil || !latest.IsPrimary() {
		return handle, err
	}
	manager := keyset.NewManagerFromHandle(handle)
	if _, err := manager.Add(aead.AES256GCMKeyTemplate()); err != nil {
		return nil, fmt.Errorf("vault: cannot create a key: %w", err)
	}
	return manager.Handle()
}

// pruned removes all keys but the primary one.
func pruned(handle *keyset.Handle) (*keyset.Handle, error) {
	manager := keyset.NewManagerFromHandle(handle)
	for i := range handle.Len() {
		entry, err := handle.Entry(i)
		if err != nil {
			return nil, vault.ErrKey
		}
		if !entry.IsPrimary() {
			if err := manager.Delete(entry.KeyID()); err != nil {
				return nil, vault.ErrKey
			}
		}
	}
	return manager.Handle()
}

// write returns a keyset as JSON, with its keys in clear.
func write(handle *keyset.Handle) ([]byte, error) {
	var out bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&out)); err != nil {
		return nil, vault.ErrKey
	}
	return out.Bytes(), nil
}

// parse reads a keyset, or creates one from a key.
func parse(text []byte) (*keyset.Handle, error) {
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("{")) {
		return parseKey(text)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(text)))
	if err != nil {
		if _, err := keyset.NewJSONReader(bytes.NewReader(text)).ReadEncrypted(); err == nil {
			return nil, errEncrypted
		}
		return nil, vault.ErrKey
	}
	return handle, nil
}

// parseKey creates a keyset from a key in base64.
func parseKey(text []byte) (*keyset.Handle, error) {
	raw, number, err := vault.DecodeKey(text)
	if err != nil {
		return nil, err
	}
	parameters, err := aesgcm.NewParameters(aesgcm.ParametersOpts{
		KeySizeInBytes: vault.KeySize, IVSizeInBytes: 12, TagSizeInBytes: 16, Variant: aesgcm.VariantTink,
	})
	if err != nil {
		return nil, vault.ErrKey
	}
	key, err := aesgcm.NewKey(secretdata.NewBytesFromData(raw, insecuresecretdataaccess.Token{}), number, parameters)
	if err != nil {
		return nil, vault.ErrKey
	}
	manager := keyset.NewManager()
	id, err := manager.AddKey(key)
	if err != nil {
		return nil, vault.ErrKey
	}
	if err := manager.SetPrimary(id); err != nil {
		return nil, vault.ErrKey
	}
	return manager.Handle()
}
