package tssig

import "strings"

// typeExpr is a type expression; schema.go has its meaning.
type typeExpr struct {
	form    typeForm
	name    string       // of a word or a reference
	value   any          // of a literal: a string, a float64 or a bool
	parts   []*typeExpr  // of a union, an intersection; the arguments of a reference; what an array, an index, keyof is of
	members []typeMember // of an object, a tuple, a mapped type
	params  []param      // of a function
}

type typeForm byte

const (
	formAny typeForm = iota // also everything that is not understood
	formName
	formLiteral
	formText // a template literal type: some text
	formArray
	formTuple
	formUnion
	formIntersection // an intersection
	formObject
	formMapped
	formFunction
	formKeyof
	formTypeof
	formIndex
)

// typeMember is a property of an object, an index signature, or an item of a
// tuple.
type typeMember struct {
	name        string
	typ         *typeExpr
	index       *typeExpr // of an index signature or a mapped type: the type of its keys
	optional    bool
	rest        bool
	description string
}

// typeParser reads types from the tokens between pos and limit.
type typeParser struct {
	*sourceText
	pos, limit int
	depth      int
}

// maxDepth is how deep types may be nested. A type below that counts as any.
const maxDepth = 40

var anything = &typeExpr{}

// typ reads a type. A type without a meaning in JSON, such as a conditional type,
// is any. It may stop early at text that is not a type; it never passes the limit.
func (p *typeParser) typ() *typeExpr {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return anything
	}
	t := p.list("|", formUnion, func() *typeExpr { return p.list("&", formIntersection, p.operator) })
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
func (p *typeParser) list(operator string, form typeForm, read func() *typeExpr) *typeExpr {
	p.take(operator)
	t := read()
	if !p.at(operator) {
		return t
	}
	all := &typeExpr{form: form, parts: []*typeExpr{t}}
	for p.take(operator) {
		all.parts = append(all.parts, read())
	}
	return all
}

// operator reads a type with its prefix and suffix operators.
func (p *typeParser) operator() *typeExpr {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return anything
	}
	// Each of these words may also be the name of a type.
	if next := p.kind(p.pos + 1); next == kindWord && !p.newline(p.pos+1) || p.is(p.pos+1, "(", "[", "{") {
		switch {
		case p.take("keyof"):
			return &typeExpr{form: formKeyof, parts: []*typeExpr{p.operator()}}
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
		return &typeExpr{form: formUnion, parts: []*typeExpr{p.operator(), {form: formName, name: "null"}}}
	case p.take("!"), p.take("..."):
		return p.operator()
	}
	t := p.primary()
	for p.at("[") && !p.newline(p.pos) {
		end := p.closed(p.pos, p.limit)
		if end == p.pos+1 {
			t = &typeExpr{form: formArray, parts: []*typeExpr{t}}
		} else {
			t = &typeExpr{form: formIndex, parts: []*typeExpr{t, p.inside(end, p.typ)}}
		}
		p.pos = min(end+1, p.limit)
	}
	if p.at("is") && !p.newline(p.pos) {
		p.pos++
		p.typ()
		return &typeExpr{form: formName, name: "boolean"}
	}
	return t
}

// inside reads what the bracket at pos encloses, up to end. The caller skips the
// rest.
func (p *typeParser) inside(end int, read func() *typeExpr) *typeExpr {
	limit := p.limit
	p.pos, p.limit = min(p.pos+1, end), end
	t := read()
	p.limit = limit
	return t
}

