package registry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/registry"
)

type (
	opener func() string
	other  func() string
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	if _, ok := registry.Find[opener]("b"); ok {
		t.Error("found before it is registered")
	}
	registry.Register("b", opener(func() string { return "b" }))
	registry.Register("a", opener(func() string { return "a" }))
	registry.Register("", other(func() string { return "only" }))
	for _, name := range []string{"a", "b"} {
		if open, ok := registry.Find[opener](name); !ok || open() != name {
			t.Errorf("%s: %v", name, ok)
		}
	}
	if only, ok := registry.Find[other](""); !ok || only() != "only" {
		t.Errorf("the only part of its type: %v", ok)
	}
	if _, ok := registry.Find[other]("a"); ok {
		t.Error("found by a name of another type")
	}
	if names := registry.Names[opener](); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("names %v", names)
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, `registry_test.opener "a" is registered twice`) {
			t.Errorf("panic %q", text)
		}
	}()
	registry.Register("a", opener(func() string { return "again" }))
}
