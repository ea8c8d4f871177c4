package script

import (
	"os"
	"path/filepath"
	"testing"
)

// A restart is counted when there is an engine again, however often that was
// tried.
func TestRestartsAreCounted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "app")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const code = `import { LlmAgent } from "@google/adk"; export const rootAgent = new LlmAgent({ name: "root", model: "m" });`
	if err := os.WriteFile(filepath.Join(dir, "agent.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	apps := loadApps(t, dir)
	root := rootOf(t, apps, "app") // which keeps the instance
	var in *instance
	for in = range apps.instances {
	}
	count := func() int64 { return apps.Engines()[0].Restarts }
	works, dead := in.bundle, in.guests[0]
	dead.engine.end(errDead)
	in.bundle = &bundle{Code: `throw new Error("not today")`}
	for range 3 {
		if g, err := in.alive(t.Context()); err == nil || count() != 0 {
			t.Errorf("a guest %v without an engine (%v), and %d restarts", g, err, count())
		}
	}
	in.bundle = works
	for range 3 {
		if g, err := in.alive(t.Context()); err != nil || g == dead || count() != 1 {
			t.Errorf("the guest is the dead one: %t (%v), and there were %d restarts", g == dead, err, count())
		}
	}
	if root.Name() != "root" {
		t.Error("it is another agent")
	}
}
