package keys

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"math/big"
	"net"
	"testing"

	"golang.org/x/crypto/scrypt"
)

// Work that would take too long, or too much memory, is refused before it begins.
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]Work{
		"modulus":       {Op: "generate", Kind: "rsa", Bits: 16384},
		"curve":         {Op: "generate", Kind: "ec", Curve: "secp256k1"},
		"kind":          {Op: "generate", Kind: "dsa"},
		"rounds":        {Op: "pbkdf2", Hash: "sha256", Rounds: 1 << 40, Length: 32},
		"rounds by far": {Op: "pbkdf2", Hash: "sha256", Rounds: 1 << 20, Length: 1 << 20},
		"length":        {Op: "pbkdf2", Hash: "sha256", Rounds: 1, Length: 1 << 30},
		"memory":        {Op: "scrypt", N: 1 << 20, R: 8, P: 1, Length: 32, Memory: 1 << 40},
		"parallel":      {Op: "scrypt", N: 1 << 10, R: 8, P: 1 << 16, Length: 32, Memory: 1 << 40},
		"hkdf":          {Op: "hkdf", Hash: "sha256", Length: 1 << 19},
		"agree":         {Op: "agree"},
		"unknown":       {Op: "none", Hash: "sha1"},
	} {
		if out, err := Do(w); err == nil {
			t.Errorf("%s: %v", name, out)
		}
	}
}

// OpenSSL also derives the keys of encrypted keys with scrypt. What costs too much is
// refused.
func TestScryptOfKeys(t *testing.T) {
	t.Parallel()
	plain := []byte("a private key")
	seal := func(n int) []byte {
		derived, err := scrypt.Key([]byte("phrase"), []byte("salt"), 16, 8, 1, 32)
		if err != nil {
			t.Fatal(err)
		}
		block, err := aes.NewCipher(derived)
		if err != nil {
			t.Fatal(err)
		}
		iv, data := make([]byte, aes.BlockSize), append(bytes.Clone(plain), 3, 3, 3)
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
		var scheme pbes2
		scheme.KDF.Algorithm, scheme.Cipher.Algorithm = oidScrypt, blockCiphers[2].oid
		sealed := encryptedKey{Algorithm: pkix.AlgorithmIdentifier{Algorithm: oidPBES2}, Data: data}
		for _, part := range []struct {
			into  *[]byte
			value func() any
		}{
			{&scheme.KDF.Parameters.FullBytes, func() any { return scryptParams{Salt: []byte("salt"), N: n, R: 8, P: 1} }},
			{&scheme.Cipher.Parameters.FullBytes, func() any { return iv }},
			{&sealed.Algorithm.Parameters.FullBytes, func() any { return scheme }},
		} {
			if *part.into, err = asn1.Marshal(part.value()); err != nil {
				t.Fatal(err)
			}
		}
		der, err := asn1.Marshal(sealed)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	if got, err := decryptPKCS8(seal(16), []byte("phrase")); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("it is %q, %v", got, err)
	}
	if got, err := decryptPKCS8(seal(1<<30), []byte("phrase")); err == nil {
		t.Errorf("it is %q", got)
	}
}

func FuzzCertificate(f *testing.F) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []*x509.Certificate{
		{SerialNumber: big.NewInt(1)},
		{SerialNumber: big.NewInt(1 << 40), Subject: pkix.Name{CommonName: "a, b"}, DNSNames: []string{"*.test"}, IPAddresses: []net.IP{net.IPv6loopback}},
	} {
		der, err := x509.CreateCertificate(rand.Reader, c, c, public, private)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(der)
	}
	f.Fuzz(func(_ *testing.T, der []byte) {
		read := struct {
			Data []byte `json:"data"`
		}{der}
		if _, err := ReadCertificate(read); err != nil {
			return
		}
		for _, m := range []Check{{Host: "a.test"}, {IP: "::1"}, {Email: "a@b"}, {Issuer: der}, {Key: &Key{}}} {
			m.DER = der
			_, _ = CheckCertificate(m)
		}
	})
}

func FuzzImport(f *testing.F) {
	for _, kind := range []string{"rsa", "ec", "ed25519", "x25519"} {
		made, err := Do(Work{Op: "generate", Kind: kind, Bits: 1024, Curve: "P-256"})
		if err != nil {
			f.Fatal(err)
		}
		pair, ok := made.(map[string]*Key)
		if !ok {
			f.Fatalf("%T", made)
		}
		for _, key := range pair {
			for _, format := range []string{"pem", "jwk"} {
				out, err := Export(Target{Key: *key, Format: format})
				if err != nil {
					f.Fatal(err)
				}
				text, ok := out.(string)
				if !ok {
					b, _ := json.Marshal(out)
					text = string(b)
				}
				f.Add([]byte(text), format, "")
			}
			for _, form := range []string{"pkcs8", "pkcs1", "sec1"} {
				out, err := Export(Target{Key: *key, Format: "pem", Type: form, Cipher: "aes-256-cbc", Passphrase: []byte("phrase")})
				if err != nil {
					f.Fatal(err)
				}
				if text, ok := out.(string); ok {
					f.Add([]byte(text), "pem", "")
				}
			}
			f.Add(key.DER, "der", "pkcs8")
			f.Add(key.DER, "der", "spki")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format, form string) {
		source := Source{Format: format, Type: form, Data: data, Passphrase: []byte("phrase")}
		if format == "jwk" && json.Unmarshal(data, &source.JWK) != nil {
			return
		}
		made, err := Import(source)
		if err != nil {
			return
		}
		key, ok := made.(*Key)
		if !ok {
			t.Fatalf("%T", made)
		}
		again, err := Import(Source{Format: "der", Type: map[string]string{"private": "pkcs8", "public": "spki"}[key.Type], Data: key.DER})
		if err != nil {
			t.Fatalf("what was imported cannot be imported again: %v", err)
		}
		if other, ok := again.(*Key); !ok || !bytes.Equal(other.DER, key.DER) {
			t.Errorf("%v is not %v", again, key)
		}
		for _, target := range []Target{{Format: "jwk"}, {Format: "raw"}, {Format: "pem", Type: "pkcs1"}, {Format: "der", Type: "sec1"}} {
			target.Key = *key
			_, _ = Export(target)
		}
		_, _ = Verify(Signature{Key: *key, Hash: "sha256", Data: data, Signature: data, Encoding: "ieee-p1363"})
	})
}

func FuzzCrypt(f *testing.F) {
	for _, mode := range []string{"ecb", "cbc", "ctr", "gcm", "wrap"} {
		f.Add(mode, make([]byte, 16), make([]byte, 16), int64(3), make([]byte, 32), false)
		f.Add(mode, make([]byte, 32), make([]byte, 12), int64(0), make([]byte, 24), true)
	}
	f.Fuzz(func(t *testing.T, mode string, key, iv []byte, at int64, data []byte, decrypt bool) {
		b := Blocks{Mode: mode, Key: key, IV: iv, At: at, Data: data, Decrypt: decrypt, AAD: iv, Tag: len(data)}
		out, err := Crypt(b)
		_, _ = Tag(b)
		if err != nil || mode == "wrap" && decrypt {
			return
		}
		sealed, ok := out.([]byte)
		if !ok {
			t.Fatalf("%T", out)
		}
		b.Data, b.Decrypt = sealed, !decrypt
		back, err := Crypt(b)
		if plain, ok := back.([]byte); err != nil || !ok || !bytes.Equal(plain, data) {
			t.Errorf("%x came back as %v, %v", data, back, err)
		}
	})
}
