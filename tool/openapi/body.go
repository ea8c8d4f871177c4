package openapi

import (
	"encoding/json"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// form is the encoding of a body.
type form int

const (
	formJSON form = iota
	formURL
	formParts
	formText
	formBytes
)

// body describes the request body of an operation.
type body struct {
	media    string // its content type
	form     form
	required bool
	whole    *argument // the argument that is the body, nil if there are members
	members  []*member
	fields   map[string]*field // the encodings of the members of a form
}

// member is an argument that is one member of the body.
type member struct {
	*argument
	field  string          // the name in the document
	needed bool            // if there is a body at all
	preset json.RawMessage // its default
}

// field is the encoding of one member of a form.
type field struct {
	media  string
	styled bool // by style, and not by media
	style  style
	binary bool
}

// body collects the arguments of a body.
func (a *arguments) body(rb *openapi3.RequestBody) *body {
	name := preferred(rb.Content)
	if name == "" {
		return nil
	}
	media := rb.Content[name]
	if media == nil {
		media = &openapi3.MediaType{}
	}
	out := &body{media: name, required: rb.Required}
	out.form, out.media = formOf(name)
	isForm := out.form == formURL || out.form == formParts
	if isForm {
		out.fields = fields(media, out.form)
	}
	if out.form == formJSON || isForm {
		if props, required, ok := flatten(media.Schema, map[*openapi3.Schema]bool{}); ok && len(props) > 0 {
			for _, name := range slices.Sorted(maps.Keys(props)) {
				m := &member{field: name, needed: slices.Contains(required, name)}
				arg := &argument{required: m.needed && rb.Required, from: props[name]}
				arg.null = out.form == formJSON && takesNull(props[name][0], map[*openapi3.Schema]bool{})
				arg.binary = out.fields[name] != nil && out.fields[name].binary
				arg.many = isArray(props[name][0])
				m.argument, m.preset = a.add(name, "body", arg), preset(arg)
				out.members = append(out.members, m)
			}
			return out
		}
	}
	arg := &argument{required: rb.Required, description: rb.Description, binary: out.form == formBytes}
	arg.from = []*openapi3.SchemaRef{media.Schema}
	arg.null = out.form == formJSON && takesNull(media.Schema, map[*openapi3.Schema]bool{})
	out.whole = a.add("body", "body", arg)
	return out
}

// preferred selects one of the media types that a document offers.
func preferred(content openapi3.Content) string {
	best, rank := "", 0
	for _, name := range slices.Sorted(maps.Keys(content)) {
		f, media := formOf(name)
		r := 10 - 2*int(f)
		if media == "application/json" {
			r++
		}
		if r > rank || best == "" {
			best, rank = name, r
		}
	}
	return best
}

// formOf returns the encoding of a media type, and its name in the request.
func formOf(name string) (form, string) {
	media, _, err := mime.ParseMediaType(name)
	if err != nil {
		media = strings.ToLower(strings.TrimSpace(name))
	}
	switch {
	case strings.HasSuffix(media, "/json"), strings.HasSuffix(media, "+json"):
		return formJSON, name
	case media == "*/*", media == "application/*":
		return formJSON, "application/json"
	case media == "application/x-www-form-urlencoded":
		return formURL, name
	case media == "multipart/form-data", media == "multipart/*":
		return formParts, "multipart/form-data"
	case media == "text/*":
		return formText, "text/plain"
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "/xml"), strings.HasSuffix(media, "+xml"):
		return formText, name
	case strings.HasSuffix(media, "/*"):
		return formBytes, "application/octet-stream"
	}
	return formBytes, name
}

// fields returns the encodings of the members of a form that the document defines.
func fields(media *openapi3.MediaType, f form) map[string]*field {
	out := map[string]*field{}
	props, _, _ := flatten(media.Schema, map[*openapi3.Schema]bool{})
	if props == nil && media.Schema != nil && media.Schema.Value != nil {
		props = map[string][]*openapi3.SchemaRef{}
		for name, ref := range media.Schema.Value.Properties {
			props[name] = []*openapi3.SchemaRef{ref}
		}
	}
	for name, refs := range props {
		out[name] = &field{binary: f == formParts && isBinary(refs[0])}
	}
	for name, enc := range media.Encoding {
		if enc == nil {
			continue
		}
		fd := out[name]
		if fd == nil {
			fd = &field{}
			out[name] = fd
		}
		fd.media, _, _ = strings.Cut(enc.ContentType, ",")
		fd.media = strings.TrimSpace(fd.media)
		if fd.media == "*/*" || strings.HasSuffix(fd.media, "/*") {
			fd.media = ""
		}
		if enc.Style != "" || enc.Explode != nil || enc.AllowReserved {
			fd.styled = f == formURL
			fd.style = newStyle("query", enc.Style, enc.Explode, enc.AllowReserved)
		}
	}
	return out
}

// isBinary reports whether a schema, or the items of a list, represents bytes.
func isBinary(ref *openapi3.SchemaRef) bool {
	if isArray(ref) {
		ref = ref.Value.Items
	}
	if ref == nil || ref.Value == nil {
		return false
	}
	v := ref.Value
	return v.Format == "binary" && v.Type.Permits("string") ||
		v.ContentMediaType != "" && v.ContentEncoding == "" && !strings.HasPrefix(v.ContentMediaType, "text/") && !strings.HasSuffix(v.ContentMediaType, "json")
}

func isArray(ref *openapi3.SchemaRef) bool {
	return ref != nil && ref.Value != nil && ref.Value.Type.Includes("array")
}

// flatten returns the members of an object, and which of them are required. It
// returns false if the schema says more than that: then the body is a single
// argument.
func flatten(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) (props map[string][]*openapi3.SchemaRef, required []string, ok bool) {
	if ref == nil || ref.Value == nil || !isPlain(ref.Value) {
		return nil, nil, false
	}
	v := ref.Value
	if seen[v] { // handled above
		return nil, nil, true
	}
	top := len(seen) == 0
	seen[v] = true
	props = map[string][]*openapi3.SchemaRef{}
	hidden := map[string]bool{}
	for name, p := range v.Properties {
		if p != nil && p.Value != nil && p.Value.ReadOnly {
			hidden[name] = true
			continue
		}
		props[name] = []*openapi3.SchemaRef{p}
	}
	for _, name := range v.Required {
		if !hidden[name] {
			required = append(required, name)
		}
	}
	for _, part := range v.AllOf {
		more, needed, ok := flatten(part, seen)
		if !ok {
			return nil, nil, false
		}
		for name, refs := range more {
			props[name] = append(props[name], refs...)
		}
		required = append(required, needed...)
	}
	for _, name := range required {
		if props[name] == nil && top { // required, but not described
			props[name] = []*openapi3.SchemaRef{nil}
		}
	}
	return props, required, true
}

// isPlain reports whether a schema is nothing but an object with members.
func isPlain(v *openapi3.Schema) bool {
	for _, more := range []openapi3.BoolSchema{v.AdditionalProperties, v.UnevaluatedProperties} {
		if more.Schema != nil || more.Has != nil && *more.Has {
			return false
		}
	}
	return v.Always == nil && v.Type.Permits("object") && !v.Nullable &&
		len(v.OneOf)+len(v.AnyOf)+len(v.PatternProperties)+len(v.DependentSchemas)+len(v.DependentRequired)+len(v.Enum) == 0 &&
		v.Not == nil && v.If == nil && v.PropertyNames == nil && v.Const == nil && v.MinProps == 0 && v.MaxProps == nil
}
