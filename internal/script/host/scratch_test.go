package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files below os.tmpdir() are written as in Node.js.
func TestScratchAgainstNode(t *testing.T) {
	t.Parallel()
	compareWithNode(t, `import fs from "node:fs"; import { promises as p } from "node:fs"; import os from "node:os"; import path from "node:path"; import util from "node:util"; import readline from "node:readline";
		import { pipeline } from "node:stream/promises"; import { Readable } from "node:stream";
		const top = fs.mkdtempSync(path.join(os.tmpdir(), "test-"));
		const at = (...names) => path.join(top, ...names);
		const said = (e) => [e.name, e.code, e.errno, e.syscall, e.message.replaceAll(top, "TOP"), e.path?.replaceAll(top, "TOP"), e.dest?.replaceAll(top, "TOP")];
		const thrown = (f) => { try { return f() ?? "done" } catch (e) { return said(e) } };
		const text = (name) => fs.readFileSync(at(name), "utf8");
		const events = (s, ...names) => { const all = []; for (const n of names) s.on(n, () => all.push(n)); return all; };
		const ended = (s) => new Promise((r) => s.on("close", r));`,
		`[path.basename(top).length, fs.statSync(top).isDirectory(), fs.readdirSync(top)]`,
		`fs.writeFileSync(at("a.txt"), "grüße"); fs.appendFileSync(at("a.txt"), "!"); await p.appendFile(at("a.txt"), Buffer.from("?")); return [text("a.txt"), fs.statSync(at("a.txt")).size]`,
		`fs.writeFileSync(at("b.bin"), new Uint16Array([1, 2])); fs.writeFileSync(at("c"), "6869", "hex"); return [[...fs.readFileSync(at("b.bin"))], text("c")]`,
		`[thrown(() => fs.writeFileSync(at("a.txt"), "x", { flag: "wx" })), thrown(() => fs.writeFileSync(at("no", "a"), "x")), thrown(() => fs.writeFileSync(top, "x")), thrown(() => fs.writeFileSync(at("a.txt", "b"), "x")), thrown(() => fs.writeFileSync(at("z"), "x", { flag: "r+" }))]`,
		`[thrown(() => fs.writeFileSync(at("a.txt"), 5)).slice(0, 2), thrown(() => fs.writeFileSync(at("q"), "x", { flag: "q" })).slice(0, 2)]`,
		`const made = fs.mkdirSync(at("d", "e", "f"), { recursive: true }); return [made.replaceAll(top, "TOP"), fs.mkdirSync(at("d", "e"), { recursive: true }), thrown(() => fs.mkdirSync(at("d"))), thrown(() => fs.mkdirSync(at("n", "o"))), fs.readdirSync(top, { recursive: true }).sort()]`,
		`[thrown(() => fs.rmdirSync(at("d"))), thrown(() => fs.rmdirSync(at("a.txt"))), thrown(() => fs.unlinkSync(at("nope"))), thrown(() => fs.rmSync(at("d"))), thrown(() => fs.rmSync(at("nope"))), fs.rmSync(at("nope"), { force: true })]`,
		`[thrown(() => fs.writeFileSync(at("n".repeat(300)), "")), thrown(() => fs.mkdirSync(at("/a".repeat(9999)))), thrown(() => fs.statSync(at("/a".repeat(9999)))), thrown(() => fs.renameSync(at("d"), at("/a".repeat(9999))))]`,
		`fs.rmdirSync(at("d", "e", "f")); fs.writeFileSync(at("d", "x"), ""); fs.rmSync(at("d"), { recursive: true }); return fs.existsSync(at("d"))`,
		`fs.renameSync(at("c"), at("r")); return [fs.existsSync(at("c")), text("r"), thrown(() => fs.renameSync(at("c"), at("s")))]`,
		`fs.copyFileSync(at("r"), at("s")); return [text("s"), thrown(() => fs.copyFileSync(at("r"), at("s"), fs.constants.COPYFILE_EXCL)), thrown(() => fs.copyFileSync(at("nope"), at("s")))]`,
		`fs.mkdirSync(at("t/u"), { recursive: true }); fs.writeFileSync(at("t/u/v"), "v"); await p.cp(at("t"), at("w"), { recursive: true }); return [text("w/u/v"), fs.readdirSync(at("w"), { withFileTypes: true }).map((e) => [e.name, e.isDirectory()])]`,
		`fs.truncateSync(at("a.txt"), 2); const cut = text("a.txt"); await p.truncate(at("a.txt"), 4); return [cut, [...fs.readFileSync(at("a.txt"))]]`,
		`fs.utimesSync(at("r"), 1000, new Date(2000)); return fs.statSync(at("r")).mtimeMs`,
		`fs.chmodSync(at("r"), 0o640); return fs.statSync(at("r")).mode & 0o777`,
		`const fd = fs.openSync(at("fd"), "w+"); const n = fs.writeSync(fd, "hello world"); fs.writeSync(fd, Buffer.from("XYZ"), 1, 2, 0); const b = Buffer.alloc(5); const m = fs.readSync(fd, b, 0, 5, 0); const size = fs.fstatSync(fd).size; fs.ftruncateSync(fd, 6); fs.closeSync(fd); return [typeof fd, n, m, b.toString(), size, text("fd"), thrown(() => fs.closeSync(fd)), thrown(() => fs.writeSync(fd, "x")), thrown(() => fs.readSync(fd, b))]`,
		`const fd = fs.openSync(at("fd")); const b = Buffer.alloc(4); const all = []; let n; while ((n = fs.readSync(fd, b)) > 0) all.push(b.toString("utf8", 0, n)); const bad = thrown(() => fs.writeSync(fd, "x")); fs.closeSync(fd); return [all, bad]`,
		`const fd = fs.openSync(at("ap"), "a"); fs.writeSync(fd, "one"); fs.writeSync(fd, "two", 0); fs.writevSync(fd, [Buffer.from("3"), Buffer.from("4")]); fs.closeSync(fd); return text("ap")`,
		`const r = await util.promisify(fs.open)(at("ap"), "r"); const got = await util.promisify(fs.read)(r, Buffer.alloc(3), 0, 3, 0); fs.closeSync(r); return [got.bytesRead, got.buffer.toString(), await util.promisify(fs.exists)(at("ap"))]`,
		`const h = await p.open(at("h"), "w+"); await h.writeFile("line 1\nline 2\n"); await h.appendFile("line 3"); const { bytesRead, buffer } = await h.read(Buffer.alloc(6), 0, 6, 0); const s = await h.stat(); await h.close(); return [bytesRead, buffer.toString(), s.size, text("h"), h.fd]`,
		`const h = await p.open(at("h")); const lines = []; for await (const line of h.readLines()) lines.push(line); return lines`,
		`fs.writeFileSync(at("lines"), "one\r\ntwo\nthrée\rfour\r\n\nlast"); const out = []; for (const highWaterMark of [1, 2, 3, 64]) { const r = readline.createInterface({ input: fs.createReadStream(at("lines"), { highWaterMark }), crlfDelay: Infinity }); const lines = []; r.on("line", (l) => lines.push(l)); await ended(r); out.push(lines) } return out`,
		`const r = readline.createInterface(Readable.from(["a\nb", "\nc"])); const got = []; for await (const l of r) { got.push(l); if (l === "b") break } return [got, r.closed]`,
		`const s = fs.createWriteStream(at("s.txt")); const all = events(s, "open", "ready", "finish", "close"); s.write("a"); s.write(Buffer.from("b")); s.end("c"); await ended(s); return [all, text("s.txt"), s.bytesWritten, s.path === at("s.txt"), s.closed]`,
		`const s = fs.createWriteStream(at("no", "s.txt")); const all = events(s, "open", "error", "close"); await ended(s); return all`,
		`const s = fs.createWriteStream(at("s.txt"), { flags: "r+", start: 1 }); s.end("X"); await ended(s); return text("s.txt")`,
		`const s = fs.createReadStream(at("s.txt"), { encoding: "utf8", start: 1, end: 1, highWaterMark: 1 }); const all = events(s, "open", "ready", "end", "close"); let got = ""; for await (const c of s) got += c; return [got, all, s.bytesRead]`,
		`const s = fs.createReadStream(at("nope")); const all = events(s, "open", "error", "end", "close"); await ended(s); return all`,
		`fs.writeFileSync(at("big"), Buffer.alloc(200_000, "x")); await pipeline(fs.createReadStream(at("big")), fs.createWriteStream(at("copy"))); let parts = 0; for await (const c of fs.createReadStream(at("big"))) parts++; return [fs.statSync(at("copy")).size, parts]`,
		`await pipeline(Readable.from(["x", "y"]), fs.createWriteStream(at("from"))); return text("from")`,
		`await p.writeFile(at("it"), (async function* () { yield "p"; yield "q"; })()); return text("it")`,
		`fs.accessSync(at("it"), fs.constants.R_OK | fs.constants.W_OK); return thrown(() => fs.accessSync(at("nope"), fs.constants.W_OK))`,
		`const d = await p.opendir(at("w")); const names = []; for await (const e of d) names.push(e.name); return names`,
		`await new Promise((r) => fs.mkdtemp(at("m-"), (e, dir) => r([e, path.basename(dir).length])))`,
		`await p.rm(top, { recursive: true }); return fs.existsSync(top)`,
	)
}

