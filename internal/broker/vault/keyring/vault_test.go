package keyring_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/mac"
	"github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/broker/vault/keyring"
)

var owner = vault.Bind("app", "user", "session", "token")

// aKey is a key for tests only.
var aKey = base64.StdEncoding.EncodeToString([]byte("0123456789 not a secret 89abcdef"))

// stored is "secret" as it was sealed with aKey for the owner, once and for all.
const stored = "sealed:v1:ASWx6Uas-t30lvxqh2MPO2iAQsXET3_ynBF62RFyLb8thft2WYsu"

func generate(tb testing.TB) []byte {
	tb.Helper()
	text, err := keyring.Generate()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func open(tb testing.TB, keysetJSON []byte) *vault.Vault {
	tb.Helper()
	v, err := keyring.New(keysetJSON)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// openKey is a vault of one key, which needs no Tink.
func openKey(tb testing.TB, key []byte) *vault.Vault {
	tb.Helper()
	v, err := vault.New(key)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// each runs a test on new vaults of both kinds.
func each(t *testing.T, test func(t *testing.T, v *vault.Vault)) {
	t.Helper()
	t.Run("keyset", func(t *testing.T) { test(t, open(t, generate(t))) })
	t.Run("key", func(t *testing.T) { test(t, openKey(t, vault.Generate())) })
}

func seal(tb testing.TB, v *vault.Vault, secret string) []byte {
	tb.Helper()
	sealed, err := v.Seal([]byte(secret), owner)
	if err != nil {
		tb.Fatal(err)
	}
	return sealed
}

func wantOpen(tb testing.TB, v *vault.Vault, sealed []byte, want string) {
	tb.Helper()
	got, err := v.Open(sealed, owner)
	if err != nil || string(got) != want {
		tb.Fatalf("opened %q, %v; want %q", got, err, want)
	}
}

func wantSealed(tb testing.TB, v *vault.Vault, sealed, associated []byte) {
	tb.Helper()
	got, err := v.Open(sealed, associated)
	if !errors.Is(err, vault.ErrSealed) || err.Error() != vault.ErrSealed.Error() || got != nil {
		tb.Fatalf("%q: got %q, %v; want ErrSealed and nothing else", sealed, got, err)
	}
}

func TestRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, v *vault.Vault) {
		t.Helper()
		for _, secret := range []string{"", "x", "ya29.token", "\x00\xff\n", strings.Repeat("long ", 10_000)} {
			sealed := seal(t, v, secret)
			wantOpen(t, v, sealed, secret)
			if v.Stale(sealed) {
				t.Errorf("a value of %d bytes is stale at once", len(secret))
			}
			if again := seal(t, v, secret); bytes.Equal(again, sealed) {
				t.Error("the same secret is sealed to the same text twice")
			}
		}
	})
}

// TestStored makes sure that what was sealed by older programs opens.
func TestStored(t *testing.T) {
	for _, v := range []*vault.Vault{open(t, []byte(aKey)), openKey(t, []byte(aKey))} {
		wantOpen(t, v, []byte(stored), "secret")
		if v.Stale([]byte(stored)) {
			t.Error("the key has got another number")
		}
	}
}

// What a vault of one key seals opens with a keyset of that key, and the reverse.
func TestKeyAndKeyset(t *testing.T) {
	for range 20 {
		key := vault.Generate()
		one, set := openKey(t, key), open(t, key)
		for _, by := range []*vault.Vault{one, set} {
			sealed := seal(t, by, "secret")
			for _, v := range []*vault.Vault{one, set} {
				wantOpen(t, v, sealed, "secret")
				if v.Stale(sealed) {
					t.Error("the key has another number")
				}
			}
		}
	}
}

// TestText makes sure that JSON takes a sealed value as it is.
func TestText(t *testing.T) {
	each(t, func(t *testing.T, v *vault.Vault) {
		t.Helper()
		for range 50 {
			sealed := seal(t, v, "ya29.token")
			quoted, err := json.Marshal(string(sealed))
			if err != nil || string(quoted) != `"`+string(sealed)+`"` {
				t.Fatalf("JSON has to escape %q", sealed)
			}
			if !bytes.HasPrefix(sealed, []byte("sealed:v1:")) || bytes.Contains(sealed, []byte("ya29")) {
				t.Fatalf("%q", sealed)
			}
		}
	})
}

