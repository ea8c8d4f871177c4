package host

import (
	"os"
	"path/filepath"
	"testing"
)

// agentDir is an agent's directory with files, in a place with a secret.
func agentDir(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "agent")
	write := func(name, text string) {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("secret.txt", "secret")
	write("agent-2/other.txt", "another agent's")
	write("agent/data/a.txt", "grüße")
	write("agent/data/sub/b.json", `{"b":1}`)
	write("agent/.env", "FROM_FILE=1\nKEPT=file\n# comment\nQUOTED=\"a\\nb # c\" # d\nexport SINGLE='x y'\nPLAIN=v w # note\nEMPTY=\nMULTI=\"one\ntwo\"\n")
	write("agent/other.env", "KEPT=other\n")
	for name, target := range map[string]string{
		"link-in": "data/a.txt", "link-out": "../secret.txt", "link-abs": filepath.Join(top, "secret.txt"), "dir-out": "..", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("links are not to be had here:", err)
		}
	}
	return dir
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := agentDir(t)
	imports := `import fs from "node:fs"; import { readFile, readdir, stat, writeFile } from "fs/promises"; import * as everything from "fs";
		const code = (f) => { try { f(); return "ok" } catch (e) { return e.code } };
		const top = process.cwd();`
	checkSnippets(t, Options{Dir: dir}, imports, []snippet{
		{"read", `[fs.readFileSync("data/a.txt", "utf8"), fs.readFileSync("./data/../data/a.txt", { encoding: "utf-8" }), fs.readFileSync(top + "/data/a.txt").length, everything.readFileSync("link-in", "utf8")]`, `["grüße","grüße",7,"grüße"]`},
		{"read by url", `fs.readFileSync(new URL("./data/a.txt", import.meta.url), "utf8")`, "grüße"},
		{"read by __dirname", `fs.readFileSync(__dirname + "/data/a.txt", "utf8")`, "grüße"},
		{"read as promise", `await readFile("data/a.txt", "utf8")`, "grüße"},
		{"read with callback", `await new Promise((r) => fs.readFile("data/a.txt", "utf8", (e, t) => r([e, t])))`, `[null,"grüße"]`},
		{"read as stream", `let s = ""; for await (const c of fs.createReadStream("data/a.txt", "utf8")) s += c; return s`, "grüße"},
		{"exists", `["data", "data/a.txt", "nope", "../secret.txt", "link-out", "/etc/passwd", ""].map((p) => fs.existsSync(p))`, `[true,true,false,false,false,false,false]`},
		{"stat", `const s = fs.statSync("data/a.txt"); const d = await stat("data"); const l = fs.lstatSync("link-in"); return [s.size, s.isFile(), s.mtime instanceof Date, d.isDirectory(), l.isSymbolicLink(), fs.statSync("nope", { throwIfNoEntry: false })]`, `[7,true,true,true,true,null]`},
		{"readdir", `const d = fs.readdirSync("data", { withFileTypes: true }); return [fs.readdirSync("data"), d.map((e) => [e.name, e.isFile(), e.isDirectory()]), await readdir("data", { recursive: true })]`, `[["a.txt","sub"],[["a.txt",true,false],["sub",false,true]],["a.txt","sub","sub/b.json"]]`},
		{"access", `[code(() => fs.accessSync("data")), code(() => fs.accessSync("nope")), code(() => fs.accessSync("data", fs.constants.W_OK))]`, `["ok","ENOENT","EACCES"]`},
		{"missing", `try { fs.readFileSync("data/nope.txt") } catch (e) { return [e.code, e.errno, e.syscall, e.path, e.message] }`, `["ENOENT",-2,"open","data/nope.txt","ENOENT: no such file or directory, open 'data/nope.txt'"]`},
		{"not a directory", `[code(() => fs.readdirSync("data/a.txt")), code(() => fs.readFileSync("data"))]`, `["ENOTDIR","EISDIR"]`},
		{"outside", `["../secret.txt", top + "/../secret.txt", top + "-2/other.txt", "/etc/passwd", "/", "..", "data/../../secret.txt"].map((p) => code(() => fs.readFileSync(p)))`, `["EACCES","EACCES","EACCES","EACCES","EACCES","EACCES","EACCES"]`},
		{"links that lead out", `["link-out", "link-abs", "dir-out/secret.txt", "dir-out/agent-2/other.txt"].map((p) => code(() => fs.readFileSync(p)))`, `["EACCES","EACCES","EACCES","EACCES"]`},
		{"list through a link", `[code(() => fs.readdirSync("dir-out")), code(() => fs.statSync("dir-out"))]`, `["EACCES","EACCES"]`},
		{"loop", `code(() => fs.readFileSync("loop")) !== "ok"`, "true"},
		{"outside says why", `try { fs.readFileSync("/etc/passwd") } catch (e) { return e.message }`, "EACCES: permission denied, open '/etc/passwd': this runtime gives agents read access to their own directory, and write access to os.tmpdir()"},
		{"write", `try { fs.writeFileSync("x.txt", "x") } catch (e) { return [e.code, e.message] }`, `["EACCES","EACCES: permission denied, open 'x.txt': this runtime gives agents read access to their own directory, and write access to os.tmpdir()"]`},
		{"other writes", `[code(() => fs.mkdirSync("d")), code(() => fs.rmSync("data", { recursive: true })), code(() => fs.unlinkSync("data/a.txt")), code(() => fs.renameSync("data", "e")), code(() => fs.appendFileSync("a", "")), await new Promise((r) => fs.createWriteStream("a").on("error", (e) => r(e.code))), await writeFile("x", "x").catch((e) => e.code), await new Promise((r) => fs.writeFile("x", "", (e) => r(e.code)))]`, `["EACCES","EACCES","EACCES","EACCES","EACCES","EACCES","EACCES","EACCES"]`},
		{"what is not there says so", `try { fs.watch(".") } catch (e) { return e.message }`, "watch of node:fs is not available in this runtime: read files with readFile, and directories with readdir"},
		{"no path", `[code(() => fs.readFileSync(5)), code(() => fs.readFileSync("a\0b")), code(() => fs.readFileSync(null))]`, `["EBADF","ERR_INVALID_ARG_VALUE","ERR_INVALID_ARG_TYPE"]`},
	})
	if entries, _ := os.ReadDir(dir); len(entries) != 9 { // what was there, and index.ts
		t.Errorf("something was written: %v", entries)
	}
}

