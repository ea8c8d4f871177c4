package tssig

// object reads the members of an object type or an interface, in braces.
func (p *tsParser) object() *tsType {
	if t := p.mapped(); t != nil {
		return t
	}
	t := &tsType{form: tsObject}
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

// member reads a property or an index signature. One that is not data, such as
// a method, is read and not ok.
func (p *tsParser) member() (m tsMember, ok bool) {
	for p.at("readonly", "-", "+", "public", "private", "protected", "static", "declare") && !p.is(p.pos+1, ":", "?", "(", ";", ",") {
		p.pos++
	}
	if p.at("get", "set") && (p.kind(p.pos+1) == tsWord || p.kind(p.pos+1) == tsString) {
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
func (p *tsParser) key() (m tsMember, ok bool) {
	if p.pos >= p.limit {
		return m, false
	}
	switch p.kind(p.pos) {
	case tsWord:
		m.name = p.text(p.pos)
	case tsString:
		m.name = unquote(p.text(p.pos))
	case tsNumber:
		m.name = p.text(p.pos)
	default:
		if !p.at("[") {
			return m, false
		}
		end := p.closed(p.pos, p.limit)
		switch {
		case p.kind(p.pos+1) == tsString && end == p.pos+2: // ["name"]
			m.name = unquote(p.text(p.pos + 1))
		case p.kind(p.pos+1) == tsWord && p.is(p.pos+2, ":"): // [key: string]
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

func (p *tsParser) methodEnd() int {
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
func (p *tsParser) annotation() *tsType {
	if !p.take(":") {
		return nil
	}
	return p.typ()
}

// mapped reads { [K in T]: U }; nil if it is something else.
func (p *tsParser) mapped() *tsType {
	start := p.pos
	for p.at("readonly", "+", "-") {
		p.pos++
	}
	if !p.at("[") || p.kind(p.pos+1) != tsWord || !p.is(p.pos+2, "in") {
		p.pos = start
		return nil
	}
	end := p.closed(p.pos, p.limit)
	m := tsMember{name: p.text(p.pos + 1)}
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
	return &tsType{form: tsMapped, members: []tsMember{m}}
}

// tsParam is a parameter of a function.
type tsParam struct {
	name        string   // "" when it is destructured
	keys        []string // of a destructured one
	typ         *tsType  // nil when there is no annotation
	optional    bool     // marked so, or with a default
	rest        bool
	description string
}

// parameters reads a list of parameters, in parentheses.
func (p *tsParser) parameters() []tsParam {
	var list []tsParam
	for p.pos < p.limit {
		start := p.pos
		for p.at("@") { // a decorator
			p.pos = min(p.pos+2, p.limit)
			if p.at("(") {
				p.skip()
			}
		}
		for p.at("public", "private", "protected", "readonly", "override") && p.kind(p.pos+1) == tsWord {
			p.pos++
		}
		param := tsParam{rest: p.take("...")}
		this := p.at("this")
		switch {
		case p.at("{"):
			end := p.closed(p.pos, p.limit)
			param.keys = p.keysOf(p.pos+1, end)
			p.pos = min(end+1, p.limit)
		case p.at("["):
			p.skip()
		case p.pos < p.limit && p.kind(p.pos) == tsWord:
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

// skipDefault goes on to the comma behind a parameter. One in the type
// arguments of new Map<string, string>() is not that comma.
func (p *tsParser) skipDefault() {
	for p.pos < p.limit && !p.at(",") {
		if p.at("<") && p.kind(p.pos-1) == tsWord && p.is(p.pos-2, "new") {
			p.arguments()
			continue
		}
		p.skip()
	}
}

// keysOf are the keys of a destructuring pattern.
func (p *tsParser) keysOf(from, end int) []string {
	q := tsParser{tsText: p.tsText, pos: from, limit: end}
	keys := []string{}
	for q.pos < q.limit {
		switch q.kind(q.pos) {
		case tsWord:
			keys = append(keys, q.text(q.pos))
		case tsString:
			keys = append(keys, unquote(q.text(q.pos)))
		default: // ...rest, or a key that is computed
		}
		q.skipTo(",")
	}
	return keys
}
