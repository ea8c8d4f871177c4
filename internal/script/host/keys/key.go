// Package keys is Go's half of the cryptography of node:crypto and WebCrypto: keys,
// signatures, ciphers and derived keys. It keeps nothing between calls: keys travel
// as DER.
package keys

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
)

// Error is an error with a code of Node.js.
type Error struct{ code, text string }

func (e *Error) Error() string { return e.text }

// Code returns the code.
func (e *Error) Code() string { return e.code }

func failed(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Key is a key as JavaScript has it. DER is PKCS #8 for private keys, SPKI for
// public ones, and the bytes themselves for secrets.
type Key struct {
	Type     string `json:"type"` // secret, public or private
	DER      []byte `json:"der"`
	Kind     string `json:"kind,omitempty"` // rsa, ec, ed25519 or x25519
	Bits     int    `json:"bits,omitempty"`
	Exponent int    `json:"exponent,omitempty"`
	Curve    string `json:"curve,omitempty"` // as WebCrypto calls it: P-256
}

// Source is what a key is made of.
type Source struct {
	Format string            `json:"format"` // pem, der or jwk
	Type   string            `json:"type"`   // of DER: pkcs1, pkcs8, spki or sec1
	Data   []byte            `json:"data"`
	JWK    map[string]string `json:"jwk"`
	Public bool              `json:"public"` // the public key is wanted, also of a private one
	// Passphrase is that of an encrypted private key; nil for none.
	Passphrase []byte `json:"passphrase"`
}

// Import reads a key.
func Import(s Source) (any, error) {
	key, err := parse(s)
	if err != nil {
		return nil, err
	}
	if s.Public {
		if private, ok := key.(interface{ Public() crypto.PublicKey }); ok {
			key = private.Public()
		}
	}
	return describe(key)
}

func parse(s Source) (any, error) {
	switch s.Format {
	case "jwk":
		return fromJWK(s.JWK)
	case "pem":
		block, _ := pem.Decode(s.Data)
		if block == nil {
			return nil, failed("ERR_OSSL_UNSUPPORTED", "error:1E08010C:DECODER routines::unsupported: the text is not a key in PEM form")
		}
		var err error
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY":
			block.Type = "PRIVATE KEY"
			block.Bytes, err = s.decrypt(func(passphrase []byte) ([]byte, error) { return decryptPKCS8(block.Bytes, passphrase) })
		case block.Headers["DEK-Info"] != "":
			block.Bytes, err = s.decrypt(func(passphrase []byte) ([]byte, error) { return decryptPEM(block, passphrase) })
		}
		if err != nil {
			return nil, err
		}
		return parseDER(block.Bytes, map[string]string{
			"PRIVATE KEY": "pkcs8", "RSA PRIVATE KEY": "pkcs1", "EC PRIVATE KEY": "sec1",
			"PUBLIC KEY": "spki", "RSA PUBLIC KEY": "pkcs1-public", "CERTIFICATE": "certificate",
		}[block.Type])
	}
	if s.Type == "pkcs8" && len(s.Passphrase) > 0 {
		if der, err := decryptPKCS8(s.Data, s.Passphrase); err == nil {
			s.Data = der
		} else if !errors.Is(err, errEncryption) { // else it is not encrypted
			return nil, err
		}
	}
	if s.Type == "pkcs1" && s.Public {
		if key, err := parseDER(s.Data, "pkcs1-public"); err == nil {
			return key, nil
		}
	}
	return parseDER(s.Data, s.Type)
}

func (s *Source) decrypt(with func(passphrase []byte) ([]byte, error)) ([]byte, error) {
	if s.Passphrase == nil {
		return nil, failed("ERR_OSSL_CRYPTO_INTERRUPTED_OR_CANCELLED", "error:07880109:common libcrypto routines::interrupted or cancelled: the key needs a passphrase")
	}
	return with(s.Passphrase)
}

func parseDER(der []byte, form string) (key any, err error) {
	switch form {
	case "pkcs1":
		key, err = x509.ParsePKCS1PrivateKey(der)
	case "pkcs1-public":
		key, err = x509.ParsePKCS1PublicKey(der)
	case "sec1":
		key, err = x509.ParseECPrivateKey(der)
	case "pkcs8":
		key, err = x509.ParsePKCS8PrivateKey(der)
	case "spki":
		key, err = x509.ParsePKIXPublicKey(der)
	case "certificate":
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(der); err == nil {
			key = cert.PublicKey
		}
	default:
		err = errors.New("this kind of key is not known")
	}
	if err != nil {
		return nil, failed("ERR_OSSL_UNSUPPORTED", "error:1E08010C:DECODER routines::unsupported: %v", err)
	}
	return key, nil
}

// maxModulus is the size of RSA keys of others, as in OpenSSL: the time of a
// signature grows with its cube.
const maxModulus = 16384

