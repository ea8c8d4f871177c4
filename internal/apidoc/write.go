package apidoc

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// markup is text with elements in it, of which everything that is not ours was
// escaped.
type markup string

// writer writes a page. It is not a template of html/template: what makes those
// work keeps every method of every type in the binary, which makes it a quarter
// larger.
type writer struct{ bytes.Buffer }

// put writes a text with values in it, which are escaped unless they are markup.
func (w *writer) put(text string, values ...any) {
	for i, v := range values {
		if plain, ok := v.(string); ok {
			values[i] = html.EscapeString(plain)
		}
	}
	fmt.Fprintf(&w.Buffer, text, values...)
}

func (w *writer) page(p *page) {
	w.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>%s: HTTP API</title>
<style>%s</style>
</head>
<body>
<nav aria-label="Contents">
<p class="brand"><a href="#top">%s</a></p>
`, p.Title, markup(style), p.Title)
	for _, t := range p.Tags {
		w.put("<h2><a href=\"#%s\">%s</a></h2>\n<ul>\n", tagAnchor(t.Name), t.Name)
		for _, o := range t.Operations {
			w.put(`<li><a href="#%s">`, operationAnchor(o.ID))
			w.method(o)
			w.put(" <span>%s</span></a></li>\n", o.Summary)
		}
		w.put("</ul>\n")
	}
	w.put("<h2><a href=\"#schemas\">schemas</a></h2>\n<ul>\n")
	for _, s := range p.Schemas {
		w.put("<li><a href=\"#%s\">%s</a></li>\n", schemaAnchor(s.Name), s.Name)
	}
	w.put(`</ul>
</nav>
<main id="top">
<header>
<h1>%s <small>HTTP API, version %s</small></h1>
<p class="aside">The same as <a href="openapi.json">an OpenAPI document</a>, for programs.</p>
%s
`, p.Title, p.Version, p.Description)
	if len(p.Security) > 0 {
		w.put(`<dl class="security">`)
		for _, s := range p.Security {
			w.put("<dt><code>%s</code></dt><dd>%s</dd>", s.Name, s.Description)
		}
		w.put("</dl>\n")
	}
	w.put("</header>\n")
	for _, t := range p.Tags {
		w.put("<section aria-labelledby=\"%[1]s\">\n<h2 id=\"%[1]s\">%[2]s</h2>\n%[3]s\n", tagAnchor(t.Name), t.Name, t.Description)
		for _, o := range t.Operations {
			w.operation(o)
		}
		w.put("</section>\n")
	}
	w.put("<section aria-labelledby=\"schemas\">\n<h2 id=\"schemas\">schemas</h2>\n")
	for _, s := range p.Schemas {
		w.put("<article id=\"%[1]s\">\n<h3><a href=\"#%[1]s\">%[2]s</a></h3>\n%[3]s\n", schemaAnchor(s.Name), s.Name, s.Shape.Description)
		w.shape(s.Shape)
		w.fields(s.Shape)
		w.put("</article>\n")
	}
	w.put("</section>\n</main>\n</body>\n</html>\n")
}

func (w *writer) method(o *operation) { w.put(`<span class="method %[1]s">%[1]s</span>`, o.Method) }

func (w *writer) operation(o *operation) {
	w.put("<article id=\"%[1]s\" class=\"operation\">\n<h3><a href=\"#%[1]s\">%[2]s</a></h3>\n<p class=\"route\">", operationAnchor(o.ID), o.Summary)
	w.method(o)
	w.put(" <code>%s</code></p>\n<p class=\"aside\"><code>%s</code> · %s</p>\n%s\n", o.Path, o.ID, o.Access, o.Description)
	if len(o.Also) > 0 {
		w.put("<p class=\"aside\">Also at")
		for _, path := range o.Also {
			w.put(" <code class=\"also\">%s</code>", path)
		}
		w.put("</p>\n")
	}
	if len(o.Parameters) > 0 {
		w.put("<h4>Parameters</h4>")
		w.parameters(o.Parameters)
	}
	if b := o.Body; b != nil {
		w.put("<h4>Body")
		if !b.Required {
			w.put(" <small>optional</small>")
		}
		w.put("</h4>\n%s", b.Description)
		w.content(b.Content)
	}
	for _, r := range o.Good {
		w.put("<h4>%s</h4>\n%s", r.Status, r.Description)
		if len(r.Headers) > 0 {
			w.parameters(r.Headers)
		}
		w.content(r.Content)
	}
	if len(o.Bad) > 0 {
		w.put("<h4>Errors</h4>\n<div class=\"wide\"><table><tbody>\n")
		for _, r := range o.Bad {
			w.put(`<tr><th scope="row">%s</th><td>%s</td><td>`, r.Status, r.Description)
			for _, m := range r.Content {
				w.shape(m.Shape)
			}
			w.put("</td></tr>\n")
		}
		w.put("</tbody></table></div>")
	}
	w.put("<h4>Example</h4>\n<pre tabindex=\"0\"><code>%s</code></pre>\n</article>\n", o.Curl)
}

func (w *writer) parameters(list []parameter) {
	w.put("<div class=\"wide\"><table><tbody>\n")
	for _, p := range list {
		w.put(`<tr><th scope="row"><code>%s</code>`, p.Name)
		if p.In != "" {
			w.put("<br><small>%s", p.In)
			if p.Required {
				w.put(", required")
			}
			w.put("</small>")
		}
		w.put("</th><td>")
		w.shape(p.Shape)
		w.put("</td><td>%s", p.Description)
		if p.Example != "" {
			w.put("<p><small>Such as <code>%s</code></small></p>", p.Example)
		}
		w.put("</td></tr>\n")
	}
	w.put("</tbody></table></div>")
}

func (w *writer) content(list []media) {
	for _, m := range list {
		w.put("<p><code>%s</code>: ", m.Kind)
		w.shape(m.Shape)
		w.put("</p>\n")
		w.fields(m.Shape)
		for _, e := range m.Examples {
			w.put("<details><summary>%s</summary><pre tabindex=\"0\"><code>%s</code></pre></details>\n", e.Name, e.Text)
		}
	}
}

// shape writes what a value looks like, in a line.
func (w *writer) shape(s *shape) {
	w.put(`<span class="shape">`)
	switch {
	case s.Ref != "":
		w.put(`<a href="#%s">%s</a>`, schemaAnchor(s.Ref), s.Ref)
	case s.Items != nil:
		w.put("array of ")
		w.shape(s.Items)
	case s.Kind != "":
		w.put("%s", s.Kind)
	case len(s.Of) == 0:
		w.put("anything")
	}
	for i, one := range s.Of {
		if i == 0 {
			w.put(" %s ", s.How)
		} else {
			w.put(", ")
		}
		w.shape(one)
	}
	for i, v := range s.Enum {
		if i > 0 {
			w.put(",")
		}
		w.put(" <code>%s</code>", v)
	}
	if len(s.Facts) > 0 {
		w.put(" <small>%s</small>", strings.Join(s.Facts, ", "))
	}
	if s.Other != nil {
		w.put(" of ")
		w.shape(s.Other)
	}
	w.put("</span>")
}

// fields writes the members of an object, in a table.
func (w *writer) fields(s *shape) {
	if len(s.Fields) > 0 {
		w.put("<div class=\"wide\"><table><tbody>\n")
		for _, f := range s.Fields {
			w.put(`<tr><th scope="row"><code>%s</code>`, f.Name)
			if f.Required {
				w.put("<br><small>required</small>")
			}
			w.put("</th><td>")
			w.shape(f.Shape)
			w.put("</td><td>%s", f.Shape.Description)
			w.fields(f.Shape)
			w.put("</td></tr>\n")
		}
		w.put("</tbody></table></div>")
	}
	if s.Items != nil {
		w.fields(s.Items)
	}
	for _, one := range s.Of {
		if one.Ref == "" {
			w.put("%s", one.Description)
			w.fields(one)
		}
	}
}