// Modules know their place without links; the directory may be known with them.
func TestFilesBehindALink(t *testing.T) {
	t.Parallel()
	dir := agentDir(t)
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(dir, linked); err != nil {
		t.Skip("links are not to be had here:", err)
	}
	for _, name := range []string{"data/a.txt", dir + "/data/a.txt", linked + "/data/a.txt"} {
		if _, err := newFiles(linked, nil).do(fileRequest{Op: "read", Path: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := newFiles(linked, nil).do(fileRequest{Op: "read", Path: dir + "/../secret.txt"}); err == nil {
		t.Error("it read the secret")
	}
}

func FuzzFiles(f *testing.F) {
	for _, p := range []string{"a", "../secret.txt", "/etc/passwd", "x/../../secret.txt", "\x00", "link-out", "C:\\x", "//x", "./.", "..\\secret.txt"} {
		f.Add("read", p)
	}
	top := f.TempDir()
	dir := filepath.Join(top, "agent")
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "secret.txt"), []byte("secret"), 0o600); err != nil {
		f.Fatal(err)
	}
	all := newFiles(dir, nil)
	f.Fuzz(func(t *testing.T, op, path string) {
		if out, err := all.do(fileRequest{Op: op, Path: path}); err == nil && op == "read" {
			t.Errorf("%q gave %v from an empty directory", path, out)
		}
	})
}
