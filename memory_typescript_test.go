package parley_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// Code adds other sessions of the user to the memory, and none of others.
func TestOtherSessionsInMemory(t *testing.T) {
	dir := t.TempDir()
	code := `import { BaseAgent, createEvent } from '@google/adk';
class Archivist extends BaseAgent {
  async *runAsyncImpl(ctx: any) {
    const say = (text: string) => createEvent({ author: this.name, content: { role: 'model', parts: [{ text }] } });
    const [verb, id, userId] = ctx.userContent.parts[0].text.split(' ');
    if (verb !== 'add') return void (yield say('noted'));
    try {
      await ctx.memoryService.addSessionToMemory({ id, appName: ctx.session.appName, userId, events: [], state: {} });
      const { memories } = await ctx.memoryService.searchMemory({ query: 'pears' });
      yield say(memories.map((m: any) => m.author + ': ' + m.content.parts[0].text).join());
    } catch (error: any) {
      yield say(error.message);
    }
  }
  async *runLiveImpl() {}
}
export const rootAgent = new Archivist({ name: 'archivist' });
`
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}, Offline: true, Stdout: io.Discard, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(t.Context()) })
	say := func(user, id, text string) (last string) {
		t.Helper()
		for ev, err := range srv.Stream(t.Context(), parley.Request{App: "app", User: user, Session: id, Message: event.Text(event.RoleUser, text)}) {
			if err != nil {
				t.Fatal(err)
			}
			last = ev.Content.Parts[0].Text
		}
		return last
	}
	for _, key := range []session.Key{{App: "app", User: "u", ID: "one"}, {App: "app", User: "u", ID: "two"}, {App: "app", User: "v", ID: "theirs"}} {
		if _, err := srv.Sessions().Create(t.Context(), parley.NewSession{Key: key}); err != nil {
			t.Fatal(err)
		}
		say(key.User, key.ID, "I like pears and "+key.ID)
	}
	for question, want := range map[string]string{
		"add one u":    "user: I like pears and one",
		"add theirs u": "add to the memory: session not found",
		"add theirs v": "Only sessions of the user and of the application can be added to the memory",
	} {
		if got := say("u", "two", question); got != want {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
}
