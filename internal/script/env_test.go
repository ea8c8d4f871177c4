package script

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	dir := write(t, map[string]string{
		".env":            "FROM_FILE=outside\nOUTSIDE=1\n",
		"apps/.env":       "FROM_FILE=file\nBOTH=file\n",
		"apps/a/index.ts": source("return [process.env.FROM_FILE, process.env.BOTH, process.env.OUTSIDE ?? 'none']"),
	})
	environ := func(o *Options) { o.Environ = []string{"BOTH=process"} }
	for served, want := range map[string]string{"apps": `{"results":["file","process","none"]}`, "apps/a": `{"results":[null,"process","none"]}`} {
		apps := loadApps(t, filepath.Join(dir, served), environ)
		if got := result(t, rootOf(t, apps, "a"), "fine"); got != want {
			t.Errorf("with %s, the application sees %s", served, got)
		}
	}
}

// An error is listed, logged and shown to users: it must tell nothing of what
// the file holds, nor where on the machine it is.
func TestEnvironmentErrorsKeepSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"A=1\nsk-hunter2\nB=hunter2\n":                 ".env: line 2 is not NAME=value",
		"A=1\nhunter2":                                 ".env: line 2 is not NAME=value",
		"# hunter2\n\nA=\"1\n2\"\r\nB='hunter2\nC=1\n": ".env: line 5 is not NAME=value",
		"hunter2! = 1":                                 ".env: line 1 is not NAME=value",
	} {
		apps, log := loadLogged(t, map[string]string{".env": text, "index.ts": source("return 1")})
		_, _, err := apps.Agent("app")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, not %q", text, err, want)
			continue
		}
		if all := log + err.Error(); strings.Contains(all, "hunter2") || strings.Contains(err.Error(), "/") {
			t.Errorf("%q: it tells too much: %s", text, all)
		}
	}
	dir := write(t, map[string]string{"apps/.env": "hunter2", "apps/a/index.ts": source("return 1"), "apps/b/.env/x": "", "apps/b/index.ts": source("return 1")})
	apps := loadApps(t, filepath.Join(dir, "apps"))
	if _, _, err := apps.Agent("a"); err == nil || !strings.HasSuffix(err.Error(), ": ../.env: line 1 is not NAME=value") {
		t.Errorf("a file further up: %v", err)
	}
	if _, _, err := apps.Agent("b"); err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}
