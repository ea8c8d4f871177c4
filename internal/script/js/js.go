// Package js holds the JavaScript that the binary carries: the runtime, the
// packages that agents are written against, and the modules of Node.js.
package js

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// The directory of other authors' packages cannot be called vendor: the module
// proxy leaves directories of that name out.
//
//go:embed adk crypto fs genai node prelude third_party *.cjs *.js
var files embed.FS

// FS returns the files.
func FS() fs.FS { return files }

// modules maps what an agent may import to the file that implements it. A name
// that ends in /* matches everything below it.
var modules = map[string]string{
	"@google/adk":      "adk/google.cjs",
	"@google/adk/*":    "adk/google.cjs",
	"adk-typescript":   "adk/typescript.cjs",
	"adk-typescript/*": "adk/typescript.cjs",
	"@google/genai":    "genai.cjs",
	"@google/genai/*":  "genai.cjs",
	"node-fetch":       "node-fetch.cjs", // the package needs node:http
}

// fallbacks maps packages that need not be installed to the file that implements
// what most agents use of them.
var fallbacks = map[string]string{
	"dotenv":        "dotenv.cjs",
	"dotenv/config": "dotenv.cjs",
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
	return exists(path.Join("third_party/zod", rest, "index.js"))
}

func exists(file string) (string, bool) {
	if _, err := fs.Stat(files, file); err != nil {
		return "", false
	}
	return file, true
}
