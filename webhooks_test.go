package parley_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/sqlite"
)

// hookServer is a server with a store in a file, and who calls it.
type hookServer struct {
	*testing.T
	url string
}

// hookConfig is for a server that may call this machine.
func hookConfig(path, key string) parley.Config {
	return parley.Config{
		Agents: testkit.NewFixture().Apps(), Sessions: parley.SessionConfig{URL: "sqlite:///" + path}, Logins: parley.LoginConfig{Key: key},
		Network: parley.NetworkConfig{AllowPrivateWebhooks: []string{"127.0.0.0/8", "::1/128"}},
	}
}

func newKey() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return base64.StdEncoding.EncodeToString(key)
}

func newHookServer(t *testing.T, cfg parley.Config) *hookServer {
	t.Helper()
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	return &hookServer{t, web.URL}
}

func (s *hookServer) send(method, path, body string, status int) map[string]any {
	s.Helper()
	object := map[string]any{}
	doc := (&schedules{s.T, s.url}).sendFor(method, path, body, status)
	_ = json.Unmarshal(doc, &object)
	return object
}

func (s *hookServer) session(id string) {
	s.Helper()
	s.send("POST", "/apps/weather/users/ann/sessions/"+id, "", 200)
}

// say has a turn.
func (s *hookServer) say(session, text, more string) {
	s.Helper()
	s.send("POST", "/run", fmt.Sprintf(`{"appName":"weather","userId":"ann","sessionId":%q,"newMessage":{"parts":[{"text":%q}]}%s}`, session, text, more), 200)
}

// hook is what a receiver got.
type hook struct {
	http.Header
	doc  []byte
	body struct {
		ID, Type, Timestamp, AppName, UserID, SessionID, RunID string
		Data                                                   map[string]any
	}
}

// hooks receives webhooks.
type hooks struct {
	*httptest.Server
	mu  sync.Mutex
	got []hook
}

// newHooks answers with what status returns for the number of the request.
func newHooks(t *testing.T, status func(n int) int) *hooks {
	t.Helper()
	h := &hooks{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := hook{Header: r.Header}
		one.doc, _ = io.ReadAll(r.Body)
		if err := json.Unmarshal(one.doc, &one.body); err != nil {
			t.Errorf("the body is %s: %v", one.doc, err)
		}
		h.mu.Lock()
		h.got = append(h.got, one)
		n := len(h.got)
		h.mu.Unlock()
		w.WriteHeader(status(n))
	}))
	t.Cleanup(h.Close)
	return h
}

func always(int) int { return http.StatusNoContent }

func (h *hooks) list() []hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// types are those of the events of a session, without repetitions.
func (h *hooks) types(session string) string {
	var list, ids []string
	for _, one := range h.list() {
		if one.body.SessionID == session && !slices.Contains(ids, one.body.ID) {
			list, ids = append(list, one.body.Type), append(ids, one.body.ID)
		}
	}
	return strings.Join(list, " ")
}

// verified fails if the signature of a request is not that of the secret.
func verified(secret string, got hook) error {
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return wh.Verify(got.doc, got.Header)
}

