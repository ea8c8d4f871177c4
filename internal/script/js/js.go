// Package js holds the JavaScript that the binary carries: the runtime, the
// packages that agents are written against, and the modules of Node.js.
package js

import (
	"archive/zip"
	"bytes"
	"embed"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// The packages of other authors are in an archive, which third_party/update.sh
// makes: they are a quarter of the size in it, and read only where a bundle or a
// library is not in the cache.
//
//go:embed adk crypto fs genai http node onnode prelude third_party.zip *.cjs *.js
var files embed.FS

const thirdParty = "third_party/"

var packages = sync.OnceValue(func() *zip.Reader {
	text, _ := files.ReadFile("third_party.zip")
	r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return &zip.Reader{} // a test reads it
	}
	return r
})

type tree struct{}

func (tree) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, thirdParty) {
		return packages().Open(name)
	}
	return files.Open(name)
}

// FS returns the files. Those below third_party can be opened, and are not listed.
func FS() fs.FS { return tree{} }

// modules maps what an agent may import to the file that implements it. A name
// that ends in /* matches everything below it.
var modules = map[string]string{
	"@google/adk":      "adk/google.cjs",
	"@google/adk/*":    "adk/google.cjs",
	"adk-typescript":   "adk/typescript.cjs",
	"adk-typescript/*": "adk/typescript.cjs",
	"@google/genai":    "genai.cjs",
	"@google/genai/*":  "genai.cjs",
}

// fallbacks maps packages that need not be installed to the file that implements
// what most agents use of them.
var fallbacks = map[string]string{
	"dotenv":        "dotenv.cjs",
	"dotenv/config": "dotenv.cjs",
	"node-fetch":    "node-fetch.cjs",
	"uuid":          "uuid.cjs",
}

// Module returns the file that implements a package or a module of Node.js,
// whose name has no node: prefix. It takes the place of one that is installed.
func Module(name string) (file string, ok bool) {
	if file, ok := modules[name]; ok {
		return file, true
	}
	for i := len(name); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if file, ok := modules[name[:i]+"/*"]; ok {
			return file, true
		}
	}
	return exists("node/" + name + ".cjs")
}

// Fallback returns the file that implements a package where none is installed:
// one of fallbacks, or zod and what is below it.
func Fallback(name string) (file string, ok bool) {
	if file, ok := fallbacks[name]; ok {
		return file, true
	}
	rest, ok := strings.CutPrefix(name, "zod")
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return exists(path.Join(thirdParty+"zod", rest, "index.js"))
}

// nodejs is the directory of modules of Node.js itself. What they import of its
// inside, and the names that it has for them, are in the module of inside.
const (
	nodejs = thirdParty + "nodejs/"
	within = "http/internal.cjs"
)

// aliases are what modules of others import under other names.
var aliases = map[string]string{"abort-controller": "prelude/abort.js", "process/": "node/process.cjs", "string_decoder/": "node/string_decoder.cjs"}

// Resolve returns the file that one of the files means by an import.
func Resolve(importer, name string) (file string, ok bool) {
	if file, ok := strings.CutPrefix(name, "parley:"); ok {
		return file, true
	}
	if strings.HasPrefix(name, ".") {
		file := path.Join(path.Dir(importer), name)
		if path.Ext(file) == "" {
			file += ".js"
		}
		return exists(file)
	}
	if strings.HasPrefix(importer, nodejs) {
		if file, ok := exists(nodejs + strings.TrimPrefix(name, "_") + ".js"); ok {
			return file, true
		}
		if strings.HasPrefix(name, "internal/") || name == within {
			return within, true
		}
	}
	if file, ok := aliases[name]; ok {
		return file, true
	}
	if file, ok := Module(strings.TrimPrefix(name, "node:")); ok {
		return file, true
	}
	return Fallback(name)
}

// Prefix returns what a file needs in front of it.
func Prefix(file string) string {
	if strings.HasPrefix(file, nodejs) {
		return `const { primordials, internalBinding } = require("` + within + `"); `
	}
	return ""
}

// ForNode returns the file that takes the place of another one where Node.js
// itself runs the code. name is that of the module of Node.js, without the node:
// prefix, if the file implements one; it is not needed then.
func ForNode(file string) (other, name string) {
	if module, ok := strings.CutPrefix(file, "node/"); ok {
		return "", strings.TrimSuffix(module, ".cjs")
	}
	if part, ok := strings.CutPrefix(file, "prelude/"); ok {
		if other, ok := exists("onnode/" + part); ok {
			return other, ""
		}
	}
	return file, ""
}

func exists(file string) (string, bool) {
	if _, err := fs.Stat(FS(), file); err != nil {
		return "", false
	}
	return file, true
}
