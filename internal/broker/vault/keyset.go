package vault

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/secretdata"
)

// keySize is the size of an AES-256 key.
const keySize = 32

// The errors of parse. They do not wrap the errors of the libraries: a parser
// quotes what it does not understand, and here that may be a key.
var (
	errKeyset = errors.New("vault: the key is neither a keyset of Tink in JSON nor 32 bytes in base64: " +
		"check that it is complete, or create one (openssl rand -base64 32)")
	errEncrypted = errors.New("vault: the keyset is wrapped: set the key that unwraps it (--credential_kms)")
)

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
		return nil, errKeyset
	}
	if latest.IsPrimary() {
		if handle, err = prepared(handle); err != nil {
			return nil, err
		}
		if latest, err = handle.Entry(handle.Len() - 1); err != nil {
			return nil, errKeyset
		}
	}
	manager := keyset.NewManagerFromHandle(handle)
	if err := manager.SetPrimary(latest.KeyID()); err != nil {
		return nil, errKeyset
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
			return nil, errKeyset
		}
		if !entry.IsPrimary() {
			if err := manager.Delete(entry.KeyID()); err != nil {
				return nil, errKeyset
			}
		}
	}
	return manager.Handle()
}

// write returns a keyset as JSON, with its keys in clear.
func write(handle *keyset.Handle) ([]byte, error) {
	var out bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&out)); err != nil {
		return nil, errKeyset
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
		return nil, errKeyset
	}
	return handle, nil
}

// parseKey creates a keyset from a key in base64. The number of the key is derived
// from the key, so that every process with the same key has the same keyset.
func parseKey(text []byte) (*keyset.Handle, error) {
	raw, ok := decodeKey(text)
	if !ok {
		return nil, errKeyset
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte("parley vault key number"))
	number := max(binary.BigEndian.Uint32(mac.Sum(nil)), 1)

	parameters, err := aesgcm.NewParameters(aesgcm.ParametersOpts{
		KeySizeInBytes: keySize, IVSizeInBytes: 12, TagSizeInBytes: 16, Variant: aesgcm.VariantTink,
	})
	if err != nil {
		return nil, errKeyset
	}
	key, err := aesgcm.NewKey(secretdata.NewBytesFromData(raw, insecuresecretdataaccess.Token{}), number, parameters)
	if err != nil {
		return nil, errKeyset
	}
	manager := keyset.NewManager()
	id, err := manager.AddKey(key)
	if err != nil {
		return nil, errKeyset
	}
	if err := manager.SetPrimary(id); err != nil {
		return nil, errKeyset
	}
	return manager.Handle()
}

// decodeKey reads base64 of either alphabet, with padding or without.
func decodeKey(text []byte) ([]byte, bool) {
	text = bytes.TrimRight(text, "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if raw, err := encoding.AppendDecode(nil, text); err == nil && len(raw) == keySize {
			return raw, true
		}
	}
	return nil, false
}
