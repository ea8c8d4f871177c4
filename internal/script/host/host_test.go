package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/script/bundle"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/testkit"
)

// sandbox is an engine with the host API and a piece of code in it.
type sandbox struct {
	*engine.Engine
	log *testkit.Buffer
}

// newSandbox bundles the body of an async function, which may import at its
// top, and starts an engine with it.
func newSandbox(t *testing.T, o Options, imports, body string) *sandbox {
	t.Helper()
	limits := engine.DefaultLimits()
	limits.Turn, limits.Call = time.Minute, 2*time.Minute // the race detector on a busy machine is slow
	return newLimitedSandbox(t, o, limits, imports, body)
}

func newLimitedSandbox(t *testing.T, o Options, limits engine.Limits, imports, body string) *sandbox {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	entry := filepath.Join(o.Dir, "index.ts")
	code := imports + "\nexport async function main(params, call) {\n" + body + "\n}\n"
	if err := os.WriteFile(entry, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Module(o.Dir, bundle.NewBounds(o.Dir, o.Dir), `import "parley:prelude/index"; import { serve } from "parley:guest"; import { main } from `+strconv.Quote(entry)+`;
		serve((params, call) => (params === undefined ? null : main(params, call)));`)
	if err != nil {
		t.Fatal(err)
	}
	library, err := b.Library("")
	if err != nil {
		t.Fatal(err)
	}
	log := &testkit.Buffer{}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
	}
	if o.App == "" {
		o.App = "demo"
	}
	e, err := engine.New(engine.QuickJS, limits, o.Log, New(o).Engine())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if _, err := e.Load(t.Context(), library, bundle.Name, b.Code); err != nil {
		t.Fatalf("load: %v\n%s", err, stackOf(err))
	}
	return &sandbox{Engine: e, log: log}
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func stackOf(err error) string {
	if e, ok := errors.AsType[*engine.Error](err); ok {
		return e.Stack
	}
	return ""
}

// run calls the code, and gives its result as text: a string as it is, and
// other values as JSON.
func (s *sandbox) run(ctx context.Context, params any) (string, error) {
	given, err := json.Marshal(params)
	if err != nil {
		return "", err
	}
	r, err := s.Call(ctx, engine.Call{Params: string(given)})
	if err != nil {
		return "", err
	}
	var text string
	if json.Unmarshal(r.Value, &text) == nil {
		return text, nil
	}
	return string(r.Value), nil
}

func (s *sandbox) must(t *testing.T, params any) string {
	t.Helper()
	text, err := s.run(t.Context(), params)
	if err != nil {
		t.Fatalf("%v\n%s", err, stackOf(err))
	}
	return text
}

// snippet is an expression, or statements with a return, and what it gives.
type snippet struct{ name, code, want string }

// checkSnippets runs each snippet as a function of its own, in one engine.
func checkSnippets(t *testing.T, o Options, imports string, all []snippet) {
	t.Helper()
	var body strings.Builder
	body.WriteString("const all = [\n")
	for _, s := range all {
		code := s.code
		if !strings.Contains(code, "return ") {
			code = "return (" + code + ");"
		}
		fmt.Fprintf(&body, "async () => {%s},\n", code)
	}
	body.WriteString(`];
		try { const v = await all[params](); return typeof v === "string" ? v : v === undefined ? "undefined" : JSON.stringify(v); }
		catch (e) { return "throws " + (e?.name ?? typeof e) + ": " + e?.message; }`)
	s := newSandbox(t, o, imports, body.String())
	for i, c := range all {
		if got := s.must(t, i); got != c.want {
			t.Errorf("%s: %s\n got: %s\nwant: %s", c.name, c.code, got, c.want)
		}
	}
}
