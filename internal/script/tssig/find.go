package tssig

// module is what a module declares at its top level, as far as tools need it.
type module struct {
	*sourceText
	functions []*funcDecl
	byName    map[string]*funcDecl
	types     map[string]*decl
	constants map[string]*typeExpr // what their value is
	contexts  map[string]bool      // names of the contexts that tools are given
}

type funcDecl struct {
	name     string
	types    []typeParam
	params   []param
	typ      *typeExpr // of the variable that holds it, if it says so
	doc      docComment
	exported bool
	at       int // the token of its name
}

// decl is an interface, a type alias or an enum.
type decl struct {
	typ     *typeExpr
	params  []typeParam
	extends []*typeExpr
}

// readModule finds the declarations of a text in one pass over its top level.
func readModule(text *sourceText) *module {
	m := &module{
		sourceText: text, byName: map[string]*funcDecl{}, types: map[string]*decl{}, constants: map[string]*typeExpr{},
		contexts: map[string]bool{"ToolContext": true, "Context": true, "CallbackContext": true, "InvocationContext": true, "ReadonlyContext": true},
	}
	for i := 0; i < len(m.tokens); {
		if m.begins(i) {
			i = m.statement(i)
		} else {
			i = m.after(i)
		}
	}
	return m
}

// after returns the token after i, or after everything that i encloses.
func (m *module) after(i int) int { return max(i, m.tokens[i].match) + 1 }

// begins reports whether a statement begins at token i.
func (m *module) begins(i int) bool {
	if m.kind(i) != kindWord {
		return false
	}
	if i == 0 || m.is(i-1, ";", "}") {
		return true
	}
	if !m.newline(i) {
		return false
	}
	return m.ends(i-1) && !m.is(i-1, "extends", "as", "const", "let", "var", "export")
}

// statement reads the statement that begins at token i, and returns the token to
// continue with.
func (m *module) statement(i int) int {
	start, exported, ambient := i, false, false
	for {
		switch {
		case m.is(i, "export"):
			exported = true
		case m.is(i, "declare"):
			ambient = true
		case m.is(i, "default") && exported, m.is(i, "async") && m.is(i+1, "function"):
		default:
			return m.declaration(start, i, exported, ambient)
		}
		i++
	}
}

func (m *module) declaration(start, i int, exported, ambient bool) int {
	switch {
	case i >= len(m.tokens):
		return i
	case m.is(i, "function"):
		f, end := m.function(i)
		name := i + 1
		if m.is(name, "*") {
			name++
		}
		if f != nil && !ambient && m.kind(name) == kindWord {
			m.add(f, name, start, exported)
		}
		return end
	case m.is(i, "const", "let", "var"):
		if m.is(i+1, "enum") {
			return m.enum(i + 2)
		}
		return m.variables(start, i+1, exported)
	case m.kind(i+1) == kindWord && m.is(i, "enum"):
		return m.enum(i + 1)
	case m.kind(i+1) == kindWord && m.is(i, "interface"):
		return m.interfaceType(i + 1)
	case m.kind(i+1) == kindWord && m.is(i, "type") && m.is(i+2, "=", "<"):
		return m.alias(i + 1)
	case m.is(i, "import"):
		return m.imports(i + 1)
	}
	return m.after(i)
}

// add adds a function, with the token of its name and the first token of its
// statement. An overloaded function is declared several times; the last declaration
// is the implementation, and the comment is above the first.
func (m *module) add(f *funcDecl, name, start int, exported bool) {
	f.name, f.at, f.doc, f.exported = m.text(name), name, m.jsDoc(start), exported
	if old := m.byName[f.name]; old != nil {
		if f.doc.description == "" && f.doc.params == nil {
			f.doc = old.doc
		}
		f.exported = f.exported || old.exported
		*old = *f
		return
	}
	m.byName[f.name] = f
	m.functions = append(m.functions, f)
}

func (m *module) parser(i int) *typeParser {
	return &typeParser{sourceText: m.sourceText, pos: i, limit: len(m.tokens)}
}

// function reads function name<T>(…) from its first word on.
func (m *module) function(i int) (f *funcDecl, end int) {
	p := m.parser(i + 1)
	p.take("*")
	if p.kind(p.pos) == kindWord {
		p.pos++
	}
	f = &funcDecl{types: p.typeParameters()}
	if !p.at("(") {
		return nil, i + 1
	}
	p.enclosed(func() *typeExpr { f.params = p.parameters(); return nil })
	return f, p.pos
}

// initializer reads a function that is the value of a variable; nil if the value is
// something else.
func (m *module) initializer(i int) (f *funcDecl, end int) {
	if m.is(i, "async") && !m.newline(i+1) && !m.is(i+1, "=>") {
		i++
	}
	if m.is(i, "function") {
		return m.function(i)
	}
	if m.kind(i) == kindWord && m.is(i+1, "=>") {
		return &funcDecl{params: []param{{name: m.text(i)}}}, i + 2
	}
	p := m.parser(i)
	f = &funcDecl{types: p.typeParameters()}
	if !p.at("(") {
		return nil, i
	}
	open := p.pos
	p.skip()
	if p.annotation(); !p.at("=>") {
		return nil, i
	}
	end = p.pos + 1
	p.pos = open
	p.enclosed(func() *typeExpr { f.params = p.parameters(); return nil })
	return f, end
}

