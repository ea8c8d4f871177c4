package openapi_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/tool/openapi"
)

// Whatever stands in one place of a document, it is taken or refused.
func TestMutatedDocuments(t *testing.T) {
	text, err := os.ReadFile("testdata/petstore30.json")
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	strange := []any{nil, []any{}, map[string]any{}, "", -1.5, true, "#/components/schemas/Pet", map[string]any{"$ref": "#/components/schemas/Person"}, []any{nil}, map[string]any{"": nil}}
	count := 0
	try := func(set func(any), old any) {
		for _, v := range strange {
			if count++; count%41 != 0 { // all of them take a while
				continue
			}
			set(v)
			spec, _ := json.Marshal(root)
			toolset, err := openapi.New(t.Context(), openapi.Config{Spec: spec, BaseURL: "http://127.0.0.1:1"})
			if err != nil && strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("%v in place of %v: %v", v, old, err)
			}
			if err == nil {
				for _, made := range toolset.All() {
					_ = call(t, made, `{"pet_id":1,"name":"x","pet_id_body":"1","food":"x","body":{}}`)
				}
			}
		}
		set(old)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				inner := v[name]
				walk(inner)
				try(func(x any) { v[name] = x }, inner)
			}
		case []any:
			for i, inner := range v {
				walk(inner)
				try(func(x any) { v[i] = x }, inner)
			}
		}
	}
	walk(root)
}
