package script

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// Packages that sign, verify and encrypt do the same here and in Node.js: service
// accounts of Google Cloud, JSON Web Tokens, and signatures of webhooks.
func TestKeyPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages")
	}
	dir := filepath.Join("testdata", "keys")
	nodejs.Install(t, dir)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := httptest.NewServer(tokenEndpoint(t, &key.PublicKey))
	defer endpoint.Close()
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	given, err := json.Marshal(map[string]string{
		"tokenURL":   endpoint.URL,
		"privateKey": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		"publicKey":  string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
	})
	if err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(t.TempDir(), "main.mjs")
	use, err := filepath.Abs(filepath.Join(dir, "use.js"))
	if err != nil {
		t.Fatal(err)
	}
	program := "import { use } from " + string(must(json.Marshal("file://"+use))) + ";\nconsole.log(JSON.stringify(await use(" + string(given) + ")));\n"
	if err := os.WriteFile(main, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	var want, got any
	// See TestCryptoAgainstNode for the sizes.
	theirs := nodejs.Run(t, dir, nodejs.Node(t), "--min-semi-space-size=64", "--max-semi-space-size=64", main)
	theirs = theirs[strings.LastIndexByte(strings.TrimSpace(theirs), '\n')+1:] // after warnings
	if err := json.Unmarshal([]byte(theirs), &want); err != nil {
		t.Fatalf("%v: %.500s", err, theirs)
	}
	apps := loadApps(t, dir, func(o *Options) { o.Limits, o.Environ = &generous, []string{"GIVEN=" + string(given)} })
	ours := result(t, rootOf(t, apps, "keys"), "fine")
	if err := json.Unmarshal([]byte(ours), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Node.js (-), this runtime (+):\n%s", diff)
	}
	for name, value := range want.(map[string]any) { //nolint:forcetypeassert // use.js returns an object
		if text, failed := value.(string); failed {
			t.Errorf("%s fails in Node.js: %s", name, text)
		}
	}
}

// tokenEndpoint gives a token for an assertion that the key has signed.
func tokenEndpoint(t *testing.T, key *rsa.PublicKey) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		signed, err := jose.ParseSigned(r.FormValue("assertion"), []jose.SignatureAlgorithm{jose.RS256})
		if err != nil {
			t.Errorf("the assertion: %v", err)
			http.Error(w, "bad assertion", http.StatusBadRequest)
			return
		}
		claims, err := signed.Verify(key)
		if err != nil {
			t.Errorf("the assertion: %v", err)
			http.Error(w, "bad assertion", http.StatusBadRequest)
			return
		}
		var who struct{ Iss, Aud, Scope string }
		if err := json.Unmarshal(claims, &who); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "token of " + who.Iss + " for " + who.Scope, "expires_in": 3600, "token_type": "Bearer"})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
