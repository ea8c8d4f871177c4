// Package registry holds the parts that not every program links: session stores,
// object stores, model providers, the JavaScript engine, the developer UI and
// others. A package registers its part in its init function, and programs import
// it for that. The server looks parts up by their type and name, and reports the
// import that is missing.
package registry

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
)

var (
	mu    sync.RWMutex
	parts = map[reflect.Type]map[string]any{}
)

// Register adds a part of type T. The name distinguishes parts of one type, such
// as the stores of different URL schemes; it is empty for a type that has one
// part. Register panics if the part is already registered.
func Register[T any](name string, part T) {
	of := reflect.TypeFor[T]()
	mu.Lock()
	defer mu.Unlock()
	if _, twice := parts[of][name]; twice {
		panic(fmt.Sprintf("parley: %s %q is registered twice", of, name))
	}
	if parts[of] == nil {
		parts[of] = map[string]any{}
	}
	parts[of][name] = part
}

// Find returns a part; ok is false if no linked package has registered it.
func Find[T any](name string) (part T, ok bool) {
	mu.RLock()
	defer mu.RUnlock()
	part, ok = parts[reflect.TypeFor[T]()][name].(T)
	return part, ok
}

// Names returns the names of the parts of type T, sorted.
func Names[T any]() []string {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Sorted(maps.Keys(parts[reflect.TypeFor[T]()]))
}

// Missing is the error for a part that is not linked. path is the package that
// registers it, relative to the root of the module.
func Missing(what, path string) error {
	return fmt.Errorf("%s is not linked into this program: import _ %q", what, "github.com/parley-run/parley/"+path)
}
