package tssig

import "strings"

// tsType is a type as it is written; schema.go has what it means.
type tsType struct {
	form    tsForm
	name    string     // of a word or a reference
	value   any        // of a literal: a string, a float64 or a bool
	parts   []*tsType  // of a union, an intersection; the arguments of a reference; what an array, an index, keyof is of
	members []tsMember // of an object, a tuple, a mapped type
	params  []tsParam  // of a function
}

type tsForm byte

const (
	tsAny tsForm = iota // also all that is not understood
	tsName
	tsLiteral
	tsTextual // a template literal type: some text
	tsArray
	tsTuple
	tsUnion
	tsBoth // an intersection
	tsObject
	tsMapped
	tsFunction
	tsKeyof
	tsTypeof
	tsIndex
)

// tsMember is a property of an object, an index signature, or an item of a
// tuple.
type tsMember struct {
	name        string
	typ         *tsType
	index       *tsType // of an index signature or a mapped type: the type of its keys
	optional    bool
	rest        bool
	description string
}

// tsParser reads types from the tokens between pos and limit.
type tsParser struct {
	*tsText
	pos, limit int
	depth      int
}

// maxDepth is how deep types may be nested. A type below that counts as any.
const maxDepth = 40

var anything = &tsType{}

// typ reads a type: what has no meaning for JSON, such as a conditional type,
// is anything. It may stop early, on text that is not a type; it never goes past
// the limit.
func (p *tsParser) typ() *tsType {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return anything
	}
	t := p.list("|", tsUnion, func() *tsType { return p.list("&", tsBoth, p.operator) })
	if p.at("extends") && !p.newline(p.pos) {
		p.pos++
		p.typ()
		if p.take("?") {
			p.typ()
			p.take(":")
			p.typ()
		}
		return anything
	}
	return t
}

// list reads types that are separated by, and may begin with, an operator.
func (p *tsParser) list(operator string, form tsForm, read func() *tsType) *tsType {
	p.take(operator)
	t := read()
	if !p.at(operator) {
		return t
	}
	all := &tsType{form: form, parts: []*tsType{t}}
	for p.take(operator) {
		all.parts = append(all.parts, read())
	}
	return all
}

// operator reads a type with the words and brackets around it.
func (p *tsParser) operator() *tsType {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return anything
	}
	// Each of these words may be the name of a type as well.
	if next := p.kind(p.pos + 1); next == tsWord && !p.newline(p.pos+1) || p.is(p.pos+1, "(", "[", "{") {
		switch {
		case p.take("keyof"):
			return &tsType{form: tsKeyof, parts: []*tsType{p.operator()}}
		case p.take("readonly"), p.take("unique"), p.take("abstract"):
			return p.operator()
		case p.take("infer"), p.take("asserts"):
			p.operator()
			return anything
		}
	}
	// JSDoc puts them in front.
	switch {
	case p.take("?"):
		return &tsType{form: tsUnion, parts: []*tsType{p.operator(), {form: tsName, name: "null"}}}
	case p.take("!"), p.take("..."):
		return p.operator()
	}
	t := p.primary()
	for p.at("[") && !p.newline(p.pos) {
		end := p.closed(p.pos, p.limit)
		if end == p.pos+1 {
			t = &tsType{form: tsArray, parts: []*tsType{t}}
		} else {
			t = &tsType{form: tsIndex, parts: []*tsType{t, p.inside(end, p.typ)}}
		}
		p.pos = min(end+1, p.limit)
	}
	if p.at("is") && !p.newline(p.pos) {
		p.pos++
		p.typ()
		return &tsType{form: tsName, name: "boolean"}
	}
	return t
}

// inside reads what the bracket at pos encloses, which end closes. Whatever is
// left of it is for the caller to pass over.
func (p *tsParser) inside(end int, read func() *tsType) *tsType {
	limit := p.limit
	p.pos, p.limit = min(p.pos+1, end), end
	t := read()
	p.limit = limit
	return t
}

func (p *tsParser) primary() *tsType {
	switch p.kind(p.pos) {
	case tsString:
		if p.pos < p.limit {
			p.pos++
			return &tsType{form: tsLiteral, value: unquote(p.text(p.pos - 1))}
		}
	case tsNumber:
		return p.number(1)
	case tsTemplate:
		return p.template()
	case tsWord:
		if p.pos < p.limit {
			return p.word()
		}
	default:
	}
	switch {
	case p.at("-"):
		p.pos++
		return p.number(-1)
	case p.take("*"): // of JSDoc
	case p.at("<"):
		p.arguments()
		return p.only("(")
	case p.at("("):
		return p.group()
	case p.at("["):
		return p.enclosed(p.tuple)
	case p.at("{"):
		return p.enclosed(p.object)
	}
	return anything
}

