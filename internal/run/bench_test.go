package run_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// BenchmarkRun measures a whole run: a message, one model call, the answer. In
// "stored" only the result is read, in "streamed" every piece.
func BenchmarkRun(b *testing.B) {
	for _, streamed := range []bool{false, true} {
		b.Run(map[bool]string{false: "stored", true: "streamed"}[streamed], func(b *testing.B) {
			root := llm(scripted.Func(scripted.Say("An answer in a few words.")))
			e := run.NewEngine(run.Options{
				Store: memstore.New(0), Log: slog.New(slog.DiscardHandler),
				Agent: func(string) (*agent.Agent, error) { return root, nil },
			})
			b.Cleanup(func() { e.Shutdown(context.Background()) })
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				at := session.Key{App: "app", User: "u", ID: fmt.Sprint(n)}
				if _, err := e.Create(b.Context(), session.NewSession{Key: at}, nil); err != nil {
					b.Fatal(err)
				}
				r, err := e.Start(b.Context(), run.Request{Key: at, Message: event.Text(event.RoleUser, "hi"), Stream: streamed})
				if err != nil {
					b.Fatal(err)
				}
				if streamed {
					reader := r.Read()
					for {
						if _, err := reader.Next(b.Context()); err != nil {
							break
						}
					}
					reader.Close()
				} else if _, err := r.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTurn measures a turn after many others, which the model sees.
func BenchmarkTurn(b *testing.B) {
	for _, turns := range []int{100, 1000, 3000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			root := llm(lastReader{})
			e := run.NewEngine(run.Options{
				Store: memstore.New(0), Log: slog.New(slog.DiscardHandler),
				Agent: func(string) (*agent.Agent, error) { return root, nil },
			})
			b.Cleanup(func() { e.Shutdown(context.Background()) })
			if _, err := e.Create(b.Context(), session.NewSession{Key: key}, nil); err != nil {
				b.Fatal(err)
			}
			turn := func() {
				r, err := e.Start(b.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "hi")})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			for range turns {
				turn()
			}
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
}

// lastReader is a model that looks at the last content only, so that what it costs
// does not grow with the session.
type lastReader struct{}

func (lastReader) Name() string { return "last-reader" }

func (lastReader) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	contents := req.Contents()
	said := contents[len(contents)-1].Text()
	return func(yield func(*model.Response, error) bool) { yield(model.Text("You said: "+said), nil) }
}
