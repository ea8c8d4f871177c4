// Package apidoc makes a page for people of an OpenAPI document. The page is one
// file without scripts, and everything that it links to is on it.
package apidoc

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/parley-run/parley/internal/shell"
)

//go:embed page.css
var style string

// Policy is the Content-Security-Policy of a page: it may have its style, and
// nothing else.
var Policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// Page makes the page of a document in JSON. Access says who may use an
// operation, in a few words.
func Page(doc []byte, access func(method, path string) string) ([]byte, error) {
	root := &node{}
	if err := json.Unmarshal(doc, root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	b := &builder{doc: document{root}, access: access, operations: map[string]bool{}}
	var out writer
	out.page(b.page())
	return out.Bytes(), nil
}

type page struct {
	Title, Version string
	Description    markup
	Tags           []*tag
	Security       []security
	Schemas        []schema
}

type security struct {
	Name        string
	Description markup
}

type tag struct {
	Name        string
	Description markup
	Operations  []*operation
}

type operation struct {
	ID, Method, Path, Summary, Access string
	Also                              []string // paths where it is, too
	Description                       markup
	Parameters                        []parameter
	Body                              *body
	Good, Bad                         []response
	Curl                              string
}

type parameter struct {
	Name, In    string
	Required    bool
	Shape       *shape
	Description markup
	Example     string
}

type body struct {
	Required    bool
	Description markup
	Content     []media
}

type media struct {
	Kind     string
	Shape    *shape
	Examples []example
}

type example struct{ Name, Text string }

type response struct {
	Status      string
	Description markup
	Headers     []parameter
	Content     []media
}

type schema struct {
	Name  string
	Shape *shape
}

// builder makes what is on the page of what is in the document.
type builder struct {
	doc        document
	access     func(method, path string) string
	operations map[string]bool
}

// also is the member of a path that lists the others where the same is.
const also = "x-also"

var methods = []string{"get", "post", "put", "patch", "delete"}

func (b *builder) page() *page {
	for _, item := range b.doc.get("paths").all() {
		for _, method := range methods {
			if op := item.get(method); op != nil {
				b.operations[op.get("operationId").text()] = true
			}
		}
	}
	p := &page{Title: b.doc.get("info", "title").text(), Version: b.doc.get("info", "version").text(), Description: b.prose(b.doc.get("info", "description"))}
	tags := map[string]*tag{}
	for _, t := range b.doc.get("tags").list() {
		one := &tag{Name: t.get("name").text(), Description: b.prose(t.get("description"))}
		p.Tags, tags[one.Name] = append(p.Tags, one), one
	}
	for path, item := range b.doc.get("paths").all() {
		for name, op := range item.all() {
			if name == "parameters" || name == also {
				continue
			}
			for _, t := range op.get("tags").list() {
				if of := tags[t.text()]; of != nil {
					of.Operations = append(of.Operations, b.operation(strings.ToUpper(name), path, item, op))
				}
			}
		}
	}
	for name, s := range b.doc.get("components", "securitySchemes").all() {
		p.Security = append(p.Security, security{name, b.prose(s.get("description"))})
	}
	for name, s := range b.doc.get("components", "schemas").all() {
		p.Schemas = append(p.Schemas, schema{name, b.shape(s)})
	}
	return p
}

func (b *builder) operation(method, path string, item, op *node) *operation {
	o := &operation{
		ID: op.get("operationId").text(), Method: method, Path: path, Summary: op.get("summary").text(),
		Description: b.prose(op.get("description")), Access: b.access(method, path),
	}
	for _, other := range item.get(also).list() {
		o.Also = append(o.Also, other.text())
	}
	for _, list := range []*node{item.get("parameters"), op.get("parameters")} {
		for _, ref := range list.list() {
			p := b.doc.follow(ref)
			o.Parameters = append(o.Parameters, b.parameter(p.get("name").text(), p))
		}
	}
	if found := b.doc.follow(op.get("requestBody")); found != nil {
		o.Body = &body{Required: found.get("required").is("true"), Description: b.prose(found.get("description")), Content: b.content(found.get("content"))}
	}
	for status, ref := range op.get("responses").all() {
		r := b.doc.follow(ref)
		one := response{Status: status, Description: b.prose(r.get("description")), Content: b.content(r.get("content"))}
		for name, header := range r.get("headers").all() {
			one.Headers = append(one.Headers, b.parameter(name, b.doc.follow(header)))
		}
		if status < "4" {
			o.Good = append(o.Good, one)
		} else {
			o.Bad = append(o.Bad, one)
		}
	}
	o.Curl = o.curl(b.doc.follow(op.get("requestBody")), b.doc)
	return o
}

func (b *builder) parameter(name string, n *node) parameter {
	return parameter{
		Name: name, In: n.get("in").text(), Required: n.get("required").is("true"),
		Shape: b.shape(n.get("schema")), Description: b.prose(n.get("description")), Example: n.get("example").text(),
	}
}

func (b *builder) content(n *node) []media {
	var list []media
	for kind, m := range n.all() {
		one := media{Kind: kind, Shape: b.shape(m.get("schema"))}
		if ex := m.get("example"); ex != nil {
			one.Examples = append(one.Examples, example{"Example", ex.indented()})
		}
		for name, ref := range m.get("examples").all() {
			ex := b.doc.follow(ref)
			if summary := ex.get("summary").text(); summary != "" {
				name = summary
			}
			one.Examples = append(one.Examples, example{name, ex.get("value").indented()})
		}
		list = append(list, one)
	}
	return list
}

// curl is the operation as a command for a terminal, with the examples of the
// document.
func (o *operation) curl(body *node, doc document) string {
	words := []string{"curl"}
	for _, r := range o.Good {
		for _, m := range r.Content {
			if m.Kind == "text/event-stream" {
				words = []string{"curl -N"}
			}
		}
	}
	if o.Method != http.MethodGet {
		words = append(words, "-X "+o.Method)
	}
	path, query := o.Path, url.Values{}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(p.Example))
		case p.In == "query" && p.Required:
			query.Set(p.Name, p.Example)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	words = append(words, shell.Quote("localhost:8000"+path))
	for kind, m := range body.get("content").all() {
		value := m.get("example")
		for _, ref := range m.get("examples").all() {
			value = doc.follow(ref).get("value")
			break
		}
		if value == nil {
			continue
		}
		words = append(words, send(kind, value))
		break
	}
	return strings.Join(words, " ")
}

// send are the words that send a body.
func send(kind string, value *node) string {
	switch kind {
	case "application/json":
		return "-H " + shell.Quote("Content-Type: "+kind) + " -d " + shell.Quote(value.compact())
	case "application/x-www-form-urlencoded": // which is what curl says by itself
		form := url.Values{}
		for name, v := range value.all() {
			form.Set(name, v.text())
		}
		return "-d " + shell.Quote(form.Encode())
	case "*/*":
		kind = "text/plain"
	}
	return "-H " + shell.Quote("Content-Type: "+kind) + " --data-binary " + shell.Quote(value.compact())
}
