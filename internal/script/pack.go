package script

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"
)

// A pack is what an application needs of the JavaScript that the binary
// carries, in the engine's own bytecode. It is ten times the size of most
// applications, and to read bytecode takes a tenth of the time that the engine
// would need to compile the text. The author's code is no part of it: stack
// traces lead into that by its lines.
type pack struct {
	Builtin  [sha256.Size]byte // of the binary that has made it
	Sum      [sha256.Size]byte // of the bytecode, which the engine trusts blindly
	Bytecode []byte
}

// packs are those that were made in this process: they depend on nothing but
// their files.
var packs = struct {
	sync.Mutex
	made map[string]*pack
}{made: map[string]*pack{}}

// packOf is the pack of some files under js/. dir keeps packs from one start to
// the next; empty for none.
func packOf(dir string, files []string) (*pack, error) {
	packs.Lock()
	defer packs.Unlock()
	key := strings.Join(files, "\n")
	if p := packs.made[key]; p != nil {
		return p, nil
	}
	file := cacheFile(dir, key, ".pack")
	p := &pack{}
	if !recall(file, p) || p.Builtin != builtinSum() || p.Sum != sha256.Sum256(p.Bytecode) {
		var err error
		if p, err = makePack(files); err != nil {
			return nil, err
		}
		keep(file, p)
	}
	packs.made[key] = p
	return p, nil
}

func makePack(files []string) (*pack, error) {
	o := options(packMain(files), "", resolvePack)
	o.MinifyWhitespace = true // nobody reads it
	result := api.Build(o)
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("bundle the runtime: %w", newBuildError("", bounds{"/"}, result.Errors))
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	defer func() { _ = vm.Close() }()
	code, err := vm.Compile(string(result.OutputFiles[0].Contents), quickjs.EvalModule)
	if err != nil {
		return nil, fmt.Errorf("compile the runtime: %w", err)
	}
	return &pack{Builtin: builtinSum(), Sum: sha256.Sum256(code), Bytecode: code}, nil
}

// packMain is the module that gives applications what they ask for. Of CommonJS
// modules it gives what they export when they are first asked for, as require
// does; the others run at once.
func packMain(files []string) string {
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
  // The bundle takes all of them for CommonJS.
  return name.endsWith(".js") ? Object.defineProperty(exports, "__esModule", { value: true }) : exports;
};
`
}
