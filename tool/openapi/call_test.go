package openapi_test

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

// one makes the tool of a document with one operation.
func one(t *testing.T, base, path, method, members string) tool.Tool {
	t.Helper()
	set := mustNew(t, openapi.Config{Spec: doc(`{"` + path + `":{"` + method + `":{"operationId":"x",` + members + `,` + answers + `}}}`), BaseURL: base})
	return mustTool(t, set, "x")
}

// The table of the specification, with values that need escaping.
func TestStyles(t *testing.T) {
	server := echo(t)
	const (
		scalar = `"a b/ü"`
		list   = `["blue","a,b","d&e"]`
		object = `{"R":100,"G":"x=y"}`
		deep   = `{"a":{"b":[1,{"c":true}]},"d":"e f","n":null}`
	)
	for _, tt := range []struct{ in, style, explode, value, want string }{
		{"path", "simple", "false", scalar, "/p/a%20b%2F%C3%BC/end"},
		{"path", "simple", "false", list, "/p/blue,a%2Cb,d%26e/end"},
		{"path", "simple", "true", list, "/p/blue,a%2Cb,d%26e/end"},
		{"path", "simple", "false", object, "/p/R,100,G,x%3Dy/end"},
		{"path", "simple", "true", object, "/p/R=100,G=x%3Dy/end"},
		{"path", "", "", list, "/p/blue,a%2Cb,d%26e/end"},
		{"path", "label", "false", scalar, "/p/.a%20b%2F%C3%BC/end"},
		{"path", "label", "false", list, "/p/.blue,a%2Cb,d%26e/end"},
		{"path", "label", "true", list, "/p/.blue.a%2Cb.d%26e/end"},
		{"path", "label", "false", object, "/p/.R,100,G,x%3Dy/end"},
		{"path", "label", "true", object, "/p/.R=100.G=x%3Dy/end"},
		{"path", "matrix", "false", scalar, "/p/;v=a%20b%2F%C3%BC/end"},
		{"path", "matrix", "false", `""`, "/p/;v/end"},
		{"path", "matrix", "false", list, "/p/;v=blue,a%2Cb,d%26e/end"},
		{"path", "matrix", "true", list, "/p/;v=blue;v=a%2Cb;v=d%26e/end"},
		{"path", "matrix", "false", object, "/p/;v=R,100,G,x%3Dy/end"},
		{"path", "matrix", "true", object, "/p/;R=100;G=x%3Dy/end"},
		{"path", "", "", `3.0`, "/p/3/end"},
		{"path", "", "", `12345678901234567890`, "/p/12345678901234567890/end"},
		{"path", "", "", `true`, "/p/true/end"},
		{"query", "form", "true", scalar, "v=a%20b%2F%C3%BC"},
		{"query", "form", "false", list, "v=blue,a%2Cb,d%26e"},
		{"query", "form", "true", list, "v=blue&v=a%2Cb&v=d%26e"},
		{"query", "form", "false", object, "v=R,100,G,x%3Dy"},
		{"query", "form", "true", object, "R=100&G=x%3Dy"},
		{"query", "", "", list, "v=blue&v=a%2Cb&v=d%26e"},
		{"query", "", "", `[]`, ""},
		{"query", "", "", `null`, ""},
		{"query", "", "", `""`, "v="},
		{"query", "", "", `[{"a":1},[2]]`, "v=%7B%22a%22%3A1%7D&v=%5B2%5D"},
		{"query", "spaceDelimited", "", list, "v=blue%20a%2Cb%20d%26e"},
		{"query", "spaceDelimited", "true", list, "v=blue&v=a%2Cb&v=d%26e"},
		{"query", "pipeDelimited", "", list, "v=blue%7Ca%2Cb%7Cd%26e"},
		{"query", "pipeDelimited", "false", object, "v=R%7C100%7CG%7Cx%3Dy"},
		{"query", "deepObject", "true", object, "v%5BR%5D=100&v%5BG%5D=x%3Dy"},
		{"query", "deepObject", "true", deep, "v%5Ba%5D%5Bb%5D%5B0%5D=1&v%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=true&v%5Bd%5D=e%20f"},
		{"header", "", "", scalar, "a b/ü"},
		{"header", "simple", "false", list, "blue,a,b,d&e"},
		{"header", "simple", "false", object, "R,100,G,x=y"},
		{"header", "simple", "true", object, "R=100,G=x=y"},
		{"cookie", "", "", scalar, "v=a%20b%2F%C3%BC"},
		{"cookie", "form", "false", list, "v=blue,a%2Cb,d%26e"},
		{"cookie", "form", "true", list, "v=blue; v=a%2Cb; v=d%26e"},
		{"cookie", "form", "false", object, "v=R,100,G,x%3Dy"},
	} {
		t.Run(strings.Join([]string{tt.in, tt.style, tt.explode, tt.value}, " "), func(t *testing.T) {
			p := `{"name":"v","in":"` + tt.in + `","required":true,"schema":{"nullable":true}`
			if tt.style != "" {
				p += `,"style":"` + tt.style + `"`
			}
			if tt.explode != "" {
				p += `,"explode":` + tt.explode
			}
			path := "/p"
			if tt.in == "path" {
				path = "/p/{v}/end"
			} else {
				p = strings.Replace(p, `"required":true,`, "", 1)
			}
			// What a style is good for depends on the type, and there the library
			// that checks documents is strict.
			kind := map[byte]string{'[': "array", '{': "object"}[tt.value[0]]
			if kind != "" {
				p = strings.Replace(p, `"nullable":true`, `"nullable":true,"type":"`+kind+`","items":{}`, 1)
			}
			got := sent(t, one(t, server.URL, path, "get", `"parameters":[`+p+`}]`), `{"v":`+tt.value+`}`)
			if where := map[string]string{"path": got.Path, "query": got.Query, "header": got.Header.Get("V"), "cookie": got.Header.Get("Cookie")}[tt.in]; where != tt.want {
				t.Errorf("got %s, want %s", where, tt.want)
			}
		})
	}
}

