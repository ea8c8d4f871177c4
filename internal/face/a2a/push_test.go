package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	_ "github.com/parley-run/parley/session/sqlite" // has the store
)

// receiver is a receiver of notifications that fails at first.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	fails int
	got   []notification
	// holds is called with each notification before the receiver answers; it may be nil.
	holds func(notification)
}

type notification struct {
	doc
	header http.Header
}

func newReceiver(t *testing.T, fails int) *receiver {
	t.Helper()
	r := &receiver{fails: fails}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		n := notification{doc{}, req.Header}
		if err == nil {
			err = json.Unmarshal(body, &n.doc)
		}
		r.mu.Lock()
		holds, failed := r.holds, r.fails > 0 || err != nil
		if failed {
			r.fails--
		} else {
			r.got = append(r.got, n)
		}
		r.mu.Unlock()
		switch {
		case failed:
			w.WriteHeader(http.StatusServiceUnavailable)
		case holds != nil:
			holds(n)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// states are the states that it was told of.
func (r *receiver) states() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, n := range r.got {
		list = append(list, n.at("task.status.state")+n.at("status.state"))
	}
	return strings.Join(list, " ")
}

func (r *receiver) last() notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[len(r.got)-1]
}

// local allows receivers on this machine.
func local(c parley.Config) parley.Config {
	c.Agents = testkit.NewFixture().Apps()
	c.Network.AllowPrivateWebhooks = []string{"127.0.0.0/8", "::1/128"}
	return c
}

// sayAndPush is a message with a config.
func sayAndPush(id, text, member, config string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true,%q:%s}}`, id, text, member, config)
}

// A receiver that is named when the task has ended already gets a notification; it would
// wait in vain otherwise.
func TestPushRepeated(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, local(parley.Config{})), app: "weather"}
	send := func() *receiver {
		t.Helper()
		r := newReceiver(t, 0)
		c.read(c.rpc("SendMessage", sayAndPush("m1", "weather in Oslo", "taskPushNotificationConfig", fmt.Sprintf(`{"url":%q}`, r.URL))))
		testkit.Eventually(t, "the end of the task", func() bool { return strings.HasSuffix(r.states(), "TASK_STATE_COMPLETED") })
		return r
	}
	first := send().last().at("task.id")
	if again := send().last().at("task.id"); again != first {
		t.Errorf("the message was another task: %s, then %s", first, again)
	}
	late := newReceiver(t, 0)
	config := c.read(c.rpc("CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"url":%q}`, first, late.URL)))
	testkit.Eventually(t, "the notification about a task that is over", func() bool { return late.states() == "TASK_STATE_COMPLETED" })
	kept := c.read(c.rpc("GetTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"id":%q}`, first, config.at("result.id"))))
	if kept.at("result.url") != late.URL {
		t.Errorf("the config is %v", kept)
	}
}

// A receiver learns of the end of a task, in either version of the protocol, however often
// it fails before, and whether the server keeps its sessions in memory or in a file.
func TestPush(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"memory": "", "sqlite": "sqlite://" + filepath.Join(t.TempDir(), "sessions.db")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &client{T: t, web: serve(t, local(parley.Config{Sessions: parley.SessionConfig{URL: url}})), app: "weather"}
			card := c.read(c.do("GET", "/a2a/weather/.well-known/agent-card.json", ""))
			if card.at("capabilities.pushNotifications") != "true" {
				t.Error(card)
			}

			now := newReceiver(t, 2)
			config := fmt.Sprintf(`{"url":%q,"token":"a token","authentication":{"scheme":"Bearer","credentials":"a credential"}}`, now.URL)
			sent := c.read(c.rpc("SendMessage", sayAndPush("m1", "weather in Oslo", "taskPushNotificationConfig", config)))
			id := sent.at("result.task.id")
			if id == "" {
				t.Fatal(sent)
			}
			testkit.Eventually(t, "the end of the task", func() bool { return strings.HasSuffix(now.states(), "TASK_STATE_COMPLETED") })
			n := now.last()
			if n.at("task.id") != id || !strings.Contains(n.at("task.artifacts.0.parts.0.text"), "Oslo") {
				t.Error(n.doc)
			}
			if n.header.Get("Authorization") != "Bearer a credential" || n.header.Get("A2A-Notification-Token") != "a token" ||
				n.header.Get("X-A2A-Notification-Token") != "a token" || n.header.Get("Content-Type") != "application/json" {
				t.Error(n.header)
			}

			old := newReceiver(t, 1)
			config = fmt.Sprintf(`{"url":%q,"authentication":{"schemes":["Basic"],"credentials":"eA=="}}`, old.URL)
			sent = c.read(c.rpc("message/send", strings.Replace(sayAndPush("m2", "weather in Rome", "pushNotificationConfig", config), "ROLE_USER", "user", 1)))
			id = sent.at("result.id")
			testkit.Eventually(t, "the end of the old task", func() bool { return strings.HasSuffix(old.states(), "completed") })
			if n := old.last(); n.at("id") != id || n.at("kind") != "task" || n.header.Get("Authorization") != "Basic eA==" {
				t.Error(n.doc, n.header)
			}
			// Nothing follows, so nothing is kept.
			testkit.Eventually(t, "the config is deleted", func() bool {
				list := c.read(c.rpc("tasks/pushNotificationConfig/list", fmt.Sprintf(`{"id":%q}`, id)))
				return list.at("result") == "[]"
			})
		})
	}
}

