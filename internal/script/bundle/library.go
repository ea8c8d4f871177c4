package bundle

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// library is the part of package js that a bundle imports. For QuickJS it is
// bytecode of the engine: it is ten times the size of most applications, and reading bytecode
// takes a tenth of the time of compiling the text. The author's code stays text:
// stack traces have its line numbers.
type library struct {
	Builtin [sha256.Size]byte // of the binary that has made it
	Sum     [sha256.Size]byte // of the code, because the engine does not verify bytecode
	Code    []byte
}

// libraries are those that this process has made or read, by directory and files.
var libraries = struct {
	sync.Mutex
	by map[string]*library
}{by: map[string]*library{}}

// Library returns the JavaScript that must run before the bundle: bytecode for
// QuickJS, and the body of a CommonJS module for Node.js. It reads it from cacheDir, under the conditions of Build, or compiles it.
func (b *Bundle) Library(cacheDir string) ([]byte, error) {
	libraries.Lock()
	defer libraries.Unlock()
	files := strings.Join(b.Builtin, "\n")
	key := fmt.Sprint(b.Target, cacheDir, "\n", files)
	if r := libraries.by[key]; r != nil {
		return r.Code, nil
	}
	ext := ".pack"
	if b.Target == Node {
		ext = ".node-pack"
	}
	file := cacheFile(cacheDir, files, ext)
	r := &library{}
	if !readFile(file, r) || r.Builtin != builtinSum() || r.Sum != sha256.Sum256(r.Code) {
		var err error
		if r, err = compileLibrary(b.Target, b.Builtin); err != nil {
			return nil, err
		}
		writeFile(file, r)
	}
	libraries.by[key] = r
	return r.Code, nil
}

func compileLibrary(target Target, files []string) (*library, error) {
	o := options(libraryMain(files), "", func(b api.PluginBuild) { resolveLibrary(b, target) })
	o.MinifyWhitespace = true
	if target == Node {
		forNode(&o)
		o.Format = api.FormatCommonJS
	}
	result := api.Build(o)
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("bundle the runtime library: %w", newError("", Bounds{"/"}, result.Errors))
	}
	if target == Node {
		code := result.OutputFiles[0].Contents
		return &library{Builtin: builtinSum(), Sum: sha256.Sum256(code), Code: code}, nil
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	defer func() { _ = vm.Close() }()
	leaveDebugOut(vm)
	code, err := vm.Compile(dropNames(string(result.OutputFiles[0].Contents)), quickjs.EvalModule)
	if err != nil {
		return nil, fmt.Errorf("compile the runtime library: %w", err)
	}
	return &library{Builtin: builtinSum(), Sum: sha256.Sum256(code), Code: code}, nil
}

// leaveDebugOut makes a VM compile functions without their text and their positions,
// which are two thirds of the bytecode otherwise, and the positions a third of the time of
// compiling. JavaScript sees them as functions of the engine. The package has no method
// for it, and hides the runtime.
func leaveDebugOut(vm *quickjs.VM) {
	runtime := reflect.ValueOf(vm).Elem().FieldByName("runtime").Elem().FieldByName("cRuntime")
	lib.XJS_SetStripInfo(nil, uintptr(runtime.Uint()), lib.MJS_STRIP_DEBUG)
}

// libraryMain is the module that exposes files to applications. CommonJS modules
// run when they are first required; the others run at once.
func libraryMain(files []string) string {
	var imports, table strings.Builder
	imports.WriteString("import \"parley:prelude/index.js\";\n")
	for i, file := range files {
		if filepath.Ext(file) == ".cjs" {
			fmt.Fprintf(&table, "%s: () => require(%s),\n", quote(file), quote("parley:"+file))
			continue
		}
		fmt.Fprintf(&imports, "import * as m%d from %s;\n", i, quote("parley:"+file))
		fmt.Fprintf(&table, "%s: () => m%d,\n", quote(file), i)
	}
	return imports.String() + `
const table = {
` + table.String() + `};
globalThis.__builtin = (name) => {
  const exports = table[name]();
  // The bundle imports all of them as CommonJS.
  return name.endsWith(".js") ? Object.defineProperty(exports, "__esModule", { value: true }) : exports;
};
`
}
