// Package tssig reads the signatures of functions from TypeScript source: their
// parameters, the types of these as JSON Schema, and the comments that describe
// them. The compiler erases all of that, and tools are declared with it.
//
// It is not a type checker. It reads one file, follows the types that this file
// declares, and treats every type that it does not understand as any.
package tssig

import (
	"path/filepath"
	"slices"
	"strings"
)

// signature describes the parameters of a function. The compiler erases it, so
// it is read from the source and passed to the runtime: js/adk/functions.js
// declares tools with it.
type signature struct {
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Params      []signatureParam `json:"params"`

	local bool // only called, so it cannot be a tool
}

type signatureParam struct {
	Name        string      `json:"name"` // "" when it is destructured
	Schema      *jsonSchema `json:"schema,omitempty"`
	Optional    bool        `json:"optional,omitempty"`
	Rest        bool        `json:"rest,omitempty"`
	Description string      `json:"description,omitempty"`
	Context     bool        `json:"context,omitempty"` // it takes the context of the call
	Skip        bool        `json:"skip,omitempty"`    // it takes what JSON cannot carry
}

// maxSource is the size of a file above which it was not written by hand.
const maxSource = 1 << 20

// Annotate appends statements to a source file that register the signatures of
// its functions when it runs. Line numbers do not change, and a statement that
// fails has no effect.
//
// The bundler never drops a function that these statements mention. They
// therefore leave out functions that cannot become tools, because they are only
// called, and those of packages.
func Annotate(file, code string) string {
	if len(code) > maxSource || strings.Contains(filepath.ToSlash(file), "/node_modules/") {
		return code
	}
	var b strings.Builder
	for _, s := range signatures(code) {
		if s.local || len(s.Params) == 0 && s.Description == "" || strings.Contains(s.Name, `\`) {
			continue
		}
		if text, err := encode(s); err == nil {
			b.WriteString(";try { globalThis.__signature?.(" + s.Name + ", " + string(text) + ") } catch {}")
		}
	}
	if b.Len() == 0 {
		return code
	}
	return code + "\n" + b.String() + "\n"
}

// signatures finds the functions that a module declares at its top level. It
// finds none in an incomplete source: the compiler reports what is missing, and
// where.
func signatures(source string) []signature {
	text := scan(source)
	if !text.whole {
		return nil
	}
	m := readModule(text)
	used := m.values()
	var list []signature
	steps := 50 * maxSteps
	for _, f := range m.functions {
		r := &resolver{module: m, active: map[string]bool{}, steps: min(steps, maxSteps)}
		before := r.steps
		s := r.signature(f)
		steps -= before - max(r.steps, 0)
		s.local = !f.exported && !used[f.name]
		list = append(list, s)
	}
	return list
}

func (r *resolver) signature(f *funcDecl) signature {
	out := signature{Name: f.name, Description: f.doc.description, Params: []signatureParam{}}
	shape, env := r.functionType(f.typ), r.env(f.types, nil)
	for i, p := range f.params {
		if p.typ == nil && shape != nil && i < len(shape.params) {
			p.typ = shape.params[i].typ
		}
		one := signatureParam{Name: p.name, Optional: p.optional, Rest: p.rest, Description: p.description}
		switch {
		case r.isContext(p.typ):
			one.Context = true
		case p.typ != nil:
			one.Schema = r.schema(p.typ, env)
		}
		r.document(&one, f, i)
		if one.Schema != nil {
			one.Optional = one.Optional || one.Schema.optional
			if one.Schema.noData {
				one.Skip, one.Schema = true, nil
			}
		}
		out.Params = append(out.Params, one)
	}
	return out
}

// functionType returns the function type that a variable is declared with.
func (r *resolver) functionType(t *typeExpr) *typeExpr {
	for range maxDepth {
		switch {
		case t == nil:
			return nil
		case t.form == formFunction:
			return t
		case t.form != formName || r.types[t.name] == nil:
			return nil
		}
		t = r.types[t.name].typ
	}
	return nil
}

// isContext reports whether a parameter takes the context of the call. An
// interface named Context that the file declares itself is not one.
func (r *resolver) isContext(t *typeExpr) bool {
	for range maxDepth {
		switch {
		case t == nil:
			return false
		case t.form == formUnion:
			return slices.ContainsFunc(t.parts, func(one *typeExpr) bool {
				return one.form == formName && r.contexts[one.name]
			})
		case t.form != formName:
			return false
		}
		name := t.name[strings.LastIndexByte(t.name, '.')+1:]
		own := r.types[t.name]
		if r.contexts[name] && (own == nil || name != "Context") {
			return true
		}
		if own == nil {
			return false
		}
		t = own.typ
	}
	return false
}

// document adds the description of a parameter from the comment above its
// function. A destructured parameter has no name: the comment may use any name
// for it, or describe its members as if they were parameters.
func (r *resolver) document(one *signatureParam, f *funcDecl, index int) {
	p := f.params[index]
	name := p.name
	if p.keys != nil {
		name = f.nameInDoc(index)
	}
	for _, tag := range f.doc.params {
		path := strings.Split(strings.ReplaceAll(tag.name, "[]", ".[]"), ".")
		switch {
		case tag.name == name && name != "":
			one.Description = tag.description
			one.Optional = one.Optional || tag.optional
			if one.Schema == nil && tag.typ != "" && !one.Context {
				r.documentType(one, tag)
			}
		case path[0] == name && name != "" && !one.Context:
			one.Schema = r.documentMember(one.Schema, path[1:], tag, p.typ == nil)
		case slices.Contains(p.keys, path[0]) && !one.Context:
			one.Schema = r.documentMember(one.Schema, path, tag, p.typ == nil)
		}
	}
}

// nameInDoc returns the name of a destructured parameter in the comment: that of
// the tag at its position, unless that tag names another parameter.
func (f *funcDecl) nameInDoc(index int) string {
	top := slices.DeleteFunc(slices.Clone(f.doc.params), func(d docParam) bool { return strings.ContainsAny(d.name, ".[") })
	if index >= len(top) {
		return ""
	}
	name := top[index].name
	for _, p := range f.params {
		if p.name == name || slices.Contains(p.keys, name) {
			return ""
		}
	}
	return name
}

func (r *resolver) documentType(one *signatureParam, tag docParam) {
	t := readType(tag.typ)
	if r.isContext(t) {
		one.Context = true
		return
	}
	one.Schema = r.schema(t, nil)
}

// documentMember describes a member of a parameter. Where the source has no
// type, the comment also declares which members there are.
func (r *resolver) documentMember(s *jsonSchema, path []string, tag docParam, free bool) *jsonSchema {
	if s == nil || free && s.open() {
		s = typed("object")
	}
	out := s.with("")
	if path[0] == "[]" {
		if len(path) > 1 && s.Type == "array" {
			out.Items = r.documentMember(s.Items, path[1:], tag, free)
		}
		return out
	}
	old := out.property(path[0])
	switch {
	case old == nil && !free || len(path) > maxDepth:
	case len(path) > 1:
		if old == nil {
			out.set(schemaProperty{path[0], typed("object"), true})
			old = out.property(path[0])
		}
		if old != nil {
			old.schema = r.documentMember(old.schema, path[1:], tag, free)
		}
	case old != nil && !free:
		old.schema = old.schema.with(tag.description)
	default:
		t := typed("string")
		if tag.typ != "" {
			t = r.schema(readType(tag.typ), nil)
		}
		out.set(schemaProperty{path[0], t.with(tag.description), !tag.optional && !t.optional})
	}
	return out
}

// readType reads a type in a comment.
func readType(text string) *typeExpr {
	t := scan(text)
	p := typeParser{sourceText: t, limit: len(t.tokens)}
	return p.typ()
}