// variables reads the declarations after const, let or var.
func (m *module) variables(start, i int, exported bool) int {
	for {
		p := m.parser(i)
		if p.kind(i) != kindWord {
			if p.pos < p.limit {
				p.skip() // a pattern
			}
		} else {
			p.pos++
			p.take("!")
			typ := p.annotation()
			if p.take("=") {
				f, end := m.initializer(p.pos)
				if f != nil {
					f.typ = typ
					m.add(f, i, start, exported)
				} else if m.is(p.pos, "[", "{") {
					m.constants[m.text(i)] = m.parser(p.pos).fixed()
				}
				p.pos = max(p.pos, end)
			}
		}
		i = p.pos
		for i < len(m.tokens) && !m.begins(i) && !m.is(i, ";") {
			if m.is(i, ",") && m.kind(i+1) == kindWord && m.is(i+2, "=", ":") {
				break
			}
			i = m.after(i)
		}
		if !m.is(i, ",") {
			return i
		}
		i++
		start = i
	}
}

// typeParam is a type parameter: what it stands for when nothing is given.
type typeParam struct {
	name     string
	fallback *typeExpr
}

// typeParameters reads <T, U extends V = W>, if there are any.
func (p *typeParser) typeParameters() []typeParam {
	if !p.take("<") {
		return nil
	}
	var list []typeParam
	for p.pos < p.limit && !p.at(">") {
		for p.at("const", "in", "out") && p.kind(p.pos+1) == kindWord {
			p.pos++
		}
		one := typeParam{name: p.text(p.pos)}
		p.pos++
		if p.take("extends") {
			one.fallback = p.typ()
		}
		if p.take("=") {
			one.fallback = p.typ()
		}
		list = append(list, one)
		if !p.take(",") && !p.at(">") {
			return list // it is not a list of type parameters
		}
	}
	p.take(">")
	return list
}

func (m *module) alias(i int) int {
	p := m.parser(i + 1)
	d := &decl{params: p.typeParameters()}
	if p.take("=") {
		d.typ = p.typ()
		m.types[m.text(i)] = d
	}
	return p.pos
}

func (m *module) interfaceType(i int) int {
	p := m.parser(i + 1)
	d := &decl{params: p.typeParameters()}
	if p.take("extends") {
		for {
			d.extends = append(d.extends, p.operator())
			if !p.take(",") {
				break
			}
		}
	}
	if !p.at("{") {
		return p.pos
	}
	d.typ = p.enclosed(p.object)
	if old := m.types[m.text(i)]; old != nil && old.typ.form == formObject { // both count
		d.typ.members = append(old.typ.members, d.typ.members...)
		d.extends = append(old.extends, d.extends...)
	}
	m.types[m.text(i)] = d
	return p.pos
}

// enum reads the members of an enum, whose name is at i. A computed value can be
// anything.
func (m *module) enum(i int) int {
	p := m.parser(i + 1)
	if !p.at("{") {
		return i
	}
	t := &typeExpr{form: formUnion}
	next, known := 0.0, true
	p.enclosed(func() *typeExpr {
		for p.pos < p.limit {
			member, ok := p.key()
			member.typ = &typeExpr{form: formLiteral, value: next}
			if p.take("=") {
				if member.typ = p.operator(); member.typ.form != formLiteral || !p.at(",") && p.pos < p.limit {
					member.typ, known = anything, false
				}
			} else if !known {
				member.typ = anything
			}
			if n, number := member.typ.value.(float64); number {
				next, known = n+1, true
			}
			if ok {
				t.members = append(t.members, member)
				t.parts = append(t.parts, member.typ)
			}
			p.skipTo(",")
		}
		return nil
	})
	m.types[m.text(i)] = &decl{typ: t}
	return p.pos
}

// imports finds contexts that are imported under another name.
func (m *module) imports(i int) int {
	for i < len(m.tokens) && m.kind(i) != kindString && !m.is(i, ";") && (m.kind(i) == kindWord || m.is(i, ",", "*")) {
		i++
	}
	if !m.is(i, "{") {
		return i
	}
	end := m.closed(i, len(m.tokens))
	for ; i < end; i++ {
		if m.contexts[m.text(i)] && m.is(i+1, "as") && m.kind(i+2) == kindWord {
			m.contexts[m.text(i+2)] = true
		}
	}
	return i
}

// values returns the words of the text that represent a value, and not only a
// function that is called, or a member.
func (m *module) values() map[string]bool {
	used := map[string]bool{}
	declared := map[int]bool{}
	for _, f := range m.functions {
		declared[f.at] = true
	}
	for i, t := range m.tokens {
		if t.kind == kindWord && !declared[i] && !m.is(i-1, ".", "?.") && !m.is(i+1, "(") {
			used[m.text(i)] = true
		}
	}
	return used
}