func TestParametersOfOtherKinds(t *testing.T) {
	server := echo(t)
	made := one(t, server.URL, "/p", "get", `"parameters":[
		{"name":"filter","in":"query","content":{"application/json":{"schema":{"type":"object"}}}},
		{"name":"next","in":"query","allowReserved":true,"schema":{"type":"string"}},
		{"name":"filter[name]","in":"query","schema":{"type":"string"}},
		{"name":"version","in":"header","required":true,"schema":{"type":"integer","default":2}}]`)
	got := sent(t, made, `{"filter":{"a": [1]},"next":"/a?b=c&d#e+f,g","filter_name":"x"}`)
	if want := `filter=%7B%22a%22%3A%5B1%5D%7D&next=/a?b%3Dc%26d%23e%2Bf,g&filter%5Bname%5D=x`; got.Query != want {
		t.Errorf("got  %s\nwant %s", got.Query, want)
	}
	if got.Header.Get("Version") != "2" {
		t.Errorf("the default was not sent: %v", got.Header)
	}
}

func TestPathsKeepTheirSegments(t *testing.T) {
	server := echo(t)
	made := one(t, server.URL+"/base", "/files/{name}{ext}/meta", "get", `"parameters":[
		{"name":"name","in":"path","required":true,"schema":{"type":"string"}},
		{"name":"ext","in":"path","required":true,"schema":{"type":"string"}}]`)
	for _, name := range []string{"..", ".", "", "../admin", `..\\admin`, "a/../../b", "a/..", "/..", "..."} {
		if got := call(t, made, `{"name":"`+name+`","ext":"x"}`); !strings.Contains(got, "invalid arguments: name") {
			t.Errorf("%s: got %s", name, got)
		}
	}
	for name, want := range map[string]string{
		"a/b":       "/base/files/a%2Fbx/meta",
		"a?b#c":     "/base/files/a%3Fb%23cx/meta",
		"%2e%2e%2f": "/base/files/%252e%252e%252fx/meta",
		"a;b@c:d":   "/base/files/a%3Bb%40c%3Adx/meta",
		"a\\u0000":  "/base/files/a%00x/meta",
	} {
		if got := sent(t, made, `{"name":"`+name+`","ext":"x"}`); got.Path != want || got.Query != "" {
			t.Errorf("%s: got %s, want %s", name, got.Path, want)
		}
	}
}

