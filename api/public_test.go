package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// publicPackages are what other modules may import.
var publicPackages = []string{
	".", "./agent/...", "./all", "./api", "./artifact/...", "./credential/...", "./devui", "./event/...", "./faces", "./model/...", "./otlp", "./replay",
	"./session/...", "./telemetry", "./tool/...", "./typescript",
}

const modulePath = "github.com/parley-run/parley"

// TestPublicPackages checks that the public packages can be used from other
// modules: no exported signature has a type of an internal package, which others
// cannot name, and no exported variable can be assigned to but errors.
func TestPublicPackages(t *testing.T) {
	exports := exportData(t)
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := exports[path]
		if !ok {
			return nil, fmt.Errorf("%s has no export data", path)
		}
		return os.Open(file)
	})
	for path := range exports {
		inside := path == modulePath || strings.HasPrefix(path, modulePath+"/")
		if !inside || isInternal(path) {
			continue
		}
		pkg, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			obj := pkg.Scope().Lookup(name)
			if !obj.Exported() {
				continue
			}
			if v, ok := obj.(*types.Var); ok && !types.Identical(v.Type(), types.Universe.Lookup("error").Type()) {
				t.Errorf("%s.%s is an exported variable: make it a function or a constant", path, name)
			}
			for _, problem := range internalTypes(obj) {
				t.Errorf("%s.%s", path, problem)
			}
		}
	}
}

// TestPublicPackagesAreAll compares the list with the packages whose API api/go.txt has.
func TestPublicPackagesAreAll(t *testing.T) {
	listed := map[string]bool{}
	for _, one := range listPackages(t) {
		listed[one.ImportPath] = true
	}
	file, err := os.ReadFile("go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "package ")
		if ok && !listed[path] {
			t.Errorf("package %s is public: add it to publicPackages", path)
		}
	}
}

// withoutOutput are the public packages whose examples are only compiled, and why.
var withoutOutput = map[string]string{
	"session/storetest": "its functions need a *testing.T, which only a test has",
}

// TestExamples demands an example of each public package that is run, for those who
// read its documentation.
func TestExamples(t *testing.T) {
	for _, one := range listPackages(t) {
		var files []*ast.File
		set := token.NewFileSet()
		for _, name := range slices.Concat(one.TestGoFiles, one.XTestGoFiles) {
			file, err := parser.ParseFile(set, filepath.Join(one.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		examples := doc.Examples(files...)
		ran := slices.ContainsFunc(examples, func(e *doc.Example) bool { return e.Output != "" })
		_, except := withoutOutput[strings.TrimPrefix(one.ImportPath, modulePath+"/")]
		switch {
		case len(examples) == 0:
			t.Errorf("package %s has no example", one.ImportPath)
		case !ran && !except:
			t.Errorf("no example of package %s has an output, so none is run", one.ImportPath)
		case ran && except:
			t.Errorf("package %s has an example with an output: remove it from withoutOutput", one.ImportPath)
		}
	}
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir, Export   string
	TestGoFiles, XTestGoFiles []string
}

// listPackages returns the public packages.
func listPackages(t *testing.T) (list []listed) {
	t.Helper()
	for _, one := range goList(t) {
		if !isInternal(one.ImportPath) {
			list = append(list, one)
		}
	}
	return list
}

// goList runs go list with flags on the public packages.
func goList(t *testing.T, flags ...string) (list []listed) {
	t.Helper()
	args := slices.Concat([]string{"list", "-json=ImportPath,Dir,Export,TestGoFiles,XTestGoFiles"}, flags, publicPackages)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var one listed
		if err := dec.Decode(&one); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
}

func TestPublicPackagesFindsInternalTypes(t *testing.T) {
	hidden := types.NewPackage(modulePath+"/internal/hidden", "hidden")
	secret := types.NewNamed(types.NewTypeName(token.NoPos, hidden, "Secret", nil), types.NewStruct(nil, nil), nil)
	open := types.NewPackage(modulePath+"/open", "open")
	params := types.NewTuple(types.NewParam(token.NoPos, open, "s", types.NewSlice(types.NewPointer(secret))))
	signature := types.NewSignatureType(nil, nil, nil, params, nil, false)
	field := types.NewField(token.NoPos, open, "Do", signature, false)
	value := types.NewNamed(types.NewTypeName(token.NoPos, open, "T", nil), types.NewStruct([]*types.Var{field}, nil), nil)
	for _, obj := range []types.Object{types.NewFunc(token.NoPos, open, "F", signature), value.Obj()} {
		if len(internalTypes(obj)) == 0 {
			t.Errorf("%s has an internal type that was not found", obj)
		}
	}
	if problems := internalTypes(types.NewFunc(token.NoPos, open, "G", types.NewSignatureType(nil, nil, nil, nil, nil, false))); len(problems) > 0 {
		t.Errorf("G has problems: %s", problems)
	}
}

// exportData returns the files with the types of the public packages and of
// what these import.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, one := range goList(t, "-export", "-deps") {
		if one.Export != "" {
			files[one.ImportPath] = one.Export
		}
	}
	return files
}

func isInternal(path string) bool {
	return strings.Contains(path+"/", "/internal/")
}

// internalTypes describes the types of internal packages of this module in what
// other packages see of obj.
func internalTypes(obj types.Object) (problems []string) {
	seen := map[types.Type]bool{}
	var walk func(where string, t types.Type)
	walk = func(where string, t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			walk(where, t.Rhs())
		case *types.Named:
			if pkg := t.Obj().Pkg(); pkg != nil && strings.HasPrefix(pkg.Path(), modulePath+"/") && isInternal(pkg.Path()) {
				problems = append(problems, where+" has the internal type "+t.String())
			}
			for arg := range t.TypeArgs().Types() {
				walk(where, arg)
			}
		case *types.Pointer:
			walk(where, t.Elem())
		case *types.Slice:
			walk(where, t.Elem())
		case *types.Array:
			walk(where, t.Elem())
		case *types.Chan:
			walk(where, t.Elem())
		case *types.Map:
			walk(where, t.Key())
			walk(where, t.Elem())
		case *types.Signature:
			for v := range t.Params().Variables() {
				walk(where, v.Type())
			}
			for v := range t.Results().Variables() {
				walk(where, v.Type())
			}
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					walk(where+"."+f.Name(), f.Type())
				}
			}
		case *types.Interface:
			for m := range t.Methods() {
				if m.Exported() {
					walk(where+"."+m.Name(), m.Type())
				}
			}
		}
	}
	typeName, ok := obj.(*types.TypeName)
	if !ok {
		walk(obj.Name(), obj.Type())
		return problems
	}
	walk(obj.Name(), obj.Type())
	if typeName.IsAlias() {
		return problems
	}
	walk(obj.Name(), obj.Type().Underlying())
	for m := range types.NewMethodSet(types.NewPointer(obj.Type())).Methods() {
		if m.Obj().Exported() {
			walk(obj.Name()+"."+m.Obj().Name(), m.Obj().Type())
		}
	}
	return problems
}
