package script

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/parley-run/parley/model"
)

// An application that asks for another model every time keeps the latest.
func TestModelsAreBounded(t *testing.T) {
	t.Parallel()
	made := map[string]int{}
	models := modelCache(func(name string, _ json.RawMessage) (model.Model, error) {
		made[name]++
		return caller(name, nil, nil)
	})
	get := func(name string) {
		if _, err := models(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	get("first")
	for i := range maxModels {
		get("often")
		get(fmt.Sprint("other ", i))
	}
	get("often")
	get("first")
	if made["often"] != 1 || made["first"] != 2 {
		t.Errorf("one that is asked for often was made %d times, one that is not %d times", made["often"], made["first"])
	}
}
