package keys

import (
	"bytes"
	"encoding/json"
	"testing"
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
			f.Add(key.DER, "der", "pkcs8")
			f.Add(key.DER, "der", "spki")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format, form string) {
		source := Source{Format: format, Type: form, Data: data}
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