// only reads a type only if it begins with the bracket, because what comes
// before is of no use with another.
func (p *tsParser) only(bracket string) *tsType {
	if !p.at(bracket) {
		return anything
	}
	return p.primary()
}

func (p *tsParser) enclosed(read func() *tsType) *tsType {
	end := p.closed(p.pos, p.limit)
	t := p.inside(end, read)
	p.pos = min(end+1, p.limit)
	return t
}

func (p *tsParser) number(sign float64) *tsType {
	value, ok := numberValue(p.text(p.pos))
	if p.kind(p.pos) != tsNumber || p.pos >= p.limit {
		return anything
	}
	p.pos++
	if !ok {
		return anything
	}
	return &tsType{form: tsLiteral, value: sign * value}
}

func (p *tsParser) template() *tsType {
	text := p.text(p.pos)
	p.pos++
	if len(text) >= 2 && strings.HasSuffix(text, "`") && !p.is(p.pos, "${") {
		return &tsType{form: tsLiteral, value: unquote(text)}
	}
	for p.at("${") {
		p.pos = min(p.closed(p.pos, p.limit)+2, p.limit)
	}
	return &tsType{form: tsTextual}
}

// group reads a type in parentheses, or a function.
func (p *tsParser) group() *tsType {
	end := p.closed(p.pos, p.limit)
	if !p.is(end+1, "=>") || end+1 >= p.limit {
		t := p.inside(end, p.typ)
		p.pos = min(end+1, p.limit)
		return t
	}
	t := &tsType{form: tsFunction}
	p.inside(end, func() *tsType { t.params = p.parameters(); return nil })
	p.pos = end + 2
	p.typ()
	return t
}

// word reads a name, with what may follow it.
func (p *tsParser) word() *tsType {
	name := p.text(p.pos)
	p.pos++
	switch name {
	case "true", "false":
		return &tsType{form: tsLiteral, value: name == "true"}
	case "new", "function":
		if p.at("<") {
			p.arguments()
		}
		p.only("(")
		return &tsType{form: tsFunction}
	case "typeof":
		if p.kind(p.pos) != tsWord || p.pos >= p.limit || p.at("typeof") {
			return anything
		}
		t := p.word()
		return &tsType{form: tsTypeof, name: t.name}
	case "import":
		if p.at("(") {
			p.pos = min(p.closed(p.pos, p.limit)+1, p.limit)
		}
	}
	for p.at(".") && p.pos+1 < p.limit {
		if p.kind(p.pos+1) == tsWord {
			name += "." + p.text(p.pos+1)
			p.pos += 2
		} else if p.is(p.pos+1, "<") { // Object.<string, number> of JSDoc
			p.pos++
		} else {
			break
		}
	}
	t := &tsType{form: tsName, name: name}
	if p.at("<") && !p.newline(p.pos) {
		t.parts = p.arguments()
	}
	return t
}

// arguments reads a list of types in angle brackets. In one of type parameters
// what they extend, and what they are by default, is passed over.
func (p *tsParser) arguments() []*tsType {
	p.depth++
	defer func() { p.depth-- }()
	var list []*tsType
	p.pos++
	for p.pos < p.limit && !p.at(">") && p.depth <= maxDepth {
		from := p.pos
		p.take("const")
		list = append(list, p.typ())
		if p.take("=") {
			p.typ()
		}
		if !p.take(",") && !p.at(">") || p.pos == from {
			return list // it is none
		}
	}
	p.take(">")
	return list
}

// tuple reads the items of a tuple.
func (p *tsParser) tuple() *tsType {
	t := &tsType{form: tsTuple}
	for p.pos < p.limit {
		var m tsMember
		m.rest = p.take("...")
		if p.kind(p.pos) == tsWord && (p.is(p.pos+1, ":") || p.is(p.pos+1, "?") && p.is(p.pos+2, ":")) {
			p.pos++
			m.optional = p.take("?")
			p.pos++
		}
		m.typ = p.typ()
		m.optional = p.take("?") || m.optional
		t.members = append(t.members, m)
		p.skipTo(",")
	}
	return t
}

// skipTo goes past the next separator that is not inside of brackets.
func (p *tsParser) skipTo(separators ...string) {
	for p.pos < p.limit {
		if p.is(p.pos, separators...) {
			p.pos++
			return
		}
		p.skip()
	}
}

// skip passes over one token, or all that a bracket encloses.
func (p *tsParser) skip() {
	if p.tokens[p.pos].match > p.pos {
		p.pos = p.closed(p.pos, p.limit)
	}
	p.pos = min(p.pos+1, p.limit)
}

func (p *tsParser) at(words ...string) bool { return p.pos < p.limit && p.is(p.pos, words...) }

func (p *tsParser) take(word string) bool {
	if !p.at(word) {
		return false
	}
	p.pos++
	return true
}
