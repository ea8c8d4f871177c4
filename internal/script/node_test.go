//go:build linux

package script

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/script/tempdir"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// nodeImports is what the tools of these tests use.
const nodeImports = `import { execFileSync, spawn } from 'node:child_process';
import { closeSync, writeSync } from 'node:fs';
import os from 'node:os';
let kept: any[] = [];
`

// What a package.json says decides, if the operator allows it.
func TestEngineOfApplication(t *testing.T) {
	t.Parallel()
	nodejs.Node(t)
	files := func(pkg string) map[string]string {
		return map[string]string{"package.json": pkg, "index.ts": source(`return typeof WebAssembly`)}
	}
	for name, tt := range map[string]struct {
		pkg       string
		engine    string
		processes bool
		want      string // of the tool
		fails     string
	}{
		"in package.json":        {`{"parley": {"engine": "node"}}`, "", true, "object", ""},
		"not allowed":            {`{"parley": {"engine": "node"}}`, "", false, "", "--allow_processes"},
		"of the operator":        {`{}`, "node", false, "object", ""},
		"of both":                {`{"parley": {"engine": "node"}}`, "node", false, "object", ""},
		"none":                   {`{}`, "", true, "undefined", ""},
		"another than operators": {`{"parley": {"engine": "quickjs"}}`, "node", true, "undefined", ""},
		"unknown":                {`{"parley": {"engine": "deno"}}`, "", true, "", `"deno" is neither "quickjs" nor "node"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apps := loadApps(t, write(t, files(tt.pkg)), func(o *Options) { o.Engine, o.Processes = tt.engine, tt.processes })
			if tt.fails != "" {
				if _, _, err := apps.Agent("app"); err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("it is loaded with %v", err)
				}
				return
			}
			if got := result(t, rootOf(t, apps, "app"), "fine"); !strings.Contains(got, tt.want) {
				t.Errorf("the tool says %s", got)
			}
		})
	}
}

// The error names the application, because others work.
func TestNoNode(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	apps := loadApps(t, write(t, map[string]string{"index.ts": source(`return 1`)}), onNode)
	if _, _, err := apps.Agent("app"); err == nil || !strings.Contains(err.Error(), `the application "app" needs Node.js`) || !strings.Contains(err.Error(), "install Node.js 20 or newer") {
		t.Errorf("it is loaded with %v", err)
	}
}

func TestOldNode(t *testing.T) {
	node, dir := nodejs.Node(t), t.TempDir()
	script := "#!/bin/sh\nexec " + node + ` -r ` + filepath.Join(dir, "old.js") + ` "$@"` + "\n"
	for name, text := range map[string]string{"node": script, "old.js": `Object.defineProperty(process, "versions", { value: { node: "18.1.0" } }); Object.defineProperty(process, "version", { value: "v18.1.0" });`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	apps := loadApps(t, write(t, map[string]string{"index.ts": source(`return 1`)}), onNode)
	if _, _, err := apps.Agent("app"); err == nil || !strings.Contains(err.Error(), `the application "app": Node.js 20 or newer is needed, and this is v18.1.0`) {
		t.Errorf("it is loaded with %v", err)
	}
}

// What QuickJS does not have: packages as Node.js loads them, native addons,
// WebAssembly, processes.
func TestNodeOnly(t *testing.T) {
	t.Parallel()
	nodejs.Node(t)
	apps := loadApps(t, write(t, map[string]string{
		"node_modules/old/package.json":    `{"name": "old", "main": "main.js"}`,
		"node_modules/old/main.js":         `exports.here = require('fs').readFileSync(__dirname + '/data.txt', 'utf8'); Object.assign(exports, { hidden: 'from a CommonJS module' });`,
		"node_modules/old/data.txt":        `next to the package`,
		"node_modules/new/package.json":    `{"name": "new", "type": "module", "exports": {"import": "./main.js"}}`,
		"node_modules/new/main.js":         `export const at = import.meta.url; export default 'a default';`,
		"node_modules/helper/package.json": `{"name": "helper", "main": "main.js", "peerDependencies": {"@google/adk": "*"}}`,
		"node_modules/helper/main.js":      `const { FunctionTool } = require('@google/adk'); exports.tool = new FunctionTool({ name: 'helped', description: 'h', execute: () => 'helped' });`,
		"index.ts": `import { here, hidden } from 'old'; import standard, { at } from 'new'; import { tool } from 'helper';
` + strings.Replace(appOf(nodeImports, `
	packages: async () => [here, hidden, standard, new URL(at).pathname.endsWith('/node_modules/new/main.js'), (await import('new')).default === standard, (await import(['o', 'ld'].join(''))).default.here === here],
	process: () => execFileSync('echo', ['from a process']).toString(),
	wasm: async () => (await WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))).instance instanceof WebAssembly.Instance,
	addon: () => process.dlopen.length >= 0,
`), "execute }))", "execute })).concat(tool as any)", 1),
	}), onNode)
	root := rootOf(t, apps, "app")
	for name, want := range map[string]string{
		"packages": `{"results":["next to the package","from a CommonJS module","a default",true,true,true]}`,
		"process":  `{"result":"from a process\n"}`,
		"wasm":     `{"result":true}`,
		"helped":   `{"result":"helped"}`,
	} {
		if got := result(t, root, name); got != want {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
}

// The process has the environment of the application, and nothing of the server.
func TestNodeEnvironment(t *testing.T) {
	nodejs.Node(t)
	t.Setenv("SERVER_SECRET", "hunter2")
	apps := loadApps(t, write(t, map[string]string{".env": "WORD=of the application\nNODE_OPTIONS=--no-such-option\n", "index.ts": appOf(nodeImports, `
	env: () => [process.env.WORD, process.env.SERVER_SECRET ?? 'none', execFileSync(process.execPath, ['-p', 'Object.keys(process.env).sort().join()'], { env: { ...process.env, NODE_OPTIONS: '' } }).toString().includes('SECRET')],
	started: () => execFileSync('cat', ['/proc/' + process.pid + '/environ']).toString().split('\0').map((v) => v.split('=')[0]).sort().join(),
	places: () => [process.cwd() === __dirname, os.tmpdir().includes('parley-node-'), os.homedir().includes('parley-node-')],
`)}), onNode)
	root := rootOf(t, apps, "app")
	for name, want := range map[string]string{
		"env":     `{"results":["of the application","none",false]}`,
		"started": `{"result":",ENGINE_OF_PARLEY,HOME,PATH,TMPDIR"}`,
		"places":  `{"results":[true,true,true]}`,
	} {
		if got := result(t, root, name); got != want {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
}

// A process that misbehaves is replaced. The other application answers at all
// times, and nothing of the process is left.
func TestHostileNode(t *testing.T) {
	t.Parallel()
	nodejs.Node(t)
	good := rootOf(t, loadApps(t, "testdata/hostility", onNode, func(o *Options) { o.Limits = &generous }), "good")
	for name, tt := range map[string]struct{ code, want string }{
		"spins":           {`for (;;) {}`, "without yielding"},
		"waits":           {`Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`, "without yielding"},
		"forks":           {`for (let i = 0; i < 20; i++) { spawn('sleep', ['100000'], { detached: i % 2 === 0, stdio: 'ignore' }); } for (;;) {}`, "without yielding"},
		"forks forever":   {`const more = () => { for (let i = 0; i < 20; i++) spawn('sleep', ['100000'], { stdio: 'ignore' }).on('error', () => {}); setTimeout(more, 1); }; more(); return new Promise(() => {})`, "processes"},
		"forks deeper":    {`spawn('sh', ['-c', 'i=0; while [ $i -lt 300 ]; do sleep 100000 & i=$((i+1)); done; wait'], { stdio: 'ignore' }); return new Promise(() => {})`, "processes"},
		"eats memory":     {`for (;;) kept.push({ next: kept.at(-1) })`, "ran out of memory"},
		"eats buffers":    {`for (;;) kept.push(Buffer.alloc(1 << 20, 1))`, "error"},
		"ignores signals": {`for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGCONT']) process.on(s, () => {}); for (;;) {}`, "without yielding"},
		"stops itself":    {`process.kill(process.pid, 'SIGSTOP'); return new Promise(() => {})`, "without yielding"},
		"kills itself":    {`process.kill(process.pid, 'SIGKILL'); return new Promise(() => {})`, "has ended"},
		"exits":           {`(process as any).reallyExit(0)`, "ended"},
		"closes pipes":    {`for (let i = 3; i < 100; i++) try { closeSync(i) } catch {}; return 1`, ""},
		"writes nonsense": {`writeSync(4, Buffer.alloc(100, 255)); return new Promise(() => {})`, "not understood"},
		"lies":            {`const text = Buffer.from('["post","ok",1]'), head = Buffer.alloc(4); head.writeUInt32LE(text.length); writeSync(4, Buffer.concat([head, text])); return new Promise(() => {})`, "not understood"},
		"prints":          {`for (let i = 0; i < 100; i++) process.stdout.write('x'.repeat(100_000)); return 'printed'`, "printed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := engine.Limits{Memory: 64 << 20, Turn: 2 * time.Second, Call: 2 * time.Minute}
			if strings.HasPrefix(name, "eats") { // on a busy machine that takes its time
				limits.Turn = limits.Call
			}
			apps, err := Load(t.Context(), Options{
				Dir:    write(t, map[string]string{"index.ts": appOf(nodeImports, "hostile: () => {"+tt.code+"}, fine: () => 'fine', pid: () => [process.pid, process.env.ENGINE_OF_PARLEY]")}),
				Models: caller, Log: slog.New(slog.DiscardHandler), Engine: "node", Limits: &limits,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer apps.Close()
			root := rootOf(t, apps, "app")
			pid, mark := identity(t, result(t, root, "pid"))
			done := make(chan string, 1)
			go func() { done <- result(t, root, "hostile") }()
			for busy := true; busy; {
				if got := result(t, good, "fine"); !strings.Contains(got, "calls") {
					t.Fatalf("the other application says %s", got)
				}
				select {
				case got := <-done:
					busy = false
					if !strings.Contains(got, tt.want) {
						t.Errorf("it says %.300s, want %q in it", got, tt.want)
					}
				case <-time.After(200 * time.Millisecond): // a processor is left for the code that misbehaves
				}
			}
			well(t, root, "after it "+name)
			if tt.want == "printed" || name == "eats buffers" {
				return // it goes on
			}
			testkit.Eventually(t, "the end of the process and what it has started", func() bool { return len(marked(mark)) == 0 && !alive(pid) })
		})
	}
}

