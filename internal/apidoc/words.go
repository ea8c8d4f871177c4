package apidoc

import (
	"html"
	"regexp"
	"strings"
)

// Descriptions are written with a few marks of Markdown: paragraphs, lists,
// code, strong and emphasised words. Everything is escaped before the marks
// become elements, so nothing in a document can become one by itself.
var (
	codeMark   = regexp.MustCompile("`([^`]+)`")
	strongMark = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	emMark     = regexp.MustCompile(`\*([^*\s][^*]*)\*`)
	paragraphs = regexp.MustCompile(`\n\s*\n`)
	listItem   = regexp.MustCompile(`(?m)^- `)
)

// prose is a description as HTML.
func (b *builder) prose(n *node) markup {
	var out strings.Builder
	for _, p := range paragraphs.Split(strings.TrimSpace(n.text()), -1) {
		if p == "" {
			continue
		}
		at := listItem.FindAllStringIndex(p, -1)
		if len(at) == 0 {
			out.WriteString("<p>" + b.inline(p) + "</p>")
			continue
		}
		if head := strings.TrimSpace(p[:at[0][0]]); head != "" {
			out.WriteString("<p>" + b.inline(head) + "</p>")
		}
		out.WriteString("<ul>")
		for i, from := range at {
			to := len(p)
			if i+1 < len(at) {
				to = at[i+1][0]
			}
			out.WriteString("<li>" + b.inline(p[from[1]:to]) + "</li>")
		}
		out.WriteString("</ul>")
	}
	return markup(out.String())
}

// inline escapes a text and then gives it its marks. What is code has no other
// marks in it.
func (b *builder) inline(text string) string {
	text = strings.TrimSpace(text)
	var out strings.Builder
	last := 0
	for _, at := range codeMark.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(marks(text[last:at[0]]))
		out.WriteString(b.code(text[at[2]:at[3]]))
		last = at[1]
	}
	out.WriteString(marks(text[last:]))
	return out.String()
}

func marks(text string) string {
	text = html.EscapeString(text)
	text = strongMark.ReplaceAllString(text, "<strong>$1</strong>")
	return emMark.ReplaceAllString(text, "<em>$1</em>")
}

// code is a word of the interface. If it is the name of an operation or of a
// schema, it leads there.
func (b *builder) code(word string) string {
	code := "<code>" + html.EscapeString(word) + "</code>"
	// An operation whose name is a plain word, such as run, may not be meant.
	if b.operations[word] && strings.ToLower(word) != word {
		return `<a href="#` + operationAnchor(word) + `">` + code + "</a>"
	}
	if b.doc.get("components", "schemas", word) != nil {
		return `<a href="#` + schemaAnchor(word) + `">` + code + "</a>"
	}
	return code
}

var notInAnchors = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func operationAnchor(id string) string { return "operation-" + notInAnchors.ReplaceAllString(id, "-") }

func schemaAnchor(name string) string { return "schema-" + notInAnchors.ReplaceAllString(name, "-") }
func tagAnchor(name string) string    { return "tag-" + notInAnchors.ReplaceAllString(name, "-") }
