package keys

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"math/big"
	"slices"
)

var errJWK = failed("ERR_CRYPTO_INVALID_JWK", "Invalid JWK data")

// fields reads the members of a JWK that hold bytes.
type fields struct {
	from map[string]string
	err  error
}

func (f *fields) bytes(name string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(f.from[name])
	if err != nil || len(b) == 0 {
		f.err = errJWK
	}
	return b
}

func (f *fields) number(name string) *big.Int { return new(big.Int).SetBytes(f.bytes(name)) }

// fromJWK makes a key of a JSON Web Key; see RFC 7518, section 6, and RFC 8037.
func fromJWK(jwk map[string]string) (key any, err error) {
	f := &fields{from: jwk}
	_, private := jwk["d"]
	switch jwk["kty"] {
	case "RSA":
		key, err = f.rsa(private)
	case "EC":
		key, err = f.ec(private)
	case "OKP":
		key, err = f.okp(private)
	default:
		return nil, failed("ERR_CRYPTO_INVALID_JWK", "Unsupported JWK Key Type.")
	}
	if err = errors.Join(f.err, err); err != nil {
		return nil, errJWK
	}
	return key, nil
}

func (f *fields) rsa(private bool) (any, error) {
	e := f.number("e")
	if !e.IsInt64() || e.BitLen() > 31 {
		return nil, errJWK
	}
	public := rsa.PublicKey{N: f.number("n"), E: int(e.Int64())}
	if !private {
		return &public, nil
	}
	key := &rsa.PrivateKey{PublicKey: public, D: f.number("d"), Primes: []*big.Int{f.number("p"), f.number("q")}}
	if f.err != nil {
		return nil, f.err
	}
	if err := key.Validate(); err != nil {
		return nil, err
	}
	key.Precompute()
	return key, nil
}

func (f *fields) ec(private bool) (any, error) {
	c, err := curve(f.from["crv"])
	if err != nil {
		return nil, err
	}
	size := (c.Params().BitSize + 7) / 8
	pad := func(b []byte) []byte { return append(make([]byte, max(0, size-len(b))), b...) }
	if private {
		key, err := ecdsa.ParseRawPrivateKey(c, pad(f.bytes("d")))
		if err != nil {
			return nil, err
		}
		if point, err := key.PublicKey.Bytes(); err != nil || !bytes.Equal(point, f.point(pad)) {
			return nil, errJWK
		}
		return key, nil
	}
	return ecdsa.ParseUncompressedPublicKey(c, f.point(pad))
}

// point is the public key, uncompressed.
func (f *fields) point(pad func([]byte) []byte) []byte {
	return slices.Concat([]byte{4}, pad(f.bytes("x")), pad(f.bytes("y")))
}

func (f *fields) okp(private bool) (any, error) {
	name := "x"
	if private {
		name = "d"
	}
	b := f.bytes(name)
	if len(b) != ed25519.SeedSize {
		return nil, errJWK
	}
	switch f.from["crv"] {
	case "Ed25519":
		if private {
			return ed25519.NewKeyFromSeed(b), nil
		}
		return ed25519.PublicKey(b), nil
	case "X25519":
		if private {
			return ecdh.X25519().NewPrivateKey(b)
		}
		return ecdh.X25519().NewPublicKey(b)
	}
	return nil, errJWK
}

// toJWK is the opposite of fromJWK.
func toJWK(key any) (map[string]string, error) {
	out := map[string]string{}
	set := func(name string, b []byte) { out[name] = base64.RawURLEncoding.EncodeToString(b) }
	public := key
	if private, ok := key.(interface{ Public() crypto.PublicKey }); ok {
		public = private.Public()
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if len(k.Primes) != 2 {
			return nil, errJWK
		}
		set("d", k.D.Bytes())
		set("p", k.Primes[0].Bytes())
		set("q", k.Primes[1].Bytes())
		set("dp", k.Precomputed.Dp.Bytes())
		set("dq", k.Precomputed.Dq.Bytes())
		set("qi", k.Precomputed.Qinv.Bytes())
	case *ecdsa.PrivateKey:
		d, err := k.Bytes()
		if err != nil {
			return nil, err
		}
		set("d", d)
	case ed25519.PrivateKey:
		set("d", k.Seed())
	case *ecdh.PrivateKey:
		set("d", k.Bytes())
	}
	switch k := public.(type) {
	case *rsa.PublicKey:
		out["kty"] = "RSA"
		set("n", k.N.Bytes())
		set("e", number(k.E).Bytes())
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			return nil, err
		}
		out["kty"], out["crv"] = "EC", k.Params().Name
		half := len(point) / 2
		set("x", point[1:1+half])
		set("y", point[1+half:])
	case ed25519.PublicKey:
		out["kty"], out["crv"] = "OKP", "Ed25519"
		set("x", k)
	case *ecdh.PublicKey:
		out["kty"], out["crv"] = "OKP", "X25519"
		set("x", k.Bytes())
	}
	return out, nil
}
