package script

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/public"
)

// Applications whose hosts are restricted reach others only.
func TestHosts(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	dir := t.TempDir()
	code := source(`return [await fetch("` + s.URL + `").then((r) => r.status, (e) => e.cause.code)]`)
	if err := os.WriteFile(filepath.Join(dir, "agent.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{"": "200", "public": `"EACCES"`, "127.0.0.0/8": "200"} {
		apps := loadApps(t, dir, func(o *Options) {
			if list != "" {
				o.Hosts = must(public.ParseHosts([]string{list}))
			}
		})
		if got := result(t, rootOf(t, apps, filepath.Base(dir)), "fine"); got != `{"results":[`+want+`]}` {
			t.Errorf("with the hosts %q: %s", list, got)
		}
	}
	// Node.js connects by itself.
	apps := loadApps(t, dir, func(o *Options) { o.Engine, o.Hosts = "node", must(public.ParseHosts([]string{"public"})) })
	if _, _, err := apps.Agent(filepath.Base(dir)); err == nil || !strings.Contains(err.Error(), "--allow_hosts_for_agents") {
		t.Errorf("the error is %v", err)
	}
}
