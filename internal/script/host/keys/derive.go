package keys

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"

	"golang.org/x/crypto/scrypt"
)

const (
	maxBits   = 4096     // of an RSA key: larger ones take minutes
	maxRounds = 20 << 20 // of PBKDF2: some ten seconds
	maxMemory = 128 << 20
	maxCost   = 1 << 24 // of scrypt: N × r × p
	maxOutput = 1 << 20 // bytes
)

// Work is what takes long.
type Work struct {
	Op string `json:"op"` // generate, pbkdf2, scrypt, hkdf or agree

	Kind  string `json:"kind"` // generate: rsa, ec, ed25519 or x25519
	Bits  int    `json:"bits"`
	Curve string `json:"curve"`

	Secret []byte `json:"secret"`
	Salt   []byte `json:"salt"`
	Info   []byte `json:"info"`
	Hash   string `json:"hash"`
	Rounds int    `json:"rounds"`
	Length int    `json:"length"`
	N      int    `json:"n"`
	R      int    `json:"r"`
	P      int    `json:"p"`
	Memory int    `json:"memory"`

	Private *Key `json:"private"` // agree
	Public  *Key `json:"public"`
}

// Do does the work.
func Do(w Work) (any, error) {
	if w.Length < 0 || w.Length > maxOutput {
		return nil, failed("ERR_OUT_OF_RANGE", "a key of %d bytes is more than this runtime derives", w.Length)
	}
	switch w.Op {
	case "generate":
		return w.generate()
	case "agree":
		return w.agree()
	case "scrypt":
		return w.scrypt()
	}
	h, err := Digest(w.Hash)
	if err != nil {
		return nil, err
	}
	switch w.Op {
	case "pbkdf2":
		if blocks := (w.Length + h.Size() - 1) / h.Size(); w.Rounds < 1 || w.Rounds > maxRounds || w.Rounds*blocks > maxRounds {
			return nil, failed("ERR_OUT_OF_RANGE", "%d iterations are more than this runtime does, which is %d", w.Rounds, maxRounds)
		}
		return wrap(pbkdf2.Key(h.New, string(w.Secret), w.Salt, w.Rounds, w.Length))
	case "hkdf":
		if w.Length > 255*h.Size() {
			return nil, failed("ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length")
		}
		return wrap(hkdf.Key(h.New, w.Secret, w.Salt, string(w.Info), w.Length))
	}
	return nil, failed("ERR_INVALID_ARG_VALUE", "unknown operation %q", w.Op)
}

func (w *Work) scrypt() (any, error) {
	if w.N < 2 || w.N&(w.N-1) != 0 || w.R < 1 || w.P < 1 || w.R > 1<<16 || w.P > 1<<16 {
		return nil, failed("ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params")
	}
	if w.N > maxMemory || 128*w.R*(w.N+w.P+2) > min(w.Memory, maxMemory) { // as OpenSSL counts
		return nil, failed("ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params: memory limit exceeded")
	}
	if w.N*w.R*w.P > maxCost {
		return nil, failed("ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params: this runtime does not do that much work")
	}
	return wrap(scrypt.Key(w.Secret, w.Salt, w.N, w.R, w.P, w.Length))
}

func (w *Work) generate() (any, error) {
	var (
		key any
		err error
	)
	switch w.Kind {
	case "rsa":
		if w.Bits < 1024 || w.Bits > maxBits {
			return nil, failed("ERR_OUT_OF_RANGE", "a modulus of %d bits is not available in this runtime: use 2048 to %d", w.Bits, maxBits)
		}
		key, err = rsa.GenerateKey(rand.Reader, w.Bits)
	case "ec":
		c, unknown := curve(w.Curve)
		if unknown != nil {
			return nil, unknown
		}
		key, err = ecdsa.GenerateKey(c, rand.Reader)
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "x25519":
		key, err = ecdh.X25519().GenerateKey(rand.Reader)
	default:
		return nil, failed("ERR_INVALID_ARG_VALUE", "the key type %q is not available in this runtime: it has rsa, ec, ed25519 and x25519", w.Kind)
	}
	if err != nil {
		return nil, err
	}
	private, err := describe(key)
	if err != nil {
		return nil, err
	}
	holder, ok := key.(interface{ Public() crypto.PublicKey })
	if !ok {
		return nil, errJWK
	}
	public, err := describe(holder.Public())
	return map[string]*Key{"privateKey": private, "publicKey": public}, err
}

// agree returns the secret that two keys have in common.
func (w *Work) agree() (any, error) {
	mismatch := failed("ERR_CRYPTO_INCOMPATIBLE_KEY", "Incompatible key types for Diffie-Hellman")
	if w.Private == nil || w.Public == nil {
		return nil, mismatch
	}
	mine, err := w.Private.open()
	if err != nil {
		return nil, err
	}
	theirs, err := w.Public.open()
	if err != nil {
		return nil, err
	}
	if key, ok := mine.(*ecdsa.PrivateKey); ok {
		if mine, err = key.ECDH(); err != nil {
			return nil, mismatch
		}
	}
	if key, ok := theirs.(*ecdsa.PublicKey); ok {
		if theirs, err = key.ECDH(); err != nil {
			return nil, mismatch
		}
	}
	private, ok := mine.(*ecdh.PrivateKey)
	public, ok2 := theirs.(*ecdh.PublicKey)
	if !ok || !ok2 || private.Curve() != public.Curve() {
		return nil, mismatch
	}
	return wrap(private.ECDH(public))
}
