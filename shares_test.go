package parley_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// shared is what a link shows.
type shared struct {
	Title  string
	Events []struct {
		Author string
		Turn   int
		Parts  []struct {
			Text string
			File *struct{ Name, MIMEType, Path string }
		}
	}
}

// talkOfBob is a session of bob with a message that has a file, a tool call, thoughts, state and an artifact.
const talkOfBob = `{"parley":1,"appName":"weather","userId":"bob","sessionId":"x","state":{"secret":"state of bob"},"createTime":1}` + "\n" +
	`{"id":"e1","author":"user","invocationId":"i1","timestamp":1,"content":{"role":"user","parts":[{"text":"first question"},{"inlineData":{"mimeType":"text/html","data":"PGI-aGk8L2I-","displayName":"note.html"}}]}}` + "\n" +
	`{"id":"e2","author":"agent","invocationId":"i1","timestamp":2,"content":{"role":"model","parts":[{"text":"private thought","thought":true},{"functionCall":{"id":"c1","name":"lookup","args":{"q":"argument of tool"}}}]}}` + "\n" +
	`{"id":"e3","author":"agent","invocationId":"i1","timestamp":3,"content":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"lookup","response":{"r":"result of tool"}}}]},"actions":{"stateDelta":{"k":"delta of state"},"artifactDelta":{"f":0}},"customMetadata":{"m":"metadata of event"}}` + "\n" +
	`{"id":"e4","author":"agent","invocationId":"i1","timestamp":4,"content":{"role":"model","parts":[{"functionCall":{"id":"c2","name":"adk_request_credential","args":{"u":"argument of login"}}},{"text":"first answer"}]}}` + "\n" +
	`{"id":"e5","author":"user","invocationId":"i2","timestamp":5,"content":{"role":"user","parts":[{"text":"second question"}]}}` + "\n"

// sharing is bob's server with his session.
type sharing struct {
	*gated
	bob string
}

func (s *sharing) share(body string) (id, path string) {
	s.t.Helper()
	var made struct{ ID, URL string }
	if err := json.Unmarshal(s.want(201, s.bob, "POST", ofBob+"/talk/shares", body).Body.Bytes(), &made); err != nil {
		s.t.Fatal(err)
	}
	_, path, ok := strings.Cut(made.URL, "/shared/")
	if !ok || len(path) < 80 {
		s.t.Fatalf("the link is %s", made.URL)
	}
	return made.ID, "/shared/" + path
}

// gone checks that there is nothing at an address, and that nothing is said about why.
func (s *sharing) gone(why, path string) {
	s.t.Helper()
	page := s.call("", "GET", path, "")
	if page.Code != 404 || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") || !strings.Contains(page.Body.String(), "There is nothing here") {
		s.t.Errorf("%s: %d %s", why, page.Code, page.Body)
	}
	for _, below := range []string{"/conversation", "/files/0"} {
		if rec := s.call("", "GET", path+below, ""); rec.Code != 404 || !strings.Contains(rec.Body.String(), "the link is wrong, has expired, or was revoked") {
			s.t.Errorf("%s, %s: %d %s", why, below, rec.Code, rec.Body)
		}
	}
}