func TestBodies(t *testing.T) {
	server := echo(t)
	const members = `{"type":"object","required":["name"],"properties":{
		"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"home":{"type":"object"},"big":{"type":"integer"},"note":{"type":"string","nullable":true},"extra":{"type":"object"}}}`
	const all = `{"name":"a b&c","tags":["x","y"],"home":{"city":"Bern"},"big":9007199254740993}`
	for _, tt := range []struct{ name, content, args, media, want string }{
		{"json", `"application/json":{"schema":` + members + `}`, all, "application/json", `{"big":9007199254740993,"home":{"city":"Bern"},"name":"a b&c","tags":["x","y"]}`},
		{"null", `"application/json":{"schema":` + members + `}`, `{"name":"n","note":null,"big":null}`, "application/json", `{"name":"n","note":null}`},
		{"+json", `"application/vnd.x+json":{"schema":` + members + `}`, `{"name":"n"}`, "application/vnd.x+json", `{"name":"n"}`},
		{"anything", `"*/*":{"schema":` + members + `}`, `{"name":"n"}`, "application/json", `{"name":"n"}`},
		{"the best of many", `"text/plain":{},"application/merge-patch+json":{},"application/json":{},"multipart/form-data":{"schema":{"type":"object"}}`, `{"body":"x"}`, "application/json", `"x"`},
		{"json list", `"application/json":{"schema":{"type":"array","items":{"type":"integer"}}}`, `{"body":[1, 2]}`, "application/json", `[1,2]`},
		{"json map", `"application/json":{"schema":{"type":"object","additionalProperties":{"type":"integer"}}}`, `{"body":{"a":1}}`, "application/json", `{"a":1}`},
		{"open object", `"application/json":{"schema":{"type":"object","additionalProperties":true,"properties":{"a":{"type":"integer"}}}}`, `{"body":{"a":1,"b":2}}`, "application/json", `{"a":1,"b":2}`},
		{"no schema", `"application/json":{}`, `{"body":{"a":[]}}`, "application/json", `{"a":[]}`},
		{"form", `"application/x-www-form-urlencoded":{"schema":` + members + `}`, all, "application/x-www-form-urlencoded", `big=9007199254740993&home=%7B%22city%22%3A%22Bern%22%7D&name=a%20b%26c&tags=x&tags=y`},
		{"form with styles", `"application/x-www-form-urlencoded":{"schema":` + members + `,"encoding":{"tags":{"style":"pipeDelimited","explode":false},"home":{"style":"deepObject","explode":true},"extra":{"contentType":"application/json"}}}`, `{"name":"n","tags":["x","y"],"home":{"city":"Bern"},"extra":{}}`, "application/x-www-form-urlencoded", `extra=%7B%7D&home%5Bcity%5D=Bern&name=n&tags=x%7Cy`},
		{"form map", `"application/x-www-form-urlencoded":{"schema":{"type":"object","additionalProperties":{"type":"string"}}}`, `{"body":{"b":"1","a":"2"}}`, "application/x-www-form-urlencoded", `b=1&a=2`},
		{"text", `"text/plain":{"schema":{"type":"string"}}`, `{"body":"two\nlines"}`, "text/plain", "two\nlines"},
		{"text with a charset", `"text/markdown; charset=utf-8":{"schema":{"type":"string"}}`, `{"body":"ü"}`, "text/markdown; charset=utf-8", "ü"},
		{"xml", `"application/xml":{"schema":{"type":"string"}}`, `{"body":"<a/>"}`, "application/xml", "<a/>"},
		{"bytes", `"application/octet-stream":{"schema":{"type":"string","format":"binary"}}`, `{"body":"AP-_"}`, "application/octet-stream", "\x00\uFFFD\uFFFD"},
		{"picture", `"image/png":{}`, `{"body":"aGk="}`, "image/png", "hi"},
		{"nothing", `"application/json":{"schema":` + members + `}`, `{}`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := sent(t, one(t, server.URL, "/b", "post", `"requestBody":{"content":{`+tt.content+`}}`), tt.args)
			if got.Type != tt.media || got.Body != tt.want {
				t.Errorf("got  %s %q\nwant %s %q", got.Type, got.Body, tt.media, tt.want)
			}
		})
	}
}

