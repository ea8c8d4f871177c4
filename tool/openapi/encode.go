package openapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strings"

	"github.com/parley-run/parley/internal/wire"
)

// encode returns the body of a call and its content type. The type is empty if
// there is no body.
func (b *body) encode(args values) (payload []byte, media string, err error) {
	if b == nil {
		return nil, "", nil
	}
	if b.whole != nil {
		raw, given := args[b.whole.name]
		if !given {
			return nil, "", nil
		}
		if payload, media, err = b.encodeWhole(raw); err != nil {
			return nil, "", fmt.Errorf("invalid arguments: %s: %w", b.whole.name, err)
		}
		return payload, media, nil
	}
	var fields []entry
	for _, m := range b.members {
		if raw, given := args[m.name]; given {
			fields = append(fields, entry{m.field, raw})
		}
	}
	if len(fields) == 0 && !b.required {
		return nil, "", nil
	}
	for _, m := range b.members {
		if _, given := args[m.name]; !given && m.needed {
			if m.preset == nil {
				return nil, "", fmt.Errorf("invalid arguments: %s is required beside the other members of the body", m.name)
			}
			fields = append(fields, entry{m.field, m.preset})
		}
	}
	return b.encodeFields(fields)
}

// entry is one member of a body.
type entry struct {
	name string
	raw  json.RawMessage
}

func (b *body) encodeWhole(raw json.RawMessage) ([]byte, string, error) {
	switch b.form {
	case formJSON:
		return raw, b.media, nil
	case formText:
		v, err := newValue(raw)
		return []byte(v.text), b.media, err
	case formBytes:
		payload, err := decodeBytes(raw)
		return payload, b.media, err
	default:
		return b.encodeObject(raw)
	}
}

// encodeObject encodes an object as a form.
func (b *body) encodeObject(raw json.RawMessage) ([]byte, string, error) {
	v, err := newValue(raw)
	if err != nil {
		return nil, "", err
	}
	if v.kind != '{' {
		return nil, "", errors.New("should be an object")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, "", err
	}
	var fields []entry
	for _, name := range v.names {
		fields = append(fields, entry{name, members[name]})
	}
	return b.encodeFields(fields)
}

func (b *body) encodeFields(fields []entry) ([]byte, string, error) {
	switch b.form {
	case formURL:
		payload, err := b.encodeForm(fields)
		return payload, b.media, err
	case formParts:
		return b.encodeParts(fields)
	default:
		out := []byte{'{'}
		for i, f := range fields {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(wire.Quote(out, f.name), ':'), f.raw...)
		}
		return append(out, '}'), b.media, nil
	}
}

// encodeForm encodes application/x-www-form-urlencoded. Lists are repeated, and
// objects are JSON, unless the document gives them a style.
func (b *body) encodeForm(fields []entry) ([]byte, error) {
	var pairs []string
	for _, f := range fields {
		v, err := newValue(f.raw)
		if err != nil {
			return nil, err
		}
		how := b.fields[f.name]
		switch {
		case how != nil && how.styled:
			pairs = append(pairs, how.style.pairs(f.name, v)...)
		case v.kind == '{' || how != nil && strings.HasSuffix(how.media, "json"):
			pairs = append(pairs, escape(f.name)+"="+escape(string(f.raw)))
		default:
			pairs = append(pairs, newStyle("query", "", nil, false).pairs(f.name, v)...)
		}
	}
	return []byte(strings.Join(pairs, "&")), nil
}

// encodeParts encodes multipart/form-data. Lists are repeated, objects are JSON,
// and bytes are files.
func (b *body) encodeParts(fields []entry) ([]byte, string, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, f := range fields {
		how := b.fields[f.name]
		if how == nil {
			how = &field{}
		}
		items := []json.RawMessage{f.raw}
		if f.raw[0] == '[' && !strings.HasSuffix(how.media, "json") {
			if err := json.Unmarshal(f.raw, &items); err != nil {
				return nil, "", err
			}
		}
		for _, item := range items {
			if err := writePart(w, f.name, item, how); err != nil {
				return nil, "", fmt.Errorf("invalid arguments: %s: %w", f.name, err)
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return buf.Bytes(), w.FormDataContentType(), nil
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")

func writePart(w *multipart.Writer, name string, raw json.RawMessage, how *field) error {
	v, err := newValue(raw)
	if err != nil {
		return err
	}
	content, media, file := []byte(v.text), how.media, ""
	switch {
	case v.kind == 'n':
		return nil
	case how.binary:
		if content, err = decodeBytes(raw); err != nil {
			return err
		}
		file = `; filename="` + quoting.Replace(name) + `"`
		if media == "" {
			media = "application/octet-stream"
		}
	case strings.HasSuffix(media, "json"):
		content = raw
	case media == "" && (v.kind == '{' || v.kind == '['):
		media = "application/json"
	}
	header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + quoting.Replace(name) + `"` + file}}
	if media != "" {
		header.Set("Content-Type", media)
	}
	part, err := w.CreatePart(header)
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	return err
}

// decodeBytes decodes base64 in either alphabet, with or without padding.
func decodeBytes(raw json.RawMessage) ([]byte, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, errors.New("should be a string in base64")
	}
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "").Replace(text), "=")
	out, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("is not base64")
	}
	return out, nil
}