// A task that waits tells so, and its end when it was answered or cancelled. Other tasks of the
// session are not reported.
func TestPushWaits(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, local(parley.Config{})), app: "weather"}
	r := newReceiver(t, 0)
	asked := c.read(c.rpc("SendMessage", sayAndPush("m", "danger one", "taskPushNotificationConfig", fmt.Sprintf(`{"url":%q}`, r.URL))))
	id, inContext := asked.at("result.task.id"), asked.at("result.task.contextId")
	testkit.Eventually(t, "the wait", func() bool { return strings.HasSuffix(r.states(), "TASK_STATE_INPUT_REQUIRED") })
	other := c.read(c.rpc("SendMessage", say("other", "weather in Oslo", fmt.Sprintf(`,"contextId":%q`, inContext))))
	if other.at("result.task.status.state") != "TASK_STATE_COMPLETED" {
		t.Fatal(other)
	}
	c.read(c.rpc("SendMessage", say("a", "yes", fmt.Sprintf(`,"taskId":%q`, id))))
	testkit.Eventually(t, "the end", func() bool { return strings.HasSuffix(r.states(), "TASK_STATE_COMPLETED") })
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.got {
		if n.at("task.id") != id {
			t.Errorf("it was told of %v", n.doc)
		}
	}

	r2 := newReceiver(t, 0)
	id = c.read(c.rpc("SendMessage", sayAndPush("m2", "danger two", "taskPushNotificationConfig", fmt.Sprintf(`{"url":%q}`, r2.URL)))).at("result.task.id")
	testkit.Eventually(t, "the second wait", func() bool { return strings.HasSuffix(r2.states(), "TASK_STATE_INPUT_REQUIRED") })
	c.read(c.rpc("CancelTask", fmt.Sprintf(`{"id":%q}`, id)))
	testkit.Eventually(t, "the cancelled end", func() bool { return strings.HasSuffix(r2.states(), "TASK_STATE_CANCELED") })
}

// The end of a task is told if another run of the session was before it, and the
// notifications about both are late.
func TestPushEndAfterAnotherRun(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, local(parley.Config{})), app: "weather"}
	r := newReceiver(t, 0)
	waits, released := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	t.Cleanup(release) // before that of the receiver, which waits for its requests
	var once sync.Once
	r.mu.Lock()
	r.holds = func(n notification) {
		if n.at("task.status.state") == "TASK_STATE_INPUT_REQUIRED" {
			once.Do(func() {
				close(waits)
				<-released
			})
		}
	}
	r.mu.Unlock()
	asked := c.read(c.rpc("SendMessage", sayAndPush("m", "danger one", "taskPushNotificationConfig", fmt.Sprintf(`{"url":%q}`, r.URL))))
	<-waits
	c.read(c.rpc("SendMessage", say("other", "weather in Oslo", fmt.Sprintf(`,"contextId":%q`, asked.at("result.task.contextId")))))
	done := c.read(c.rpc("SendMessage", say("a", "yes", fmt.Sprintf(`,"taskId":%q`, asked.at("result.task.id")))))
	release()
	if done.at("result.task.status.state") != "TASK_STATE_COMPLETED" {
		t.Fatal(done)
	}
	testkit.Eventually(t, "the end", func() bool { return strings.HasSuffix(r.states(), "TASK_STATE_COMPLETED") })
}