func TestTamper(t *testing.T) {
	each(t, func(t *testing.T, v *vault.Vault) {
		t.Helper()
		// Two lengths, so that base64 ends with and without unused bits.
		for _, secret := range []string{"four", "five5"} {
			sealed := seal(t, v, secret)
			for i := range sealed {
				for b := range 256 {
					if sealed[i] != byte(b) {
						changed := bytes.Clone(sealed)
						changed[i] = byte(b)
						wantSealed(t, v, changed, owner)
					}
				}
				wantSealed(t, v, sealed[:i], owner)
				wantSealed(t, v, append(bytes.Clone(sealed[:i]), sealed[i+1:]...), owner)
				for _, extra := range []string{"\n", "\r", " ", "=", "A"} {
					wantSealed(t, v, []byte(string(sealed[:i])+extra+string(sealed[i:])), owner)
				}
			}
			for _, extra := range []string{"\n", "\r\n", " ", "=", "==", "A", "\x00"} {
				wantSealed(t, v, []byte(string(sealed)+extra), owner)
			}
			wantOpen(t, v, sealed, secret)
		}
	})
}

func TestOtherOwner(t *testing.T) {
	each(t, func(t *testing.T, v *vault.Vault) {
		t.Helper()
		sealed := seal(t, v, "secret")
		for _, other := range [][]byte{
			nil,
			{},
			owner[1:],
			append(bytes.Clone(owner), 0),
			vault.Bind("app", "user", "session", "other"),
			vault.Bind("app", "other", "session", "token"),
			vault.Bind("appuser", "session", "token"),
			vault.Bind("app", "user", "session", "token", ""),
		} {
			wantSealed(t, v, sealed, other)
		}
	})
}

func TestBindDistinguishesParts(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{
		{},
		{""},
		{"", ""},
		{"ab"},
		{"a", "b"},
		{"", "ab"},
		{"ab", ""},
		{"a\x01b"},
		{"\x01a"},
		{"a", "\x01b"},
		{strings.Repeat("x", 127)},
		{strings.Repeat("x", 128)},
		{strings.Repeat("x", 127), "x"},
	} {
		bound := string(vault.Bind(parts...))
		if other, ok := seen[bound]; ok {
			t.Errorf("%q and %q are bound to the same data", parts, other)
		}
		seen[bound] = parts
	}
}

func TestOtherKey(t *testing.T) {
	each(t, func(t *testing.T, v *vault.Vault) {
		t.Helper()
		sealed := seal(t, v, "secret")
		each(t, func(t *testing.T, other *vault.Vault) {
			t.Helper()
			wantSealed(t, other, sealed, owner)
			if !other.Stale(sealed) {
				t.Error("a value of another key is not stale")
			}
		})
	})
}

// rotate is a keyset with another primary key.
func rotate(t *testing.T, keyset []byte) ([]byte, error) {
	t.Helper()
	file := keyring.File{Path: filepath.Join(t.TempDir(), "keys.json")}
	if err := os.WriteFile(file.Path, keyset, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.Rotate(t.Context()); err != nil {
		return nil, err
	}
	return os.ReadFile(file.Path)
}

func TestRotate(t *testing.T) {
	for name, first := range map[string][]byte{"keyset": generate(t), "key": []byte(aKey)} {
		t.Run(name, func(t *testing.T) {
			before := open(t, first)
			old := seal(t, before, "old")
			rotated, err := rotate(t, first)
			if err != nil {
				t.Fatal(err)
			}
			after := open(t, rotated)
			wantOpen(t, after, old, "old")
			if !after.Stale(old) || before.Stale(old) {
				t.Error("stale is what the primary key has not sealed")
			}
			fresh := seal(t, after, "new")
			if after.Stale(fresh) {
				t.Error("the new key is not the primary one")
			}
			wantSealed(t, before, fresh, owner)

			twice, err := rotate(t, rotated)
			if err != nil {
				t.Fatal(err)
			}
			third := open(t, twice)
			wantOpen(t, third, old, "old")
			wantOpen(t, third, fresh, "new")
			if !third.Stale(old) || !third.Stale(fresh) {
				t.Error("the keys of before are still primary")
			}
		})
	}
	if _, err := rotate(t, []byte("nonsense")); err == nil {
		t.Error("nonsense can be rotated")
	}
}

// TestPlainKey makes sure that one key in base64 is the same vault everywhere,
// however base64 was written.
func TestPlainKey(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfb, 0xff}, 16) // of the letters that the alphabets differ in
	first := open(t, []byte(base64.StdEncoding.EncodeToString(raw)))
	sealed := seal(t, first, "secret")
	for _, encoding := range []*base64.Encoding{
		base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding,
	} {
		text := []byte(" " + encoding.EncodeToString(raw) + "\n")
		for _, same := range []*vault.Vault{open(t, text), openKey(t, text)} {
			wantOpen(t, same, sealed, "secret")
			if same.Stale(sealed) {
				t.Error("the same key has got another number")
			}
		}
	}
}

func TestStaleOfNonsense(t *testing.T) {
	each(t, func(t *testing.T, v *vault.Vault) {
		t.Helper()
		for _, value := range []string{"", "sealed:v1:", "sealed:v2:AAAA", "ya29.token"} {
			if !v.Stale([]byte(value)) {
				t.Errorf("%q was not sealed with the primary key", value)
			}
		}
	})
}

