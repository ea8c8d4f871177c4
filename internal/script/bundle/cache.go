package bundle

import (
	"bufio"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/internal/script/js"
)

// cached is a bundle with the checksums of its inputs. It is valid while none of
// them changes.
type cached struct {
	Builtin [sha256.Size]byte
	Sources map[string][sha256.Size]byte // by file; zero for one that does not exist
	Names   map[string][sha256.Size]byte // by directory, of the names in it
	Bundle  *Bundle
}

// Build bundles the application that starts with the file entry for a target, or reads its
// bundle from cacheDir, where nothing is kept if that is empty or if other users
// can write to it. An error of the code is an *Error.
func Build(target Target, cacheDir, entry string, within Bounds) (*Bundle, error) {
	ext := ".bundle"
	if target == Node {
		ext = ".node-bundle"
	}
	file := cacheFile(cacheDir, strings.Join(append([]string{entry}, within...), "\x00"), ext)
	if b := readCache(file); b != nil {
		return b, nil
	}
	b, err := build(target, entry, within)
	if err != nil {
		return nil, err
	}
	writeCache(file, entry, b)
	return b, nil
}

func readCache(file string) *Bundle {
	var c cached
	if !readFile(file, &c) || c.Builtin != builtinSum() {
		return nil
	}
	for source, sum := range c.Sources {
		if sumOf(source) != sum {
			return nil
		}
	}
	for dir, sum := range c.Names {
		if namesOf(dir) != sum {
			return nil
		}
	}
	return c.Bundle
}

func writeCache(file, entry string, b *Bundle) {
	if file == "" {
		return
	}
	c := cached{Builtin: builtinSum(), Sources: map[string][sha256.Size]byte{}, Names: map[string][sha256.Size]byte{}, Bundle: b}
	for _, source := range append([]string{entry}, b.Files...) {
		sum, read := b.read.sums.Load(source)
		if !read { // the bundler reads JSON itself
			sum = sumOf(source)
		}
		c.Sources[source] = sum.([sha256.Size]byte)
		if !slices.Contains(strings.Split(filepath.ToSlash(source), "/"), "node_modules") {
			c.surroundings(filepath.Dir(source))
		}
	}
	for _, dir := range b.read.dirs {
		c.Names[dir] = namesOf(dir)
	}
	writeFile(file, &c)
}

// surroundings adds what determines the imports of the author's files in a
// directory: the files next to them, the installed packages, and the settings.
func (c *cached) surroundings(dir string) {
	if _, seen := c.Names[dir]; seen {
		return
	}
	c.Names[dir] = namesOf(dir)
	for ; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"package.json", "package-lock.json", "node_modules/.package-lock.json"} {
			c.Sources[filepath.Join(dir, name)] = sumOf(filepath.Join(dir, name))
		}
		c.settings(filepath.Join(dir, "tsconfig.json"))
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// These also match in comments: an additional name does no harm.
var (
	extends = regexp.MustCompile(`"extends"\s*:\s*(?:\[[^\]]*\]|"[^"]*")`)
	quoted  = regexp.MustCompile(`"([^"]*)"`)
)

// settings adds a tsconfig.json and the files that it extends.
func (c *cached) settings(file string) {
	if _, seen := c.Sources[file]; seen {
		return
	}
	c.Sources[file] = sumOf(file)
	text, _ := os.ReadFile(file) //nolint:gosec // a source of the agent's
	for _, list := range extends.FindAllString(string(text), -1) {
		for _, name := range quoted.FindAllStringSubmatch(list, -1)[1:] {
			for _, base := range configs(filepath.Dir(file), name[1]) {
				c.settings(base)
				c.settings(base + ".json")
				c.settings(filepath.Join(base, "tsconfig.json"))
			}
		}
	}
}

// configs are the paths that a name in a tsconfig.json may refer to.
func configs(dir, name string) (paths []string) {
	switch {
	case filepath.IsAbs(name):
		return []string{filepath.Clean(name)}
	case strings.HasPrefix(name, "."):
		return []string{filepath.Join(dir, name)}
	}
	for {
		paths = append(paths, filepath.Join(dir, "node_modules", name))
		if dir == filepath.Dir(dir) {
			return paths
		}
		dir = filepath.Dir(dir)
	}
}

// cacheFile returns the file of a key in a cache directory; empty if there is no
// cache. Its content is executed, so no other user may be able to write to it.
func cacheFile(dir, key, ext string) string {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil || !private(dir) {
		return ""
	}
	name := sha256.Sum256([]byte(key))
	return filepath.Join(dir, hex.EncodeToString(name[:16])+ext)
}

// readFile reads a file of the cache, and reports whether it is valid.
func readFile(file string, v any) bool {
	if file == "" {
		return false
	}
	f, err := os.Open(file) //nolint:gosec // a file of our own
	if err != nil {
		return false
	}
	defer f.Close()
	return gob.NewDecoder(bufio.NewReader(f)).Decode(v) == nil
}

// writeFile writes a file of the cache. It ignores errors: without a cache, only
// the start takes longer.
func writeFile(file string, v any) {
	if file == "" {
		return
	}
	// Another process may write the same file, so it is replaced atomically.
	tmp, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return
	}
	err = errors.Join(gob.NewEncoder(tmp).Encode(v), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // best effort
	}
}

func sumOf(file string) (sum [sha256.Size]byte) {
	text, err := os.ReadFile(file) //nolint:gosec // a source of the agent's
	if err != nil {
		return sum
	}
	return sha256.Sum256(text)
}

// importable are the extensions that an import may leave out.
var importable = []string{".cjs", ".css", ".cts", ".js", ".json", ".jsx", ".mjs", ".mts", ".ts", ".tsx", ".yaml", ".yml"}

// namesOf is a checksum of the names in a directory that imports may resolve to.
func namesOf(dir string) [sha256.Size]byte {
	h := sha256.New()
	entries, _ := os.ReadDir(dir) // sorted
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") || slices.Contains(importable, filepath.Ext(e.Name())) {
			fmt.Fprintf(h, "%q %v\n", e.Name(), e.IsDir())
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// builtinSum identifies this binary and the JavaScript that it carries.
var builtinSum = sync.OnceValue(func() [sha256.Size]byte {
	h := sha256.New()
	if program, err := os.Executable(); err == nil {
		if info, err := os.Stat(program); err == nil {
			fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
		}
	}
	_ = fs.WalkDir(js.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(js.FS(), path)
		_, _ = io.WriteString(h, path)
		_, _ = h.Write(text)
		return err
	})
	return [sha256.Size]byte(h.Sum(nil))
})