// identity reads the answer of the tool pid.
func identity(t *testing.T, answer string) (pid int, mark string) {
	t.Helper()
	var got struct{ Results [2]any }
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("the tool says %s: %v", answer, err)
	}
	number, _ := got.Results[0].(float64)
	mark, _ = got.Results[1].(string)
	return int(number), mark
}

// marked are the processes with a mark in their environment.
func marked(mark string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(mark)) {
			found = append(found, file)
		}
	}
	return found
}

// alive reports whether a process exists and has not ended.
func alive(pid int) bool {
	text := stat(pid)
	return text != "" && !strings.Contains(text, ") Z")
}

// stat is what the system says of a process; empty if it does not exist.
func stat(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return string(text)
}

// A service manager sends signals to all processes of a service; runs go on until
// the server ends them.
func TestNodeGoesOnAfterSignals(t *testing.T) {
	t.Parallel()
	nodejs.Node(t)
	root := rootOf(t, loadApps(t, write(t, map[string]string{"index.ts": appOf(nodeImports, "pid: () => [process.pid, process.env.ENGINE_OF_PARLEY]")}), onNode), "app")
	before := result(t, root, "pid")
	pid, _ := identity(t, before)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
		if after := result(t, root, "pid"); after != before {
			t.Fatalf("after the signal %v, the process is %s, before %s", signal, after, before)
		}
	}
}

