package parley

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/anthropic"
	"github.com/parley-run/parley/model/gemini"
	"github.com/parley-run/parley/model/offline"
	"github.com/parley-run/parley/model/openai"
)

// A server knows which models of an application have no key.
func TestAnnounceMissingKeys(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	google, err := gemini.New("gemini-2.5-flash", &gemini.Options{Getenv: none})
	if err != nil {
		t.Fatal(err)
	}
	claude, err := anthropic.New("claude-sonnet-4-5", &anthropic.Options{Getenv: none})
	if err != nil {
		t.Fatal(err)
	}
	gpt, err := openai.New("gpt-5", &openai.Options{Getenv: none})
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]model.Model{"GOOGLE_API_KEY": google, "ANTHROPIC_API_KEY": claude, "OPENAI_API_KEY": gpt, "": offline.New()} {
		root := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "root", Model: m, SubAgents: []*agent.Agent{
			agent.Must(agent.NewLLM(agent.LLMConfig{Name: "below", Model: m})),
		}}))
		srv, err := Open(t.Context(), Config{Agents: map[string]*agent.Agent{"app": root}})
		if err != nil {
			t.Fatal(err)
		}
		got := srv.apps.missing("app")
		srv.Close(t.Context())
		if name == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || !strings.Contains(got[0], name) || !strings.Contains(got[0], "--offline") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Where another UI is served is told with the address of the server.
func TestAnnounceOtherUI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("<html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ui := range []UIConfig{{Enabled: true}, {Enabled: true, Dir: dir}} {
		var out strings.Builder
		root := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "root", Model: offline.New()}))
		srv, err := Open(t.Context(), Config{Agents: map[string]*agent.Agent{"app": root}, UI: ui, Stdout: &out})
		if err != nil {
			t.Fatal(err)
		}
		srv.announce(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}, nil)
		srv.Close(t.Context())
		want := "Open the developer UI in a browser:\nhttp://127.0.0.1:8000\n"
		if ui.Dir != "" {
			want += "UI in " + dir + ": http://127.0.0.1:8000/dev-ui/\n"
		}
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("with %+v: %s", ui, out.String())
		}
	}
}
