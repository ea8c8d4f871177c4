// Goapi lists the public Go API: one line for each exported declaration of each
// public package, sorted. api/go.txt holds the list, so that a change of it is
// seen.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/parley-run/parley"

// programs are directories whose packages are not for others.
var programs = []string{"/bench", "/chaos", "/clients", "/conformance", "/examples", "/packaging", "/charts"}

func main() {
	out, err := exec.Command("go", "list", "-f", "{{.Name}} {{.ImportPath}} {{.Dir}}", module+"/...").Output()
	if err != nil {
		log.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, dir, _ := strings.Cut(rest, " ")
		below := strings.TrimPrefix(path, module)
		private := name == "main" || strings.Contains(below+"/", "/internal/") ||
			slices.ContainsFunc(programs, func(p string) bool { return strings.HasPrefix(below+"/", p+"/") })
		if private {
			continue
		}
		list, err := declarations(path, dir)
		if err != nil {
			log.Fatal(err)
		}
		lines = append(lines, "package "+path)
		lines = append(lines, list...)
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		fmt.Fprintln(os.Stdout, line)
	}
}

// declarations are the exported ones of a package.
func declarations(path, dir string) (lines []string, err error) {
	files := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	pkg, err := doc.NewFromFiles(files, parsed, path)
	if err != nil {
		return nil, err
	}
	short := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	if short == "" {
		short = "parley"
	}
	add := func(node any) { lines = append(lines, short+": "+text(files, node)) }
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, spec := range v.Decl.Specs {
				s, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for _, name := range s.Names {
					if name.IsExported() {
						kind := v.Decl.Tok.String() + " " + name.Name
						if s.Type != nil {
							kind += " " + text(files, s.Type)
						}
						lines = append(lines, short+": "+kind)
					}
				}
			}
		}
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			f.Decl.Doc, f.Decl.Body = nil, nil
			add(f.Decl)
		}
	}
	values(pkg.Consts)
	values(pkg.Vars)
	functions(pkg.Funcs)
	for _, t := range pkg.Types {
		values(t.Consts)
		values(t.Vars)
		functions(t.Funcs)
		functions(t.Methods)
		for _, spec := range t.Decl.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok {
				lines = append(lines, members(files, short, s)...)
			}
		}
	}
	return lines, nil
}

// members are a type, and the exported fields or methods that it lists.
func members(files *token.FileSet, short string, s *ast.TypeSpec) (lines []string) {
	head := short + ": type " + s.Name.Name
	var fields *ast.FieldList
	var kind string
	switch t := s.Type.(type) {
	case *ast.StructType:
		fields, kind = t.Fields, " struct"
	case *ast.InterfaceType:
		fields, kind = t.Methods, " interface"
	default:
		if s.Assign.IsValid() {
			return []string{head + " = " + text(files, s.Type)}
		}
		return []string{head + " " + text(files, s.Type)}
	}
	lines = append(lines, head+kind)
	for _, f := range fields.List {
		for _, name := range f.Names {
			if name.IsExported() {
				lines = append(lines, head+"."+name.Name+" "+text(files, f.Type))
			}
		}
		if embedded := text(files, f.Type); len(f.Names) == 0 && ast.IsExported(embedded[strings.LastIndexAny(embedded, "*.")+1:]) {
			lines = append(lines, head+" embeds "+embedded)
		}
	}
	return lines
}

// text is a node on one line.
func text(files *token.FileSet, node any) string {
	var out bytes.Buffer
	if err := (&printer.Config{Mode: printer.RawFormat}).Fprint(&out, files, node); err != nil {
		log.Fatal(err)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
