package parley_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// What the server is set up with, keys and databases with it, is not for the
// code of agents.
func TestAgentsDoNotSeeTheServersSettings(t *testing.T) {
	t.Setenv("PARLEY_CREDENTIAL_KEY", "hunter2")
	t.Setenv("Parley_Session_DB_URL", "postgres://u:hunter2@db/x")
	t.Setenv("WEATHER_KEY", "sunny")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(`
		import { LlmAgent } from '@google/adk';
		console.log('sees', ...Object.keys(process.env).filter((name) => /parley|weather/i.test(name)));
		export const rootAgent = new LlmAgent({ name: 'root', model: 'gemini-2.5-flash' });`), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &testkit.Buffer{}
	srv, err := parley.New(parley.Config{AgentDir: dir, AppName: "app", Offline: true, Stdout: io.Discard, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	if text := log.String(); !strings.Contains(text, `"sees WEATHER_KEY"`) {
		t.Errorf("the agent sees %s", text)
	}
}
