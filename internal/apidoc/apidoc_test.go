package apidoc_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"github.com/parley-run/parley/api"
	"github.com/parley-run/parley/internal/apidoc"
	"github.com/parley-run/parley/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func page(t *testing.T, doc []byte) []byte {
	t.Helper()
	b, err := apidoc.Page(doc, access)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func access(method, path string) string { return "Access of " + method + " " + path }

var made = sync.OnceValues(func() ([]byte, error) {
	return apidoc.Page(api.OpenAPI(), access)
})

// contract is the page of the document that is served.
func contract(t *testing.T) []byte {
	t.Helper()
	b, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// walk visits all elements of a page.
func walk(t *testing.T, page []byte, visit func(*html.Node)) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			visit(n)
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// words are the text in an element, with single spaces.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Every operation is there, with who may use it and a command.
func TestOperations(t *testing.T) {
	t.Parallel()
	found := map[string]string{} // what an operation says, by its route
	also := map[string]bool{}
	walk(t, contract(t), func(n *html.Node) {
		if attr(n, "class") != "operation" {
			return
		}
		var route string
		for d := range n.Descendants() {
			if d.Type != html.ElementNode {
				continue
			}
			switch attr(d, "class") {
			case "route":
				route = words(d)
				found[route] = words(n)
			case "also":
				method, _, _ := strings.Cut(route, " ")
				also[method+" "+words(d)] = true
			}
		}
	})
	all := slices.DeleteFunc(testkit.Operations(t), func(route string) bool { return also[route] })
	if len(found) != len(all) || len(also) == 0 {
		t.Errorf("%d operations, want %d; %d have another path", len(found), len(all), len(also))
	}
	for _, route := range all {
		method, path, _ := strings.Cut(route, " ")
		text, fixed, _ := strings.Cut(path, "{")
		for _, want := range []string{"Access of " + route, "curl", "localhost:8000" + text, "Errors", "403"} {
			if !strings.Contains(found[route], want) {
				t.Errorf("%s does not say %q", route, want)
			}
		}
		if method != "GET" && !strings.Contains(found[route], "-X "+method) {
			t.Errorf("%s: the command does not say how", route)
		}
		if command := found[route][strings.LastIndex(found[route], "curl"):]; fixed != "" && strings.Contains(strings.SplitN(command, " -H", 2)[0], "{") {
			t.Errorf("%s: a parameter has no example: %s", route, command)
		}
	}
}

var shellWords = regexp.MustCompile(`(?:'[^']*'|\\'|[^'\s])+`)

// The commands are requests as the document wants them.
func TestCommands(t *testing.T) {
	t.Parallel()
	seen := 0
	walk(t, contract(t), func(n *html.Node) {
		if n.Data != "pre" || !strings.HasPrefix(words(n), "curl ") {
			return
		}
		seen++
		method, address, kind, body := http.MethodGet, "", "application/x-www-form-urlencoded", ""
		list := shellWords.FindAllString(words(n), -1)[1:]
		for i := range list {
			list[i] = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(list[i], `'\''`, "\x00"), "'", ""), "\x00", "'")
		}
		for i := 0; i < len(list); i++ {
			switch list[i] {
			case "-N":
			case "-X":
				i++
				method = list[i]
			case "-H":
				i++
				kind = strings.TrimPrefix(list[i], "Content-Type: ")
			case "-d", "--data-binary":
				i++
				body = list[i]
			default:
				address = list[i]
			}
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		testkit.CheckRequest(t, req)
	})
	if seen < 50 {
		t.Errorf("only %d commands", seen)
	}
}

