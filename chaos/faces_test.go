//go:build unix

package chaos

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// storyCode is an agent whose model stops in the middle of a text until a server has
// answered.
const storyCode = `import { BaseLlm, LlmAgent } from '@google/adk';
class Teller extends BaseLlm {
  constructor() { super({ model: 'teller' }); }
  async *generateContentAsync(request: any) {
    const word = request.contents.at(-1).parts[0].text;
    const piece = (text: string, partial: boolean) => ({ content: { role: 'model', parts: [{ text }] }, partial });
    yield piece('Once upon a time ', true);
    await (await fetch('BASE/' + word)).text();
    yield piece('there was a server.', true);
    yield piece('Once upon a time there was a server.', false);
  }
  connect(): any { throw new Error('not here'); }
}
export const rootAgent = new LlmAgent({ name: 'root', model: new Teller() });
`

const story = "Once upon a time there was a server."

// A server is killed in the middle of a text, for a client of each protocol. The client
// goes on at another server.
func TestFacesSurvive(t *testing.T) {
	t.Parallel()
	resumed := make(chan struct{}) // closed when all clients follow the second server
	remote := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-resumed:
		case <-r.Context().Done(): // the server that asks was killed
		}
	}))
	t.Cleanup(remote.Close)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(strings.ReplaceAll(storyCode, "BASE", remote.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	server := pgtest.Quick(t)
	w := newWorld(t, server.Database(t), server, 2, 0, "--scripts", dir)
	first, second := w.at(w.replicas[0]), w.at(w.replicas[1])
	faces := []struct {
		name, path, body string
		// resume is where and how the stream goes on after what was received.
		resume func(received string) (path string, header http.Header)
		// text is what the client has in the end of what it received, and what it has
		// received after that.
		text func(received, rest string) string
	}{
		{
			name: "agui", path: "/apps/script/agui", body: `{"threadId":"agui","runId":"r","protocolVersion":"1.0","messages":[{"id":"m","role":"user","content":"agui"}]}`,
			resume: func(received string) (string, http.Header) {
				ids := regexp.MustCompile(`(?m)^id: (.*)$`).FindAllStringSubmatch(received, -1)
				return "/apps/script/agui?protocolVersion=1.0&threadId=agui&runId=r", http.Header{"Last-Event-ID": {ids[len(ids)-1][1]}}
			},
			// The model was asked again, which may have led to another text: it is a new message.
			text: func(received, rest string) string {
				if strings.Count(rest, "TEXT_MESSAGE_END") != 2 || strings.Count(received+rest, "RUN_STARTED") != 1 {
					return rest
				}
				return deltas(rest)
			},
		},
		{
			name: "aisdk", path: "/apps/script/aisdk", body: `{"id":"aisdk","trigger":"submit-message","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"aisdk"}]}]}`,
			resume: func(string) (string, http.Header) { return "/apps/script/aisdk/aisdk/stream", nil },
			text:   func(_, rest string) string { return deltas(rest) },
		},
		{
			name: "openai", path: "/v1/responses", body: `{"model":"script","conversation":"openai","input":"openai","stream":true}`,
			resume: func(received string) (string, http.Header) {
				id := regexp.MustCompile(`"(resp_[^"]*)"`).FindStringSubmatch(received)[1]
				numbers := regexp.MustCompile(`"sequence_number":(\d+)`).FindAllStringSubmatch(received, -1)
				return "/v1/responses/" + id + "?stream=true&starting_after=" + numbers[len(numbers)-1][1], nil
			},
			text: func(received, rest string) string { return deltas(received + rest) },
		},
		{
			name: "a2a", path: "/a2a/script/message:stream", body: `{"message":{"messageId":"m","contextId":"a2a","role":"ROLE_USER","parts":[{"text":"a2a"}]}}`,
			resume: func(received string) (string, http.Header) {
				return "/a2a/script/tasks/" + regexp.MustCompile(`"task":\{"id":"([^"]*)"`).FindStringSubmatch(received)[1] + ":subscribe", nil
			},
			// The last piece is the whole text.
			text: func(_, rest string) string {
				if !strings.Contains(rest, "TASK_STATE_COMPLETED") {
					return rest
				}
				return regexp.MustCompile(`"parts":\[\{"text":"([^"]*)"\}\]\},"lastChunk":true`).FindStringSubmatch(rest + `"parts":[{"text":""}]},"lastChunk":true`)[1]
			},
		},
	}
	received := make([]string, len(faces))
	for i, f := range faces {
		resp, err := first.send(t.Context(), http.MethodPost, f.path, []byte(f.body), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", f.name, resp, err)
		}
		defer resp.Body.Close()
		for lines := bufio.NewReader(resp.Body); !strings.Contains(deltas(received[i]), "time "); {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v after %s", f.name, err, received[i])
			}
			received[i] += line
		}
	}
	w.replicas[0].kill()
	rest := make([]io.Reader, len(faces))
	for i, f := range faces {
		path, header := f.resume(received[i])
		resp, err := second.send(t.Context(), http.MethodGet, path, nil, header)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", f.name, resp, err)
		}
		defer resp.Body.Close()
		rest[i] = resp.Body
	}
	close(resumed)
	for i, f := range faces {
		rest, err := io.ReadAll(rest[i])
		if err != nil {
			t.Fatal(err)
		}
		if got := f.text(received[i], string(rest)); got != story {
			t.Errorf("%s: got %q: first\n%s\nthen\n%s", f.name, got, received[i], rest)
		}
	}
}

// deltas returns the pieces of texts in a stream.
func deltas(stream string) string {
	var b strings.Builder
	for line := range strings.Lines(stream) {
		doc, ok := strings.CutPrefix(line, "data: ")
		var frame struct {
			Type, Delta    string
			ArtifactUpdate struct {
				Artifact struct{ Parts []struct{ Text string } }
			}
		}
		if ok && json.Unmarshal([]byte(doc), &frame) == nil {
			for _, part := range frame.ArtifactUpdate.Artifact.Parts {
				b.WriteString(part.Text)
			}
			switch frame.Type {
			case "TEXT_MESSAGE_CONTENT", "text-delta", "response.output_text.delta":
				b.WriteString(frame.Delta)
			}
		}
	}
	return b.String()
}
