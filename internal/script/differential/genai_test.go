package differential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The client of @google/genai sends the same requests here as in Node.js, and
// makes the same of the answers.
func TestClient(t *testing.T) {
	installPackages(t)
	theirs := clientTranscript(t, programUnderNode)
	ours := clientTranscript(t, programUnderParley)
	if diff := lineDiff(theirs, ours); diff != "" {
		t.Errorf("from @google/genai (-) to Parley (+):\n%s", diff)
	}
	if !strings.Contains(theirs, `"name": "express"`) {
		t.Errorf("the program did not reach its end:\n%s", theirs)
	}
}

// clientTranscript runs the program against a server, and returns the requests
// that the server gets and the results that the program prints.
func clientTranscript(t *testing.T, run func(t *testing.T, dir string) []any) string {
	t.Helper()
	service := &geminiAPI{failures: 2}
	server := httptest.NewServer(service)
	defer server.Close()
	results := run(t, programDir(t, "genai.ts", map[string]string{
		"base.ts":   fmt.Sprintf("export const base = %q, dir = 'DIR';", server.URL),
		"notes.txt": "some notes",
	}))
	service.mu.Lock()
	defer service.mu.Unlock()
	return strings.ReplaceAll(lines(slices.Concat(service.got, results)), server.URL, "BASE")
}

// geminiAPI answers as the Gemini API does, and keeps the requests.
type geminiAPI struct {
	mu       sync.Mutex
	got      []any
	failures int // of the model flaky
}

// ServeHTTP is for http.Handler.
func (a *geminiAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.record(r)
	send := func(status int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, "/upload/") && r.Header.Get("X-Goog-Upload-Command") == "start":
		w.Header().Set("X-Goog-Upload-Url", "https://elsewhere.test/upload/v1beta/files?upload_id=1")
		send(200, "{}")
	case strings.HasPrefix(path, "/upload/"):
		w.Header().Set("X-Goog-Upload-Status", "final")
		send(200, `{"file":{"name":"files/abc","uri":"https://elsewhere.test/v1beta/files/abc","state":"ACTIVE"}}`)
	case strings.HasSuffix(path, "/files/none"):
		send(404, `{"error":{"code":404,"message":"none","status":"NOT_FOUND"}}`)
	case r.Method == http.MethodGet:
		send(200, `{"name":"files/abc","mimeType":"text/plain"}`)
	case r.Method == http.MethodDelete:
		send(200, `{}`)
	case strings.Contains(path, "/quota:"):
		send(429, `{"error":{"code":429,"message":"too many","status":"RESOURCE_EXHAUSTED"}}`)
	case strings.Contains(path, "/gateway:"):
		http.Error(w, "bad gateway", http.StatusBadGateway)
	case strings.Contains(path, "/flaky:") && a.fails():
		send(503, `{"error":{"code":503,"message":"later","status":"UNAVAILABLE"}}`)
	case strings.Contains(path, "/silent:"):
		send(200, `{"candidates":[{"finishReason":"STOP"}]}`)
	case strings.HasSuffix(path, ":batchEmbedContents"):
		send(200, `{"embeddings":[{"values":[1,2,3]},{"values":[4,5,6]}]}`)
	case strings.HasSuffix(path, ":countTokens"):
		send(200, `{"totalTokens":3}`)
	case strings.HasSuffix(path, ":streamGenerateContent"):
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{"hé", "llo"} {
			fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":%q}]}}]}\r\n\r\n", text)
		}
		if strings.Contains(path, "/breaks:") {
			_, _ = io.WriteString(w, "data: {\"error\":{\"code\":500,\"message\":\"broken\",\"status\":\"INTERNAL\"}}\n\n")
			return
		}
		_, _ = io.WriteString(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{\"x\":1}}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"totalTokenCount\":5}}\n\n")
	case strings.Contains(path, "/caller:"):
		send(200, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"x":"1"}}},{"functionCall":{"name":"g","args":{}}}]}}]}`)
	case strings.Contains(path, "/thinker:"):
		send(200, `{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"a"},{"executableCode":{"code":"1+1","language":"PYTHON"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}},{"inlineData":{"data":"AAEC","mimeType":"image/png"}},{"text":"b"}]}}]}`)
	default:
		send(200, `{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP","citationMetadata":{"citationSources":[{"uri":"u"}]}}],"modelVersion":"v","responseId":"r","usageMetadata":{"totalTokenCount":2}}`)
	}
}

func (a *geminiAPI) fails() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures--
	return a.failures >= 0
}

// record keeps a request, without the headers that name the client.
func (a *geminiAPI) record(r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var body any = string(text)
	if json.Valid(text) {
		_ = json.NewDecoder(bytes.NewReader(text)).Decode(&body)
	}
	headers := map[string]string{}
	for name := range r.Header {
		lower := strings.ToLower(name)
		if lower == "content-type" || lower == "x-goog-api-key" || lower == "x-server-timeout" || lower == "x-test" || strings.HasPrefix(lower, "x-goog-upload") {
			headers[lower] = strings.Join(r.Header.Values(name), ", ")
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.got = append(a.got, map[string]any{"method": r.Method, "url": r.URL.String(), "headers": headers, "body": body})
}
