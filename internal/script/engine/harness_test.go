package engine

import (
	"log/slog"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/script/bundle"
)

// generous are limits that code which ends does not reach, even on a busy machine.
var generous = Limits{Memory: 64 << 20, Turn: 2 * time.Minute, Call: 2 * time.Minute}

// start makes an engine with code in it, the expression of a function that Call
// calls as number 0.
func start(t *testing.T, limits Limits, fn string) *Engine {
	t.Helper()
	e, err := load(t, limits, serve+"("+fn+");")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// serve is the function of js/guest.js that sets what Load and Call call.
const serve = `__builtin("guest.js").serve`

// load makes an engine with the code of a module.
func load(t *testing.T, limits Limits, code string) (*Engine, error) {
	t.Helper()
	library, err := (&bundle.Bundle{Builtin: []string{"guest.js"}}).Library("")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(QuickJS, limits, slog.New(slog.DiscardHandler), Host{Functions: map[string]Function{
		"process": func(string) (string, error) {
			return `{"value":{"app":"app","cwd":"/","env":{},"pid":1,"platform":"linux","arch":"x64"}}`, nil
		},
		"console": func(string) (string, error) { return `{"value":null}`, nil },
		"locale":  func(string) (string, error) { return `{"value":null}`, nil },
		"now":     func(string) (string, error) { return "0", nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Load(t.Context(), library, bundle.Name, code); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// threadOf is the thread of an engine on QuickJS.
func threadOf(e *Engine) *thread { return e.thread.(*thread) }
