package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/session"
)

func TestMain(m *testing.M) { leak.Main(m) }

func anyone(string, string) bool { return true }

// open is telemetry with these limits of what is kept for developers.
func open(t *testing.T, most, mostBytes int) *Telemetry {
	t.Helper()
	tel, err := New(t.Context(), observe.Options{Keep: true, Getenv: func(string) string { return "" }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	tel.spans.most, tel.spans.mostBytes = most, mostBytes
	t.Cleanup(func() { tel.Shutdown(context.Background()) })
	return tel
}

// work does a run in which something was said.
func work(t *testing.T, tel *Telemetry, n int, said string) {
	t.Helper()
	key := session.Key{App: "app", User: "u", ID: fmt.Sprint("s", n)}
	ctx, finished := tel.Work(t.Context(), &run.Work{Key: key, Run: fmt.Sprint("e-", n)})
	_, span := tel.tracer.Start(ctx, "step")
	tel.say(span, llmRequest, []byte(said))
	span.End()
	finished(session.Completed, nil)
}

func TestSpansAreBounded(t *testing.T) {
	t.Parallel()
	const large = 10_000
	for name, tt := range map[string]struct{ most, mostBytes, left int }{
		"by count": {10, 1 << 30, 5},
		"by bytes": {1 << 30, 5 * (large + 5000), 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel := open(t, tt.most, tt.mostBytes)
			for n := range 100 {
				work(t, tel, n, `"`+strings.Repeat("x", large)+`"`)
			}
			s := tel.spans
			if s.order.Len() > tt.most || s.bytes > tt.mostBytes || len(s.byID) != s.order.Len() {
				t.Errorf("%d spans by %d ids in %d bytes", s.order.Len(), len(s.byID), s.bytes)
			}
			sum := 0
			for at := s.order.Front(); at != nil; at = at.Next() {
				sum += at.Value.(*kept).size
			}
			if sum != s.bytes {
				t.Errorf("%d bytes are counted, and there are %d", s.bytes, sum)
			}
			for n := range 100 {
				var spans []map[string]any
				if err := json.Unmarshal(s.Session(fmt.Sprint("s", n), true, anyone), &spans); err != nil {
					t.Fatal(err)
				}
				switch whole := len(spans) == 2; {
				case n < 90 && len(spans) > 0:
					t.Errorf("session %d is still there", n)
				case n > 100-tt.left && !whole:
					t.Errorf("session %d has %d spans", n, len(spans))
				}
			}
		})
	}
}

// One that is larger than everything together is not kept, and what is too long
// by itself is told of.
func TestLargeContent(t *testing.T) {
	t.Parallel()
	tel := open(t, 100, 1<<30)
	work(t, tel, 1, `"`+strings.Repeat("x", maxContent)+`"`)
	if got := string(tel.spans.Session("s1", true, anyone)); !strings.Contains(got, `{\"omitted\":\"4194306 bytes, which is too much to keep\"}`) {
		t.Errorf("%s", got)
	}
	tel = open(t, 100, 5000)
	work(t, tel, 1, `"`+strings.Repeat("x", 10_000)+`"`)
	if got := string(tel.spans.Session("s1", true, anyone)); got != "[]" || tel.spans.bytes != 0 {
		t.Errorf("%d bytes: %s", tel.spans.bytes, got)
	}
}

// What is exported is shorter, and says so.
func TestLargeContentIsNotExported(t *testing.T) {
	t.Parallel()
	tel := open(t, 100, 1<<30)
	tel.content = true
	ctx, finished := tel.Work(t.Context(), &run.Work{Key: session.Key{App: "app", User: "u", ID: "s"}, Run: "e-1"})
	defer finished(session.Completed, nil)
	for size, want := range map[int]string{
		maxExported:     strings.Repeat("x", maxExported),
		maxExported + 1: `{"omitted":"262145 bytes, which is too much to keep"}`,
	} {
		_, span := tel.tracer.Start(ctx, "step")
		tel.say(span, llmRequest, []byte(strings.Repeat("x", size)))
		exported, ok := span.(sdktrace.ReadOnlySpan)
		if !ok || len(exported.Attributes()) != 1 || exported.Attributes()[0].Value.AsString() != want {
			t.Errorf("%d bytes are not exported as they should be", size)
		}
		span.End()
	}
}

func TestSpansAreVisibleToTheirUsers(t *testing.T) {
	t.Parallel()
	tel := open(t, 100, 1<<20)
	for _, user := range []string{"bob", "eve"} {
		_, finished := tel.Work(t.Context(), &run.Work{Key: session.Key{App: "app", User: user, ID: "s"}, Run: "e-" + user})
		finished(session.Completed, nil)
	}
	got := string(tel.spans.Session("s", true, func(_, user string) bool { return user == "bob" }))
	if !strings.Contains(got, "e-bob") || strings.Contains(got, "e-eve") {
		t.Errorf("%s", got)
	}
}

func TestSpansOfDeletedSessionsAreDeleted(t *testing.T) {
	t.Parallel()
	tel := open(t, 100, 1<<20)
	for n := range 3 {
		work(t, tel, n, `"said"`)
	}
	tel.Forgotten(session.Key{App: "app", User: "u", ID: "s0"}, session.Key{App: "app", User: "u", ID: "s2"}, session.Key{App: "other", User: "u", ID: "s1"})
	for id, want := range map[string]bool{"s0": false, "s1": true, "s2": false} {
		if got := string(tel.spans.Session(id, true, anyone)) != "[]"; got != want {
			t.Errorf("there are spans of %s: %t", id, got)
		}
	}
	tel.Forgotten(session.Key{App: "app", User: "u", ID: "s1"})
	if s := tel.spans; s.bytes != 0 || len(s.byID) != 0 {
		t.Errorf("%d bytes of %d spans are left", s.bytes, len(s.byID))
	}
}
