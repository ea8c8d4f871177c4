package script

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/parley-run/parley/model"
)

// maxModels is how many models are kept for an application. Agents keep theirs in
// any case.
const maxModels = 100

// modelCache keeps the models that were used last: code may ask for a model at every
// turn, and each has its own connections.
func modelCache(open func(string, json.RawMessage) (model.Model, error)) func(string, json.RawMessage) (model.Model, error) {
	var mu sync.Mutex
	kept := map[string]model.Model{}
	var keys []string // the latest is the last
	return func(name string, options json.RawMessage) (model.Model, error) {
		key := name + "\n" + string(options)
		mu.Lock()
		defer mu.Unlock()
		m := kept[key]
		if m == nil {
			var err error
			if m, err = open(name, options); err != nil {
				return nil, err
			}
			kept[key] = m
		}
		keys = append(slices.DeleteFunc(keys, func(one string) bool { return one == key }), key)
		if len(keys) > maxModels {
			delete(kept, keys[0])
			keys = slices.Delete(keys, 0, 1)
		}
		return m, nil
	}
}
