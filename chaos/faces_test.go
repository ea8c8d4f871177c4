//go:build unix

package chaos

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// storyCode is an agent whose model stops in the middle of a text until a server has
// answered. If a message says so, it calls a tool before that, which visits the server.
const storyCode = `import { BaseLlm, FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';
class Teller extends BaseLlm {
  constructor() { super({ model: 'teller' }); }
  async *generateContentAsync(request: any) {
    const piece = (part: any, partial = false) => ({ content: { role: 'model', parts: [part] }, partial });
    const { text, functionResponse } = request.contents.at(-1).parts[0];
    if (text?.startsWith('look ')) {
      yield piece({ functionCall: { name: 'look', args: { word: text.slice('look '.length) } } });
      return;
    }
    yield piece({ text: 'Once upon a time ' }, true);
    await (await fetch('BASE/story/' + (text ?? functionResponse.response.word))).text();
    yield piece({ text: 'there was a server.' }, true);
    yield piece({ text: 'Once upon a time there was a server.' });
  }
  connect(): any { throw new Error('not here'); }
}
const look = new FunctionTool({
  name: 'look',
  description: 'Looks a word up.',
  parameters: z.object({ word: z.string() }),
  execute: async ({ word }) => {
    await (await fetch('BASE/look/' + word)).text();
    return { word };
  },
});
export const rootAgent = new LlmAgent({ name: 'root', model: new Teller(), tools: [look] });
`

const story = "Once upon a time there was a server."

// A server is killed in the middle of a text, after a tool was called, for a client of
// each protocol. The client goes on at another server. Those that are published as
// packages check the order of what they get, and have the text and the call once.
func TestFacesSurvive(t *testing.T) {
	t.Parallel()
	server := pgtest.Quick(t)
	const packages = "testdata/faces"
	nodejs.Install(t, packages)
	clients := []string{"agui", "aisdk", "openai", "a2a", "a2a_rest"}
	resumed := make(chan struct{}) // closed when all clients follow the second server
	seen, follows := make(chan string, len(clients)), make(chan string, len(clients))
	var mu sync.Mutex
	looked := map[string]int{}
	mux := http.NewServeMux()
	mux.HandleFunc("/story/{word}", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-resumed:
		case <-r.Context().Done(): // the server that asks was killed
		}
	})
	mux.HandleFunc("/look/{word}", func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		looked[r.PathValue("word")]++
	})
	for name, come := range map[string]chan string{"seen": seen, "follows": follows} {
		mux.HandleFunc("/"+name+"/{client}", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case come <- r.PathValue("client"):
			default: // all have been there
			}
		})
	}
	remote := httptest.NewServer(mux)
	t.Cleanup(remote.Close)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(strings.ReplaceAll(storyCode, "BASE", remote.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, server.Database(t), server, 2, 0, "--scripts", dir, "--lease", "5s") // as for TestCodeExecution

	ended := make(chan struct{})
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "--test", "faces.test.js")
	cmd.Dir = packages
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "FIRST="+w.replicas[0].base(), "SECOND="+w.replicas[1].base(), "TEST="+remote.URL)
	var out []byte
	var failed error
	go func() {
		defer close(ended)
		out, failed = cmd.CombinedOutput()
	}()
	await := func(come <-chan string) {
		t.Helper()
		for range clients {
			select {
			case <-come:
			case <-ended:
				t.Fatalf("%v\n%s", failed, out)
			}
		}
	}
	await(seen)
	w.replicas[0].kill()
	await(follows)
	close(resumed)
	if <-ended; failed != nil {
		t.Errorf("%v\n%s", failed, out)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(map[string]int{"agui": 1, "aisdk": 1, "openai": 1, "a2a": 1, "a2a_rest": 1}, looked); diff != "" {
		t.Errorf("calls of the tool (-want +got):\n%s", diff)
	}
}
