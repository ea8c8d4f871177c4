package tssig

import "slices"

// require returns a copy all of whose properties are required, or none.
func (s *jsonSchema) require(all bool) *jsonSchema {
	out := s.with("")
	for i := range out.Properties {
		out.Properties[i].required = all
	}
	return out
}

// pick returns a copy with, or without, some properties.
func (s *jsonSchema) pick(names []string, keep bool) *jsonSchema {
	out := s.with("")
	out.Properties = slices.DeleteFunc(out.Properties, func(p schemaProperty) bool { return slices.Contains(names, p.name) != keep })
	return out
}

// filter returns a copy with, or without, the literals that another schema allows.
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

// nonNull returns a copy that does not allow null.
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

// intersection returns a schema for values that match all of several: object types
// are merged, and any other type takes precedence over them, as in string & {}.
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

// keyof returns a schema that allows the names of the properties.
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

// indexed returns the type of an object's property by key, or of an array's items.
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

// fixed returns the type of a constant from its value.
func (p *typeParser) fixed() *typeExpr {
	t := p.constant()
	if p.at("as") && p.is(p.pos+1, "const") {
		return t
	}
	return t.widened()
}

// constant returns the type of exactly the value of a constant.
func (p *typeParser) constant() *typeExpr {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return anything
	}
	switch {
	case p.at("["):
		return p.enclosed(func() *typeExpr {
			t := &typeExpr{form: formTuple}
			for p.pos < p.limit {
				t.members = append(t.members, typeMember{rest: p.at("..."), typ: p.constant()})
				p.skipTo(",")
			}
			return t
		})
	case p.at("{"):
		return p.enclosed(p.constantObject)
	case p.kind(p.pos) == kindString, p.kind(p.pos) == kindNumber, p.at("true", "false", "-"):
		t := p.primary()
		if p.pos < p.limit && !p.at(",", "as") {
			return anything // an expression
		}
		return t
	}
	return anything
}

func (p *typeParser) constantObject() *typeExpr {
	t := &typeExpr{form: formObject}
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

// widened returns the type of a value without "as const".
func (t *typeExpr) widened() *typeExpr {
	switch t.form {
	case formLiteral:
		return &typeExpr{form: formName, name: typeOfValue(t.value)}
	case formTuple:
		items := &typeExpr{form: formUnion}
		for _, m := range t.members {
			items.parts = append(items.parts, m.typ.widened())
		}
		return &typeExpr{form: formArray, parts: []*typeExpr{items}}
	case formObject:
		out := &typeExpr{form: formObject}
		for _, m := range t.members {
			m.typ = m.typ.widened()
			out.members = append(out.members, m)
		}
		return out
	default:
		return t
	}
}