func TestMultipart(t *testing.T) {
	type part struct{ Name, File, Type, Body string }
	var got []part
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		for mr := multipart.NewReader(r.Body, params["boundary"]); ; {
			p, err := mr.NextPart()
			if err != nil {
				return
			}
			body, _ := io.ReadAll(p)
			got = append(got, part{p.FormName(), p.FileName(), p.Header.Get("Content-Type"), string(body)})
		}
	}))
	defer server.Close()
	made := one(t, server.URL, "/b", "post", `"requestBody":{"required":true,"content":{"multipart/form-data":{
		"encoding":{"photo":{"contentType":"image/png, image/jpeg"},"list":{"contentType":"application/json"}},
		"schema":{"type":"object","required":["photo"],"properties":{
			"photo":{"type":"string","format":"binary","description":"A picture."},
			"more":{"type":"array","items":{"type":"string","format":"binary"}},
			"title":{"type":"string"},"count":{"type":"integer"},"meta":{"type":"object"},
			"list":{"type":"array","items":{}},"tags":{"type":"array","items":{"type":"string"}}}}}}}`)
	if got := call(t, made, `{"photo":"aGk=","more":["YQ","Yg=="],"title":"T\"x","count":2,"meta":{"a":1},"list":[1],"tags":["x","y"]}`); got != `{"status":"success"}` {
		t.Fatal(got)
	}
	if diff := cmp.Diff([]part{
		{"count", "", "", "2"},
		{"list", "", "application/json", "[1]"},
		{"meta", "", "application/json", `{"a":1}`},
		{"more", "more", "application/octet-stream", "a"},
		{"more", "more", "application/octet-stream", "b"},
		{"photo", "photo", "image/png", "hi"},
		{"tags", "", "", "x"},
		{"tags", "", "", "y"},
		{"title", "", "", `T"x`},
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := call(t, made, `{"photo":"!"}`); !strings.Contains(got, "photo: is not base64") {
		t.Errorf("got %s", got)
	}
	if d := string(made.Declaration().Parameters); !strings.Contains(d, `A picture.\nThe bytes in base64.`) || !strings.Contains(d, `"contentEncoding":"base64"`) {
		t.Errorf("got %s", d)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	server := echo(t)
	set := mustNew(t, openapi.Config{File: "testdata/petstore30.json", BaseURL: server.URL, Headers: func(*tool.Context) (map[string]string, error) { return nil, nil }})
	for _, tt := range []struct{ name, args, want string }{
		{"list_pets", `{"limit":101}`, "limit: is greater than"},
		{"list_pets", `{"limit":0}`, "limit: is less than or equal to"},
		{"list_pets", `{"limit":"x"}`, `limit: has type \"string\", want \"integer\"`},
		{"list_pets", `{"limits":1,"a":2}`, `there is no argument \"a\", \"limits\"; the arguments are: limit, tags, x_trace_id`},
		{"list_pets", `{"limit":1,"limit":1000}`, "twice"},
		{"list_pets", `{"X-Trace-ID":"a"}`, "there is no argument"},
		{"list_pets", `{"x_trace_id":"a\nHost: b"}`, "x_trace_id: must not have line breaks"},
		{"list_pets", `[]`, "not a JSON object"},
		{"create_pet", `{}`, "name"},
		{"create_pet", `{"name":"x","id":3}`, `there is no argument \"id\"`},
		{"create_pet", `{"name":"x","vet":{}}`, "missing"},
		{"replace_pet", `{"pet_id":1,"pet_id_body":"1","name":"x"}`, "fewer than 2"},
		{"get_pets_pet_id", `{}`, "pet_id"},
		{"get_pets_pet_id", `{"pet_id":null}`, "pet_id"},
		{"feed_pet", `{"pet_id":1,"grams":3}`, "food is required beside"},
	} {
		got := call(t, mustTool(t, set, tt.name), tt.args)
		if !strings.Contains(got, tt.want) || !strings.Contains(got, `"status":"error"`) {
			t.Errorf("%s %s: got %s", tt.name, tt.args, got)
		}
	}
	if got := sent(t, mustTool(t, set, "replace_pet"), `{"pet_id":7,"pet_id_body":"b","name":"Rex","nick_name":null}`); got.Path != "/pets/7" || got.Body != `{"name":"Rex","nickName":null,"petId":"b"}` {
		t.Errorf("got %+v", got)
	}
	if got := sent(t, mustTool(t, set, "feed_pet"), `{"pet_id":7,"food":"fish"}`); got.Body != `{"food":"fish","unit":"g"}` {
		t.Errorf("got %+v", got)
	}
	if got := sent(t, mustTool(t, set, "list_pets"), ``); got.Query != "" || got.Method != http.MethodGet || got.Type != "" {
		t.Errorf("got %+v", got)
	}
}

func TestAnswers(t *testing.T) {
	long := strings.Repeat("é", 6<<20)
	for _, tt := range []struct {
		name, media string
		status      int
		body        string
		want        string
	}{
		{"object", "application/json", 200, `{ "a": 1.0 }`, `{"a":1.0}`},
		{"list", "application/json", 201, `[1]`, `{"result":[1]}`},
		{"null", "application/json", 200, `null`, `{"result":null}`},
		{"problem json", "application/vnd.x+json; charset=utf-8", 200, `{"a":1}`, `{"a":1}`},
		{"json called text", "text/plain", 200, `{"a":1}`, `{"a":1}`},
		{"number that is text", "text/plain", 200, `12`, `{"text":"12"}`},
		{"text", "text/plain", 200, `hello`, `{"text":"hello"}`},
		{"broken json", "application/json", 200, `{"a":`, `{"text":"{\"a\":"}`},
		{"bytes", "image/png", 200, "\x00\xff", `{"base64":"AP8=","content_type":"image/png"}`},
		{"bad text", "text/plain", 200, "a\xff", `{"text":"a�"}`},
		{"nothing", "", 204, ``, `{"status":"success"}`},
		{"not found", "application/json", 404, `{"error":"no such pet"}`, `{"status":"error","error_message":"GET /a: 404 Not Found: {\"error\":\"no such pet\"}"}`},
		{"failure without words", "", 500, ``, `{"status":"error","error_message":"GET /a: 500 Internal Server Error"}`},
		{"long failure", "text/plain", 400, strings.Repeat("x", 5000), `{"status":"error","error_message":"GET /a: 400 Bad Request: ` + strings.Repeat("x", 1000) + `…"}`},
		{"a redirect to nowhere", "", 304, ``, `{"status":"error","error_message":"GET /a: 304 Not Modified"}`},
		{"long json", "application/json", 200, `"` + long + `"`, `{"status":"error","error_message":"GET /a: the result must not be larger than 10 MiB: ask for less"}`},
		{"long text", "text/plain", 200, "x" + long, `{"text":"x` + long[:10<<20-2] + `","truncated":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			got := call(t, one(t, server.URL, "/a", "get", `"tags":[]`), `{}`)
			if got != tt.want {
				t.Errorf("got %d bytes %.300s, want %d bytes %.300s", len(got), got, len(tt.want), tt.want)
			}
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"1"`) }))
	if got := call(t, one(t, server.URL, "/a", "head", `"tags":[]`), `{}`); got != `{"etag":"\"1\"","status":"success"}` {
		t.Errorf("got %s", got)
	}
	server.Close()
	if got := call(t, one(t, server.URL, "/a", "get", `"tags":[]`), `{}`); !strings.Contains(got, "GET /a: dial tcp") {
		t.Errorf("got %s", got)
	}
}

func TestHeaders(t *testing.T) {
	server := echo(t)
	fail := false
	set := mustNew(t, openapi.Config{Spec: doc(`{"/a":{"get":{` + answers + `}}}`), BaseURL: server.URL, Headers: func(ctx *tool.Context) (map[string]string, error) {
		if fail {
			return nil, errors.New("no tenant")
		}
		return map[string]string{"X-Call": ctx.FunctionCallID, "Accept": "text/csv"}, nil
	}})
	if got := sent(t, mustTool(t, set, "get_a"), ``); got.Header.Get("X-Call") != "call-1" || got.Header.Get("Accept") != "text/csv" {
		t.Errorf("got %v", got.Header)
	}
	fail = true
	if got := call(t, mustTool(t, set, "get_a"), ``); !strings.Contains(got, "no tenant") {
		t.Errorf("got %s", got)
	}
}
