package script

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
)

var errNotExist = fs.ErrNotExist

// cached is a bundle with what it was made of. It is valid while all of that is
// still the same.
type cached struct {
	Builtin [sha256.Size]byte
	Sources map[string][sha256.Size]byte // by file; the zero sum for one that was not there
	Names   map[string][sha256.Size]byte // by directory, of what is in it
	Bundle  *bundle
}

// cachedBuild is build with a memory: dir holds one file for each entry, and for
// the bounds in which its imports were found.
func cachedBuild(dir, entry string, within bounds) (*bundle, error) {
	file := cacheFile(dir, strings.Join(append([]string{entry}, within...), "\x00"), ".bundle")
	if b := readCache(file); b != nil {
		return b, nil
	}
	b, err := build(entry, within)
	if err != nil {
		return nil, err
	}
	writeCache(file, entry, b)
	return b, nil
}

func readCache(file string) *bundle {
	var c cached
	if !recall(file, &c) || c.Builtin != builtinSum() {
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

func writeCache(file, entry string, b *bundle) {
	if file == "" {
		return
	}
	c := cached{Builtin: builtinSum(), Sources: map[string][sha256.Size]byte{}, Names: map[string][sha256.Size]byte{}, Bundle: b}
	for _, source := range append([]string{entry}, b.Files...) {
		sum, read := b.read.sums.Load(source)
		if !read { // by the bundler itself, as JSON is
			sum = sumOf(source)
		}
		c.Sources[source] = sum.([sha256.Size]byte)
		if !slices.Contains(strings.Split(filepath.ToSlash(source), "/"), "node_modules") {
			c.surroundings(filepath.Dir(source))
		}
	}
	keep(file, &c)
}

// surroundings adds what decides over the imports of the author's files in a
// directory: what is beside them, what is installed, and the settings.
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

// Comments and the like are no matter: a name too many does no harm.
var (
	extends = regexp.MustCompile(`"extends"\s*:\s*(?:\[[^\]]*\]|"[^"]*")`)
	quoted  = regexp.MustCompile(`"([^"]*)"`)
)

// settings adds a tsconfig.json and what it extends, wherever that may be.
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

// configs are the places that a name in a tsconfig.json may mean.
func configs(dir, name string) (places []string) {
	switch {
	case filepath.IsAbs(name):
		return []string{filepath.Clean(name)}
	case strings.HasPrefix(name, "."):
		return []string{filepath.Join(dir, name)}
	}
	for {
		places = append(places, filepath.Join(dir, "node_modules", name))
		if dir == filepath.Dir(dir) {
			return places
		}
		dir = filepath.Dir(dir)
	}
}

// cacheFile is where dir keeps what belongs to a key; empty if it keeps
// nothing. What is in there is run, so it must be nobody else's to write.
func cacheFile(dir, key, ext string) string {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil || !private(dir) {
		return ""
	}
	name := sha256.Sum256([]byte(key))
	return filepath.Join(dir, hex.EncodeToString(name[:16])+ext)
}

// recall reads a file of the cache, and reports whether that is there and well.
func recall(file string, v any) bool {
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

// keep does what it can: without a cache, starting takes longer.
func keep(file string, v any) {
	if file == "" {
		return
	}
	// Another process may be doing the same: the file appears as a whole.
	tmp, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return
	}
	err = errors.Join(gob.NewEncoder(tmp).Encode(v), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // nothing more can be done about it
	}
}

func sumOf(file string) (sum [sha256.Size]byte) {
	text, err := os.ReadFile(file) //nolint:gosec // a source of the agent's
	if err != nil {
		return sum
	}
	return sha256.Sum256(text)
}

// importable are the files that an import without an ending may lead to.
var importable = []string{".cjs", ".css", ".cts", ".js", ".json", ".jsx", ".mjs", ".mts", ".ts", ".tsx", ".yaml", ".yml"}

// namesOf identifies what in a directory imports may lead to, whatever it holds.
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
	_ = fs.WalkDir(builtin, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := builtin.ReadFile(path)
		_, _ = io.WriteString(h, path)
		_, _ = h.Write(text)
		return err
	})
	return [sha256.Size]byte(h.Sum(nil))
})