// describe returns a key of Go as JavaScript has it.
func describe(key any) (*Key, error) {
	out := &Key{Type: "public"}
	var err error
	if private, ok := key.(interface{ Public() crypto.PublicKey }); ok {
		out.Type = "private"
		if out.DER, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
			return nil, err
		}
		key = private.Public()
	} else if out.DER, err = x509.MarshalPKIXPublicKey(key); err != nil {
		return nil, failed("ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", "this kind of key is not available in this runtime: %v", err)
	}
	switch public := key.(type) {
	case *rsa.PublicKey:
		if public.N.BitLen() > maxModulus {
			return nil, failed("ERR_OUT_OF_RANGE", "a modulus of %d bits is not available in this runtime", public.N.BitLen())
		}
		out.Kind, out.Bits, out.Exponent = "rsa", public.N.BitLen(), public.E
	case *ecdsa.PublicKey:
		out.Kind, out.Curve = "ec", public.Params().Name
	case ed25519.PublicKey:
		out.Kind = "ed25519"
	case *ecdh.PublicKey:
		out.Kind = "x25519"
	}
	return out, nil
}

// open returns the key of Go.
func (k *Key) open() (any, error) {
	if len(k.DER) > maxModulus {
		return nil, failed("ERR_OUT_OF_RANGE", "the key is too large")
	}
	switch k.Type {
	case "private":
		return parseDER(k.DER, "pkcs8")
	case "public":
		return parseDER(k.DER, "spki")
	}
	return nil, failed("ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE", "Invalid key object type %s, expected private or public.", k.Type)
}

// Target is how a key is written.
type Target struct {
	Key    Key    `json:"key"`
	Format string `json:"format"` // pem, der, jwk or raw
	Type   string `json:"type"`   // pkcs1, pkcs8, spki or sec1
	// Cipher encrypts a private key with a passphrase, if there is one.
	Cipher     string `json:"cipher"`
	Passphrase []byte `json:"passphrase"`
}

// Export writes a key: as text in PEM, as an object for JWK, else as bytes.
func Export(t Target) (any, error) {
	key, err := t.Key.open()
	if err != nil {
		return nil, err
	}
	if t.Format == "jwk" {
		return toJWK(key)
	}
	der, label := t.Key.DER, "PUBLIC KEY"
	if t.Key.Type == "private" {
		label = "PRIVATE KEY"
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if t.Type == "pkcs1" {
			der, label = x509.MarshalPKCS1PrivateKey(k), "RSA PRIVATE KEY"
		}
	case *rsa.PublicKey:
		if t.Type == "pkcs1" {
			der, label = x509.MarshalPKCS1PublicKey(k), "RSA PUBLIC KEY"
		}
	case *ecdsa.PrivateKey:
		if t.Type == "sec1" {
			label = "EC PRIVATE KEY"
			der, err = x509.MarshalECPrivateKey(k)
		}
	}
	if err != nil {
		return nil, err
	}
	block := &pem.Block{Type: label, Bytes: der}
	if t.Cipher != "" && t.Key.Type == "private" {
		if block, err = encrypt(label, der, t.Cipher, t.Passphrase); err != nil {
			return nil, err
		}
	}
	switch t.Format {
	case "pem":
		return string(pem.EncodeToMemory(block)), nil
	case "raw":
		return raw(key)
	}
	return block.Bytes, nil
}

// raw is the point of a public key, as WebCrypto's raw format.
func raw(key any) ([]byte, error) {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return k, nil
	case *ecdh.PublicKey:
		return k.Bytes(), nil
	case *ecdsa.PublicKey:
		return k.Bytes()
	}
	return nil, failed("ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS", "the key has no raw form")
}

var curves = map[string]elliptic.Curve{
	"P-256": elliptic.P256(), "prime256v1": elliptic.P256(), "secp256r1": elliptic.P256(),
	"P-384": elliptic.P384(), "secp384r1": elliptic.P384(),
	"P-521": elliptic.P521(), "secp521r1": elliptic.P521(),
	"P-224": elliptic.P224(), "secp224r1": elliptic.P224(),
}

func curve(name string) (elliptic.Curve, error) {
	if c := curves[name]; c != nil {
		return c, nil
	}
	return nil, failed("ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name %q: this runtime has P-224, P-256, P-384 and P-521", name)
}

// ImportRaw makes a public key of a point, as WebCrypto's raw format.
func ImportRaw(m struct {
	Kind  string `json:"kind"`
	Curve string `json:"curve"`
	Data  []byte `json:"data"`
},
) (any, error) {
	invalid := func(err error) error {
		return failed("ERR_CRYPTO_INVALID_JWK", "the bytes are not a public key: %v", err)
	}
	switch m.Kind {
	case "ed25519":
		if len(m.Data) != ed25519.PublicKeySize {
			return nil, invalid(errors.New("a key has 32 bytes"))
		}
		return describe(ed25519.PublicKey(m.Data))
	case "x25519":
		key, err := ecdh.X25519().NewPublicKey(m.Data)
		if err != nil {
			return nil, invalid(err)
		}
		return describe(key)
	}
	c, err := curve(m.Curve)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.ParseUncompressedPublicKey(c, m.Data)
	if err != nil {
		return nil, invalid(err)
	}
	return describe(key)
}

func number(n int) *big.Int { return big.NewInt(int64(n)) }