// serverDir is the variable with the application of a server that is killed.
const serverDir = "SCRIPT_TEST_SERVER"

// A server that is killed leaves no process behind, whatever that does.
func TestNodeEndsWithServer(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(serverDir); dir != "" {
		serveUntilKilled(t, dir)
		return
	}
	nodejs.Node(t)
	for name, code := range map[string]string{
		"idle":    ``,
		"killed":  `process.kill(process.pid, 'SIGSTOP')`,
		"spins":   `for (;;) {}`,
		"stopped": `process.kill(process.pid, 'SIGSTOP')`,
		"forks":   `spawn('sleep', ['100000'], { stdio: 'ignore' }); spawn('sleep', ['100000'], { stdio: 'ignore', detached: true })`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, map[string]string{"index.ts": appOf(nodeImports, "pid: () => { setTimeout(() => {"+code+"}, 1); return [process.pid, process.env.ENGINE_OF_PARLEY, os.tmpdir()] }")})
			server := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNodeEndsWithServer$", "-test.v")
			server.Env = append(os.Environ(), serverDir+"="+dir)
			out, err := server.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			var (
				pid         int
				mark, place string
			)
			for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
				if _, answer, ok := strings.Cut(lines.Text(), "PID "); ok {
					var got struct{ Results [3]any }
					if err := json.Unmarshal([]byte(answer), &got); err != nil {
						t.Fatal(err)
					}
					number, _ := got.Results[0].(float64)
					pid = int(number)
					mark, _ = got.Results[1].(string)
					place, _ = got.Results[2].(string)
				}
			}
			if pid == 0 {
				t.Fatal("the server does not say who it is")
			}
			if name == "stopped" || name == "killed" { // after the signal that the end of the server sends, it would stay so
				testkit.Eventually(t, "the process to stop", func() bool { return strings.Contains(stat(pid), ") T") })
			}
			if name == "forks" {
				testkit.Eventually(t, "the processes that it starts", func() bool { return len(marked(mark)) == 3 })
			}
			_ = server.Process.Signal(syscall.SIGKILL)
			_ = server.Wait()
			if name == "killed" {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			testkit.Eventually(t, "the end of the process", func() bool { return !alive(pid) && len(marked(mark)) == 0 })
			if name == "killed" { // the next process deletes the directory
				then := time.Now().Add(-time.Hour)
				_ = os.Chtimes(filepath.Join(filepath.Dir(place), "lock"), then, then)
				rootOf(t, loadApps(t, dir, onNode), "app")
			}
			if place == "" {
				t.Fatal("the process has no directory")
			}
			// Another test may be deleting it at the moment, and be killed in the meantime.
			testkit.Eventually(t, "the end of the directory "+place, func() bool {
				if name == "killed" {
					then := time.Now().Add(-time.Hour)
					_ = os.Chtimes(filepath.Dir(place), then, then)
					if next, err := tempdir.New("parley-node-"); err != nil || next.Close() != nil {
						t.Error("a directory of another process cannot be made and deleted")
					}
				}
				_, err := os.Stat(filepath.Dir(place))
				return os.IsNotExist(err)
			})
		})
	}
}

