package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// AdkApiClient is in a package that needs hundreds of others, and itself one
// function of one of them: only its file is fetched.
const (
	devtools    = "@google/adk-devtools@2.0.0"
	devtoolsSum = "9q88zzLjSE5DQg+42JWBVZjEi4byuhKFod9T4jcgYj3IysulqDaEh+cObFe/54LJUI9RvpjFfAWxrC46BggYqQ=="
	genai       = "export const createUserContent = (text) => ({ role: 'user', parts: [{ text }] });\n"
)

// TestOtherClients has conversations and logins with the code of clients that others
// have written. adk-web has its own test, in a browser.
func TestOtherClients(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	const others = "others"
	nodejs.Remember(t, filepath.Join(others, "package.json"), filepath.Join(others, "others.test.js"), "../cmd", "../internal")
	nodejs.Install(t, others)
	at, err := filepath.Abs(filepath.Join(others, "node_modules", ".adk-devtools"))
	if err != nil {
		t.Fatal(err)
	}
	nodejs.Archive(t, devtools, devtoolsSum, "package/dist/esm/server/", at)
	for name, text := range map[string]string{"package.json": `{"type":"module","main":"index.js"}`, "index.js": genai} {
		stub := filepath.Join(at, "node_modules", "@google", "genai", name)
		if err := os.MkdirAll(filepath.Dir(stub), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(stub, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(at, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	login := provider.Start(t, provider.Options{RequirePKCE: true, RedirectURIs: []string{redirect}})
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "--test", "others.test.js")
	cmd.Dir = others
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "BASE="+serve(t, login), "REDIRECT="+redirect, "DEVTOOLS="+at)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