// Nothing leads nowhere, nothing is there twice, and nothing is fetched.
func TestLinks(t *testing.T) {
	t.Parallel()
	ids, links := map[string]int{}, map[string]bool{}
	walk(t, contract(t), func(n *html.Node) {
		if id := attr(n, "id"); id != "" {
			ids[id]++
		}
		if n.Data == "a" {
			links[attr(n, "href")] = true
		}
		for _, name := range []string{"aria-labelledby"} {
			if id := attr(n, name); id != "" {
				links["#"+id] = true
			}
		}
		switch n.Data {
		case "script", "link", "img", "iframe", "form", "object", "base":
			t.Errorf("there is a <%s>", n.Data)
		}
	})
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
	schemas := 0
	for link := range links {
		id, inside := strings.CutPrefix(link, "#")
		if inside && ids[id] == 0 || !inside && link != "openapi.json" {
			t.Errorf("%q leads nowhere", link)
		}
		if strings.HasPrefix(id, "schema-") {
			schemas++
		}
	}
	for _, want := range []string{"#operation-followRun", "#schema-Event", "#schema-Error", "#tag-runs"} {
		if !links[want] {
			t.Errorf("nothing leads to %s", want)
		}
	}
	if schemas < 50 {
		t.Errorf("only %d schemas are linked", schemas)
	}
}

// The style is the one that the policy allows, to the byte.
func TestPolicy(t *testing.T) {
	t.Parallel()
	seen := 0
	walk(t, contract(t), func(n *html.Node) {
		if attr(n, "style") != "" {
			t.Errorf("<%s> has a style of its own", n.Data)
		}
		if n.Data == "style" {
			seen++
			sum := sha256.Sum256([]byte(n.FirstChild.Data))
			if !strings.Contains(apidoc.Policy, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
				t.Errorf("the policy does not allow the style: %s", apidoc.Policy)
			}
		}
	})
	if seen != 1 {
		t.Errorf("%d styles", seen)
	}
}

// Whatever a document says, it is text.
func TestEscaping(t *testing.T) {
	t.Parallel()
	const evil = `</code></style></pre>\"'><script>alert(1)</script><img src=x onerror=alert(1)> **</p><script>alert(2)</script>** ` +
		"`<script>alert(3)</script>`" + ` *<b onclick=x>* javascript:alert(4)`
	doc := strings.ReplaceAll(`{
		"info": {"title": "EVIL", "version": "EVIL", "description": "EVIL\n\n- EVIL\n- EVIL"},
		"tags": [{"name": "EVIL", "description": "EVIL"}],
		"paths": {"/EVIL": {
			"parameters": [{"name": "EVIL", "in": "query", "required": true, "example": "EVIL", "description": "EVIL", "schema": {"type": "EVIL", "enum": ["EVIL"], "pattern": "EVIL"}}],
			"post": {
				"tags": ["EVIL"], "operationId": "EVIL", "summary": "EVIL", "description": "EVIL",
				"requestBody": {"description": "EVIL", "content": {"EVIL": {"schema": {"$ref": "#/components/schemas/EVIL"}, "example": {"EVIL": "EVIL"}}}},
				"responses": {"200": {"description": "EVIL", "headers": {"EVIL": {"description": "EVIL"}}, "content": {"EVIL": {"examples": {"EVIL": {"summary": "EVIL", "value": "EVIL"}}}}}}
			}
		}},
		"components": {"securitySchemes": {"EVIL": {"description": "EVIL"}}, "schemas": {"EVIL": {"description": "EVIL", "properties": {"EVIL": {"type": "EVIL", "default": "EVIL"}}}}}
	}`, "EVIL", evil)
	allowed := strings.Fields("html head meta title style body nav p a h1 h2 h3 h4 ul li main header section article code pre div table tbody tr th td small br span strong em details summary dl dt dd")
	walk(t, page(t, []byte(doc)), func(n *html.Node) {
		if !strings.Contains(" "+strings.Join(allowed, " ")+" ", " "+n.Data+" ") {
			t.Errorf("there is a <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") && a.Val != "openapi.json" {
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	})
}

func TestBroken(t *testing.T) {
	t.Parallel()
	if _, err := apidoc.Page([]byte(`{"info":`), nil); err == nil {
		t.Error("no error")
	}
}