func (p *typeParser) primary() *typeExpr {
	switch p.kind(p.pos) {
	case kindString:
		if p.pos < p.limit {
			p.pos++
			return &typeExpr{form: formLiteral, value: unquote(p.text(p.pos - 1))}
		}
	case kindNumber:
		return p.number(1)
	case kindTemplate:
		return p.template()
	case kindWord:
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

// only reads a type only if it begins with the bracket, because the word before it
// has no meaning otherwise.
func (p *typeParser) only(bracket string) *typeExpr {
	if !p.at(bracket) {
		return anything
	}
	return p.primary()
}

func (p *typeParser) enclosed(read func() *typeExpr) *typeExpr {
	end := p.closed(p.pos, p.limit)
	t := p.inside(end, read)
	p.pos = min(end+1, p.limit)
	return t
}

func (p *typeParser) number(sign float64) *typeExpr {
	value, ok := numberValue(p.text(p.pos))
	if p.kind(p.pos) != kindNumber || p.pos >= p.limit {
		return anything
	}
	p.pos++
	if !ok {
		return anything
	}
	return &typeExpr{form: formLiteral, value: sign * value}
}

func (p *typeParser) template() *typeExpr {
	text := p.text(p.pos)
	p.pos++
	if len(text) >= 2 && strings.HasSuffix(text, "`") && !p.is(p.pos, "${") {
		return &typeExpr{form: formLiteral, value: unquote(text)}
	}
	for p.at("${") {
		p.pos = min(p.closed(p.pos, p.limit)+2, p.limit)
	}
	return &typeExpr{form: formText}
}

// group reads a type in parentheses, or a function.
func (p *typeParser) group() *typeExpr {
	end := p.closed(p.pos, p.limit)
	if !p.is(end+1, "=>") || end+1 >= p.limit {
		t := p.inside(end, p.typ)
		p.pos = min(end+1, p.limit)
		return t
	}
	t := &typeExpr{form: formFunction}
	p.inside(end, func() *typeExpr { t.params = p.parameters(); return nil })
	p.pos = end + 2
	p.typ()
	return t
}

// word reads a name, and what may follow it.
func (p *typeParser) word() *typeExpr {
	name := p.text(p.pos)
	p.pos++
	switch name {
	case "true", "false":
		return &typeExpr{form: formLiteral, value: name == "true"}
	case "new", "function":
		if p.at("<") {
			p.arguments()
		}
		p.only("(")
		return &typeExpr{form: formFunction}
	case "typeof":
		if p.kind(p.pos) != kindWord || p.pos >= p.limit || p.at("typeof") {
			return anything
		}
		t := p.word()
		return &typeExpr{form: formTypeof, name: t.name}
	case "import":
		if p.at("(") {
			p.pos = min(p.closed(p.pos, p.limit)+1, p.limit)
		}
	}
	for p.at(".") && p.pos+1 < p.limit {
		if p.kind(p.pos+1) == kindWord {
			name += "." + p.text(p.pos+1)
			p.pos += 2
		} else if p.is(p.pos+1, "<") { // Object.<string, number> of JSDoc
			p.pos++
		} else {
			break
		}
	}
	t := &typeExpr{form: formName, name: name}
	if p.at("<") && !p.newline(p.pos) {
		t.parts = p.arguments()
	}
	return t
}

// arguments reads a list of types in angle brackets. In a list of type parameters,
// it skips constraints and defaults.
func (p *typeParser) arguments() []*typeExpr {
	p.depth++
	defer func() { p.depth-- }()
	var list []*typeExpr
	p.pos++
	for p.pos < p.limit && !p.at(">") && p.depth <= maxDepth {
		from := p.pos
		p.take("const")
		list = append(list, p.typ())
		if p.take("=") {
			p.typ()
		}
		if !p.take(",") && !p.at(">") || p.pos == from {
			return list // it is not a list of types
		}
	}
	p.take(">")
	return list
}

// tuple reads the items of a tuple.
func (p *typeParser) tuple() *typeExpr {
	t := &typeExpr{form: formTuple}
	for p.pos < p.limit {
		var m typeMember
		m.rest = p.take("...")
		if p.kind(p.pos) == kindWord && (p.is(p.pos+1, ":") || p.is(p.pos+1, "?") && p.is(p.pos+2, ":")) {
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

// skipTo skips to after the next separator outside of brackets.
func (p *typeParser) skipTo(separators ...string) {
	for p.pos < p.limit {
		if p.is(p.pos, separators...) {
			p.pos++
			return
		}
		p.skip()
	}
}

// skip skips one token, or everything that a bracket encloses.
func (p *typeParser) skip() {
	if p.tokens[p.pos].match > p.pos {
		p.pos = p.closed(p.pos, p.limit)
	}
	p.pos = min(p.pos+1, p.limit)
}

func (p *typeParser) at(words ...string) bool { return p.pos < p.limit && p.is(p.pos, words...) }

func (p *typeParser) take(word string) bool {
	if !p.at(word) {
		return false
	}
	p.pos++
	return true
}