// An application can fill its own directory, and nothing else.
func TestScratchQuota(t *testing.T) {
	t.Parallel()
	scratch := NewScratch(1 << 20)
	t.Cleanup(func() { _ = scratch.Close() })
	dir := agentDir(t)
	checkSnippets(t, Options{Dir: dir, Scratch: scratch}, `import fs from "node:fs"; import os from "node:os";
		const tmp = os.tmpdir(); const code = (f) => { try { f(); return "ok" } catch (e) { return e.code } };
		const half = Buffer.alloc(1 << 19); const clean = () => { for (const n of fs.readdirSync(tmp)) fs.rmSync(tmp + "/" + n, { recursive: true }) };`, []snippet{
		{"the quota", `clean(); fs.writeFileSync(tmp + "/a", half); fs.writeFileSync(tmp + "/b", half); return [code(() => fs.writeFileSync(tmp + "/c", "x")), code(() => fs.appendFileSync(tmp + "/a", "x")), code(() => fs.writeFileSync(tmp + "/a", half)), code(() => fs.writeFileSync(tmp + "/d", ""))]`, `["ENOSPC","ENOSPC","ok","ok"]`},
		{"it says so", `try { fs.writeFileSync(tmp + "/c", "x") } catch (e) { return e.message.replace(tmp, "TMP") }`, "ENOSPC: no space left on device, open 'TMP/c': the code of an application may keep 1 MiB and 10000 files there; the operator of the server can allow more bytes (--scratch_size)"},
		{"what was there stays", `try { fs.writeFileSync(tmp + "/a", Buffer.alloc(1 << 20)) } catch {} return fs.statSync(tmp + "/a").size`, fmt.Sprint(1 << 19)},
		{"space is given back", `fs.unlinkSync(tmp + "/a"); fs.renameSync(tmp + "/b", tmp + "/d"); fs.writeFileSync(tmp + "/e", half); fs.truncateSync(tmp + "/e", 10); fs.writeFileSync(tmp + "/f", half.subarray(10)); return [code(() => fs.writeFileSync(tmp + "/g", "x")), code(() => fs.copyFileSync(tmp + "/e", tmp + "/g")), code(() => fs.copyFileSync("data/a.txt", tmp + "/g"))]`, `["ENOSPC","ENOSPC","ENOSPC"]`},
		{"holes count", `clean(); const fd = fs.openSync(tmp + "/h", "w"); return [code(() => fs.writeSync(fd, "x", 1e15)), code(() => fs.ftruncateSync(fd, 1e15)), code(() => fs.writeSync(fd, "x", 1e6)), code(() => fs.truncateSync(tmp + "/h", -1))]`, `["ENOSPC","ENOSPC","ok","EINVAL"]`},
		{"entries count", `clean(); let n = 0; try { for (;; n++) n % 2 ? fs.writeFileSync(tmp + "/" + n, "") : fs.mkdirSync(tmp + "/" + n) } catch (e) { clean(); return [n, e.code, code(() => fs.mkdirSync(tmp + "/again/and/again", { recursive: true }))] }`, `[10000,"ENOSPC","ok"]`},
		{"copies of what can be read", `clean(); fs.copyFileSync("data/a.txt", tmp + "/a"); return [fs.readFileSync(tmp + "/a", "utf8"), code(() => fs.copyFileSync("/etc/passwd", tmp + "/b")), code(() => fs.copyFileSync(tmp + "/a", "data/b")), code(() => fs.renameSync("data/a.txt", tmp + "/b")), code(() => fs.renameSync(tmp + "/a", "data/b"))]`, `["grüße","EACCES","EACCES","EACCES","EACCES"]`},
		{"outside", `[tmp + "/..", tmp + "/../lock", tmp + "/../../x", "/tmp/x", tmp + "x"].map((p) => code(() => fs.writeFileSync(p, "x")))`, `["EACCES","EACCES","EACCES","EACCES","EACCES"]`},
		{"links", `[code(() => fs.symlinkSync("/etc/passwd", tmp + "/l")), code(() => fs.linkSync("/etc/passwd", tmp + "/l"))]`, `["EACCES","EACCES"]`},
		{"itself", `[code(() => fs.rmSync(tmp, { recursive: true })), code(() => fs.rmdirSync(tmp)), code(() => fs.renameSync(tmp, tmp + "/x")), code(() => fs.mkdirSync(tmp)), fs.mkdirSync(tmp, { recursive: true })]`, `["EBUSY","EBUSY","EBUSY","EEXIST",null]`},
		{"directories can be deleted", `clean(); fs.mkdirSync(tmp + "/a"); fs.writeFileSync(tmp + "/a/b", "x"); fs.chmodSync(tmp + "/a", 0); fs.rmSync(tmp + "/a", { recursive: true }); return fs.readdirSync(tmp)`, `[]`},
		{
			"depth", `clean(); const deep = (n) => tmp + "/a".repeat(n); fs.writeFileSync(tmp + "/f", "x"); fs.mkdirSync(tmp + "/b/c", { recursive: true }); return [code(() => fs.mkdirSync(deep(2000), { recursive: true })), code(() => fs.mkdirSync(deep(65), { recursive: true })), fs.existsSync(tmp + "/a"), code(() => fs.mkdirSync(deep(63), { recursive: true })),
			code(() => fs.writeFileSync(deep(64), "x")), code(() => fs.writeFileSync(deep(65), "x")), code(() => fs.copyFileSync(tmp + "/f", deep(63) + "/b/c")), code(() => fs.renameSync(tmp + "/f", deep(63) + "/b/c")), code(() => fs.renameSync(tmp + "/b", deep(63) + "/b")), code(() => fs.renameSync(tmp + "/b", deep(62) + "/b")), code(() => fs.renameSync(tmp + "/a", tmp + "/d"))]`,
			`["ENAMETOOLONG","ENAMETOOLONG",false,"ok","ok","ENAMETOOLONG","ENAMETOOLONG","ENAMETOOLONG","ENAMETOOLONG","ok","ok"]`,
		},
		{"descriptors", `clean(); fs.writeFileSync(tmp + "/a", ""); let n = 0; try { for (;; n++) fs.openSync(tmp + "/a") } catch (e) { return [n > 1000, e.code] }`, `[true,"EMFILE"]`},
	})
	if bytes, entries := scratch.count("."); scratch.used != bytes || scratch.entries != entries-1 {
		t.Errorf("%d bytes and %d entries are counted, %d and %d are there", scratch.used, scratch.entries, bytes, entries-1)
	}
	place, parent := scratch.dir, scratch.parent
	if err := scratch.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(parent.Path); err == nil {
		t.Error("it is still there")
	}
	if _, err := newFiles(dir, scratch).do(fileRequest{Op: "write", Path: place + "/x", Create: true}); err == nil {
		t.Error("a file was written after Close")
	}
}

