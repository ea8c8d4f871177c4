package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// KeySize is the size of an AES-256 key in bytes.
const KeySize = 32

// ErrKey means that a text is not a key. It does not quote the text, which may be
// most of one.
var ErrKey = errors.New("vault: the key is neither a keyset of Tink in JSON nor 32 bytes in base64: " +
	"check that it is complete, or create one (openssl rand -base64 32)")

// Generate creates a key, in base64.
func Generate() []byte {
	raw := make([]byte, KeySize)
	_, _ = rand.Read(raw) // never fails
	return base64.StdEncoding.AppendEncode(nil, raw)
}

// DecodeKey reads a key in base64 of either alphabet, with padding or without. The
// number of the key is derived from the key, so that every process with the same
// key has the same keyset.
func DecodeKey(text []byte) (raw []byte, number uint32, err error) {
	text = bytes.TrimRight(bytes.TrimSpace(text), "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if raw, err = encoding.AppendDecode(nil, text); err == nil && len(raw) == KeySize {
			mac := hmac.New(sha256.New, raw)
			mac.Write([]byte("parley vault key number"))
			return raw, max(binary.BigEndian.Uint32(mac.Sum(nil)), 1), nil
		}
	}
	return nil, 0, ErrKey
}

// New creates a vault from a key of 32 bytes in base64. What it seals also opens
// with a keyset of Tink that contains the key; see package keyring.
func New(key []byte) (*Vault, error) {
	raw, number, err := DecodeKey(key)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, ErrKey
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, ErrKey
	}
	prefix := binary.BigEndian.AppendUint32([]byte{tinkPrefix}, number)
	r := &Ring{AEAD: oneKey{sealer, prefix}, Primary: prefix, Keys: 1}
	same := func() *Ring { return r }
	return FromRing(same, same), nil
}

// tinkPrefix begins what Tink encrypts. The number of the key follows.
const tinkPrefix = 1

// oneKey encrypts as Tink does with a keyset of one key of AES-GCM.
type oneKey struct {
	cipher.AEAD
	prefix []byte
}

func (k oneKey) Encrypt(plain, associated []byte) ([]byte, error) {
	return k.Seal(bytes.Clone(k.prefix), nil, plain, associated), nil //nolint:gosec // the cipher makes the nonce
}

func (k oneKey) Decrypt(sealed, associated []byte) ([]byte, error) {
	sealed, ok := bytes.CutPrefix(sealed, k.prefix)
	if !ok {
		return nil, ErrSealed
	}
	return k.Open(nil, nil, sealed, associated)
}
