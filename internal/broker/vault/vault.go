// Package vault seals tokens, so that they can be kept where state is kept.
//
// A secret is encrypted with AES-256-GCM and bound to what the caller says that
// it belongs to: it opens only with the same key and for the same owner. What
// comes out is a line of ASCII, which may stand in JSON as it is.
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

// Prefix is what every sealed value begins with. It names the format, and it is
// authenticated together with the value.
const Prefix = "sealed:v1:"

// ErrSealed says that a value does not open. It deliberately does not say which
// of its reasons it was.
var ErrSealed = errors.New("vault: the sealed value cannot be opened: it was sealed with another key or for another owner, " +
	"or it has been changed; give the server the keyset that it was sealed with, or get the secret anew (let the user sign in again)")

// encoding refuses text that decodes to the same bytes as another text.
var encoding = base64.RawURLEncoding.Strict()

// Vault seals and opens secrets. It may be used by many goroutines at once.
type Vault struct {
	current func() *ring
	settled func() *ring // current, after it has waited for a keyset that is being read
}

// ring is the keys of a vault.
type ring struct {
	aead    tink.AEAD
	primary []byte // what Tink puts in front of all that the primary key encrypts
	keys    int
}

// New makes a vault of a keyset, as Generate and the tools of Tink write it:
// cleartext JSON. A key of 32 bytes in base64 will do as well.
func New(keysetJSON []byte) (*Vault, error) {
	handle, err := parse(keysetJSON)
	if err != nil {
		return nil, err
	}
	return FromHandle(handle)
}

// FromHandle makes a vault of a keyset that Tink has read, for instance of one
// that was stored encrypted and that a key management service has unwrapped.
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
		return nil, errors.New("vault: the primary key leaves no mark on what it seals (its prefix type is RAW): " +
			"make the keyset with the template AES256_GCM")
	}
	primitive, err := aead.New(handle)
	if err != nil { // it might quote the keyset
		return nil, errors.New("vault: the keyset holds a key that is not for authenticated encryption: make it with the template AES256_GCM")
	}
	return &ring{aead: primitive, primary: bytes.Clone(key.OutputPrefix()), keys: handle.Len()}, nil
}

// Seal encrypts a secret with the primary key. The associated data say what the
// secret belongs to; Open wants the same. Make them with Bind.
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
	if err != nil { // somebody else may have sealed it with a key that is just being read
		if now := v.settled(); now != r {
			plain, err = now.aead.Decrypt(raw, bound(associated))
		}
	}
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// Stale tells that a value was not sealed with the primary key. When it opens
// nevertheless it should be sealed anew, so that the old key can go some day.
func (v *Vault) Stale(sealed []byte) bool {
	raw, ok := decode(sealed)
	return !ok || !bytes.HasPrefix(raw, v.current().primary)
}

// String tells how many keys there are, and nothing about them.
func (v Vault) String() string { return fmt.Sprintf("vault(%d keys)", v.current().keys) }

// GoString is String, so that %#v does not look inside.
func (v Vault) GoString() string { return v.String() }

// LogValue is String, so that loggers do not look inside.
func (v Vault) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Bind makes associated data of the parts that name an owner, such as
// application, user, session and key. Different parts never give the same data,
// wherever one ends and the next begins.
func Bind(parts ...string) []byte {
	var out []byte
	for _, part := range parts {
		out = binary.AppendUvarint(out, uint64(len(part)))
		out = append(out, part...)
	}
	return out
}

// bound is what is authenticated with a secret: the format and the owner.
func bound(associated []byte) []byte { return append([]byte(Prefix), associated...) }

// decode returns the bytes behind the prefix. The decoder of base64 skips line
// ends, and a value that has got some has been changed.
func decode(sealed []byte) ([]byte, bool) {
	text, ok := bytes.CutPrefix(sealed, []byte(Prefix))
	if !ok || bytes.ContainsAny(text, "\r\n") {
		return nil, false
	}
	raw, err := encoding.AppendDecode(nil, text)
	return raw, err == nil
}
