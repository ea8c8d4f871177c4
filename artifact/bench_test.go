package artifact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley/tool"
)

// BenchmarkMemorySave measures what a file costs among many of others.
func BenchmarkMemorySave(b *testing.B) {
	s := NewMemory()
	for i := range 50_000 {
		p := Place{App: "app", User: fmt.Sprint("user-", i%1000), Session: fmt.Sprint(i)}
		key := fmt.Sprintf("%sn-a/0.0", p.dir())
		if err := s.objects.Put(b.Context(), key, strings.NewReader("{}"), true); err != nil {
			b.Fatal(err)
		}
	}
	f := s.In(home)
	for i := 0; b.Loop(); i++ {
		if _, err := f.Save(b.Context(), tool.Artifact{Name: fmt.Sprint(i)}, strings.NewReader("x")); err != nil {
			b.Fatal(err)
		}
	}
}
