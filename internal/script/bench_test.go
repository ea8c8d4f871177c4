package script

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"os"
	"testing"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// BenchmarkTurn is one turn with a call of a tool that has a zod schema.
func BenchmarkTurn(b *testing.B) {
	call, done := scripted.Call("get_weather", map[string]string{"city": "Paris"}), scripted.Say("done")
	models := func(string, json.RawMessage, func(string) string) (model.Model, error) {
		return turnModel(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			if len(scripted.LastResponses(req)) > 0 {
				return done(ctx, req)
			}
			return call(ctx, req)
		}), nil
	}
	apps, err := Load(b.Context(), Options{Dir: "../../bench/typescript", Models: models, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(apps.Close)
	root, _, err := apps.Agent("typescript")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if events, err := ask(b.Context(), root, "?"); err != nil || len(events) != 3 {
			b.Fatal(len(events), err)
		}
	}
}

// turnModel is a model that remembers nothing.
type turnModel scripted.Step

func (turnModel) Name() string { return "turn" }

func (m turnModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return m(ctx, req)
}

// BenchmarkStart is the start of an application that the cache on disk knows,
// as the first in its process.
func BenchmarkStart(b *testing.B) {
	models := func(string, json.RawMessage, func(string) string) (model.Model, error) { return turnModel(nil), nil }
	cache := b.TempDir()
	start := func(cache string) {
		apps, err := Load(b.Context(), Options{Dir: "../../bench/typescript", Models: models, Log: slog.New(slog.DiscardHandler), CacheDir: cache})
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := apps.Agent("typescript"); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		apps.Close()
		b.StartTimer()
	}
	start(cache) // which fills the cache
	for b.Loop() {
		b.StopTimer()
		other := b.TempDir() // which this process has not read
		if err := os.CopyFS(other, os.DirFS(cache)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		start(other)
	}
}
