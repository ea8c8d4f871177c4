// Package vault seals secrets, so that they can be stored together with other state.
//
// A secret is encrypted with AES-256-GCM and bound to its owner: it opens only with the same key and for the same
// owner. The result is a line of ASCII that needs no escaping in JSON.
//
// A vault of this package has one key. Those of keysets, which can be rotated, come from package keyring.
package vault

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
)

// Prefix begins every sealed value. It names the format, and is authenticated together with the value.
const Prefix = "sealed:v1:"

// ErrSealed means that a value cannot be opened. It deliberately does not say why.
var ErrSealed = errors.New("vault: the sealed value cannot be opened: it was sealed with another key or for another owner, " +
	"or it has been changed; give the server the keyset that it was sealed with, or obtain the secret again (let the user sign in)")

// encoding refuses text that decodes to the same bytes as another text.
var encoding = base64.RawURLEncoding.Strict()

// Vault seals and opens secrets. It is safe for concurrent use.
type Vault struct {
	current func() *Ring
	settled func() *Ring
}

// Ring is the keys of a vault.
type Ring struct {
	AEAD    AEAD
	Primary []byte // the prefix of everything that the primary key encrypts
	Keys    int    // their number
}

// AEAD encrypts with the primary key of a ring, and decrypts with any of them. It
// must be safe for concurrent use.
type AEAD interface {
	Encrypt(plain, associated []byte) ([]byte, error)
	Decrypt(sealed, associated []byte) ([]byte, error)
}

// FromRing creates a vault from keys that may change. settled is like current, but
// waits for keys that are being read.
func FromRing(current, settled func() *Ring) *Vault { return &Vault{current, settled} }

// Seal encrypts a secret with the primary key. associated identifies the owner, and Open requires the same; see Bind.
func (v *Vault) Seal(plain, associated []byte) ([]byte, error) {
	sealed, err := v.current().AEAD.Encrypt(plain, bound(associated))
	if err != nil { // it might quote the secret
		return nil, errors.New("vault: the secret cannot be sealed: it is too large, or the keyset is damaged")
	}
	return encoding.AppendEncode([]byte(Prefix), sealed), nil
}

// Open returns the secret that was sealed, or ErrSealed.
func (v *Vault) Open(sealed, associated []byte) ([]byte, error) {
	raw, ok := decode(sealed)
	if !ok {
		return nil, ErrSealed
	}
	r := v.current()
	plain, err := r.AEAD.Decrypt(raw, bound(associated))
	if err != nil { // another process may have sealed it with a key that is just being read
		if now := v.settled(); now != r {
			plain, err = now.AEAD.Decrypt(raw, bound(associated))
		}
	}
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// Stale reports whether a value was sealed with a key other than the primary one. It should be sealed again, so that
// the old key can be deleted.
func (v *Vault) Stale(sealed []byte) bool {
	raw, ok := decode(sealed)
	return !ok || !bytes.HasPrefix(raw, v.current().Primary)
}

// String returns the number of keys, and nothing about them.
func (v Vault) String() string { return fmt.Sprintf("vault(%d keys)", v.current().Keys) }

// GoString is like String, so that %#v prints no keys.
func (v Vault) GoString() string { return v.String() }

// LogValue is like String, so that loggers print no keys.
func (v Vault) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Bind encodes the parts that identify an owner, such as application, user, session and key, as associated data. The
// encoding is injective.
func Bind(parts ...string) []byte {
	var out []byte
	for _, part := range parts {
		out = binary.AppendUvarint(out, uint64(len(part)))
		out = append(out, part...)
	}
	return out
}

// bound returns what is authenticated with a secret: the format and the owner.
func bound(associated []byte) []byte { return append([]byte(Prefix), associated...) }

// decode returns the bytes after the prefix. It refuses line ends, which the base64 decoder would skip.
func decode(sealed []byte) ([]byte, bool) {
	text, ok := bytes.CutPrefix(sealed, []byte(Prefix))
	if !ok || bytes.ContainsAny(text, "\r\n") {
		return nil, false
	}
	raw, err := encoding.AppendDecode(nil, text)
	return raw, err == nil
}