func TestBadKeys(t *testing.T) {
	good := string(generate(t))
	marker := "c2VjcmV0IGtleSBtYXRlcmlhbA" // stands for a key that must not be repeated
	for name, text := range map[string]string{
		"empty":      "",
		"braces":     "{}",
		"half":       good[:len(good)/2],
		"short":      base64.StdEncoding.EncodeToString([]byte(marker[:16])),
		"long":       base64.StdEncoding.EncodeToString([]byte(marker + marker)),
		"words":      marker + " " + marker,
		"unknown":    `{"` + marker + `": 1}`,
		"bad value":  strings.Replace(good, `"value":"`, `"value":"!`+marker, 1),
		"bad field":  strings.Replace(good, `"primaryKeyId":`, `"primaryKeyId":"`+marker+`","x":`, 1),
		"no primary": strings.Replace(good, `"primaryKeyId":`, `"primaryKeyId":1`, 1),
	} {
		for _, read := range []func([]byte) (*vault.Vault, error){keyring.New, vault.New} {
			v, err := read([]byte(text))
			if err == nil || v != nil {
				t.Errorf("%s: taken as a key", name)
			} else if strings.Contains(err.Error(), marker[:8]) {
				t.Errorf("%s: the error repeats the key: %v", name, err)
			}
		}
	}
}

func jsonOf(t *testing.T, template *tink_go_proto.KeyTemplate) []byte {
	t.Helper()
	handle, err := keyset.NewHandle(template)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&out)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestKeysOfOtherKinds(t *testing.T) {
	if _, err := keyring.New(jsonOf(t, mac.HMACSHA256Tag256KeyTemplate())); err == nil || !strings.Contains(err.Error(), "AES256_GCM") {
		t.Errorf("a key for signing: %v", err)
	}
	if _, err := keyring.New(jsonOf(t, aead.AES256GCMNoPrefixKeyTemplate())); err == nil || !strings.Contains(err.Error(), "RAW") {
		t.Errorf("a key without a mark: %v", err)
	}
}

// TestUnwrapped goes the way of a keyset that is stored encrypted.
func TestUnwrapped(t *testing.T) {
	service, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	wrapping, err := aead.New(service)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	var stored bytes.Buffer
	if err := handle.Write(keyset.NewJSONWriter(&stored), wrapping); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.New(stored.Bytes()); err == nil || !strings.Contains(err.Error(), "unwrap") {
		t.Errorf("an encrypted keyset: %v", err)
	}
	unwrapped, err := keyset.Read(keyset.NewJSONReader(&stored), wrapping)
	if err != nil {
		t.Fatal(err)
	}
	v, err := keyring.FromHandle(unwrapped)
	if err != nil {
		t.Fatal(err)
	}
	wantOpen(t, v, seal(t, v, "secret"), "secret")
	if _, err := keyring.FromHandle(nil); err == nil {
		t.Error("no keyset makes a vault")
	}
}

func TestNothingIsPrinted(t *testing.T) {
	for _, v := range []*vault.Vault{open(t, []byte(aKey)), openKey(t, []byte(aKey))} {
		var log bytes.Buffer
		for _, logger := range []*slog.Logger{
			slog.New(slog.NewTextHandler(&log, nil)), slog.New(slog.NewJSONHandler(&log, nil)),
		} {
			logger.Info("x", "vault", v, "copy", *v)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			fmt.Fprintf(&log, verb+verb, v, *v)
		}
		out, err := json.Marshal(map[string]any{"vault": v})
		if err != nil {
			t.Fatal(err)
		}
		log.Write(out)
		if strings.Contains(log.String(), "0123456789") || strings.Contains(log.String(), aKey[:10]) || strings.Contains(strings.ToLower(log.String()), "aead") {
			t.Errorf("%s", log.String())
		}
		if !strings.Contains(v.String(), "1 keys") {
			t.Errorf("%v", v)
		}
	}
}

func FuzzOpen(f *testing.F) {
	v := openKey(f, []byte(aKey))
	sealed := []byte(stored) // the processes of a fuzzer have to agree on it
	f.Add(sealed, owner)
	f.Add(sealed, []byte(nil))
	f.Add(sealed[:len(sealed)-1], owner)
	f.Add([]byte(vault.Prefix), owner)
	f.Add([]byte(vault.Prefix+"AQ"), owner)
	f.Add([]byte(vault.Prefix+"AQAAAAA\n"), owner)
	f.Add([]byte("ya29.token"), []byte("x"))
	f.Fuzz(func(t *testing.T, value, associated []byte) {
		_ = v.Stale(value)
		if bytes.Equal(value, sealed) && bytes.Equal(associated, owner) {
			wantOpen(t, v, value, "secret")
			return
		}
		wantSealed(t, v, value, associated)
	})
}
