package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// sample is how things were at a time.
type sample struct {
	vitals
	At       time.Duration
	Streams  int
	Errors   int64   // so far
	Rate     float64 // turns in a second, since the one before
	P50, P99 float64 // ms
}

func (s *sample) measure(took []time.Duration, over time.Duration) {
	s.Rate = float64(len(took)) / over.Seconds()
	if len(took) > 0 {
		s.P50, s.P99 = percentile(took, 50), percentile(took, 99)
	}
}

func (s sample) String() string {
	return fmt.Sprintf("%v: RSS %.1f MB, heap %.1f MB, %d goroutines, %d sockets, %d streams, %.0f turns/s, p50 %.1f ms, p99 %.1f ms, %d errors",
		s.At.Round(time.Second), mb(s.RSS), mb(s.Heap), s.Goroutines, s.Sockets, s.Streams, s.Rate, s.P50, s.P99, s.Errors)
}

func mb(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// maxDrift is how much more memory the last third of a soak may have than the
// second one.
const maxDrift = 0.10

// maxWhole is the share of events whose text may come without pieces before, which
// happens where the server that works on the run takes long to send them.
const maxWhole = 0.05

// print prints what came of it, in Markdown, and fails if that is not good.
func (r *soaked) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d servers, %v at %.0f turns/s, half of the %.0f that they can do, with %d open streams, which have had %d events. Memory, goroutines and sockets are those of all servers together.\n\n",
		r.servers, r.last, r.speed/2, r.speed, r.streams, r.heard.events)
	b.WriteString("| after | RSS, MB | live heap, MB | goroutines | open sockets | streams | turns/s | p50, ms | p99, ms | errors |\n")
	b.WriteString("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range r.samples {
		fmt.Fprintf(&b, "| %v | %.1f | %.1f | %d | %d | %d | %.1f | %.1f | %.1f | %d |\n",
			s.At.Round(time.Second), mb(s.RSS), mb(s.Heap), s.Goroutines, s.Sockets, s.Streams, s.Rate, s.P50, s.P99, s.Errors)
	}
	verdict, good := r.verdict()
	fmt.Fprintf(&b, "\n%s\n", verdict)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if !good {
		return fmt.Errorf("the soak has failed: %s", verdict)
	}
	return nil
}

// verdict says whether the servers have stayed as they were.
func (r *soaked) verdict() (words string, good bool) {
	var list []string
	good = true
	judge := func(ok bool, format string, args ...any) {
		mark := "ok"
		if !ok {
			mark, good = "FAILED", false
		}
		list = append(list, fmt.Sprintf(format, args...)+": "+mark+".")
	}
	errs := fmt.Sprintf("%d errors", r.faults.count.Load())
	if err := r.faults.first.Load(); err != nil {
		errs += fmt.Sprintf(" (the first: %v)", *err)
	}
	judge(r.faults.count.Load() == 0, "%s", errs)
	h := r.heard
	judge(h.missing+h.doubled+h.other == 0, "Of the log, the streams missed %d events, had %d twice, and had %d that were not there or not in order", h.missing, h.doubled, h.other)
	// What two thirds are compared by has to be more than one sample each.
	if len(r.samples) < 6 {
		return strings.Join(append(list, "Too short to tell more."), " "), good
	}
	judge(float64(h.whole) <= maxWhole*float64(h.events), "The text of %d events came in pieces, of %d without", h.pieces, h.whole)
	for _, of := range []struct {
		name string
		get  func(sample) float64
	}{
		{"RSS", func(s sample) float64 { return mb(s.RSS) }},
		{"Live heap", func(s sample) float64 { return mb(s.Heap) }},
	} {
		second, last := thirds(r.samples, of.get)
		if second == 0 {
			continue // it cannot be told here
		}
		judge(last <= second*(1+maxDrift), "%s of the last third %.1f MB, of the second %.1f MB (%+.1f %%)", of.name, last, second, (last/second-1)*100)
	}
	return strings.Join(list, " "), good
}

// thirds are the means of the second and of the last third.
func thirds(samples []sample, get func(sample) float64) (second, last float64) {
	n := len(samples) / 3
	mean := func(part []sample) float64 {
		sum := 0.0
		for _, s := range part {
			sum += get(s)
		}
		return sum / float64(len(part))
	}
	return mean(samples[len(samples)-2*n : len(samples)-n]), mean(samples[len(samples)-n:])
}
