package main

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The short form proves that the soak works, not that a server stays as it is.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := soak{
		bench:     &bench{sizes: tiny, log: t.Output(), postgres: &lazyPostgres{}},
		servers:   3,
		calibrate: 2 * time.Second, last: 3 * time.Second, every: time.Second, streams: 10, tickers: 3, tick: 100 * time.Millisecond,
	}
	t.Cleanup(func() { s.postgres.Close() })
	result, err := s.run(t.Context())
	if errors.Is(err, errNoPostgres) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if first := result.faults.first.Load(); first != nil {
		t.Errorf("%d errors, the first: %v", result.faults.count.Load(), *first)
	}
	if len(result.samples) != 3 || result.heard.events < s.streams || result.heard.pieces == 0 || result.speed <= 0 {
		t.Fatalf("%d samples, %+v, %f turns/s", len(result.samples), result.heard, result.speed)
	}
	turns := 0.0
	for _, one := range result.samples {
		turns += one.Rate
		if one.Heap == 0 || one.Goroutines == 0 || one.Streams != s.streams || one.RSS > 0 && one.Sockets < s.streams {
			t.Errorf("a sample is %s", one)
		}
	}
	if turns == 0 {
		t.Error("there were no turns")
	}
	var out strings.Builder
	if err := result.print(&out); err != nil {
		t.Error(err)
	}
	t.Log(out.String())
}

func TestSoakVerdict(t *testing.T) {
	t.Parallel()
	grown := func(per float64, n int) []sample {
		var list []sample
		for i := range n {
			bytes := int64(100<<20) + int64(per*float64(i)*(1<<20))
			list = append(list, sample{vitals: vitals{RSS: bytes, Heap: bytes}})
		}
		return list
	}
	for name, tt := range map[string]struct {
		samples []sample
		errs    int
		good    bool
		says    string
	}{
		"flat":       {grown(0, 20), 0, true, "(+0.0 %): ok."},
		"a little":   {grown(1, 20), 0, true, "Live heap"},
		"growing":    {grown(3, 20), 0, false, "RSS of the last third"},
		"shrinking":  {grown(-2, 20), 0, true, "ok."},
		"an error":   {grown(0, 20), 1, false, "1 errors (the first: no): FAILED."},
		"too short":  {grown(50, 5), 0, true, "Too short"},
		"no samples": {nil, 0, true, "Too short"},
	} {
		r := &soaked{samples: tt.samples, faults: &faults{}}
		for range tt.errs {
			r.faults.add(errors.New("no"))
		}
		var out strings.Builder
		err := r.print(&out)
		if (err == nil) != tt.good || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

// A stream that breaks, or whose pieces are not those of its events, is found.
func TestListener(t *testing.T) {
	t.Parallel()
	const end = "event: end\ndata: {}\n\n"
	frame := func(id, text string) string {
		return "id: " + id + "\ndata: {\"id\":\"" + id + "\",\"content\":{\"parts\":[{\"text\":\"" + text + "\"}]}}\n\n"
	}
	piece := func(text string) string {
		return "data: {\"id\":\"p\",\"partial\":true,\"content\":{\"parts\":[{\"text\":\"" + text + "\"}]}}\n\n"
	}
	for name, tt := range map[string]struct {
		stream string
		events string
		pieces int
		want   string // part of the error, empty for none
	}{
		"good":    {": hello\n\n" + frame("a", "tick 1") + piece("tick ") + piece("2") + frame("b", "tick 2") + end, "a b", 1, ""},
		"a gap":   {piece("tick ") + frame("a", "tick 1"), "", 0, `are "tick "`},
		"twice":   {piece("tick ") + piece("tick ") + piece("1") + frame("a", "tick 1"), "", 0, `are "tick tick 1"`},
		"cut off": {frame("a", "tick 1"), "a", 0, "broke after 1 events"},
	} {
		l, ending := &listener{}, atomic.Bool{}
		ending.Store(true)
		err := l.read(strings.NewReader(tt.stream), &ending)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Join(l.events, " ") != tt.events || l.pieces != tt.pieces {
			t.Errorf("%s: events %q, %d with pieces", name, l.events, l.pieces)
		}
	}
}

// A stream that misses an event, has one twice, or out of order, is found.
func TestHeard(t *testing.T) {
	t.Parallel()
	for had, want := range map[string]heard{
		"a b c d":   {events: 4},
		"a c d":     {events: 3, missing: 1},
		"":          {missing: 4},
		"a b b c d": {events: 4, doubled: 1},
		"a b c d a": {events: 4, doubled: 1},
		"a c b d":   {events: 3, other: 1},
		"a b c d e": {events: 4, other: 1},
		"a e c d":   {events: 3, missing: 1, other: 1},
	} {
		var h heard
		h.add(strings.Fields(had), []string{"a", "b", "c", "d"})
		if h != want {
			t.Errorf("%q: %+v, want %+v", had, h, want)
		}
	}
	r := &soaked{heard: heard{events: 100, pieces: 100, missing: 1}, faults: &faults{}}
	if words, good := r.verdict(); good || !strings.Contains(words, "missed 1 events") {
		t.Error(words)
	}
	r = &soaked{heard: heard{events: 100, pieces: 90, whole: 10}, samples: make([]sample, 6), faults: &faults{}}
	if words, good := r.verdict(); good || !strings.Contains(words, "of 10 without: FAILED") {
		t.Error(words)
	}
}
