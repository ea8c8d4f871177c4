package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// typescriptApp is the weather agent again, written in TypeScript with zod.
const typescriptApp = "typescript"

//go:embed typescript/index.ts
var typescriptAgent []byte

var (
	runTypeScript = talk("run_typescript", "/run", typescriptApp, false, limitTypeScript)
	// runSSETypeScript is run_sse_pieces with that agent.
	runSSETypeScript = talk("run_sse_typescript", "/run_sse", typescriptApp, true, limitPiecesTypeScript)
)

// newTypeScript is the server with an agent in TypeScript. cache keeps its
// bundle; empty for none.
func newTypeScript(cache string, m model.Model) (*parley.Server, error) {
	dir, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), typescriptAgent, 0o600); err != nil {
		return nil, err
	}
	return parley.Open(context.Background(), parley.Config{
		Scripts: parley.ScriptConfig{Dir: dir, AppName: typescriptApp, CacheDir: cache}, Models: map[string]model.Model{m.Name(): m},
		Stdout: io.Discard, Log: slog.New(slog.DiscardHandler),
	})
}

// startTypeScript measures how long it takes from nothing to the first answer of
// an agent in TypeScript, and how much memory the process has then.
func startTypeScript(ctx context.Context, b *bench) ([]result, error) {
	const name = "start_typescript"
	var seconds, resident []float64
	for round := range b.rounds {
		began := time.Now()
		c, err := b.start(ctx, kindParley, runTypeScript, name)
		if err != nil {
			return nil, err
		}
		p, err := newPool(c.addr, 1)
		if err == nil {
			session := fmt.Sprintf("s-%d", round)
			err = errors.Join(c.createAll(p, runTypeScript, []string{session}), p.do([][]request{{runTypeScript.request(session)}}))
			p.Close()
		}
		took := time.Since(began)
		var used usage
		if err == nil {
			used, err = c.usage(ctx, true)
		}
		c.stop()
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, took.Seconds()*1000)
		resident = append(resident, float64(used.RSS)/(1<<20))
		b.logf("%s: round %d of %d: %v, %.0f MB", name, round+1, b.rounds, took, resident[round])
	}
	again, err := startAgain()
	if err != nil {
		return nil, err
	}
	return []result{
		{Scenario: name, Unit: "ms to the first answer", Parley: median(seconds), ValueLimit: limitStart},
		{Scenario: name, Unit: "ms to load it again", Parley: again, ValueLimit: limitStartAgain},
		{Scenario: name, Unit: "MB resident", Parley: median(resident), ValueLimit: limitResident},
	}, nil
}

// startAgain is how long, in milliseconds, an application takes to load whose
// bundle is in the cache.
func startAgain() (float64, error) {
	cache, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(cache)
	dir := filepath.Join(cache, "app")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "index.ts"), typescriptAgent, 0o600)); err != nil {
		return 0, err
	}
	var took time.Duration
	for range 2 { // the first time fills the cache
		began := time.Now()
		srv, err := parley.Open(context.Background(), parley.Config{
			Scripts: parley.ScriptConfig{Dir: dir, CacheDir: cache}, Models: map[string]model.Model{"bench-weather": weatherModel{}},
			Stdout: io.Discard, Log: slog.New(slog.DiscardHandler),
		})
		took = time.Since(began)
		if err != nil {
			return 0, err
		}
		srv.Close(context.Background())
	}
	return took.Seconds() * 1000, nil
}

// waitTypeScript measures how long many calls take that wait 50 ms each, at the
// same time, in one engine.
func waitTypeScript(ctx context.Context, b *bench) ([]result, error) {
	const name = "wait_typescript"
	srv, err := newTypeScript("", slowModel{})
	if err != nil {
		return nil, err
	}
	defer srv.Close(context.WithoutCancel(ctx))
	errs := make([]error, b.waiting)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range b.waiting {
		wg.Go(func() {
			for _, err := range srv.Stream(ctx, parley.Request{
				App: typescriptApp, User: user, Session: fmt.Sprintf("s-%d", i), Message: event.Text(event.RoleUser, "?"),
			}) {
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	b.logf("%s: %d calls took %v", name, b.waiting, took)
	return []result{{Scenario: name, Unit: "ms for all calls", Parley: took.Seconds() * 1000, ValueLimit: limitWait}}, errors.Join(errs...)
}