// Two names of one file are not two files: nothing is replaced, and nothing lost.
func TestScratchSameFile(t *testing.T) {
	t.Parallel()
	scratch := NewScratch(1 << 10)
	t.Cleanup(func() { _ = scratch.Close() })
	dir, err := scratch.path()
	if err != nil {
		t.Fatal(err)
	}
	all := newFiles(filepath.Join(dir, "nowhere"), scratch)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if _, err := all.do(fileRequest{Op: "write", Path: a, Data: "eHg=", Create: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(a, b); err != nil {
		t.Skip(err)
	}
	for _, r := range []fileRequest{{Op: "copy", Path: a, To: b}, {Op: "copy", Path: a, To: a}, {Op: "rename", Path: a, To: b}, {Op: "rename", Path: b, To: b}} {
		if _, err := all.do(r); err != nil {
			t.Errorf("%s: %v", r.Op, err)
		}
		if data, err := os.ReadFile(b); err != nil || string(data) != "xx" {
			t.Errorf("%s: the file has %q, %v", r.Op, data, err)
		}
		if scratch.used != 2 || scratch.entries != 1 {
			t.Errorf("%s: %d bytes and %d entries are counted", r.Op, scratch.used, scratch.entries)
		}
	}
	if _, err := all.do(fileRequest{Op: "copy", Path: a, To: b, Exclusive: true}); err == nil || !strings.HasPrefix(err.Error(), "EEXIST") {
		t.Errorf("an exclusive copy: %v", err)
	}
}

// The directory may be named by a relative path, and is created again if something
// has deleted it.
func TestScratchPath(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", ".")
	scratch := NewScratch(2)
	t.Cleanup(func() { _ = scratch.Close() })
	for range 2 {
		dir, err := scratch.path()
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsAbs(dir) {
			t.Errorf("the path is %s", dir)
		}
		r := fileRequest{Op: "write", Path: filepath.Join(dir, "a"), Data: "eHg=", Create: true}
		if _, err := newFiles(filepath.Join(dir, "nowhere"), scratch).do(r); err != nil {
			t.Error(err)
		}
		if scratch.used != 2 || scratch.entries != 1 {
			t.Errorf("%d bytes and %d entries are counted", scratch.used, scratch.entries)
		}
		if again, err := scratch.path(); again != dir || err != nil {
			t.Errorf("it is %s then, %v", again, err)
		}
		if err := os.RemoveAll(scratch.parent.Path); err != nil {
			t.Fatal(err)
		}
	}
}

// Without a directory to write to, nothing can be written.
func TestNoScratch(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{Dir: agentDir(t)}, `import fs from "node:fs"; import os from "node:os";`, []snippet{
		{"tmpdir", `os.tmpdir()`, "/tmp"},
		{"write", `try { fs.mkdtempSync(os.tmpdir() + "/x-") } catch (e) { return e.code }`, "EACCES"},
	})
}

func FuzzScratch(f *testing.F) {
	for op := range strings.FieldsSeq("write truncate mkdir rm rmdir unlink rename copy chmod utimes read list stat") {
		f.Add(op, "a", "b", "eA==", int64(0), true)
		f.Add(op, "../a", "/etc/passwd", "eA==", int64(-1), true)
		f.Add(op, ".", "a/b/c", "", int64(1<<62), false)
		f.Add(op, "b/\xff/c", "\xff/a", "eA==", int64(0), true)
	}
	f.Fuzz(func(t *testing.T, op, from, to, data string, at int64, yes bool) {
		scratch := NewScratch(1 << 10)
		defer func() { _ = scratch.Close() }()
		dir, err := scratch.path()
		if err != nil {
			t.Fatal(err)
		}
		all := newFiles(filepath.Join(dir, "nowhere"), scratch)
		for _, r := range []fileRequest{
			{Op: "write", Path: dir + "/a", Data: "eHg=", Create: true},
			{Op: "mkdir", Path: dir + "/b/c", Recursive: true},
			{Op: op, Path: dir + "/" + from, To: dir + "/" + to, Data: data, At: at, Create: yes, Truncate: !yes, Recursive: yes},
		} {
			_, _ = all.do(r)
		}
		if bytes, entries := scratch.count("."); scratch.used != bytes || scratch.entries != entries-1 || bytes > 1<<10 {
			t.Errorf("%d bytes and %d entries are counted, %d and %d are there", scratch.used, scratch.entries, bytes, entries-1)
		}
	})
}
