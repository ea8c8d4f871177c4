// Package vault seals secrets, so that they can be stored together with other state.
//
// A secret is encrypted with AES-256-GCM and bound to its owner: it opens only with the same key and for the same
// owner. The result is a line of ASCII that needs no escaping in JSON.
package vault

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
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
	current func() *ring
	settled func() *ring // like current, but waits for a keyset that is being read
}

// ring is the keys of a vault.
type ring struct {
	aead    tink.AEAD
	primary []byte // the prefix of everything that the primary key encrypts
	keys    int
}

// New creates a vault from a keyset in cleartext JSON, as Generate and the tools of Tink write it, or from a key of 32
// bytes in base64.
func New(keysetJSON []byte) (*Vault, error) {
	handle, err := parse(keysetJSON)
	if err != nil {
		return nil, err
	}
	return FromHandle(handle)
}

// FromHandle creates a vault from a keyset of Tink, for instance one that a key management service has unwrapped.
func FromHandle(handle *keyset.Handle) (*Vault, error) {
	r, err := newRing(handle)
	if err != nil {
		return nil, err
	}
	same := func() *ring { return r }
	return &Vault{same, same}, nil
}

func newRing(handle *keyset.Handle) (*ring, error) {
	if handle == nil {
		return nil, errKeyset
	}
	first, err := handle.Primary()
	if err != nil {
		return nil, errKeyset
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
	return &ring{aead: primitive, primary: bytes.Clone(key.OutputPrefix()), keys: handle.Len()}, nil
}

// Seal encrypts a secret with the primary key. associated identifies the owner, and Open requires the same; see Bind.
func (v *Vault) Seal(plain, associated []byte) ([]byte, error) {
	sealed, err := v.current().aead.Encrypt(plain, bound(associated))
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
	plain, err := r.aead.Decrypt(raw, bound(associated))
	if err != nil { // another process may have sealed it with a key that is just being read
		if now := v.settled(); now != r {
			plain, err = now.aead.Decrypt(raw, bound(associated))
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
	return !ok || !bytes.HasPrefix(raw, v.current().primary)
}

// String returns the number of keys, and nothing about them.
func (v Vault) String() string { return fmt.Sprintf("vault(%d keys)", v.current().keys) }

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