// Configs can be created, read, listed and deleted, in either version and binding, and only
// by the user of the task.
func TestPushConfigs(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, local(parley.Config{})), app: "weather", header: http.Header{"X-User-Id": {"ada"}}}
	id := c.read(c.rpc("SendMessage", say("m", "weather in Oslo", ""))).at("result.task.id")
	path := "/a2a/weather/tasks/" + id + "/pushNotificationConfigs"
	const hook = "https://8.8.8.8/hook"

	made := c.read(c.do("POST", path, `{"id":"one","url":"`+hook+`","token":"t","authentication":{"scheme":"Bearer","credentials":"hidden"}}`))
	if made.at("id") != "one" || made.at("taskId") != id || made.at("url") != hook || made.at("token") != "t" || made.at("authentication.scheme") != "Bearer" {
		t.Error(made)
	}
	second := c.read(c.rpc("CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"url":%q}`, id, hook)))
	if second.at("result.id") == "" || second.at("result.taskId") != id {
		t.Error(second)
	}
	old := c.read(c.rpc("tasks/pushNotificationConfig/set", fmt.Sprintf(`{"taskId":%q,"pushNotificationConfig":{"url":%q,"authentication":{"schemes":["Bearer"]}}}`, id, hook)))
	if old.at("result.pushNotificationConfig.id") != id || old.at("result.pushNotificationConfig.authentication.schemes.0") != "Bearer" {
		t.Error(old)
	}
	for what, d := range map[string]doc{
		"rest":      c.read(c.do("GET", path+"/one", "")),
		"rpc":       {"x": c.read(c.rpc("GetTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"id":"one"}`, id)))["result"]},
		"old":       {"x": c.read(c.rpc("tasks/pushNotificationConfig/get", fmt.Sprintf(`{"id":%q,"pushNotificationConfigId":"one"}`, id)))["result"]},
		"old alone": {"x": c.read(c.rpc("tasks/pushNotificationConfig/get", fmt.Sprintf(`{"id":%q}`, id)))["result"]},
	} {
		text, _ := json.Marshal(d)
		if !strings.Contains(string(text), hook) || strings.Contains(string(text), "hidden") {
			t.Errorf("%s: %s", what, text)
		}
	}
	if d := c.read(c.do("GET", path, "")); d.at("configs.2.url") == "" || d.at("configs.3") != "" {
		t.Error(d)
	}
	if d := c.read(c.rpc("ListTaskPushNotificationConfigs", fmt.Sprintf(`{"taskId":%q}`, id))); d.at("result.configs.0.id") != "one" {
		t.Error(d)
	}
	if d := c.read(c.rpc("tasks/pushNotificationConfig/list", fmt.Sprintf(`{"id":%q}`, id))); d.at("result.0.pushNotificationConfig.id") != "one" {
		t.Error(d)
	}

	// Another user has no such task.
	c.header.Set("X-User-Id", "eve")
	for _, d := range []doc{
		c.read(c.do("POST", path, `{"url":"`+hook+`"}`)), c.read(c.do("GET", path, "")), c.read(c.do("GET", path+"/one", "")), c.read(c.do("DELETE", path+"/one", "")),
	} {
		if d.at("error.code") != "404" {
			t.Error(d)
		}
	}
	if d := c.read(c.rpc("CreateTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"url":%q}`, id, hook))); d.at("error.code") != "-32001" {
		t.Error(d)
	}
	c.header.Set("X-User-Id", "ada")

	for range 2 {
		if resp := c.do("DELETE", path+"/one", ""); resp.StatusCode != http.StatusOK {
			t.Error(resp.Status)
		}
	}
	if d := c.read(c.do("GET", path+"/one", "")); d.at("error.code") != "404" {
		t.Error(d)
	}
	if d := c.read(c.rpc("tasks/pushNotificationConfig/delete", fmt.Sprintf(`{"id":%q,"pushNotificationConfigId":%q}`, id, id))); d.at("error") != "" {
		t.Error(d)
	}
	if d := c.read(c.rpc("DeleteTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"id":%q}`, id, second.at("result.id")))); d.at("error") != "" {
		t.Error(d)
	}
	if d := c.read(c.do("GET", path, "")); d.at("configs") != "[]" {
		t.Error(d)
	}
}

// What cannot be sent is refused, and says why.
func TestPushRefused(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, parley.Config{Agents: testkit.NewFixture().Apps()}), app: "weather"}
	id := c.read(c.rpc("SendMessage", say("m", "weather in Oslo", ""))).at("result.task.id")
	path := "/a2a/weather/tasks/" + id + "/pushNotificationConfigs"
	for config, want := range map[string]string{
		`{"url":"http://127.0.0.1:8000/hook"}`:      "private network",
		`{"url":"https://192.168.0.1/"}`:            "--allow_private_webhooks",
		`{"url":"http://8.8.8.8/"}`:                 "https://",
		`{"url":"hook"}`:                            "not valid",
		`{"id":"x"}`:                                "missing",
		`{"url":"https://8.8.8.8/","token":"a\nb"}`: "token",
		`{"url":"https://8.8.8.8/","authentication":{"credentials":"x"}}`:    "scheme",
		`{"url":"https://8.8.8.8/","id":"` + strings.Repeat("x", 300) + `"}`: "too long",
		`[]`: "must not be",
	} {
		if d := c.read(c.do("POST", path, config)); d.at("error.code") != "400" || !strings.Contains(d.at("error.message"), want) {
			t.Errorf("%s: %v", config, d)
		}
		sent := c.read(c.rpc("SendMessage", sayAndPush("other", "weather in Rome", "taskPushNotificationConfig", config)))
		if sent.at("error.code") != "-32602" {
			t.Errorf("%s: %v", config, sent)
		}
	}
	for i := range 11 {
		d := c.read(c.do("POST", path, fmt.Sprintf(`{"id":"c%d","url":"https://8.8.8.8/"}`, i)))
		if refused := d.at("error.message"); (refused != "") != (i == 10) || i == 10 && !strings.Contains(refused, "too many") {
			t.Errorf("%d: %v", i, d)
		}
	}
	if list := c.read(c.do("GET", "/a2a/weather/tasks", "")); list.at("totalSize") != "1" {
		t.Errorf("a message with a config that was refused has begun a task: %v", list)
	}
}

func init() {
	session.Register("quiet", session.Driver{Open: func(_ context.Context, _ string, o session.Options) (session.Store, error) {
		store := memstore.New(o.Lease)
		store.Outbox = nil
		return store, nil
	}})
}

// A server whose store has no outbox says so.
func TestPushNotSupported(t *testing.T) {
	t.Parallel()
	quiet := parley.Config{Agents: testkit.NewFixture().Apps(), Sessions: parley.SessionConfig{URL: "quiet:"}, Logins: parley.LoginConfig{Key: string(vault.Generate())}}
	c := &client{T: t, web: serve(t, quiet), app: "weather"}
	if card := c.read(c.do("GET", "/a2a/weather/.well-known/agent-card.json", "")); card.at("capabilities.pushNotifications") != "false" {
		t.Error(card)
	}
	for method, params := range map[string]string{
		"CreateTaskPushNotificationConfig": `{}`, "GetTaskPushNotificationConfig": `{}`, "ListTaskPushNotificationConfigs": `{}`, "DeleteTaskPushNotificationConfig": `{}`,
		"tasks/pushNotificationConfig/set": `{}`, "SendMessage": sayAndPush("m", "hello", "taskPushNotificationConfig", `{"url":"https://8.8.8.8/"}`),
	} {
		if d := c.read(c.rpc(method, params)); d.at("error.code") != "-32003" || !strings.Contains(d.at("error.data"), "PUSH_NOTIFICATION_NOT_SUPPORTED") {
			t.Error(method, d)
		}
	}
	if d := c.read(c.do("GET", "/a2a/weather/tasks/x/pushNotificationConfigs", "")); d.at("error.code") != "400" {
		t.Error(d)
	}
}

// Requests at the same time do not exceed the limit of configs together.
func TestPushLimit(t *testing.T) {
	t.Parallel()
	c := &client{T: t, web: serve(t, local(parley.Config{})), app: "weather", header: http.Header{}} // looking up localhost takes a moment
	id := c.read(c.rpc("SendMessage", say("m", "weather in Oslo", ""))).at("result.task.id")
	path := "/a2a/weather/tasks/" + id + "/pushNotificationConfigs"
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			resp, err := c.web.Client().Post(c.web.URL+path, "application/json", strings.NewReader(fmt.Sprintf(`{"id":"c%d","url":"https://localhost/hook"}`, i)))
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusBadRequest {
				t.Error(resp.Status)
			}
		})
	}
	all.Wait()
	list, _ := c.read(c.do("GET", path, ""))["configs"].([]any)
	if len(list) > 10 {
		t.Errorf("there are %d configs", len(list))
	}
}