// A receiver that fails twice gets the same event again, with the same id, and then those
// that follow, in the order of the session. Nothing is sent about what did not happen.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := newHookServer(t, hookConfig(filepath.Join(t.TempDir(), "s.db"), newKey()))
	s.session("s1")
	s.say("s1", "weather in Oslo", "") // before there is a webhook
	h := newHooks(t, func(n int) int {
		if n <= 2 {
			return http.StatusBadGateway
		}
		return http.StatusNoContent
	})
	made := s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"url":%q,"description":"all"}`, h.URL), 201)
	id, _ := made["id"].(string)
	secret, _ := made["secret"].(string)
	if got := s.send("GET", "/apps/weather/webhooks/"+id, "", 200); got["secret"] != nil || got["url"] != h.URL || got["description"] != "all" {
		t.Errorf("the webhook is %v", got)
	}
	s.say("s1", "weather in Oslo", "")
	s.say("s1", "cancel in Oslo", `,"concurrency":"reject"`)
	s.send("POST", "/run", `{"appName":"weather","userId":"ann","sessionId":"none","newMessage":{"parts":[{"text":"hi"}]}}`, 404)
	s.say("s1", "weather in Bergen", "")
	testkit.Eventually(t, "three events", func() bool { return h.types("s1") == "run.completed run.completed run.completed" })
	got := h.list()
	for i, one := range got {
		if err := verified(secret, one); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
		if one.Get("Webhook-Id") != one.body.ID || i < 3 && one.body.ID != got[0].body.ID || i == 3 && one.body.ID == got[0].body.ID {
			t.Errorf("request %d has the id %s, and its body %s", i, one.Get("Webhook-Id"), one.body.ID)
		}
		if b := one.body; b.AppName != "weather" || b.UserID != "ann" || b.RunID == "" || b.Data["status"] != "completed" || b.Data["id"] != b.RunID || b.Timestamp == "" {
			t.Errorf("the event is %s", one.doc)
		}
	}
	if again := string(got[1].doc); again != string(got[0].doc) {
		t.Errorf("the second attempt sent %s, the first one %s", again, got[0].doc)
	}
}

// A request names a receiver of its own run. It is told once, and of nothing else.
func TestWebhookOfRequest(t *testing.T) {
	t.Parallel()
	s := newHookServer(t, hookConfig(filepath.Join(t.TempDir(), "s.db"), newKey()))
	s.session("s1")
	h := newHooks(t, always)
	secret := "whsec_" + newKey()
	s.say("s1", "weather in Oslo", fmt.Sprintf(`,"webhook":{"url":%q,"secret":%q}`, h.URL, secret))
	s.say("s1", "weather in Oslo", "")
	const runs = "/apps/weather/users/ann/sessions/s1/runs"
	started := s.send("POST", runs, fmt.Sprintf(`{"newMessage":{"parts":[{"text":"weather in Rome"}]},"webhook":{"url":%q}}`, h.URL), 202)
	testkit.Eventually(t, "two events", func() bool { return h.types("s1") == "run.completed run.completed" })
	for _, one := range h.list() { // each has a receiver of its own, so that either may be the first
		signed := one.body.RunID != started["id"]
		if err := verified(secret, one); (err == nil) != signed {
			t.Errorf("the signature of the event about %s: %v", one.body.RunID, err)
		}
		if !signed && one.Get("Webhook-Signature") != "" {
			t.Errorf("the event about %v is %s, with the headers %v", started["id"], one.doc, one.Header)
		}
	}
	if got := h.list(); got[0].body.RunID == got[1].body.RunID {
		t.Errorf("both events are about %s", got[0].body.RunID)
	}
	for _, body := range []string{`{}`, `{"url":"ftp://example.com"}`, `{"url":"http://192.168.0.1/x"}`, `{"url":"https://example.com","secret":"x"}`, `{"url":"https://example.com","events":["none"]}`} {
		refused := s.send("POST", runs, `{"newMessage":{"parts":[{"text":"weather in Rome"}]},"webhook":`+body+`}`, 422)
		if text := fmt.Sprint(refused["detail"]); !strings.Contains(text, "webhook") {
			t.Errorf("%s is refused with %v", body, refused)
		}
	}
	var list []any
	if err := json.Unmarshal((&schedules{t, s.url}).sendFor("GET", runs, "", 200), &list); err != nil || len(list) != 3 {
		t.Errorf("the runs are %v, %v", list, err)
	}
}

// A retried request does not add a second receiver.
func TestWebhookOfRepeatedRequest(t *testing.T) {
	t.Parallel()
	s := newHookServer(t, hookConfig(filepath.Join(t.TempDir(), "s.db"), newKey()))
	s.session("s1")
	h := newHooks(t, always)
	body := fmt.Sprintf(`{"appName":"weather","userId":"ann","sessionId":"s1","newMessage":{"parts":[{"text":"weather in Oslo"}]},"webhook":{"url":%q}}`, h.URL)
	for range 3 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/run", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "once")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
	}
	s.say("s1", "weather in Oslo", fmt.Sprintf(`,"webhook":{"url":%q}`, h.URL))
	testkit.Eventually(t, "two events", func() bool { return h.types("s1") == "run.completed run.completed" })
}

// Both secrets sign after a rotation. What was not accepted can be seen, and replayed.
func TestWebhookOperations(t *testing.T) {
	t.Parallel()
	s := newHookServer(t, hookConfig(filepath.Join(t.TempDir(), "s.db"), newKey()))
	s.session("s1")
	h := newHooks(t, func(n int) int {
		if n == 1 {
			return http.StatusGone
		}
		return http.StatusOK
	})
	made := s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"url":%q,"events":["run.failed"]}`, h.URL), 201)
	at, _ := made["id"].(string)
	at = "/apps/weather/webhooks/" + at
	s.say("s1", "weather in Oslo", "")
	rotated := s.send("POST", at+"/rotate", "", 200)
	if rotated["secret"] == made["secret"] || rotated["previousSecretUntil"] == nil {
		t.Errorf("after the rotation, the webhook is %v", rotated)
	}
	s.send("POST", at+"/test", "", 202)
	deliveries := func() []any {
		list, _ := s.send("GET", at+"/deliveries", "", 200)["deliveries"].([]any)
		return list
	}
	failed := func() (id string) {
		for _, one := range deliveries() {
			d, _ := one.(map[string]any)
			if d["status"] == "failed" && d["attempts"] == 1.0 && strings.Contains(fmt.Sprint(d["error"]), "410") && d["type"] == "webhook.test" {
				id, _ = d["id"].(string)
			}
		}
		return id
	}
	testkit.Eventually(t, "the delivery is given up", func() bool { return failed() != "" })
	s.send("POST", at+"/deliveries/x/replay", "", 404)
	s.send("POST", at+"/deliveries/"+failed()+"/replay", "", 202)
	testkit.Eventually(t, "it is accepted", func() bool { return len(deliveries()) == 0 })
	got := h.list()
	if len(got) != 2 || got[0].body.ID != got[1].body.ID {
		t.Fatalf("the receiver got %d requests", len(got))
	}
	for _, secret := range []any{made["secret"], rotated["secret"]} {
		if err := verified(fmt.Sprint(secret), got[1]); err != nil {
			t.Error(err)
		}
	}
	if changed := s.send("PATCH", at, `{"events":null,"description":"x"}`, 200); len(changed["events"].([]any)) < 6 || changed["description"] != "x" {
		t.Errorf("the changed webhook is %v", changed)
	}
	for _, body := range []string{`{"url":""}`, `{"url":"http://10.0.0.1"}`, `{"secret":"whsec_x"}`, `{"secret":null}`, `{"events":["x"]}`, `{"description":"` + strings.Repeat("x", 501) + `"}`, `[]`} {
		s.send("PATCH", at, body, 422)
	}
	s.send("DELETE", at, "", 200)
	for _, path := range []string{"", "/deliveries"} {
		s.send("GET", at+path, "", 404)
	}
	s.send("POST", at+"/rotate", "", 404)
	s.send("POST", "/apps/none/webhooks", `{"url":"https://example.com"}`, 404)
	for i := range 21 {
		want := 201
		if i == 20 {
			want = 409
		}
		s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"url":%q}`, h.URL), want)
	}
}

// What was given up is listed for all kinds of receivers, without what is secret in their
// addresses, and can be sent again.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	path, key := filepath.Join(t.TempDir(), "s.db"), newKey()
	var up atomic.Bool
	h := newHooks(t, func(int) int {
		if up.Load() {
			return http.StatusNoContent
		}
		return http.StatusServiceUnavailable
	})
	srv, err := parley.Open(t.Context(), hookConfig(path, key))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	s := &hookServer{t, web.URL}
	s.session("s1")
	s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"id":"all","url":%q}`, h.URL), 201)
	s.say("s1", "weather in Oslo", fmt.Sprintf(`,"webhook":{"url":%q}`, h.URL+"/token-of-ann"))
	s.send("POST", "/a2a/weather/message:send", fmt.Sprintf(`{"message":{"messageId":"m","contextId":"s2","role":"ROLE_USER","parts":[{"text":"weather in Rome"}]},
		"configuration":{"taskPushNotificationConfig":{"url":%q}}}`, h.URL), 200)
	web.Close()
	srv.Close(t.Context())

	store, err := sqlite.Open(t.Context(), path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 { // more than a page
		err := store.Outbox.Publish(t.Context(), &session.Notice{Key: session.Key{App: "weather"}, ID: fmt.Sprint(n), Type: "webhook.test", JSON: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
	}
	waiting, err := store.Outbox.AppDeliveries(t.Context(), "weather", "all", 0, 200)
	if err != nil || len(waiting) != 102 {
		t.Fatalf("%d deliveries of the webhook wait, error %v", len(waiting), err)
	}
	for _, d := range waiting {
		own, err := store.Outbox.Deliveries(t.Context(), d.Key)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range append(own, d) {
			if err := store.Outbox.FailDelivery(t.Context(), d, "it is not there"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	s = newHookServer(t, hookConfig(path, key))
	const at = "/apps/weather/failed-deliveries"
	list := func() map[string][]string {
		byKind := map[string][]string{}
		var all []any
		for query, more := "", true; more; {
			doc := (&schedules{s.T, s.url}).sendFor("GET", at+query, "", 200)
			testkit.CheckSchema(t, "FailedDeliveryPage", doc)
			var page map[string]any
			if err := json.Unmarshal(doc, &page); err != nil {
				t.Fatal(err)
			}
			some, _ := page["deliveries"].([]any)
			all = append(all, some...)
			if _, more = page["nextPageToken"]; more != (len(some) == 100) {
				t.Fatalf("after %d deliveries, the next page is %v", len(some), page["nextPageToken"])
			}
			query = fmt.Sprint("?pageToken=", page["nextPageToken"])
		}
		for _, one := range all {
			d, _ := one.(map[string]any)
			kind, id := fmt.Sprint(d["kind"]), fmt.Sprint(d["id"])
			byKind[kind] = append(byKind[kind], id)
			if d["status"] != "failed" || d["receiver"] != h.URL || d["error"] != "it is not there" || (d["runId"] == nil) != (d["type"] == "webhook.test") ||
				(d["webhookId"] == "all") != (kind == "webhook") || (d["messageId"] == nil) != (kind == "a2a") {
				t.Errorf("a delivery is %v", d)
			}
		}
		return byKind
	}
	byKind := list()
	if len(byKind["webhook"]) != 102 || len(byKind["webhook-run"]) == 0 || len(byKind["a2a"]) == 0 || len(byKind) != 3 {
		t.Fatalf("given up are %v", byKind)
	}
	last := byKind["a2a"][len(byKind["a2a"])-1]
	if page := s.send("GET", at+"?pageToken="+last, "", 200); strings.Contains(fmt.Sprint(page), "id:"+last+" ") || page["nextPageToken"] != nil {
		t.Errorf("after %s, there is %v", last, page)
	}
	s.send("GET", at+"?pageToken=x", "", 400)
	s.send("GET", "/apps/none/failed-deliveries", "", 404)
	for _, wrong := range []string{"/x/replay", "/123456/replay"} {
		s.send("POST", at+wrong, "", 404)
	}
	up.Store(true)
	before := len(h.list())
	for _, ids := range byKind {
		for _, id := range ids {
			s.send("POST", at+"/"+id+"/replay", "", 202)
		}
	}
	if left := list(); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	testkit.Eventually(t, "everything is sent", func() bool {
		counts := map[string]int{}
		for _, one := range h.list()[before:] {
			if one.body.ID == "" {
				counts["a2a"]++
			}
			counts[one.body.SessionID+" "+one.body.Type]++
		}
		return counts["s1 run.completed"] >= 2 && counts["s2 run.completed"] >= 1 && counts["a2a"] >= 1
	})
}

// A passive server leaves what is to be sent to others: it may have another key, and not all
// that the messages are made of.
func TestPassiveSendsNothing(t *testing.T) {
	t.Parallel()
	path, key := filepath.Join(t.TempDir(), "s.db"), newKey()
	h := newHooks(t, always)
	open := func(passive bool) (*hookServer, func()) {
		t.Helper()
		cfg := hookConfig(path, key)
		cfg.Sessions.Passive = passive
		srv, err := parley.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(srv.Handler())
		return &hookServer{t, web.URL}, func() { web.Close(); srv.Close(t.Context()) }
	}
	s, end := open(false) // it creates the database
	s.session("s1")
	s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"id":"all","url":%q}`, h.URL), 201)
	end()
	s, end = open(true)
	s.say("s1", "weather in Oslo", "")
	end()
	store, err := sqlite.Open(t.Context(), path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := store.Outbox.AppDeliveries(t.Context(), "weather", "all", 0, 100)
	if err != nil || len(waiting) != 1 || waiting[0].Attempt != 0 {
		t.Errorf("%d deliveries wait, or one was attempted; error %v", len(waiting), err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	_, end = open(false)
	defer end()
	testkit.Eventually(t, "it is sent", func() bool { return h.types("s1") == "run.completed" })
}

// hookChild makes the test binary a server that has a turn, and is killed.
const hookChild = "PARLEY_TEST_HOOK_CHILD"

func TestWebhookChild(t *testing.T) {
	path, key, ok := strings.Cut(os.Getenv(hookChild), " ")
	if !ok {
		t.Skip("it is for TestWebhookAfterKill")
	}
	cfg := hookConfig(path, key)
	cfg.Sessions.Passive = true // it ends before it sends
	s := newHookServer(t, cfg)
	s.say("s1", "weather in Oslo", "")
	fmt.Println("the run has ended")
	<-t.Context().Done()
}

// What a process has stored and not sent when it is killed is sent by the next one.
func TestWebhookAfterKill(t *testing.T) {
	t.Parallel()
	path, key := filepath.Join(t.TempDir(), "s.db"), newKey()
	h := newHooks(t, always)
	srv, err := parley.Open(t.Context(), hookConfig(path, key))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	s := &hookServer{t, web.URL}
	s.session("s1")
	s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"url":%q}`, h.URL), 201)
	web.Close()
	srv.Close(t.Context())

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWebhookChild$")
	cmd.Env = append(os.Environ(), hookChild+"="+path+" "+key)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "the run has ended" {
		t.Log(lines.Text())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := h.list(); len(got) > 0 {
		t.Fatalf("the process that was killed has sent %s", got[0].doc)
	}
	newHookServer(t, hookConfig(path, key))
	testkit.Eventually(t, "the event", func() bool { return h.types("s1") == "run.completed" })
}
