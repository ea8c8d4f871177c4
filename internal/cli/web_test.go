package cli

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

// The UI is opened for a person at a desktop, and where it is asked for.
func TestOpensBrowser(t *testing.T) {
	person := func(environ ...string) *Env {
		return &Env{Environ: environ, StdinTerminal: true, StdoutTerminal: true}
	}
	for _, test := range []struct {
		name string
		env  *Env
		args string
		want bool
	}{
		{"desktop", person("DISPLAY=:0"), "web", true},
		{"wayland", person("WAYLAND_DISPLAY=wayland-0"), "web", true},
		{"no desktop", person(), "web", runtime.GOOS != "linux"},
		{"remote", person("DISPLAY=:0", "SSH_CONNECTION=1"), "web", false},
		{"pipe", &Env{Environ: []string{"DISPLAY=:0"}}, "web", false},
		{"off", person("DISPLAY=:0"), "web --open_browser=false", false},
		{"on", &Env{}, "web --open_browser", true},
		{"API", person("DISPLAY=:0"), "api_server", false},
		{"API with UI", &Env{}, "api_server --with_ui --open_browser", true},
		{"no UI", &Env{}, "api_server --open_browser", false},
	} {
		cmd, rest, err := newRoot(test.env).Find(strings.Fields(test.args))
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		open, ok := cmd.Flags().Lookup("open_browser").Value.(*toggle)
		if !ok {
			t.Fatal("the flag is of another type")
		}
		on, err := cmd.Flags().GetBool("with_ui")
		if err != nil {
			t.Fatal(err)
		}
		if got := (&uiFlags{on: on, open: *open}).opens(test.env, cmd); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestOpenBrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it has another program")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	opened := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" > "+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	openBrowser(t.Context(), net.TCPAddr{IP: net.IPv4zero, Port: 8000})
	testkit.Eventually(t, "the browser", func() bool {
		text, _ := os.ReadFile(opened)
		return string(text) == "http://127.0.0.1:8000\n"
	})
}
