package tssig

import "slices"

// require is a copy all of whose properties are required, or none.
func (s *jsonSchema) require(all bool) *jsonSchema {
	out := s.with("")
	for i := range out.Properties {
		out.Properties[i].required = all
	}
	return out
}

// pick is a copy with, or without, some properties.
func (s *jsonSchema) pick(names []string, keep bool) *jsonSchema {
	out := s.with("")
	out.Properties = slices.DeleteFunc(out.Properties, func(p schemaProperty) bool { return slices.Contains(names, p.name) != keep })
	return out
}

// filter is a copy with, or without, the literals that another schema allows.
func (s *jsonSchema) filter(other *jsonSchema, keep bool) *jsonSchema {
	if s.Enum == nil {
		return s
	}
	values := slices.DeleteFunc(slices.Clone(s.Enum), func(v any) bool { return slices.Contains(other.Enum, v) != keep })
	if len(values) == 0 {
		return &jsonSchema{}
	}
	return enumOf(values)
}

// nonNull is a copy that null does not fit.
func nonNull(s *jsonSchema) *jsonSchema {
	out := s.with("")
	out.optional = false
	if list, ok := s.Type.([]string); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(t string) bool { return t == "null" })
		out.Type = list
		if len(list) == 1 {
			out.Type = list[0]
		}
	}
	out.Enum = slices.DeleteFunc(slices.Clone(s.Enum), func(v any) bool { return v == nil })
	out.AnyOf = slices.DeleteFunc(slices.Clone(s.AnyOf), func(one *jsonSchema) bool { return one.Type == "null" })
	return out
}

// intersection is a schema for what fits all of several: objects are put
// together, and anything else wins over them, as in string & {}.
func intersection(all []*jsonSchema) *jsonSchema {
	var object, choice *jsonSchema
	for _, s := range all {
		switch {
		case s.isObject():
			if object == nil {
				object = typed("object")
			}
			object.merge(s)
		case s.AnyOf != nil && choice == nil && objects(s.AnyOf):
			choice = s
		case !s.open() && !s.noData:
			return s
		}
	}
	switch {
	case object == nil && choice == nil:
		return &jsonSchema{}
	case choice == nil:
		return object
	case object == nil:
		return choice
	}
	out := &jsonSchema{Description: choice.Description}
	for _, one := range choice.AnyOf {
		both := object.with("")
		both.merge(one)
		out.AnyOf = append(out.AnyOf, both)
	}
	return out
}

func objects(all []*jsonSchema) bool {
	return !slices.ContainsFunc(all, func(s *jsonSchema) bool { return !s.isObject() })
}

// keyof allows the names of the properties.
func keyof(s *jsonSchema) *jsonSchema {
	if len(s.Properties) == 0 {
		return typed("string")
	}
	var names []any
	for _, p := range s.Properties {
		names = append(names, p.name)
	}
	return enumOf(names)
}

// indexed is what lies in an object under a key, or in an array.
func indexed(s, key *jsonSchema) *jsonSchema {
	if s.Type == "array" && len(key.keys()) == 0 {
		if s.PrefixItems != nil {
			return union(s.PrefixItems)
		}
		return s.Items
	}
	var found []*jsonSchema
	for _, name := range key.keys() {
		if p := s.property(name); p != nil {
			found = append(found, p.schema)
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) > 1:
		return union(found)
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties
	}
	return &jsonSchema{}
}

// fixed reads the type of a constant from its value.
func (p *tsParser) fixed() *tsType {
	t := p.constant()
	if p.at("as") && p.is(p.pos+1, "const") {
		return t
	}
	return t.widened()
}

// constant reads the value of a constant as the type of just that value.
func (p *tsParser) constant() *tsType {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return anything
	}
	switch {
	case p.at("["):
		return p.enclosed(func() *tsType {
			t := &tsType{form: tsTuple}
			for p.pos < p.limit {
				t.members = append(t.members, tsMember{rest: p.at("..."), typ: p.constant()})
				p.skipTo(",")
			}
			return t
		})
	case p.at("{"):
		return p.enclosed(p.constantObject)
	case p.kind(p.pos) == tsString, p.kind(p.pos) == tsNumber, p.at("true", "false", "-"):
		t := p.primary()
		if p.pos < p.limit && !p.at(",", "as") {
			return anything // an expression
		}
		return t
	}
	return anything
}

func (p *tsParser) constantObject() *tsType {
	t := &tsType{form: tsObject}
	for p.pos < p.limit {
		start := p.pos
		m, ok := p.key()
		m.typ = anything
		if p.take(":") {
			m.typ = p.constant()
		}
		if ok && m.index == nil {
			t.members = append(t.members, m)
		}
		if p.skipTo(","); p.pos == start {
			break
		}
	}
	return t
}

// widened is the type that a value has without "as const".
func (t *tsType) widened() *tsType {
	switch t.form {
	case tsLiteral:
		return &tsType{form: tsName, name: typeOfValue(t.value)}
	case tsTuple:
		items := &tsType{form: tsUnion}
		for _, m := range t.members {
			items.parts = append(items.parts, m.typ.widened())
		}
		return &tsType{form: tsArray, parts: []*tsType{items}}
	case tsObject:
		out := &tsType{form: tsObject}
		for _, m := range t.members {
			m.typ = m.typ.widened()
			out.members = append(out.members, m)
		}
		return out
	default:
		return t
	}
}
