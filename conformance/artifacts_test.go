package conformance

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// version is an ArtifactVersion.
type version struct {
	Version        *int64
	CanonicalURI   string `json:"canonicalUri"`
	CustomMetadata object
	CreateTime     float64
	MimeType       string
}

func (s *talk) artifacts() string { return s.path() + "/artifacts" }

func (s *talk) artifact(name string) string { return s.artifacts() + "/" + url.PathEscape(name) }

func (s *talk) save(t *testing.T, name string, part any) version {
	t.Helper()
	var got version
	s.Do(t, http.MethodPost, s.artifacts(), object{"filename": name, "artifact": part}).Want(t, http.StatusOK).Into(t, &got)
	return got
}

func (s *talk) load(t *testing.T, path string) object {
	t.Helper()
	var got object
	s.Do(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Into(t, &got)
	return got
}

func (s *talk) names(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	s.Do(t, http.MethodGet, s.artifacts(), nil).Want(t, http.StatusOK).Into(t, &got)
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestC41_SaveArtifact(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	var got version
	body := `{"filename":"greeting.txt","artifact":{"text":"hello world"},"custom_metadata":{"a":{"b_c":1}}}`
	s.Do(t, http.MethodPost, s.artifacts(), body).Want(t, http.StatusOK).Into(t, &got)
	if got.Version == nil || *got.Version != 0 || got.MimeType != "text/plain" || got.CreateTime < 1e9 || got.CreateTime > 1e10 ||
		!strings.HasSuffix(got.CanonicalURI, "/sessions/"+url.PathEscape(s.ID)+"/artifacts/greeting.txt/versions/0") {
		t.Errorf("got %+v", got)
	}
	same(t, "custom metadata", object{"a": object{"b_c": 1.0}}, got.CustomMetadata)
	same(t, "the artifact", object{"text": "hello world"}, s.load(t, s.artifact("greeting.txt")))
	if next := s.save(t, "greeting.txt", object{"inlineData": object{"mimeType": "image/png", "data": "AAEC/w=="}}); *next.Version != 1 || len(next.CustomMetadata) != 0 {
		t.Errorf("the next version is %+v", next)
	}
	inline := object{"inlineData": object{"mimeType": "image/png", "data": "AAEC/w=="}}
	name := s.artifact("greeting.txt")
	for _, path := range []string{name, name + "?version=1", name + "?version=latest", name + "/versions/1", name + "/versions/latest"} {
		same(t, path, inline, s.load(t, path))
	}
	same(t, "version 0", object{"text": "hello world"}, s.load(t, name+"?version=0"))
	var versions []int64
	s.Do(t, http.MethodGet, name+"/versions", nil).Want(t, http.StatusOK).Into(t, &versions)
	same(t, "versions", []int64{0, 1}, versions)
	var all []version
	s.Do(t, http.MethodGet, name+"/versions/metadata", nil).Want(t, http.StatusOK).Into(t, &all)
	var one version
	s.Do(t, http.MethodGet, name+"/versions/0/metadata", nil).Want(t, http.StatusOK).Into(t, &one)
	if len(all) != 2 || !cmp.Equal(all[0], got) || !cmp.Equal(one, got) {
		t.Errorf("the metadata are %+v and %+v", all, one)
	}
}

func TestArtifactRefusals(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.save(t, "a", object{"text": "x"})
	for _, name := range []string{"/etc/passwd", "../a", "a/../../b", "..", "a//b", "", "x\x00y", "a/versions/b", strings.Repeat("n", 600)} {
		status := http.StatusBadRequest
		if name == "" {
			status = http.StatusUnprocessableEntity
		}
		refusal(t, s.Do(t, http.MethodPost, s.artifacts(), object{"filename": name, "artifact": object{"text": "x"}}), status)
	}
	for body, status := range map[string]int{
		`{"artifact":{"text":"x"}}`:                                 422,
		`{"filename":"x"}`:                                          422,
		`{"filename":1,"artifact":{"text":"x"}}`:                    422,
		`{"filename":"x","artifact":{}}`:                            422,
		`{"filename":"x","artifact":{"inlineData":{"data":"%%"}}}`:  422,
		`{"filename":"x","artifact":{"functionCall":{"name":"f"}}}`: 400,
		`nonsense`: 422,
	} {
		if r := s.Do(t, http.MethodPost, s.artifacts(), body); r.Status != status {
			t.Errorf("%s: %d %s, want %d", body, r.Status, r.Body, status)
		}
	}
	for path, status := range map[string]int{
		s.artifact("none"):                                 404,
		s.artifact("none") + "/versions/0":                 404,
		s.artifact("none") + "/versions/0/metadata":        404,
		s.artifact("a") + "/versions/7":                    404,
		s.artifact("a") + "?version=7":                     404,
		s.artifact("a") + "?version=x":                     422,
		s.artifact("a") + "/versions/-1":                   422,
		s.artifact("a") + "/versions/x":                    422,
		s.artifact("a") + "/versions/x/metadata":           422,
		s.artifact("a") + "/versions/99999999999999999999": 422,
		s.artifact("..%2f..") + "":                         404,
	} {
		if r := s.Do(t, http.MethodGet, path, nil); r.Status != status {
			t.Errorf("%s: %d %s, want %d", path, r.Status, r.Body, status)
		}
	}
	elsewhere := *s
	elsewhere.ID = "none"
	refusal(t, elsewhere.Do(t, http.MethodPost, elsewhere.artifacts(), object{"filename": "a", "artifact": object{"text": "x"}}), http.StatusNotFound)
	elsewhere.names(t)
	s.names(t, "a")
}

func TestC42_DeleteArtifact(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.save(t, "f", object{"text": "x"})
	s.save(t, "f/g", object{"text": "y"})
	for range 2 {
		s.Do(t, http.MethodDelete, s.artifact("f"), nil).Want(t, http.StatusOK)
	}
	refusal(t, s.Do(t, http.MethodGet, s.artifact("f"), nil), http.StatusNotFound)
	s.names(t, "f/g")
	if v := s.save(t, "f", object{"text": "z"}); *v.Version != 0 {
		t.Errorf("after it was deleted, it begins with version %d", *v.Version)
	}
}

func TestC43_UserArtifact(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.save(t, "user:pref.txt", object{"text": "mine"})
	s.save(t, "own.txt", object{"text": "own"})
	other := s.another(t)
	other.names(t, "user:pref.txt")
	same(t, "in another session", object{"text": "mine"}, other.load(t, other.artifact("user:pref.txt")))
	s.Do(t, http.MethodDelete, s.path(), nil).Want(t, http.StatusOK)
	other.names(t, "user:pref.txt")
	s.names(t, "user:pref.txt")
	refusal(t, s.Do(t, http.MethodGet, s.artifact("own.txt"), nil), http.StatusNotFound)
	unrelated := begin(t, "weather")
	unrelated.names(t)
}

// Names may have slashes, which may stand in the address as they are.
func TestNestedArtifact(t *testing.T) {
	t.Parallel()
	t.Cleanup(http.DefaultClient.CloseIdleConnections) // they would count as leaked goroutines
	s := begin(t, "weather")
	const name = "reports/2026/äöü 100%.txt"
	s.save(t, name, object{"text": "deep"})
	same(t, "encoded", object{"text": "deep"}, s.load(t, s.artifact(name)))
	plain := s.artifacts() + "/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
	for path, want := range map[string]string{
		plain:                                `{"text":"deep"}`,
		plain + "/versions":                  `[0]`,
		plain + "/versions/0":                `{"text":"deep"}`,
		plain + "/versions/latest?alt=media": "deep",
	} {
		resp, err := http.Get(*baseURL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || string(body) != want {
			t.Errorf("%s: %d %s, want %s", path, resp.StatusCode, body, want)
		}
	}
}

// What a tool saves is told by its event, and is there.
func TestArtifactOfTool(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	for i := range 2 {
		events := s.say(t, fmt.Sprintf("art a.txt text%d", i))
		if got := events[1].Actions.ArtifactDelta["a.txt"]; fmt.Sprint(got) != fmt.Sprint(i) {
			t.Errorf("the event tells of %v, want version %d", events[1].Actions.ArtifactDelta, i)
		}
	}
	same(t, "the artifact", object{"text": "text1"}, s.load(t, s.artifact("a.txt")))
	fork, _ := s.fork(t, "")
	fork.names(t, "a.txt")
	fork.say(t, "art a.txt again")
	same(t, "the fork's", object{"text": "text0"}, fork.load(t, fork.artifact("a.txt")+"/versions/0"))
	same(t, "the original", object{"text": "text1"}, s.load(t, s.artifact("a.txt")))
	s.Do(t, http.MethodDelete, s.path(), nil).Want(t, http.StatusOK)
	same(t, "after the original is deleted", object{"text": "again"}, fork.load(t, fork.artifact("a.txt")))
}

func TestConcurrentArtifacts(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	var mu sync.Mutex
	var got []int64
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			v := s.save(t, "a", object{"text": "x"})
			mu.Lock()
			got = append(got, *v.Version)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.Sort(got)
	same(t, "versions", []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, got)
}

// A file is sent and read as it is, or a part of it.
func TestRawArtifact(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	var v version
	s.Do(t, http.MethodPut, s.artifact("page.html"), "<script>alert(1)</script>", testkit.Header("Content-Type", "text/html")).Want(t, http.StatusOK).Into(t, &v)
	if *v.Version != 0 || v.MimeType != "text/html" {
		t.Errorf("got %+v", v)
	}
	r := s.Do(t, http.MethodGet, s.artifact("page.html")+"?alt=media", nil).Want(t, http.StatusOK)
	if string(r.Body) != "<script>alert(1)</script>" || r.Header.Get("Content-Type") != "text/html" {
		t.Errorf("got %s (%s)", r.Body, r.Header.Get("Content-Type"))
	}
	// A browser must not run it as a page of the server.
	if r.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment") ||
		!strings.Contains(r.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the header is %v", r.Header)
	}
	part := s.Do(t, http.MethodGet, s.artifact("page.html")+"?alt=media", nil, testkit.Header("Range", "bytes=8-12")).Want(t, http.StatusPartialContent)
	if string(part.Body) != "alert" {
		t.Errorf("the part is %s", part.Body)
	}
	refusal(t, s.Do(t, http.MethodGet, s.artifact("page.html")+"?alt=media", nil, testkit.Header("Range", "bytes=100-")), http.StatusRequestedRangeNotSatisfiable)
	same(t, "as a part", object{"inlineData": object{"mimeType": "text/html", "data": base64.StdEncoding.EncodeToString(r.Body)}}, s.load(t, s.artifact("page.html")))
	refusal(t, s.Do(t, http.MethodPut, s.artifact("../x"), "x"), http.StatusBadRequest)
	refusal(t, s.Do(t, http.MethodPut, s.artifact("x"), "x", testkit.Header("Content-Type", "no/such/type")), http.StatusUnsupportedMediaType)
	limited := serve(t, parley.Config{Artifacts: parley.ArtifactConfig{MaxBytes: 10}})
	c := testkit.NewClient(t, limited)
	c.Do(t, http.MethodPost, "/apps/weather/users/u/sessions/s", nil).Want(t, http.StatusOK)
	refusal(t, c.Do(t, http.MethodPut, "/apps/weather/users/u/sessions/s/artifacts/a", strings.Repeat("x", 11)), http.StatusRequestEntityTooLarge)
	refusal(t, c.Do(t, http.MethodPost, "/apps/weather/users/u/sessions/s/artifacts", object{"filename": "a", "artifact": object{"text": strings.Repeat("x", 11)}}), http.StatusRequestEntityTooLarge)
	c.Do(t, http.MethodGet, "/apps/weather/users/u/sessions/s/artifacts/a", nil).Want(t, http.StatusNotFound)
}

// zeros is a file that is nowhere.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// 200 MB go in and out without being in memory.
func TestLargeArtifact(t *testing.T) {
	if testing.Short() {
		t.Skip("it sends 200 MB")
	}
	const size = 200 << 20
	base := serve(t, parley.Config{Artifacts: parley.ArtifactConfig{URL: "file://" + t.TempDir()}})
	const path = "/apps/weather/users/u/sessions/s"
	testkit.NewClient(t, base).Do(t, http.MethodPost, path, nil).Want(t, http.StatusOK)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, base+path+"/artifacts/big", io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{0, int64(len(`{"inlineData":{"mimeType":"application/octet-stream","data":""}}`)) + (size+2)/3*4, size} {
		if i > 0 {
			if req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, base+path+"/artifacts/big"+[]string{"", "", "?alt=media"}[i], nil); err != nil {
				t.Fatal(err)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || i > 0 && n != want {
			t.Errorf("step %d: %d with %d bytes (%v), want %d", i, resp.StatusCode, n, err, want)
		}
	}
	// As JSON, with the name at its end, and then too much of it.
	limited := serve(t, parley.Config{Artifacts: parley.ArtifactConfig{URL: "file://" + t.TempDir(), MaxBytes: size - 1}})
	testkit.NewClient(t, limited).Do(t, http.MethodPost, path, nil).Want(t, http.StatusOK)
	for at, want := range map[string]int{base: http.StatusOK, limited: http.StatusRequestEntityTooLarge} {
		letters := io.LimitReader(repeated('A'), (size+2)/3*4-1) // zeros; the last group is of two bytes
		body := io.MultiReader(strings.NewReader(`{"artifact":{"inlineData":{"mimeType":"a/b","data":"`), letters, strings.NewReader(`="}},"filename":"big.json"}`))
		if req, err = http.NewRequestWithContext(t.Context(), http.MethodPost, at+path+"/artifacts", body); err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil && want == http.StatusOK {
			t.Fatal(err)
		}
		if err != nil {
			continue // it was cut off before it could read the answer
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("as JSON: %d, want %d", resp.StatusCode, want)
		}
	}
	saved := testkit.NewClient(t, base).Do(t, http.MethodGet, path+"/artifacts/big.json?alt=media", nil, testkit.Header("Range", "bytes=-1")).Want(t, http.StatusPartialContent)
	if got := saved.Header.Get("Content-Range"); got != fmt.Sprintf("bytes %d-%d/%d", size-1, size-1, size) {
		t.Errorf("what was sent as JSON is %s", got)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size/2 {
		t.Errorf("%d bytes were allocated on the way", used)
	}
}

// repeated is a letter, again and again.
type repeated byte

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// Files survive a restart as the sessions do.
func TestArtifactsAreKept(t *testing.T) {
	file := "sqlite://" + t.TempDir() + "/sessions.db"
	const path = "/apps/weather/users/u/sessions/s"
	for i := range 2 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := testkit.NewClient(t, serve(t, parley.Config{Sessions: parley.SessionConfig{URL: file}}))
			if i == 0 {
				c.Do(t, http.MethodPost, path, nil).Want(t, http.StatusOK)
				c.Do(t, http.MethodPost, path+"/artifacts", object{"filename": "a", "artifact": object{"text": "kept"}}).Want(t, http.StatusOK)
			}
			if r := c.Do(t, http.MethodGet, path+"/artifacts/a", nil).Want(t, http.StatusOK); string(r.Body) != `{"text":"kept"}` {
				t.Errorf("got %s", r.Body)
			}
		})
	}
}

// Files in messages can be kept out of the conversation.
func TestSaveInputFiles(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	file := object{"inlineData": object{"mimeType": "text/plain", "data": "aGVsbG8=", "displayName": "note.txt"}}
	unnamed := object{"inlineData": object{"mimeType": "text/plain", "data": "eA==", "displayName": "../x"}}
	s.run(t, with(s.request("hello", file, unnamed), "saveInputBlobsAsArtifacts", true))
	message := s.get(t).Events[0]
	if len(message.Actions.ArtifactDelta) != 2 || !strings.Contains(message.text(), `[Uploaded Artifact: "note.txt"]`) ||
		!strings.Contains(message.text(), `[Uploaded Artifact: "artifact_`+message.InvocationID+`_2"]`) {
		t.Errorf("the message is %+v", message)
	}
	same(t, "the file", object{"inlineData": object{"mimeType": "text/plain", "data": "aGVsbG8="}}, s.load(t, s.artifact("note.txt")))
	s.run(t, s.request("hello", file))
	if events := s.get(t).Events; len(events[len(events)-2].Actions.ArtifactDelta) != 0 {
		t.Error("a file was saved without saveInputBlobsAsArtifacts")
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	s.say(t, "My cat is called Tom; DROP TABLE \"memories\" OR * 私の猫はトムです")
	memory := "/apps/weather/users/" + url.PathEscape(s.User) + "/memory"
	later := s.another(t)
	reminded := func(of *talk, query string) string {
		t.Helper()
		return fmt.Sprint(of.say(t, "remind "+query)[1].Content.Parts[0].FunctionResponse.Response)
	}
	if got := reminded(later, "cat"); strings.Contains(got, "Tom") {
		t.Errorf("before it is added, the memory has %s", got)
	}
	for range 2 {
		if r := s.Do(t, http.MethodPatch, memory, object{"session_id": s.ID}).Want(t, http.StatusOK); string(r.Body) != "null" {
			t.Errorf("got %s", r.Body)
		}
	}
	for _, query := range []string{"who is the CAT?", `"*" OR tom NEAR( -x`, "猫", "トム", "'; DROP"} {
		if got := reminded(later, query); strings.Count(got, "user: My cat is called Tom") != 1 {
			t.Errorf("%s finds %s", query, got)
		}
	}
	for _, query := range []string{"ca", "*", `"`, "犬"} {
		if got := reminded(later, query); strings.Contains(got, "Tom") {
			t.Errorf("%s finds %s", query, got)
		}
	}
	if got := reminded(begin(t, "weather"), "cat"); strings.Contains(got, "Tom") {
		t.Errorf("another user finds %s", got)
	}
	refusal(t, s.Do(t, http.MethodPatch, memory, object{}), http.StatusBadRequest)
	refusal(t, s.Do(t, http.MethodPatch, memory, object{"sessionId": "none"}), http.StatusNotFound)
	s.Do(t, http.MethodDelete, s.path(), nil).Want(t, http.StatusOK)
	if got := reminded(later, "cat"); strings.Contains(got, "Tom") {
		t.Errorf("after the session is deleted, the memory has %s", got)
	}
	later.say(t, "A bird")
	s.Do(t, http.MethodPatch, memory, object{"sessionId": later.ID}).Want(t, http.StatusOK)
	s.Do(t, http.MethodDelete, memory, nil).Want(t, http.StatusOK)
	if got := reminded(later, "bird"); strings.Contains(got, "A bird") {
		t.Errorf("after it is cleared, the memory has %s", got)
	}
}