// serveUntilKilled loads the application in dir, says who it is, and waits.
func serveUntilKilled(t *testing.T, dir string) {
	t.Helper()
	limits := engine.Limits{Memory: 64 << 20, Turn: time.Hour, Call: time.Hour}
	root := rootOf(t, loadApps(t, dir, onNode, func(o *Options) { o.Limits = &limits }), "app")
	fmt.Printf("PID %s\n", result(t, root, "pid"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	<-ctx.Done()
}

// A package that QuickJS cannot run says how Node.js runs it.
func TestPackageThatNeedsNode(t *testing.T) {
	t.Parallel()
	nodejs.Node(t)
	files := map[string]string{
		"node_modules/@org/early/package.json": `{"name": "@org/early"}`,
		"node_modules/@org/early/index.js":     `exports.size = new WebAssembly.Memory({ initial: 1 }).buffer.byteLength;`,
		"node_modules/late/package.json":       `{"name": "late"}`,
		"node_modules/late/index.js":           `exports.run = () => require('child_process').execFileSync('echo', ['hello']).toString();`,
		"early/index.ts":                       "import { size } from '@org/early';\n" + source(`return size`),
		"late/index.ts":                        "import { run } from 'late';\n" + source(`return run()`),
	}
	const line = `put "parley": {"engine": "node"} into the package.json of the agent`
	var log journal
	apps := loadApps(t, write(t, files), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	if _, _, err := apps.Agent("early"); err == nil || !strings.Contains(err.Error(), `if the package "@org/early" needs Node.js itself, `+line) {
		t.Errorf("it is loaded with %v", err)
	}
	var said struct{ Error string }
	if got := result(t, rootOf(t, apps, "late"), "fine"); json.Unmarshal([]byte(got), &said) != nil || !strings.Contains(said.Error, line) {
		t.Errorf("the tool says %s", got)
	}
	log.waitFor(t, `if the package \"late\" needs Node.js itself`)

	for name := range map[string]bool{"early": true, "late": true} {
		files[name+"/package.json"] = `{"parley": {"engine": "node"}}`
	}
	apps = loadApps(t, write(t, files), func(o *Options) { o.Processes = true })
	for name, want := range map[string]string{"early": `{"result":65536}`, "late": `{"result":"hello\n"}`} {
		if got := result(t, rootOf(t, apps, name), "fine"); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
