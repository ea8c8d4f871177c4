package script

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// changer rewrites files of an application, and waits for what is logged then.
func changer(t *testing.T, dir string, log *journal) func(name, text, logged string) {
	t.Helper()
	return func(name, text, logged string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		log.waitFor(t, logged)
	}
}

// A mistake may be anywhere, and is repaired there: in a file that only the code
// before it imported, and in one that never was a part of what worked.
func TestReloadAfterMistakes(t *testing.T) { onEngines(t, testReloadAfterMistakes) }

func testReloadAfterMistakes(t *testing.T, on func(*Options)) {
	t.Helper()
	dir := write(t, map[string]string{
		"index.ts":      "import { say } from './lib';\n" + source(`return say`),
		"lib.ts":        "import { say as inner } from './deep/inner';\nexport const say = inner;",
		"deep/inner.ts": "export const say = 'one';",
	})
	var log journal
	apps := loadApps(t, dir, on, func(o *Options) {
		o.Reload = true
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	change := changer(t, dir, &log)
	said := func(want string) {
		t.Helper()
		if got := result(t, rootOf(t, apps, "app"), "fine"); !strings.Contains(got, want) {
			t.Errorf("it says %s, not %s", got, want)
		}
	}
	const broken = "the version before is still served"
	change("lib.ts", "export const say = ;", broken)
	if err := apps.ReloadError("app"); err == nil || !strings.Contains(err.Error(), "lib.ts:1:20") {
		t.Errorf("the change that does not work: %v", err)
	}
	change("lib.ts", "import { say as inner } from './deep/inner';\nexport const say = inner + '!';", "was reloaded")
	said("one!")
	if err := apps.ReloadError("app"); err != nil {
		t.Errorf("the change that works: %v", err)
	}
	change("index.ts", "export const rootAgent = ;", broken)
	change("deep/inner.ts", "export const say = ;", broken)
	change("index.ts", "import { say } from './lib';\n"+source(`return say`), broken)
	change("deep/inner.ts", "export const say = 'two';", "was reloaded")
	said("two!")
}

func TestReloadOfWhatNeverWorked(t *testing.T) { onEngines(t, testReloadOfWhatNeverWorked) }

func testReloadOfWhatNeverWorked(t *testing.T, on func(*Options)) {
	t.Helper()
	dir := write(t, map[string]string{"index.ts": "import { say } from './lib/say';\n" + source(`return say`), "lib/say.ts": "export const say = ;"})
	var log journal
	loadApps(t, dir, on, func(o *Options) {
		o.Reload = true
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	change := changer(t, dir, &log)
	change("lib/say.ts", "export const = 1;", "still does not work")
	change("lib/say.ts", "export const say = 1;", "was reloaded")
}

// The file that was read is not always beside the entry.
func TestReloadOfEnvironment(t *testing.T) { onEngines(t, testReloadOfEnvironment) }

func testReloadOfEnvironment(t *testing.T, on func(*Options)) {
	t.Helper()
	dir := write(t, map[string]string{"apps/.env": "WORD=one\n", "apps/a/index.ts": source(`return process.env.WORD`)})
	var log journal
	apps := loadApps(t, filepath.Join(dir, "apps"), on, func(o *Options) {
		o.Reload = true
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	change := changer(t, dir, &log)
	for i, step := range []struct{ name, text, logged, want string }{
		{"apps/.env", "WORD=two\n", "was reloaded", "two"},
		{"apps/.env", "WORD\n", "the version before is still served", "two"},
		{"apps/.env", "WORD=three\n", "was reloaded", "three"},
		{"apps/a/.env", "WORD=five\n", "was reloaded", "five"},
	} {
		change(step.name, step.text, step.logged)
		if got := result(t, rootOf(t, apps, "a"), "fine"); !strings.Contains(got, step.want) {
			t.Errorf("%d: it says %s", i, got)
		}
	}
}

// A version that is never ready does not keep a server from ending.
func TestCloseDuringReload(t *testing.T) { onEngines(t, testCloseDuringReload) }

func testCloseDuringReload(t *testing.T, on func(*Options)) {
	t.Helper()
	dir := write(t, map[string]string{"index.ts": source(`return 'one'`)})
	var log journal
	limits := generous
	limits.Load = generous.Turn
	apps := loadApps(t, dir, on, func(o *Options) {
		o.Limits, o.Reload, o.Log = &limits, true, slog.New(slog.NewTextHandler(&log, nil))
	})
	changer(t, dir, &log)("index.ts", "console.log('it loads');\nawait new Promise((done) => setTimeout(done, 1e9));\n"+source(`return 'two'`), "it loads")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		apps.Close()
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("Close does not return")
	}
	if strings.Contains(string(log.text), "level=ERROR") {
		t.Errorf("the log says %s", log.text)
	}
}