func newSharing(t *testing.T, sessions string) *sharing {
	t.Helper()
	url := "sqlite://" + filepath.Join(t.TempDir(), "keys.db")
	keys, err := parley.OpenAPIKeys(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	bob, _, err := keys.Create(t.Context(), parley.NewAPIKey{User: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	g := serveGated(t, parley.Config{
		Access: parley.AccessConfig{Mode: parley.AccessKeys, KeysURL: url}, UI: parley.UIConfig{Enabled: true}, Sessions: parley.SessionConfig{URL: sessions},
	})
	s := &sharing{g, bob}
	g.want(200, bob, "POST", ofBob+"/talk/import", talkOfBob)
	g.want(200, bob, "POST", ofBob+"/talk/artifacts", `{"filename":"f","artifact":{"text":"artifact of bob"}}`)
	g.want(200, bob, "POST", ofBob+"/talk/artifacts", `{"filename":"other","artifact":{"text":"another artifact"}}`)
	return s
}

// A link shows the conversation of its moment, and nothing else of the session; to everyone who has it, until it is
// revoked or the session is deleted.
func TestSharedLinks(t *testing.T) {
	t.Parallel()
	s := newSharing(t, "")
	id, plain := s.share(`{"atEventId":"e4"}`)
	_, tools := s.share(`{"includeTools":true,"expiresIn":60}`)
	s.want(200, s.bob, "POST", ofBob+"/talk/runs/i1/feedback", `{"rating":"up","note":"later note"}`)
	s.want(200, s.bob, "POST", "/run", strings.Replace(strings.Replace(bobRuns, `"s1"`, `"talk"`, 1), "a word of bob", "a later word", 1))

	page := s.want(200, "", "GET", plain, "")
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow, noarchive", "X-Content-Type-Options": "nosniff"} {
		if got := page.Header().Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if policy := page.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	without, with := s.want(200, "", "GET", plain+"/conversation", "").Body.String(), s.want(200, "", "GET", tools+"/conversation", "").Body.String()
	for text, in := range map[string][2]bool{
		"first question": {true, true}, "first answer": {true, true}, "note.html": {true, true}, "second question": {false, true},
		"lookup": {false, true}, "argument of tool": {false, true}, "result of tool": {false, true}, "private thought": {false, true}, `"name":"f"`: {false, true},
		"argument of login": {}, "state of bob": {}, "delta of state": {}, "metadata of event": {}, "bob": {}, "talk": {}, "later": {}, `"e1"`: {}, `"i1"`: {}, "other": {}, "PGI": {},
	} {
		if strings.Contains(without, text) != in[0] || strings.Contains(with, text) != in[1] {
			t.Errorf("%q: without tools %t, with tools %t", text, strings.Contains(without, text), strings.Contains(with, text))
		}
		if strings.Contains(page.Body.String(), text) && text != "talk" && text != "other" {
			t.Errorf("the page itself has %q", text)
		}
	}
	var shown shared
	if err := json.Unmarshal([]byte(without), &shown); err != nil || shown.Title != "first question" || len(shown.Events) != 2 {
		t.Errorf("%+v, %v", shown, err)
	}

	// Files that were shown, and only those. A browser does not take them for pages of the server.
	file := s.want(200, "", "GET", plain+"/files/0", "")
	if got := file.Header(); file.Body.String() != "<b>hi</b>" || got.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || !strings.HasPrefix(got.Get("Content-Disposition"), "attachment") {
		t.Errorf("%s, %v", file.Body, got)
	}
	for _, none := range []string{"/files/1", "/files/-1", "/files/x", "/files/99999999999999999999"} {
		s.want(404, "", "GET", plain+none, "")
	}
	if got := s.want(200, "", "GET", tools+"/files/1", "").Body.String(); got != "artifact of bob" {
		t.Errorf("the artifact is %s", got)
	}
	s.want(404, "", "GET", tools+"/files/2", "")
	// The file that has the same name and version later is another one; see TestSharedMoment.

	// Tokens that were not given out.
	text := strings.TrimPrefix(plain, "/shared/")
	for _, i := range []int{0, 15, len(text) / 2, len(text) - 2} {
		changed := []byte(text)
		changed[i] = "AB"[b2i(changed[i] == 'A')]
		s.gone("changed", "/shared/"+string(changed))
	}
	for _, guess := range []string{"x", id, text[:len(text)-1], text + "A", strings.Repeat("A", 9000), text[4:] + text[:4]} {
		s.gone("guessed", "/shared/"+guess)
	}

	// The list has no tokens. What is revoked or deleted is gone at once.
	list := s.want(200, s.bob, "GET", ofBob+"/talk/shares", "").Body.String()
	if strings.Count(list, `"id"`) != 2 || strings.Contains(list, "url") || strings.Contains(list, text) {
		t.Errorf("the links are %s", list)
	}
	s.want(200, s.bob, "POST", ofBob+"/elsewhere", "{}")
	s.want(404, s.bob, "DELETE", ofBob+"/elsewhere/shares/"+id, "")
	s.want(200, "", "GET", plain+"/conversation", "")
	s.want(200, s.bob, "DELETE", ofBob+"/talk/shares/"+id, "")
	s.want(404, s.bob, "DELETE", ofBob+"/talk/shares/"+id, "")
	s.gone("revoked", plain)
	s.want(200, "", "GET", tools+"/conversation", "")
	s.want(200, s.bob, "DELETE", ofBob+"/talk", "")
	s.gone("deleted", tools)
	s.want(200, s.bob, "POST", ofBob+"/talk/import", talkOfBob)
	s.gone("of an earlier session with the same id", tools)
	for _, token := range []string{text, strings.TrimPrefix(tools, "/shared/")} {
		if strings.Contains(s.log.String(), token) {
			t.Error("the log has a token")
		}
	}

	for body, status := range map[string]int{
		`{"expiresIn":59}`: 422, `{"expiresIn":31536001}`: 422, `{"expiresIn":"x"}`: 422, `{"includeTools":1}`: 422, `{"atEventId":"none"}`: 422, `[]`: 422, ``: 201,
	} {
		s.want(status, s.bob, "POST", ofBob+"/talk/shares", body)
	}
	s.want(422, s.bob, "POST", ofBob+"/elsewhere/shares", "")
	s.want(404, s.bob, "POST", ofBob+"/none/shares", "")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// What was rewound after a link was made is still shown, and a file that was replaced is not.
func TestSharedMoment(t *testing.T) {
	t.Parallel()
	s := newSharing(t, "")
	_, path := s.share(`{"includeTools":true}`)
	before := s.want(200, "", "GET", path+"/conversation", "").Body.String()
	s.want(200, s.bob, "POST", ofBob+"/talk/rewind", `{"rewindBeforeInvocationId":"i2"}`)
	if after := s.want(200, "", "GET", path+"/conversation", "").Body.String(); after != before {
		t.Errorf("the moment has changed from\n%s\nto\n%s", before, after)
	}
	s.want(200, s.bob, "DELETE", ofBob+"/talk/artifacts/f", "")
	s.want(404, "", "GET", path+"/files/1", "")
	// One that is made now shows what is left.
	_, now := s.share("")
	if got := s.want(200, "", "GET", now+"/conversation", "").Body.String(); strings.Contains(got, "second question") {
		t.Errorf("a link shows what was rewound: %s", got)
	}
}

// Links are found by every server that shares a store, and after a restart.
func TestSharedLinksInStores(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a database")
	}
	t.Parallel()
	server := pgtest.Quick(t)
	for name, url := range map[string]string{
		"sqlite": "sqlite://" + filepath.Join(t.TempDir(), "sessions.db"), "postgres": server.Database(t), "two databases": server.Database(t) + "," + server.Database(t),
	} {
		open := func() (*parley.Server, http.Handler) {
			srv, err := parley.Open(t.Context(), parley.Config{
				Agents: map[string]*agent.Agent{"weather": testkit.WeatherApp()}, Sessions: parley.SessionConfig{URL: url}, UI: parley.UIConfig{Enabled: true},
				Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(name, err)
			}
			return srv, srv.Handler()
		}
		call := func(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
			req := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
			if strings.HasSuffix(path, "/import") {
				req.Header.Set("Content-Type", "application/jsonl")
			}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			return rec
		}
		first, h := open()
		if rec := call(h, "POST", ofBob+"/talk/import", talkOfBob); rec.Code != 200 {
			t.Fatal(name, rec.Body)
		}
		var made []string
		for range 2 {
			var link struct{ URL string }
			if err := json.Unmarshal(call(h, "POST", ofBob+"/talk/shares", "").Body.Bytes(), &link); err != nil {
				t.Fatal(name, err)
			}
			made = append(made, strings.TrimPrefix(link.URL, "http://localhost"))
		}
		first.Close(t.Context())
		second, h := open()
		for _, path := range made {
			if rec := call(h, "GET", path+"/conversation", ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), "first answer") {
				t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
			}
		}
		if slices.Contains(made[1:], made[0]) {
			t.Errorf("%s: two links are the same", name)
		}
		if rec := call(h, "DELETE", ofBob+"/talk", ""); rec.Code != 200 {
			t.Error(name, rec.Body)
		}
		if rec := call(h, "GET", made[0]+"/conversation", ""); rec.Code != 404 {
			t.Errorf("%s: of a deleted session: %d", name, rec.Code)
		}
		second.Close(t.Context())
	}
}
