package script

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/script/bundle"
)

// A restart is counted when there is an engine again, however often that was
// tried.
func TestRestartsAreCounted(t *testing.T) { onEngines(t, testRestartsAreCounted) }

func testRestartsAreCounted(t *testing.T, on func(*Options)) {
	t.Helper()
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "app")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const code = `import { LlmAgent } from "@google/adk"; export const rootAgent = new LlmAgent({ name: "root", model: "m" });`
	if err := os.WriteFile(filepath.Join(dir, "agent.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	apps := loadApps(t, dir, on)
	root := rootOf(t, apps, "app") // which keeps the instance
	in := onlyInstance(apps)
	count := func() int64 { return apps.Engines()[0].Restarts }
	works, dead := in.bundle, in.engines[0]
	dead.Close()
	in.bundle = &bundle.Bundle{Code: `throw new Error("not today")`}
	for range 3 {
		if e, err := in.pick(t.Context()); err == nil || count() != 0 {
			t.Errorf("an engine %v (%v), and %d restarts", e, err, count())
		}
	}
	in.bundle = works
	for range 3 {
		if e, err := in.pick(t.Context()); err != nil || e == dead || count() != 1 {
			t.Errorf("the engine is the dead one: %t (%v), and there were %d restarts", e == dead, err, count())
		}
	}
	if root.Name() != "root" {
		t.Error("it is another agent")
	}
}

// onlyInstance is that of the only application.
func onlyInstance(apps *Apps) *instance {
	for in := range apps.instances {
		return in
	}
	return nil
}

// What agents are told may change from one engine to the next, and what they
// are may not.
func TestTextsMayChange(t *testing.T) {
	t.Parallel()
	const head = "import { FunctionTool, LlmAgent } from '@google/adk';\nconst now = process.hrtime.bigint(); let n = 0;\n"
	const changing = head + "const fine = new FunctionTool({ name: 'fine', description: `At ${now}.`, parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', description: `${now}` } } } as any, execute: () => ++n });\n" +
		"export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', instruction: `It is ${now}.`, description: `Knows ${now}.`, generateContentConfig: { labels: { at: `${now}` } }, tools: [fine] });"
	var log journal
	load := func(text string) *Apps {
		return loadApps(t, write(t, map[string]string{"index.ts": text}), func(o *Options) {
			o.Engines, o.Log = 2, slog.New(slog.NewTextHandler(&log, nil))
		})
	}
	apps := load(changing)
	root := rootOf(t, apps, "app")
	for range 2 {
		for range 4 {
			if got := result(t, root, "fine"); !strings.Contains(got, `"result":`) {
				t.Errorf("the tool says %s", got)
			}
		}
		onlyInstance(apps).engines[0].Close()
	}
	log.waitFor(t, "restarting the application's engine")
	for name, text := range map[string]string{
		"agents": head + "export const rootAgent = new LlmAgent({ name: `root${now}`, model: 'scripted' });",
		"tools":  head + "export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [new FunctionTool({ name: `tool${now}`, description: '', execute: () => 1 })] });",
	} {
		if _, _, err := load(text).Agent("app"); err == nil || !strings.Contains(err.Error(), "describes other agents each time") {
			t.Errorf("other %s: %v", name, err)
		}
	}
}

// Callers do not wait for a new engine beyond their deadlines, and callers that do
// not need it do not wait at all.
func TestRestartThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	var log journal
	apps := loadApps(t, write(t, map[string]string{"index.ts": source("return 1")}), func(o *Options) {
		limits := generous
		limits.Load = 20 * time.Second
		o.Limits, o.Engines, o.Log = &limits, 2, slog.New(slog.NewTextHandler(&log, nil))
	})
	root := rootOf(t, apps, "app") // which keeps the instance
	in := onlyInstance(apps)
	in.engines[0].Close()
	in.limits.Load = time.Second
	works := in.bundle
	in.bundle = &bundle.Bundle{Code: `await new Promise((done) => setTimeout(done, 1e6));`}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ends := []error{nil, nil}
	for i := range ends {
		_, ends[i] = in.pick(gone)
	}
	if slices.IndexFunc(ends, func(err error) bool { return errors.Is(err, context.Canceled) }) < 0 || slices.Index(ends, nil) < 0 {
		t.Errorf("one of two engines is dead, and callers got %v", ends)
	}
	log.waitFor(t, "the application's engine could not be restarted")
	log.waitFor(t, "took more than 1s")
	in.bundle, in.limits.Load = works, time.Minute
	for range 2 {
		if got := result(t, root, "fine"); got != `{"result":1}` {
			t.Errorf("afterwards, the tool says %s", got)
		}
	}
}
