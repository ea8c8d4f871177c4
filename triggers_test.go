package parley_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/collector"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// deliver sends a request for a trigger with a secret.
func deliver(t *testing.T, h http.Handler, path, secret, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+secret)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	resp := rec.Result()
	resp.Request = req
	testkit.CheckExchange(t, resp, rec.Body.Bytes())
	return rec
}

func object(t *testing.T, rec *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%s: %v", rec.Body, err)
	}
	return doc
}

// A caller with an API key has a trigger, which starts runs as its user as long as the key is
// there.
func TestTriggers(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "triggers.db")
	keys, err := parley.OpenAPIKeys(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessKeys}, Sessions: parley.SessionConfig{URL: url}})
	create := func(user string, scopes ...string) (string, string) {
		t.Helper()
		text, key, err := keys.Create(t.Context(), parley.NewAPIKey{User: user, Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return text, key.ID
	}
	bob, bobID := create("bob", "triggers")
	reader, _ := create("bob", "read")
	root, _ := create("", "admin")
	const triggers = "/apps/weather/triggers"
	made := object(t, g.want(201, bob, "POST", triggers, `{"name":"paid","check":"secret","sessionId":"order-{{ body.order }}","message":"Order {{ body.order }} is paid","stateDelta":{"order":"{{ body.order }}"}}`))
	secret, _ := made["secret"].(string)
	if made["userId"] != "bob" || made["source"] != "api" || made["owner"] != "key:"+bobID || made["path"] != triggers+"/paid" || len(secret) < 20 {
		t.Errorf("the trigger is %v", made)
	}
	for _, path := range []string{triggers, triggers + "/paid"} {
		if got := g.want(200, bob, "GET", path, "").Body.String(); strings.Contains(got, secret) || !strings.Contains(got, `"paid"`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	g.want(200, reader, "GET", triggers, "")
	g.want(403, reader, "POST", triggers, `{"check":"secret"}`)
	g.want(403, bob, "GET", ofBob, "")
	g.want(403, bob, "POST", triggers, `{"check":"secret","userId":"alice"}`)
	g.want(409, bob, "POST", triggers, `{"name":"paid","check":"secret"}`)
	g.want(422, bob, "POST", triggers, `{"check":"secret","message":"{{ nothing }}"}`)
	g.want(422, bob, "POST", triggers, `{"check":"secret","secret":"short"}`)
	g.want(404, bob, "POST", "/apps/none/triggers", `{"check":"secret"}`)

	rec := deliver(t, g, triggers+"/paid", secret, `{"order":7}`, "Idempotency-Key", "d-1")
	started := object(t, rec)
	at := rec.Header().Get("Location")
	if rec.Code != 202 || started["outcome"] != "started" || at != ofBob+"/order-7/runs/"+started["runId"].(string) {
		t.Fatalf("%d %s at %s", rec.Code, rec.Body, at)
	}
	rec = deliver(t, g, triggers+"/paid", secret, `{"order":7}`, "Idempotency-Key", "d-1")
	if again := object(t, rec); rec.Code != 202 || again["outcome"] != "repeated" || again["runId"] != started["runId"] || rec.Header().Get("Location") != at {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	testkit.Eventually(t, "the run ends", func() bool { return object(t, g.want(200, root, "GET", at, ""))["status"] == "completed" })
	for _, want := range []string{`"Order 7 is paid"`, `"order":7`, `"parley:trigger":{"deliveryId":"d-1","name":"paid"}`} {
		if got := g.want(200, root, "GET", ofBob+"/order-7", "").Body.String(); !strings.Contains(got, want) {
			t.Errorf("the session has no %s: %s", want, got)
		}
	}
	if rec := deliver(t, g, triggers+"/paid", secret, `{}`); rec.Code != 422 || !strings.Contains(rec.Body.String(), "body.order") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	// An unknown application, an unknown trigger, a wrong secret and an API key have the same answer.
	want := deliver(t, g, triggers+"/paid", "wrong", `{"order":7}`)
	for path, sent := range map[string]string{"/apps/none/triggers/paid": secret, triggers + "/none": secret, triggers + "/paid": bob, triggers + "/..%2fpaid": secret} {
		got := deliver(t, g, path, sent, `{"order":7}`)
		if got.Code != 401 || got.Body.String() != want.Body.String() || got.Header().Get("WWW-Authenticate") != want.Header().Get("WWW-Authenticate") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	var past []map[string]any
	if err := json.Unmarshal(g.want(200, bob, "GET", triggers+"/paid/deliveries", "").Body.Bytes(), &past); err != nil || len(past) != 4 || past[3]["outcome"] != "started" || past[0]["outcome"] != "refused" {
		t.Errorf("%v, %v", past, err)
	}

	// Another secret, and a pause.
	if changed := object(t, g.want(200, bob, "PATCH", triggers+"/paid", `{"secret":null,"paused":true}`)); changed["secret"] == nil || changed["secret"] == secret {
		t.Errorf("%v", changed)
	} else if rec := deliver(t, g, triggers+"/paid", secret, `{}`); rec.Code != 401 {
		t.Errorf("the old secret: %d", rec.Code)
	} else {
		secret, _ = changed["secret"].(string)
	}
	if rec := deliver(t, g, triggers+"/paid", secret, `{"order":8}`); rec.Code != 202 || object(t, rec)["outcome"] != "ignored" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	g.want(200, bob, "PATCH", triggers+"/paid", `{"paused":null}`)

	// Without the key that has created it, it does nothing.
	if err := keys.Revoke(t.Context(), bobID); err != nil {
		t.Fatal(err)
	}
	if rec := deliver(t, g, triggers+"/paid", secret, `{"order":8}`); rec.Code != 403 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	g.want(200, root, "PATCH", triggers+"/paid", `{"description":"of an administrator"}`)
	if rec := deliver(t, g, triggers+"/paid", secret, `{"order":8}`); rec.Code != 202 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	g.want(200, root, "DELETE", triggers+"/paid", "")
	if rec := deliver(t, g, triggers+"/paid", secret, `{"order":9}`); rec.Code != 401 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if strings.Contains(g.log.String(), secret) {
		t.Error("the log has the secret")
	}
}

// Requests for a trigger are limited like those of a caller, and bodies are bounded.
func TestTriggerLimits(t *testing.T) {
	t.Parallel()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"weather": testkit.WeatherApp()}, Limits: parley.Limits{RequestsPerMinute: 5}, Access: parley.AccessConfig{Mode: parley.AccessPublic}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(t.Context()) })
	h := srv.Handler()
	rec := deliver(t, h, "/apps/weather/triggers", "", `{"name":"t","check":"secret","userId":"u","message":"hi"}`)
	secret, _ := object(t, rec)["secret"].(string)
	for range 10 { // others do not use up what the sender may send
		if rec := deliver(t, h, "/apps/weather/triggers/t", "wrong", `{}`); rec.Code != 401 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	for i := range 6 {
		rec := deliver(t, h, "/apps/weather/triggers/t", secret, `{}`)
		if want := map[bool]int{true: 202, false: 429}[i < 5]; rec.Code != want {
			t.Fatalf("%d: %d %s", i, rec.Code, rec.Body)
		}
	}
	if rec := deliver(t, h, "/apps/weather/triggers/t", secret, strings.Repeat(" ", 6<<20)); rec.Code != 413 {
		t.Errorf("%d", rec.Code)
	}
}

// The triggers in the directory of an application are read with it, and again when they change.
func TestTriggerFile(t *testing.T) {
	dir := t.TempDir()
	issuer := provider.Start(t, provider.Options{ClientID: "parley-bucket"})
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("index.ts", "import { LlmAgent } from '@google/adk';\nexport const rootAgent = new LlmAgent({ name: 'a', model: 'offline' });\n")
	write(".env", "HOOK_SECRET=0123456789abcdef0123\n")
	const file = `
orders:
  check: secret
  secretEnv: HOOK_SECRET
  userId: "{{ body.user }}"
  sessionId: orders
  message: |
    Order {{ body.order ?? "without a number" }}
bucket:
  check: google
  audience: parley-bucket
  email: alice@example.com
  userId: storage
  message: "{{ attributes.eventType }} of {{ body.name }}"
  issuer: `
	write("triggers.yaml", file+issuer.Issuer()+"\nmissing: {check: github, secretEnv: PARLEY_TRIGGER_NONE, userId: u}\n")
	log := &testkit.Buffer{}
	srv, err := parley.Open(t.Context(), parley.Config{
		Scripts: parley.ScriptConfig{Dir: dir, AppName: "app", Reload: true}, Offline: true, Stdout: io.Discard, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(t.Context()) })
	h := srv.Handler()
	send := func(name, secret, body string) *httptest.ResponseRecorder {
		t.Helper()
		return deliver(t, h, "/apps/app/triggers/"+name, secret, body)
	}
	if rec := send("orders", "0123456789abcdef0123", `{"user":"ann"}`); rec.Code != 202 || !strings.HasPrefix(rec.Header().Get("Location"), "/apps/app/users/ann/sessions/orders/runs/") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	const pushed = `{"message":{"data":"eyJuYW1lIjoiYS50eHQifQ==","messageId":"1","attributes":{"eventType":"OBJECT_FINALIZE"}},"subscription":"projects/p/subscriptions/s"}`
	rec := send("bucket", issuer.IDToken(t, "alice"), pushed)
	if rec.Code != 202 || object(t, rec)["deliveryId"] != "1" || object(t, rec)["eventType"] != "OBJECT_FINALIZE" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	other := provider.Start(t, provider.Options{ClientID: "parley-bucket"})
	for name, token := range map[string]string{"another account": issuer.IDToken(t, "bob"), "another issuer": other.IDToken(t, "alice"), "none": "", "nonsense": "a.b.c"} {
		if rec := send("bucket", token, pushed); rec.Code != 401 {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
	if rec := send("missing", "x", `{}`); rec.Code != 401 || !strings.Contains(log.String(), "PARLEY_TRIGGER_NONE is not set") {
		t.Errorf("%d %s", rec.Code, log)
	}
	get := func(method, path, body string) *httptest.ResponseRecorder {
		t.Helper()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return rec
	}
	if rec := get("GET", "/apps/app/triggers/missing", ""); rec.Code != 200 || object(t, rec)["source"] != "file" || object(t, rec)["problem"] == nil {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := get("DELETE", "/apps/app/triggers/orders", ""); rec.Code != 409 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}

	write("triggers.yaml", "orders:\n  check: secret\n  nonsense: 1\n")
	testkit.Eventually(t, "the mistake is shown", func() bool {
		rec := get("GET", "/apps/app/triggers", "")
		return rec.Code == 409 && strings.Contains(rec.Body.String(), "nonsense")
	})
	if rec := send("orders", "0123456789abcdef0123", `{"user":"ann"}`); rec.Code != 202 {
		t.Errorf("the triggers before the mistake: %d %s", rec.Code, rec.Body)
	}
	write("triggers.yaml", "others:\n  check: secret\n  secretEnv: HOOK_SECRET\n  userId: u\n")
	testkit.Eventually(t, "the file is read again", func() bool {
		rec := get("GET", "/apps/app/triggers", "")
		return rec.Code == 200 && strings.Contains(rec.Body.String(), "others") && !strings.Contains(rec.Body.String(), "orders")
	})
}

// The trace of the sender goes on in the run.
func TestTriggerTrace(t *testing.T) {
	t.Parallel()
	backend := collector.Start(t)
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"weather": testkit.WeatherApp()}}.ExportTo(backend.URL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(t.Context()) })
	h := srv.Handler()
	secret, _ := object(t, deliver(t, h, "/apps/weather/triggers", "", `{"name":"t","check":"secret","userId":"u","message":"hi"}`))["secret"].(string)
	rec := deliver(t, h, "/apps/weather/triggers/t", secret, "{}", "Traceparent", callersParent)
	at := rec.Header().Get("Location")
	if rec.Code != 202 || at == "" {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	testkit.Eventually(t, "the run ends", func() bool {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", at, nil))
		return strings.Contains(rec.Body.String(), `"completed"`)
	})
	srv.Close(t.Context())
	for _, s := range backend.Spans() {
		if s.Name == "invocation" && s.TraceID == callersTrace {
			return
		}
	}
	t.Errorf("no run is in the trace: %+v", backend.Spans())
}

// Of requests for one delivery at the same time, one starts the run, and all get it.
func TestTriggerDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"memory": "", "sqlite": "sqlite://" + filepath.Join(t.TempDir(), "s.db")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"weather": testkit.WeatherApp()}, Sessions: parley.SessionConfig{URL: url}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { srv.Close(t.Context()) })
			h := srv.Handler()
			secret, _ := object(t, deliver(t, h, "/apps/weather/triggers", "", `{"name":"t","check":"secret","userId":"u","message":"hi"}`))["secret"].(string)
			runs := make(chan any, 20)
			for range cap(runs) {
				go func() {
					rec := httptest.NewRecorder()
					req := httptest.NewRequestWithContext(t.Context(), "POST", "/apps/weather/triggers/t", strings.NewReader("{}"))
					req.Header.Set("Authorization", "Bearer "+secret)
					req.Header.Set("Idempotency-Key", "once")
					h.ServeHTTP(rec, req)
					runs <- rec.Header().Get("Location")
				}()
			}
			first := <-runs
			for range cap(runs) - 1 {
				if got := <-runs; got != first || got == "" {
					t.Errorf("%v, and %v", got, first)
				}
			}
		})
	}
}
