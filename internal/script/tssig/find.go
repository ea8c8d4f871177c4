package tssig

// tsModule is what a module declares at its top level, as far as tools need it.
type tsModule struct {
	*tsText
	functions []*tsFunc
	byName    map[string]*tsFunc
	types     map[string]*tsDecl
	constants map[string]*tsType // what their value is
	contexts  map[string]bool    // names of the contexts that tools are given
}

type tsFunc struct {
	name     string
	types    []tsTypeParam
	params   []tsParam
	typ      *tsType // of the variable that holds it, if it says so
	doc      tsDoc
	exported bool
	at       int // the token of its name
}

// tsDecl is an interface, a type alias or an enum.
type tsDecl struct {
	typ     *tsType
	params  []tsTypeParam
	extends []*tsType
}

// readModule finds the declarations of a text in one pass over its top level.
func readModule(text *tsText) *tsModule {
	m := &tsModule{
		tsText: text, byName: map[string]*tsFunc{}, types: map[string]*tsDecl{}, constants: map[string]*tsType{},
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

// after is the token behind i, or behind all that i encloses.
func (m *tsModule) after(i int) int { return max(i, m.tokens[i].match) + 1 }

// begins reports whether a statement begins at token i.
func (m *tsModule) begins(i int) bool {
	if m.kind(i) != tsWord {
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

// statement reads the statement that begins at token i, and gives the token to
// go on with.
func (m *tsModule) statement(i int) int {
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

func (m *tsModule) declaration(start, i int, exported, ambient bool) int {
	switch {
	case i >= len(m.tokens):
		return i
	case m.is(i, "function"):
		f, end := m.function(i)
		name := i + 1
		if m.is(name, "*") {
			name++
		}
		if f != nil && !ambient && m.kind(name) == tsWord {
			m.add(f, name, start, exported)
		}
		return end
	case m.is(i, "const", "let", "var"):
		if m.is(i+1, "enum") {
			return m.enum(i + 2)
		}
		return m.variables(start, i+1, exported)
	case m.kind(i+1) == tsWord && m.is(i, "enum"):
		return m.enum(i + 1)
	case m.kind(i+1) == tsWord && m.is(i, "interface"):
		return m.interfaceType(i + 1)
	case m.kind(i+1) == tsWord && m.is(i, "type") && m.is(i+2, "=", "<"):
		return m.alias(i + 1)
	case m.is(i, "import"):
		return m.imports(i + 1)
	}
	return m.after(i)
}

// add takes up a function, whose name is at one token and whose statement
// begins at another. One with several signatures is declared several times; the
// last is what runs, and the comment is above the first.
func (m *tsModule) add(f *tsFunc, name, start int, exported bool) {
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

func (m *tsModule) parser(i int) *tsParser {
	return &tsParser{tsText: m.tsText, pos: i, limit: len(m.tokens)}
}

// function reads function name<T>(…) from its first word on.
func (m *tsModule) function(i int) (f *tsFunc, end int) {
	p := m.parser(i + 1)
	p.take("*")
	if p.kind(p.pos) == tsWord {
		p.pos++
	}
	f = &tsFunc{types: p.typeParameters()}
	if !p.at("(") {
		return nil, i + 1
	}
	p.enclosed(func() *tsType { f.params = p.parameters(); return nil })
	return f, p.pos
}

// initializer reads a function that is the value of a variable; nil if that is
// something else.
func (m *tsModule) initializer(i int) (f *tsFunc, end int) {
	if m.is(i, "async") && !m.newline(i+1) && !m.is(i+1, "=>") {
		i++
	}
	if m.is(i, "function") {
		return m.function(i)
	}
	if m.kind(i) == tsWord && m.is(i+1, "=>") {
		return &tsFunc{params: []tsParam{{name: m.text(i)}}}, i + 2
	}
	p := m.parser(i)
	f = &tsFunc{types: p.typeParameters()}
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
	p.enclosed(func() *tsType { f.params = p.parameters(); return nil })
	return f, end
}

// variables reads the declarations behind const, let or var.
func (m *tsModule) variables(start, i int, exported bool) int {
	for {
		p := m.parser(i)
		if p.kind(i) != tsWord {
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
			if m.is(i, ",") && m.kind(i+1) == tsWord && m.is(i+2, "=", ":") {
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

// tsTypeParam is a type parameter: what it stands for when nothing is given.
type tsTypeParam struct {
	name     string
	fallback *tsType
}

// typeParameters reads <T, U extends V = W>, if there are any.
func (p *tsParser) typeParameters() []tsTypeParam {
	if !p.take("<") {
		return nil
	}
	var list []tsTypeParam
	for p.pos < p.limit && !p.at(">") {
		for p.at("const", "in", "out") && p.kind(p.pos+1) == tsWord {
			p.pos++
		}
		one := tsTypeParam{name: p.text(p.pos)}
		p.pos++
		if p.take("extends") {
			one.fallback = p.typ()
		}
		if p.take("=") {
			one.fallback = p.typ()
		}
		list = append(list, one)
		if !p.take(",") && !p.at(">") {
			return list // it is none
		}
	}
	p.take(">")
	return list
}

func (m *tsModule) alias(i int) int {
	p := m.parser(i + 1)
	d := &tsDecl{params: p.typeParameters()}
	if p.take("=") {
		d.typ = p.typ()
		m.types[m.text(i)] = d
	}
	return p.pos
}

func (m *tsModule) interfaceType(i int) int {
	p := m.parser(i + 1)
	d := &tsDecl{params: p.typeParameters()}
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
	if old := m.types[m.text(i)]; old != nil && old.typ.form == tsObject { // both count
		d.typ.members = append(old.typ.members, d.typ.members...)
		d.extends = append(old.extends, d.extends...)
	}
	m.types[m.text(i)] = d
	return p.pos
}

// enum reads the members of an enum, whose name is at i. A value that is
// computed can be anything.
func (m *tsModule) enum(i int) int {
	p := m.parser(i + 1)
	if !p.at("{") {
		return i
	}
	t := &tsType{form: tsUnion}
	next, known := 0.0, true
	p.enclosed(func() *tsType {
		for p.pos < p.limit {
			member, ok := p.key()
			member.typ = &tsType{form: tsLiteral, value: next}
			if p.take("=") {
				if member.typ = p.operator(); member.typ.form != tsLiteral || !p.at(",") && p.pos < p.limit {
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
	m.types[m.text(i)] = &tsDecl{typ: t}
	return p.pos
}

// imports looks for contexts that are imported under another name.
func (m *tsModule) imports(i int) int {
	for i < len(m.tokens) && m.kind(i) != tsString && !m.is(i, ";") && (m.kind(i) == tsWord || m.is(i, ",", "*")) {
		i++
	}
	if !m.is(i, "{") {
		return i
	}
	end := m.closed(i, len(m.tokens))
	for ; i < end; i++ {
		if m.contexts[m.text(i)] && m.is(i+1, "as") && m.kind(i+2) == tsWord {
			m.contexts[m.text(i+2)] = true
		}
	}
	return i
}

// values are the words of the text that stand for a value and not only for a
// function that is called, or for a member of something.
func (m *tsModule) values() map[string]bool {
	used := map[string]bool{}
	declared := map[int]bool{}
	for _, f := range m.functions {
		declared[f.at] = true
	}
	for i, t := range m.tokens {
		if t.kind == tsWord && !declared[i] && !m.is(i-1, ".", "?.") && !m.is(i+1, "(") {
			used[m.text(i)] = true
		}
	}
	return used
}
