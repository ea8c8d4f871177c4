package parley_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// A replay sees the files that its run saw: neither those that were saved later, nor
// those of recorded calls before they are answered. Numbers of versions begin again after
// a file was deleted.
func TestReplaySeesFilesOfTheRun(t *testing.T) {
	t.Parallel()
	saved := 0
	save := tool.Must(tool.New(tool.Declaration{Name: "save"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		for range 2 {
			saved++
			if _, err := ctx.SaveArtifact("a.txt", &event.Part{Text: fmt.Sprint("text ", saved)}); err != nil {
				return nil, err
			}
		}
		return "saved", nil
	}))
	root := agent.Must(agent.NewLLM(agent.LLMConfig{
		Name: "writer", Tools: []tool.Tool{save},
		Model: scripted.Func(toolThen("save", map[string]any{}, func() string { return "Done." })),
		InstructionFunc: func(ctx *tool.Context) (string, error) { // has all files
			list, err := ctx.ArtifactVersions("a.txt")
			if errors.Is(err, tool.ErrNoArtifact) {
				return "No file.", nil
			}
			text := ""
			for _, a := range list {
				part, loadErr := ctx.LoadArtifact(a.Name, a.Version)
				if err = errors.Join(err, loadErr); err == nil {
					text += fmt.Sprintf("%d: %s. ", a.Version, part.Text)
				}
			}
			return text, err
		},
	}))
	srv, err := parley.Open(t.Context(), parley.Config{
		Agents: map[string]*agent.Agent{"files": root}, Recording: parley.RecordingConfig{Share: 1}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(context.WithoutCancel(t.Context()))
	var runs []string
	run := func() {
		r, err := srv.Start(t.Context(), parley.Request{App: "files", User: "u", Session: "s", Message: event.Text(event.RoleUser, "hi")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r.ID())
	}
	same := func(id string) *replay.Report {
		t.Helper()
		r := report(t, srv, "files", id, replay.Plan{})
		if !r.Same {
			t.Errorf("the replay of run %s differs: %s", id, differences(r))
		}
		return r
	}
	run()
	run()
	first := same(runs[0])
	same(runs[1])
	req := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/apps/files/users/u/sessions/s/artifacts/a.txt", http.NoBody)
	rec := httptest.NewRecorder()
	if srv.Handler().ServeHTTP(rec, req); rec.Code >= 300 {
		t.Fatalf("the file was not deleted: %d %s", rec.Code, rec.Body)
	}
	run()
	run()
	same(runs[2])
	same(runs[3])
	if saved != 8 {
		t.Errorf("%d files were saved, want 8: a replay called the tool", saved)
	}
	// The files of a replay are its own.
	list, err := srv.Sessions().Get(t.Context(), session.Key{App: "files", User: "u", ID: first.Session})
	if err != nil || list.Origin == nil {
		t.Errorf("the replay is %+v, %v", list, err)
	}
}
