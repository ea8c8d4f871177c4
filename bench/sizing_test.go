package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The short form proves that the measurements work, not what anything costs.
func TestSizing(t *testing.T) {
	t.Parallel()
	s := sizing{bench: &bench{sizes: tiny, log: t.Output(), postgres: &lazyPostgres{}}, servers: 2, last: time.Second}
	t.Cleanup(func() { s.postgres.Close() })
	list, err := s.run(t.Context())
	if errors.Is(err, errNoPostgres) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != s.servers*len(s.loads()) {
		t.Fatalf("%d measurements", len(list))
	}
	for _, one := range list {
		if one.rate <= 0 || one.inFlight <= 0 || one.server < 0 || one.database < 0 {
			t.Errorf("a measurement is %+v", one)
		}
	}
	if list[0].servers != 1 || list[len(list)-1].servers != 2 || list[1].name != runLate.name {
		t.Errorf("the measurements are %+v", list)
	}
}

func TestPrintSizes(t *testing.T) {
	t.Parallel()
	loads := sizing{bench: &bench{sizes: tiny}}.loads()
	var list []sized
	for i, load := range loads {
		list = append(list, sized{sizedLoad: load, servers: 1, rate: 100, inFlight: 64, server: 9, database: 9},
			sized{sizedLoad: load, servers: 4, rate: 200, inFlight: 64, server: 0.25 * float64(i+1), database: 0.5})
	}
	var out strings.Builder
	if err := printSizes(&out, list); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| turns of a second | 4 | 200 | 64 | 0.50 | 0.50 | 2000 | 2000 |",
		"500 turns of a second and 500 reads in a second take 0.62 cores for the servers, and 0.50 for Postgres.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %s", out.String(), want)
		}
	}
}
