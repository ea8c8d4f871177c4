package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The short form proves that the soak works, not that a server stays as it is.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := soak{
		bench:     &bench{sizes: tiny, log: t.Output(), postgres: &lazyPostgres{}},
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
	if len(result.samples) != 3 || result.heard < int64(s.streams) || result.speed <= 0 {
		t.Fatalf("%d samples, %d events, %f turns/s", len(result.samples), result.heard, result.speed)
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

// A stream that misses an event, or has one twice, is found.
func TestListener(t *testing.T) {
	t.Parallel()
	const aborted = `data: {"errorCode":"INVOCATION_ABORTED"}` + "\n\n"
	frame := func(n string) string { return "id: x\ndata: {\"text\":\"tick " + n + "\"}\n\n" }
	for name, tt := range map[string]struct {
		stream string
		want   string // part of the error, empty for none
	}{
		"good":      {": hello\n\n" + frame("1") + frame("2") + aborted + "event: end\ndata: {}\n\n", ""},
		"missing":   {frame("1") + frame("3"), "event 2 is"},
		"doubled":   {frame("1") + frame("1"), "event 2 is"},
		"cut off":   {frame("1"), "broke after 1 events"},
		"not the 1": {frame("12"), "event 1 is"},
	} {
		l := &listeners{}
		l.ending.Store(true)
		err := l.read(strings.NewReader(tt.stream))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
