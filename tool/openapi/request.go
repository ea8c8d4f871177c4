package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-run/parley/tool"
)

// values are the arguments of one call, by name.
type values map[string]json.RawMessage

// arguments decodes and checks the arguments of a call.
func (o *operation) arguments(ctx *tool.Context, raw json.RawMessage) (values, error) {
	args := values{}
	if len(raw) > 0 {
		var given map[string]jsontext.Value
		if err := jsonv2.Unmarshal(raw, &given); err != nil {
			return nil, errors.New("the arguments are not a JSON object, or have a name twice")
		}
		for name, v := range given {
			if err := v.Compact(); err != nil {
				return nil, err
			}
			args[name] = json.RawMessage(v)
		}
	}
	var known, unknown []string
	for _, arg := range o.args {
		known = append(known, arg.name)
		v, given := args[arg.name]
		if given && !arg.null && string(v) == "null" {
			delete(args, arg.name)
			given = false
		}
		if !given && arg.fallback != nil {
			args[arg.name] = arg.fallback
		}
	}
	for name := range args {
		if !slices.Contains(known, name) {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		has := "none"
		if len(known) > 0 {
			has = strings.Join(known, ", ")
		}
		return nil, fmt.Errorf("invalid arguments: there is no argument %s; the arguments are: %s", strings.Join(unknown, ", "), has)
	}
	checked, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	if _, err := o.inner.Call(ctx, checked); err != nil {
		return nil, err
	}
	return args, nil
}

// request returns the call without its credential, and the headers that the author
// of the toolset has added.
func (o *operation) request(ctx *tool.Context, args values) (*http.Request, map[string]string, error) {
	own, err := o.expand(args)
	if err != nil {
		return nil, nil, err
	}
	payload, media, err := o.body.encode(args)
	if err != nil {
		return nil, nil, err
	}
	u := *o.base
	u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/") + own
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, nil, errors.New("the path of the operation cannot be read")
	}
	u.Fragment = ""
	req, err := http.NewRequestWithContext(ctx, o.method, u.String(), bytes.NewReader(payload))
	if err != nil {
		return nil, nil, unaddressed(err)
	}
	req.Header.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.8")
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	if err := o.place(req, args); err != nil {
		return nil, nil, err
	}
	if o.api.headers == nil {
		return req, nil, nil
	}
	more, err := o.api.headers(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("the headers of the call: %w", err)
	}
	for name, v := range more {
		req.Header.Set(name, v)
	}
	return req, more, nil
}

// expand fills in the parameters of the path. No value can add or remove path
// segments.
func (o *operation) expand(args values) (string, error) {
	var b strings.Builder
	for _, part := range o.path {
		b.WriteString(part.text)
		if part.param == "" {
			continue
		}
		at := slices.IndexFunc(o.params, func(p *param) bool { return p.in == "path" && p.field == part.param })
		if at < 0 {
			return "", fmt.Errorf("the path needs {%s}", part.param)
		}
		p := o.params[at]
		v, err := p.value(args)
		if err != nil {
			return "", err
		}
		text := p.style.segment(p.field, v, escape)
		if strings.Trim(text, ".;,") == "" || hasDotSegment(v) {
			return "", fmt.Errorf("invalid arguments: %s: must not be empty, nor have . or .. as a part of a path", p.name)
		}
		b.WriteString(text)
	}
	for segment := range strings.SplitSeq(b.String(), "/") {
		if segment == "." || segment == ".." {
			return "", errors.New("invalid arguments: . or .. would be a part of the path")
		}
	}
	return b.String(), nil
}

// hasDotSegment reports whether a value has . or .. as a segment: it could then refer to
// another path on a server that unescapes slashes before it resolves the path.
func hasDotSegment(v value) bool {
	parts := strings.FieldsFunc(v.text, func(c rune) bool { return c == '/' || c == '\\' })
	if slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return true
	}
	return slices.ContainsFunc(v.items, hasDotSegment)
}

// value returns the value to encode; null if none was given.
func (p *param) value(args values) (value, error) {
	raw, ok := args[p.name]
	if !ok {
		return value{kind: 'n'}, nil
	}
	if p.json {
		return value{kind: '"', text: string(raw)}, nil
	}
	v, err := newValue(raw)
	if err != nil {
		return v, fmt.Errorf("invalid arguments: %s: %w", p.name, err)
	}
	return v, nil
}

// place adds the parameters that are not in the path.
func (o *operation) place(req *http.Request, args values) error {
	var query, cookies []string
	if q := req.URL.RawQuery; q != "" { // of the server's address
		query = append(query, q)
	}
	for _, p := range o.params {
		v, err := p.value(args)
		if err != nil {
			return err
		}
		if v.kind == 'n' {
			continue
		}
		switch p.in {
		case "query":
			query = append(query, p.style.pairs(p.field, v)...)
		case "cookie":
			cookies = append(cookies, p.style.pairs(p.field, v)...)
		case "header":
			text := p.style.segment(p.field, v, func(s string) string { return s })
			if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				return fmt.Errorf("invalid arguments: %s: must not have line breaks or other control characters", p.name)
			}
			req.Header.Set(p.field, text)
		}
	}
	req.URL.RawQuery = strings.Join(query, "&")
	if len(cookies) > 0 {
		req.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	return nil
}
