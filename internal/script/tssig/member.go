package tssig

// object reads the members of an object type or an interface, in braces.
func (p *typeParser) object() *typeExpr {
	if t := p.mapped(); t != nil {
		return t
	}
	t := &typeExpr{form: formObject}
	for p.pos < p.limit {
		if p.at(";", ",") {
			p.pos++
			continue
		}
		start := p.pos
		m, ok := p.member()
		end := p.pos
		// A member ends with its line, unless it ends before.
		for p.pos < p.limit && !p.at(";", ",") && (p.pos == start || !p.newline(p.pos)) {
			ok = false
			p.skip()
			end = p.pos
		}
		if p.at(";", ",") {
			p.pos++
		}
		if ok {
			m.description = p.describe(start, end)
			t.members = append(t.members, m)
		}
	}
	return t
}

// member reads a property or an index signature. It returns false for a member that
// is not data, such as a method.
func (p *typeParser) member() (m typeMember, ok bool) {
	for p.at("readonly", "-", "+", "public", "private", "protected", "static", "declare") && !p.is(p.pos+1, ":", "?", "(", ";", ",") {
		p.pos++
	}
	if p.at("get", "set") && (p.kind(p.pos+1) == kindWord || p.kind(p.pos+1) == kindString) {
		getter := p.take("get")
		if !getter {
			return m, false
		}
		if m, ok = p.key(); !ok || !p.at("(") {
			return m, false
		}
		p.skip()
		m.typ = p.annotation()
		return m, m.typ != nil
	}
	if m, ok = p.key(); !ok {
		return m, false
	}
	m.optional = p.take("?") || m.optional
	if p.at("(", "<") { // a method
		p.pos = p.methodEnd()
		return m, false
	}
	if m.typ = p.annotation(); m.typ == nil {
		m.typ = anything
	}
	return m, true
}

// key reads the name of a property, or the brackets of an index signature.
func (p *typeParser) key() (m typeMember, ok bool) {
	if p.pos >= p.limit {
		return m, false
	}
	switch p.kind(p.pos) {
	case kindWord:
		m.name = p.text(p.pos)
	case kindString:
		m.name = unquote(p.text(p.pos))
	case kindNumber:
		m.name = p.text(p.pos)
	default:
		if !p.at("[") {
			return m, false
		}
		end := p.closed(p.pos, p.limit)
		switch {
		case p.kind(p.pos+1) == kindString && end == p.pos+2: // ["name"]
			m.name = unquote(p.text(p.pos + 1))
		case p.kind(p.pos+1) == kindWord && p.is(p.pos+2, ":"): // [key: string]
			p.pos += 2
			m.index = p.inside(end, p.typ)
			m.optional = true
		default: // a symbol
			p.pos = min(end+1, p.limit)
			return m, false
		}
		p.pos = end
	}
	p.pos = min(p.pos+1, p.limit)
	return m, true
}

func (p *typeParser) methodEnd() int {
	if p.at("<") {
		p.arguments()
	}
	if p.at("(") {
		p.skip()
	}
	p.annotation()
	return p.pos
}

// annotation reads a colon and a type; nil if there is none.
func (p *typeParser) annotation() *typeExpr {
	if !p.take(":") {
		return nil
	}
	return p.typ()
}

// mapped reads { [K in T]: U }; nil if it is something else.
func (p *typeParser) mapped() *typeExpr {
	start := p.pos
	for p.at("readonly", "+", "-") {
		p.pos++
	}
	if !p.at("[") || p.kind(p.pos+1) != kindWord || !p.is(p.pos+2, "in") {
		p.pos = start
		return nil
	}
	end := p.closed(p.pos, p.limit)
	m := typeMember{name: p.text(p.pos + 1)}
	p.pos += 2
	m.index = p.inside(end, p.typ)
	p.pos = min(end+1, p.limit)
	if p.at("-", "+") {
		p.pos++
		m.optional = p.is(p.pos-1, "+")
		p.take("?")
	} else {
		m.optional = p.take("?")
	}
	if m.typ = p.annotation(); m.typ == nil {
		m.typ = anything
	}
	p.pos = p.limit
	return &typeExpr{form: formMapped, members: []typeMember{m}}
}

// param is a parameter of a function.
type param struct {
	name        string    // "" when it is destructured
	keys        []string  // of a destructured one
	typ         *typeExpr // nil when there is no annotation
	optional    bool      // marked so, or with a default
	rest        bool
	description string
}

// parameters reads a list of parameters, in parentheses.
func (p *typeParser) parameters() []param {
	var list []param
	for p.pos < p.limit {
		start := p.pos
		for p.at("@") { // a decorator
			p.pos = min(p.pos+2, p.limit)
			if p.at("(") {
				p.skip()
			}
		}
		for p.at("public", "private", "protected", "readonly", "override") && p.kind(p.pos+1) == kindWord {
			p.pos++
		}
		param := param{rest: p.take("...")}
		this := p.at("this")
		switch {
		case p.at("{"):
			end := p.closed(p.pos, p.limit)
			param.keys = p.keysOf(p.pos+1, end)
			p.pos = min(end+1, p.limit)
		case p.at("["):
			p.skip()
		case p.pos < p.limit && p.kind(p.pos) == kindWord:
			param.name = p.text(p.pos)
			p.pos++
		}
		param.optional = p.take("?")
		param.typ = p.annotation()
		if p.at("=") {
			param.optional = true
		} else if !p.at(",") && p.pos < p.limit {
			param.typ = anything // as it was not understood
		}
		p.skipDefault()
		end := p.pos
		p.take(",")
		param.description = p.describe(start, end)
		if !this && end > start {
			list = append(list, param)
		}
	}
	return list
}

// skipDefault skips to the comma after a parameter. It ignores those in type
// arguments, as in new Map<string, string>().
func (p *typeParser) skipDefault() {
	for p.pos < p.limit && !p.at(",") {
		if p.at("<") && p.kind(p.pos-1) == kindWord && p.is(p.pos-2, "new") {
			p.arguments()
			continue
		}
		p.skip()
	}
}

// keysOf returns the keys of a destructuring pattern.
func (p *typeParser) keysOf(from, end int) []string {
	q := typeParser{sourceText: p.sourceText, pos: from, limit: end}
	keys := []string{}
	for q.pos < q.limit {
		switch q.kind(q.pos) {
		case kindWord:
			keys = append(keys, q.text(q.pos))
		case kindString:
			keys = append(keys, unquote(q.text(q.pos)))
		default: // ...rest, or a computed key
		}
		q.skipTo(",")
	}
	return keys
}
