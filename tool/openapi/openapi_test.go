package openapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

func TestPetstore30(t *testing.T) {
	set := mustNew(t, openapi.Config{File: "testdata/petstore30.json"})
	var got []string
	for _, made := range set.All() {
		d := made.Declaration()
		got = append(got, fmt.Sprintf("%s (%s): %q", d.Name, d.Effect, d.Description))
	}
	want := []string{
		`list_pets (pure): "Lists pets."`,
		`create_pet (once): "Takes in a pet."`,
		`get_pets_pet_id (pure): "GET /pets/{petId}"`,
		`replace_pet (idempotent): "PUT /pets/{petId}"`,
		`delete_pet (idempotent): "DELETE /pets/{petId}\nDeprecated."`,
		`feed_pet (idempotent): "POST /pets/{petId}/feed"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantSchema(t, set, "list_pets", `{"type":"object","properties":{
		"limit":{"type":"integer","description":"how many","exclusiveMinimum":0,"maximum":100,"default":20},
		"tags":{"type":"array","items":{"type":"string"}},
		"x_trace_id":{"type":"string","format":"uuid"}}}`)
	const person = `"$defs":{"Person":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"friends":{"type":"array","items":{"$ref":"#/$defs/Person"}}}}}`
	wantSchema(t, set, "create_pet", `{"type":"object","required":["name"],"properties":{
		"name":{"type":"string","examples":["Rex"]},
		"nick_name":{"type":["string","null"]},
		"kind":{"type":["string","null"],"enum":["cat","dog",null]},
		"owner":{"anyOf":[{"allOf":[{"$ref":"#/$defs/Person"}]},{"type":"null"}]},
		"vet":{"$ref":"#/$defs/Person"},
		"code":{"type":"string","description":"Pattern: ^(?!x)[a-z]+$"}},`+person+`}`)
	wantSchema(t, set, "replace_pet", `{"type":"object","required":["pet_id","name","pet_id_body"],"properties":{
		"pet_id":{"type":"integer","format":"int64","description":"which pet"},
		"name":{"allOf":[{"type":"string","examples":["Rex"]},{"minLength":2}]},
		"nick_name":{"type":["string","null"]},
		"kind":{"type":["string","null"],"enum":["cat","dog",null]},
		"owner":{"anyOf":[{"allOf":[{"$ref":"#/$defs/Person"}]},{"type":"null"}]},
		"pet_id_body":{"type":"string"},
		"vet":{"$ref":"#/$defs/Person"},
		"code":{"type":"string","description":"Pattern: ^(?!x)[a-z]+$"}},`+person+`}`)
	wantSchema(t, set, "feed_pet", `{"type":"object","required":["pet_id"],"properties":{
		"pet_id":{"type":"integer"},"food":{"type":"string"},"grams":{"type":"integer"},"unit":{"type":"string","default":"g"}}}`)
}

func TestPetstore31(t *testing.T) {
	set := mustNew(t, openapi.Config{File: "testdata/petstore31.yaml"})
	if diff := cmp.Diff([]string{"ping", "search_animals", "http_book_visit2"}, names(set)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantSchema(t, set, "http_book_visit2", `{"type":"object","required":["animal","at"],"properties":{
		"at":{"type":"string","format":"date-time"},
		"note":{"type":["string","null"]},
		"minutes":{"type":"integer","exclusiveMinimum":0},
		"kind":{"const":"checkup"},
		"animal":{"description":"Who is to be looked at.","anyOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}]},
		"before":{"anyOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}]}},
		"$defs":{
			"Cat":{"type":"object","required":["type"],"properties":{"type":{"type":"string"},"lives":{"type":"integer"}}},
			"Dog":{"type":"object","required":["type"],"properties":{"type":{"type":"string"},"barks":{"type":"boolean"}}}}}`)
	// Recursion stays recursion, and is validated as such.
	server := echo(t)
	set = mustNew(t, openapi.Config{File: "testdata/petstore31.yaml", BaseURL: server.URL, Headers: func(*tool.Context) (map[string]string, error) { return nil, nil }})
	search := mustTool(t, set, "search_animals")
	const deep = `{"all":[{"word":"cat"},{"all":[{"word":"dog"}]}]}`
	if got := sent(t, search, `{"body":`+deep+`}`); got.Body != deep {
		t.Errorf("sent %s", got.Body)
	}
	if got := call(t, search, `{"body":{"all":[{"all":[{"word":3}]}]}}`); !strings.Contains(got, "invalid arguments") {
		t.Errorf("got %s", got)
	}
}

func wantSchema(t *testing.T, set *openapi.Toolset, name, want string) {
	t.Helper()
	var got, wanted any
	raw := mustTool(t, set, name).Declaration().Parameters
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%s: %s\n-want +got:\n%s", name, raw, diff)
	}
}

// doc is a document with the given paths and whatever else.
func doc(paths string, more ...string) []byte {
	return []byte(`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"servers":[{"url":"https://api.example"}],"paths":` + paths + strings.Join(more, "") + `}`)
}

const answers = `"responses":{"200":{"description":"ok"}}`

func TestNames(t *testing.T) {
	long := strings.Repeat("averylongword", 7)
	paths := `{
		"/a":{"get":{"operationId":"getThing",` + answers + `},"post":{"operationId":"get_thing",` + answers + `},"put":{"operationId":"get.Thing!",` + answers + `}},
		"/b":{"get":{"operationId":"` + long + `1",` + answers + `},"post":{"operationId":"` + long + `2",` + answers + `}},
		"/c/{some-id}/x":{"get":{"parameters":[{"name":"some-id","in":"path","required":true,"schema":{}}],` + answers + `}},
		"/d":{"get":{"operationId":"日本",` + answers + `},"post":{"operationId":"2fast",` + answers + `}}}`
	want := []string{"get_thing", "get_thing_2", "get_thing_3", long[:60], long[:58] + "_2", "get_c_some_id_x", "get_d", "_2fast"}
	set := mustNew(t, openapi.Config{Spec: doc(paths)})
	if diff := cmp.Diff(want, names(set)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	set = mustNew(t, openapi.Config{Spec: doc(paths), Prefix: "shop", Filter: openapi.Only("get_thing_2", "get_d", long[:55])})
	if diff := cmp.Diff([]string{"shop_get_thing_2", "shop_" + long[:55], "shop_get_d"}, names(set)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, ok := set.Tool("get_thing_2"); ok {
		t.Error("found without the prefix")
	}
	set.All()[0] = nil
	if slices.Contains(set.All(), nil) {
		t.Error("the list is shared")
	}
	arguments := `{"/a":{"get":{"operationId":"x","parameters":[
		{"name":"userId","in":"query","schema":{}},{"name":"user_id","in":"query","schema":{}},{"name":"userId","in":"header","schema":{}},{"name":"userID","in":"cookie","schema":{}},{"name":"ü","in":"query","schema":{}}],` + answers + `}}}`
	for preserve, want := range map[bool]string{
		false: `{"type":"object","properties":{"user_id":true,"user_id_query":true,"user_id_header":true,"user_id_cookie":true,"ü":true}}`,
		true:  `{"type":"object","properties":{"userId":true,"user_id":true,"userId_header":true,"userID":true,"ü":true}}`,
	} {
		wantSchema(t, mustNew(t, openapi.Config{Spec: doc(arguments), PreserveNames: preserve}), "x", want)
	}
}

func TestBadDocuments(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ref := func(to string) string {
		return `{"/a":{"get":{"parameters":[{"name":"q","in":"query","schema":{"$ref":"` + to + `"}}],` + answers + `}}}`
	}
	if err := os.MkdirAll(dir+"/in", 0o700); err != nil {
		t.Fatal(err)
	}
	write("secret.json", `{"type":"string"}`)
	write("in/up.json", string(doc(ref("../secret.json"))))
	write("in/far.json", string(doc(ref("https://elsewhere.example/a.json"))))
	write("in/gone.json", string(doc(ref("gone-too.json"))))
	write("in/linked.json", string(doc(ref("link.json"))))
	if err := os.Symlink("../secret.json", dir+"/in/link.json"); err != nil {
		t.Fatal(err)
	}
	ok := doc(`{"/a":{"get":{` + answers + `}}}`)
	for _, tt := range []struct {
		name string
		cfg  openapi.Config
		want string
	}{
		{"nothing", openapi.Config{}, "set exactly one of Spec, File and URL"},
		{"two", openapi.Config{Spec: ok, File: "x"}, "set exactly one of Spec, File and URL"},
		{"no file", openapi.Config{File: dir + "/none.json"}, "no such file"},
		{"empty", openapi.Config{Spec: []byte{}}, "openapi"},
		{"not a document", openapi.Config{Spec: []byte(`[1]`)}, "read the document"},
		{"broken YAML", openapi.Config{Spec: []byte("a: [\nb")}, "read the document"},
		{"Swagger", openapi.Config{Spec: []byte(`{"swagger":"2.0","paths":{}}`)}, "Swagger 2.0"},
		{"Swagger in YAML", openapi.Config{Spec: []byte("swagger: '2.0'\npaths: {}\n")}, "Swagger 2.0"},
		{"another version", openapi.Config{Spec: []byte(`{"openapi":"4.0.0","info":{"title":"t","version":"1"},"paths":{}}`)}, `openapi is "4.0.0"`},
		{"no paths", openapi.Config{Spec: doc(`{}`)}, "no operations"},
		{"no paths in 3.1", openapi.Config{Spec: []byte(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"components":{}}`)}, "no operations"},
		{"nothing passes", openapi.Config{Spec: ok, Filter: openapi.Only("none")}, "passes the filter"},
		{"missing path parameter", openapi.Config{Spec: doc(`{"/a/{id}":{"get":{` + answers + `}}}`)}, "/a/{id}"},
		{"parameter that is nowhere", openapi.Config{Spec: doc(`{"/a":{"get":{"parameters":[{"name":"x","in":"moon","schema":{}}],` + answers + `}}}`)}, "/a"},
		{"reference to nowhere", openapi.Config{Spec: doc(ref("#/components/schemas/None"))}, "#/components/schemas/None"},
		{"reference to itself", openapi.Config{Spec: doc(ref("#/components/schemas/A"), `,"components":{"schemas":{"A":{"$ref":"#/components/schemas/A"}}}`)}, ""},
		{"schema without an end", openapi.Config{Spec: doc(ref("#/components/schemas/A"), `,"components":{"schemas":{"A":{"anyOf":[{"type":"string"},{"$ref":"#/components/schemas/B"}]},"B":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}`)}, "contains itself"},
		{"body without an end", openapi.Config{Spec: doc(`{"/a":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}},`+answers+`}}}`, `,"components":{"schemas":{"A":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/A"}},"allOf":[{"$ref":"#/components/schemas/A"}]}}}`)}, "contains itself"},
		{"unknown scheme", openapi.Config{Spec: doc(`{"/a":{"get":{"security":[{"none":[]}],` + answers + `}}}`)}, "none"},
		{"two logins", openapi.Config{Spec: doc(`{"/a":{"get":{"security":[{"a":[],"b":[]}],`+answers+`}}}`, `,"components":{"securitySchemes":{"a":{"type":"apiKey","in":"header","name":"A"},"b":{"type":"apiKey","in":"header","name":"B"}}}`)}, "paths./a.get: security: the operation needs a and b at once"},
		{"effect", openapi.Config{Spec: doc(`{"/a":{"get":{"x-parley-effect":"twice",` + answers + `}}}`)}, "paths./a.get: x-parley-effect: twice is not known"},
		{"effect that is not a text", openapi.Config{Spec: doc(`{"/a":{"get":{"x-parley-effect":1,` + answers + `}}}`)}, "paths./a.get: x-parley-effect"},
		{"relative server", openapi.Config{Spec: []byte(strings.Replace(string(ok), "https://api.example", "/v1", 1))}, "servers[0]: the document does not say on which host"},
		{"no server", openapi.Config{Spec: []byte(strings.Replace(string(ok), `"servers":[{"url":"https://api.example"}],`, "", 1))}, "set BaseURL"},
		{"server that is not a web address", openapi.Config{Spec: []byte(strings.Replace(string(ok), "https://", "ftp://", 1))}, "set BaseURL"},
		{"base", openapi.Config{Spec: ok, BaseURL: "/v1"}, "BaseURL should be"},
		{"prefix", openapi.Config{Spec: ok, Prefix: "a b"}, "the prefix"},
		{"remote reference", openapi.Config{Spec: doc(ref("http://169.254.169.254/latest"))}, "references to other hosts are not followed"},
		{"file without a file", openapi.Config{Spec: doc(ref("/etc/passwd"))}, "only a document that is given as File"},
		{"file above", openapi.Config{File: dir + "/in/up.json"}, "not below its own directory"},
		{"file behind a link", openapi.Config{File: dir + "/in/linked.json"}, "link.json"},
		{"file elsewhere", openapi.Config{File: dir + "/in/far.json"}, "references to other hosts are not followed"},
		{"file that is not there", openapi.Config{File: dir + "/in/gone.json"}, "gone-too.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openapi.New(t.Context(), tt.cfg)
			if err == nil || !strings.HasPrefix(err.Error(), "openapi: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestFilesBelow(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/schemas", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"api.yaml": `
openapi: 3.0.3
info: {title: t, version: "1"}
servers: [{url: https://api.example}]
paths:
  /nodes:
    post:
      operationId: addNode
      requestBody: {required: true, content: {application/json: {schema: {$ref: schemas/node.yaml}}}}
      responses: {"200": {description: ok}}
`,
		"schemas/node.yaml": `
type: object
required: [name]
properties:
  name: {$ref: 'common.yaml#/Name'}
  next: {$ref: node.yaml}
  last: {$ref: ../schemas/node.yaml}
`,
		"schemas/common.yaml": "Name: {type: string, maxLength: 5}\n",
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := mustNew(t, openapi.Config{File: dir + "/api.yaml"})
	add := mustTool(t, set, "add_node")
	raw := string(add.Declaration().Parameters)
	if !strings.Contains(raw, `"$defs":{"node":`) || !strings.Contains(raw, `"maxLength":5`) || len(raw) > 2000 {
		t.Errorf("got %s", raw)
	}
	if got := call(t, add, `{"name":"a","next":{"name":"b","next":{"name":"far too long"}}}`); !strings.Contains(got, "invalid arguments") {
		t.Errorf("got %s", got)
	}
}

func TestURL(t *testing.T) {
	api := echo(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/docs/v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Replace(string(doc(`{"/a":{"get":{`+answers+`}},"/b":{"servers":[{"url":"`+api.URL+`/elsewhere"}],"get":{`+answers+`}}}`)), "https://api.example", "../api", 1)))
	})
	mux.HandleFunc("/docs/api/a", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`{"at":"` + r.URL.Path + `"}`)) })
	mux.Handle("/old", http.RedirectHandler("/docs/v1/openapi.json", http.StatusFound))
	host := httptest.NewServer(mux)
	defer host.Close()

	set := mustNew(t, openapi.Config{URL: host.URL + "/old"})
	if got := call(t, mustTool(t, set, "get_a"), `{}`); got != `{"at":"/docs/api/a"}` {
		t.Errorf("got %s", got)
	}
	if got := sent(t, mustTool(t, set, "get_b"), `{}`); got.Path != "/elsewhere/b" {
		t.Errorf("got %+v", got)
	}
	set = mustNew(t, openapi.Config{URL: host.URL + "/old", BaseURL: api.URL + "/base/?v=1"})
	if got := sent(t, mustTool(t, set, "get_b"), `{}`); got.Path != "/base/b" || got.Query != "v=1" {
		t.Errorf("got %+v", got)
	}
	if _, err := openapi.New(t.Context(), openapi.Config{URL: host.URL + "/none"}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
	if _, err := openapi.New(t.Context(), openapi.Config{URL: "file:///etc/passwd"}); err == nil {
		t.Error("a file was fetched")
	}
}

func FuzzNew(f *testing.F) {
	for _, file := range []string{"testdata/petstore30.json", "testdata/petstore31.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add(doc(`{"/a/{b}":{"get":{"parameters":[{"name":"b","in":"path","required":true,"style":"matrix","schema":{}}],` + answers + `}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := openapi.New(t.Context(), openapi.Config{Spec: append([]byte{}, text...), BaseURL: "http://127.0.0.1:1"})
		if err != nil {
			return
		}
		for _, made := range set.All() {
			d := made.Declaration()
			if d.Name == "" || len(d.Name) > 60 || d.Description == "" || !json.Valid(d.Parameters) {
				t.Errorf("%+v", d)
			}
		}
	})
}
