package keys

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/asn1"
	"math/big"
	"strings"

	_ "crypto/md5"  //nolint:gosec // agents check what others have signed
	_ "crypto/sha1" //nolint:gosec // as above
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
)

var digests = map[string]crypto.Hash{
	"md5": crypto.MD5, "sha1": crypto.SHA1, "sha224": crypto.SHA224, "sha256": crypto.SHA256, "sha384": crypto.SHA384, "sha512": crypto.SHA512,
	"sha512224": crypto.SHA512_224, "sha512256": crypto.SHA512_256,
	"sha3224": crypto.SHA3_224, "sha3256": crypto.SHA3_256, "sha3384": crypto.SHA3_384, "sha3512": crypto.SHA3_512,
}

// Digest returns the hash function with a name. Node.js, OpenSSL and WebCrypto write
// the same names differently: SHA-256, RSA-SHA256, sha256.
func Digest(name string) (crypto.Hash, error) {
	plain := strings.NewReplacer("-", "", "_", "", "/", "").Replace(strings.TrimPrefix(strings.ToLower(name), "rsa-"))
	if h, ok := digests[plain]; ok {
		return h, nil
	}
	return 0, failed("ERR_CRYPTO_INVALID_DIGEST", "Invalid digest: %s (this runtime has md5, sha1, SHA-2 and SHA-3)", name)
}

// Signature is a request to sign, or to verify.
type Signature struct {
	Key       Key    `json:"key"`
	Hash      string `json:"hash"`
	Padding   string `json:"padding"`  // of RSA: pkcs1 or pss
	Salt      int    `json:"salt"`     // of PSS: bytes, -1 for the digest's, -2 for as many as possible
	Encoding  string `json:"encoding"` // of ECDSA: der or ieee-p1363
	Data      []byte `json:"data"`
	Signature []byte `json:"signature"`
}

func (s *Signature) digest() (crypto.Hash, []byte, error) {
	h, err := Digest(s.Hash)
	if err != nil {
		return 0, nil, err
	}
	sum := h.New()
	sum.Write(s.Data)
	return h, sum.Sum(nil), nil
}

func (s *Signature) pss(h crypto.Hash) *rsa.PSSOptions {
	o := &rsa.PSSOptions{Hash: h, SaltLength: s.Salt}
	switch s.Salt {
	case -1:
		o.SaltLength = rsa.PSSSaltLengthEqualsHash
	case -2:
		o.SaltLength = rsa.PSSSaltLengthAuto
	}
	return o
}

// Sign signs data.
func Sign(s Signature) (any, error) {
	opened, err := s.Key.open()
	if err != nil {
		return nil, err
	}
	if key, ok := opened.(ed25519.PrivateKey); ok {
		return ed25519.Sign(key, s.Data), nil
	}
	h, sum, err := s.digest()
	if err != nil {
		return nil, err
	}
	switch key := opened.(type) {
	case *rsa.PrivateKey:
		if s.Padding == "pss" {
			return wrap(rsa.SignPSS(rand.Reader, key, h, sum, s.pss(h)))
		}
		return wrap(rsa.SignPKCS1v15(nil, key, h, sum))
	case *ecdsa.PrivateKey:
		der, err := ecdsa.SignASN1(rand.Reader, key, sum)
		if err != nil || s.Encoding != "ieee-p1363" {
			return wrap(der, err)
		}
		var both struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(der, &both); err != nil {
			return nil, err
		}
		size := (key.Params().BitSize + 7) / 8
		out := make([]byte, 2*size)
		both.R.FillBytes(out[:size])
		both.S.FillBytes(out[size:])
		return out, nil
	}
	return nil, failed("ERR_OSSL_EVP_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE", "this key cannot sign")
}

// wrap returns a failure of a key as Node.js has it.
func wrap(b []byte, err error) (any, error) {
	if err != nil {
		return nil, failed("ERR_CRYPTO_OPERATION_FAILED", "%v", err)
	}
	return b, nil
}

// Verify checks a signature. One that is not well formed is wrong, not an error.
func Verify(s Signature) (any, error) {
	opened, err := s.Key.open()
	if err != nil {
		return nil, err
	}
	if private, ok := opened.(interface{ Public() crypto.PublicKey }); ok {
		opened = private.Public()
	}
	if key, ok := opened.(ed25519.PublicKey); ok {
		return ed25519.Verify(key, s.Data, s.Signature), nil
	}
	h, sum, err := s.digest()
	if err != nil {
		return nil, err
	}
	switch key := opened.(type) {
	case *rsa.PublicKey:
		if s.Padding == "pss" {
			return rsa.VerifyPSS(key, h, sum, s.Signature, s.pss(h)) == nil, nil
		}
		return rsa.VerifyPKCS1v15(key, h, sum, s.Signature) == nil, nil
	case *ecdsa.PublicKey:
		der := s.Signature
		if s.Encoding == "ieee-p1363" {
			size := (key.Params().BitSize + 7) / 8
			if len(der) != 2*size {
				return false, nil
			}
			der, err = asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(der[:size]), new(big.Int).SetBytes(der[size:])})
			if err != nil {
				return nil, err
			}
		}
		return ecdsa.VerifyASN1(key, sum, der), nil
	}
	return nil, failed("ERR_OSSL_EVP_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE", "this key cannot verify")
}
