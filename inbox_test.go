package parley_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// refundIn are the arguments of the tool that needs an approval.
type refundIn struct {
	Amount int `json:"amount"`
}

// office is a server whose agent asks before each refund.
type office struct {
	*testing.T
	url     string
	srv     *parley.Server
	refunds chan int
}

// newOffice starts a server. The model of each run calls refund.
func newOffice(t *testing.T, cfg parley.Config) *office {
	t.Helper()
	o := &office{T: t, refunds: make(chan int, 100)}
	refund, err := tool.New(tool.Declaration{Name: "refund", Description: "Refunds an amount."}, func(_ *tool.Context, in refundIn) (map[string]any, error) {
		o.refunds <- in.Amount
		return map[string]any{"refunded": in.Amount}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "clerk", Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			if len(scripted.LastResponses(req)) > 0 {
				return scripted.Say("Done.")(ctx, req)
			}
			return scripted.Call("refund", map[string]any{"amount": 80})(ctx, req)
		}),
		Tools: []tool.Tool{tool.Confirm(refund, nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Agents = map[string]*agent.Agent{"office": root}
	if o.srv, err = parley.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(o.srv.Handler())
	t.Cleanup(func() {
		web.Close()
		o.srv.Close(context.Background())
	})
	o.url = web.URL
	return o
}

// send makes a request, and wants a status.
func (o *office) send(token, method, path, body string, status int) []byte {
	o.Helper()
	req, err := http.NewRequestWithContext(o.Context(), method, o.url+path, strings.NewReader(body))
	if err != nil {
		o.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.Fatal(err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		o.Fatal(err)
	}
	testkit.CheckExchange(o, resp, doc)
	if resp.StatusCode != status {
		o.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, doc)
	}
	return doc
}

// ask has a user ask for a refund in a new session.
func (o *office) ask(token, user, session string) {
	o.Helper()
	o.send(token, "POST", "/apps/office/users/"+user+"/sessions/"+session, "{}", 200)
	o.send(token, "POST", "/run", fmt.Sprintf(`{"appName":"office","userId":%q,"sessionId":%q,"newMessage":{"parts":[{"text":"refund 80"}]}}`, user, session), 200)
}

// inboxEntry is an entry in a response.
type inboxEntry struct {
	ID, AppName, UserID, SessionID, RunID, Kind, Tool, Message, Answer, Assignee, LoginURL string
	MayAnswer                                                                              bool
	Since, Until                                                                           time.Time
	Args                                                                                   map[string]any
	Call                                                                                   struct{ ID, Name string }
}

func (o *office) inbox(token, query string) (list []inboxEntry) {
	o.Helper()
	if err := json.Unmarshal(o.send(token, "GET", "/inbox"+query, "", 200), &list); err != nil {
		o.Fatal(err)
	}
	return list
}

// refunded waits for a refund.
func (o *office) refunded() int {
	o.Helper()
	select {
	case n := <-o.refunds:
		return n
	case <-time.After(time.Minute):
		o.Fatal("nothing is refunded")
		return 0
	}
}

func (o *office) notRefunded() {
	o.Helper()
	select {
	case n := <-o.refunds:
		o.Errorf("%d was refunded", n)
	default:
	}
}

// What waits is listed across sessions and users, and answered once.
func TestInbox(t *testing.T) {
	t.Parallel()
	o := newOffice(t, parley.Config{Sessions: parley.SessionConfig{URL: "sqlite://" + filepath.Join(t.TempDir(), "s.db")}})
	for i := range 5 {
		o.ask("", fmt.Sprint("user", i%2), fmt.Sprint("s", i))
	}
	all := o.inbox("", "")
	if len(all) != 5 {
		t.Fatalf("the inbox has %d entries, want 5: %+v", len(all), all)
	}
	first := all[0]
	if first.AppName != "office" || first.UserID != "user0" || first.SessionID != "s0" || first.Kind != "confirmation" || first.Tool != "refund" ||
		first.Args["amount"] != 80.0 || first.Message == "" || !first.MayAnswer || first.Answer != "user" || first.Until.Sub(first.Since) < 6*24*time.Hour {
		t.Errorf("the first entry is %+v", first)
	}
	if raw := string(o.send("", "GET", "/inbox/"+first.ID, "", 200)); !strings.Contains(raw, `"call":{"id":"`+first.Call.ID+`","name":"adk_request_confirmation","args":{"originalFunctionCall":`) {
		t.Errorf("the entry is %s", raw)
	}
	for query, want := range map[string]int{
		"?appName=office": 5, "?appName=other": 0, "?userId=user0": 3, "?appName=office&userId=user1": 2, "?userId=eve": 0,
		"?kind=login": 0, "?kind=confirmation": 5, "?tool=refund": 5, "?tool=other": 0, "?assignee=ann": 0, "?assignee=": 5,
	} {
		if got := o.inbox("", query); len(got) != want {
			t.Errorf("%s: %d entries, want %d", query, len(got), want)
		}
	}
	o.send("", "GET", "/inbox?kind=other", "", 422)
	o.send("", "GET", "/inbox?pageToken=x", "", 400)

	// Pages.
	var paged []string
	for path := "/inbox?pageSize=2"; path != ""; {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, o.url+path, http.NoBody)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var list []inboxEntry
		if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list) > 2 {
			t.Fatalf("a page has %d entries: %v", len(list), err)
		}
		resp.Body.Close()
		for _, e := range list {
			paged = append(paged, e.SessionID)
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	}
	if got := strings.Join(paged, " "); got != "s0 s1 s2 s3 s4" {
		t.Errorf("the pages have %s", got)
	}

	// Assignment.
	o.send("", "POST", "/inbox/"+first.ID+"/assign", `{"assignee":"ann"}`, 200)
	if got := o.inbox("", "?assignee=ann"); len(got) != 1 || got[0].ID != first.ID {
		t.Errorf("assigned are %+v", got)
	}
	if got := o.inbox("", "?assignee="); len(got) != 4 {
		t.Errorf("%d entries are not assigned, want 4", len(got))
	}
	o.send("", "POST", "/inbox/"+first.ID+"/assign", `{"assignee":null}`, 200)
	o.send("", "POST", "/inbox/"+first.ID+"/assign", `{}`, 422)

	// Of many answers at once, one counts.
	o.send("", "POST", "/inbox/"+first.ID+"/answer", `{"response":{"confirmed":"maybe"}}`, 422)
	o.send("", "POST", "/inbox/"+first.ID+"/answer", `{}`, 422)
	statuses := make(chan int, 8)
	var answers sync.WaitGroup
	for i := range 8 {
		answers.Go(func() {
			body := fmt.Sprintf(`{"response":{"confirmed":true,"payload":%d}}`, i)
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, o.url+"/inbox/"+first.ID+"/answer", strings.NewReader(body))
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			statuses <- resp.StatusCode
		})
	}
	answers.Wait()
	close(statuses)
	counts := map[int]int{}
	for status := range statuses {
		counts[status]++
	}
	if counts[202] != 1 || counts[409] != 7 {
		t.Errorf("the answers get %v, want 202 once and 409 otherwise", counts)
	}
	if n := o.refunded(); n != 80 {
		t.Errorf("%d is refunded", n)
	}
	late := string(o.send("", "POST", "/inbox/"+first.ID+"/answer", `{"response":false}`, 409))
	if !strings.Contains(late, "answered already") || !strings.Contains(late, time.Now().UTC().Format("2006-01-02")) {
		t.Errorf("a late answer gets %s", late)
	}
	testkit.Eventually(t, "the entry to be gone", func() bool { return len(o.inbox("", "")) == 4 })
	session := string(o.send("", "GET", "/apps/office/users/user0/sessions/s0", "", 200))
	if !strings.Contains(session, `"parley:answer":{"via":"inbox"}`) {
		t.Errorf("the log does not say how it was answered: %s", session)
	}
	o.send("", "POST", "/run", `{"appName":"office","userId":"user0","sessionId":"s0","customMetadata":{"parley:answer":{"by":"boss"}},"newMessage":{"parts":[{"text":"hi"}]}}`, 422)

	// A deleted session, and ids of nothing.
	o.send("", "DELETE", "/apps/office/users/user1/sessions/s1", "", 200)
	o.send("", "GET", "/inbox/"+all[1].ID, "", 404)
	for _, id := range []string{"x", "WyJhIl0", all[2].ID + "A", strings.Repeat("a", 9000)} {
		o.send("", "GET", "/inbox/"+id, "", 404)
	}
	o.notRefunded()
}

// A user cannot approve what only a role may approve, on no way; users see what is asked
// of themselves, and members of the role what they may answer.
func TestInboxRoles(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	o := newOffice(t, parley.Config{
		Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
			Issuers: []string{issuer.Issuer()}, Audiences: []string{"parley"}, Admins: []string{"email=root@example.com"}, Delegates: []string{"email=backend@example.com"},
		}},
		Inbox: parley.InboxConfig{Rules: []parley.InboxRule{{Tool: "refund", Answer: "role:managers"}}},
	})
	ann, eve, manager, root, backend := issuer.IDToken(t, "ann"), issuer.IDToken(t, "eve"), issuer.IDToken(t, "manager"), issuer.IDToken(t, "root"), issuer.IDToken(t, "backend")
	o.ask(ann, "ann", "s")
	list := o.inbox(ann, "")
	if len(list) != 1 || list[0].MayAnswer || list[0].Answer != "role:managers" {
		t.Fatalf("the user sees %+v", list)
	}
	e := list[0]
	response := fmt.Sprintf(`{"functionResponse":{"id":%q,"name":"adk_request_confirmation","response":{"confirmed":true}}}`, e.Call.ID)
	for _, token := range []string{ann, backend} {
		refused := string(o.send(token, "POST", "/run", `{"appName":"office","userId":"ann","sessionId":"s","newMessage":{"parts":[`+response+`]}}`, 403))
		if !strings.Contains(refused, "the role managers") {
			t.Errorf("the refusal is %s", refused)
		}
		o.send(token, "POST", "/run_sse", `{"appName":"office","userId":"ann","sessionId":"s","newMessage":{"parts":[`+response+`]}}`, 403)
		o.send(token, "POST", "/apps/office/users/ann/sessions/s/runs", `{"newMessage":{"parts":[`+response+`]}}`, 403)
		o.send(token, "POST", "/inbox/"+e.ID+"/answer", `{"response":true}`, 403)
		o.send(token, "POST", "/inbox/"+e.ID+"/link", ``, 403)
	}
	// Nor in a copy of the session.
	o.send(ann, "POST", "/apps/office/users/ann/sessions/s/fork", `{"sessionId":"copy"}`, 200)
	o.send(ann, "POST", "/apps/office/users/ann/sessions/copy/runs", `{"newMessage":{"parts":[`+response+`]}}`, 403)
	o.notRefunded()

	if got := o.inbox(eve, ""); len(got) != 0 {
		t.Errorf("another user sees %+v", got)
	}
	o.send(eve, "GET", "/inbox/"+e.ID, "", 404)
	o.send(eve, "POST", "/inbox/"+e.ID+"/answer", `{"response":true}`, 404)
	o.send(eve, "POST", "/inbox/"+e.ID+"/assign", `{"assignee":"eve"}`, 404)
	if got := o.inbox(root, ""); len(got) != 1 || !got[0].MayAnswer {
		t.Errorf("an administrator sees %+v", got)
	}
	if got := o.inbox(manager, "?userId=ann"); len(got) != 1 || !got[0].MayAnswer {
		t.Fatalf("a manager sees %+v", got)
	}
	o.send(manager, "POST", "/inbox/"+e.ID+"/answer", `{"response":{"confirmed":true}}`, 202)
	o.refunded()
	late := string(o.send(root, "POST", "/inbox/"+e.ID+"/answer", `{"response":false}`, 409))
	if !strings.Contains(late, "answered already by manager") {
		t.Errorf("a late answer gets %s", late)
	}
	// What is asked of the user alone is not for managers.
	o.notRefunded()
}

// The rules of an application may be in its directory. Without an answer, the server
// gives one, once, whatever number of servers there is.
func TestInboxDefault(t *testing.T) {
	t.Parallel()
	database := "sqlite://" + filepath.Join(t.TempDir(), "s.db")
	cfg := func() parley.Config {
		return parley.Config{
			Sessions: parley.SessionConfig{URL: database},
			Inbox:    parley.InboxConfig{Rules: []parley.InboxRule{{Tool: "refund", DefaultAfter: time.Second, Default: json.RawMessage(`{"confirmed":true}`)}}},
		}
	}
	o := newOffice(t, cfg())
	newOffice(t, cfg()).refunds = o.refunds
	for i := range 3 {
		o.ask("", "ann", fmt.Sprint("s", i))
	}
	testkit.Eventually(t, "the default answers", func() bool { return len(o.inbox("", "")) == 0 })
	var runs []map[string]any
	testkit.Eventually(t, "the runs to end", func() bool {
		if err := json.Unmarshal(o.send("", "GET", "/apps/office/users/ann/sessions/s0/runs", "", 200), &runs); err != nil {
			t.Fatal(err)
		}
		return len(runs) == 2 && runs[0]["status"] == "completed"
	})
	session := string(o.send("", "GET", "/apps/office/users/ann/sessions/s0", "", 200))
	if strings.Count(session, `"parley:answer":{"via":"default"}`) != 1 || strings.Count(session, `"refunded":80`) != 1 {
		t.Errorf("the session is %s", session)
	}
}

// A link shows what is asked, and answers once, with the button.
func TestInboxLink(t *testing.T) {
	t.Parallel()
	o := newOffice(t, parley.Config{})
	o.ask("", "<b>ann", "s")
	e := o.inbox("", "")[0]
	var link struct{ URL, ExpiresAt string }
	if err := json.Unmarshal(o.send("", "POST", "/inbox/"+e.ID+"/link", `{"expiresInSeconds":3600}`, 201), &link); err != nil {
		t.Fatal(err)
	}
	o.send("", "POST", "/inbox/"+e.ID+"/link", `{"expiresInSeconds":999999999}`, 422)
	page := func(method, address string, form url.Values, status int) (string, http.Header) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		if form != nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != status {
			t.Fatalf("%s %s: status %d, want %d: %s", method, address, resp.StatusCode, status, body)
		}
		return string(body), resp.Header
	}
	expires, err := time.Parse(time.RFC3339, link.ExpiresAt)
	if err != nil {
		t.Fatal(err)
	}
	// The link expires before the question does, or after it.
	if shown, _ := page("GET", link.URL, nil, 200); !strings.Contains(shown, "It can be answered until ") || !strings.Contains(shown, "This link can be used until "+expires.Format("2 January 2006, 15:04 MST")) {
		t.Errorf("the page does not say when the link expires: %s", shown)
	}
	var longer struct{ URL string }
	if err := json.Unmarshal(o.send("", "POST", "/inbox/"+e.ID+"/link", `{"expiresInSeconds":2592000}`, 201), &longer); err != nil {
		t.Fatal(err)
	}
	if shown, _ := page("GET", longer.URL, nil, 200); !strings.Contains(shown, "It can be answered until ") || strings.Contains(shown, "This link can be used until") {
		t.Errorf("the page of a link that outlives the question is %s", shown)
	}
	at, _ := url.Parse(link.URL)
	token := at.Query().Get("t")
	for range 3 { // programs that check mails open it
		shown, header := page("GET", link.URL, nil, 200)
		if !strings.Contains(shown, "May refund be called?") || !strings.Contains(shown, "&lt;b&gt;ann") || strings.Contains(shown, "<b>ann") || !strings.Contains(shown, "80") {
			t.Fatalf("the page is %s", shown)
		}
		if policy := header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || header.Get("Referrer-Policy") != "same-origin" || header.Get("Cache-Control") != "no-store" {
			t.Errorf("the headers of the page are %v", header)
		}
		_, style, _ := strings.Cut(shown, "<style>")
		style, _, _ = strings.Cut(style, "</style>")
		if sum := sha256.Sum256([]byte(style)); !strings.Contains(header.Get("Content-Security-Policy"), base64.StdEncoding.EncodeToString(sum[:])) {
			t.Errorf("the policy does not allow the style of the page: %s", style)
		}
	}
	o.notRefunded()
	answer := strings.TrimSuffix(link.URL, "?"+at.RawQuery)
	page("GET", answer+"?t="+token[:len(token)-3], nil, 404)
	page("GET", answer, nil, 404)
	again, _ := page("POST", answer, url.Values{"t": {token}}, 422)
	if !strings.Contains(again, "press one of the buttons") {
		t.Errorf("a form without a decision gets %s", again)
	}
	if got := len(o.inbox("", "")); got != 1 {
		t.Errorf("%d entries wait, want 1", got)
	}
	page("POST", answer, url.Values{"t": {token}, "decision": {"approve"}}, 200)
	o.refunded()
	for _, method := range []string{"GET", "POST"} {
		form := url.Values{"t": {token}, "decision": {"reject"}}
		if method == "GET" {
			form = nil
		}
		used, _ := page(method, link.URL, form, 409)
		if !strings.Contains(used, "It is answered") || !strings.Contains(used, "answered already") {
			t.Errorf("%s: a used link shows %s", method, used)
		}
	}
	o.notRefunded()
	if metrics := string(o.send("", "GET", "/metrics", "", 200)); !strings.Contains(metrics, `outcome="link"} 1`) {
		t.Error("the answer is not counted")
	}

	// One that has expired.
	o.ask("", "bob", "s")
	testkit.Eventually(t, "the second entry", func() bool { return len(o.inbox("", "")) == 1 })
	if err := json.Unmarshal(o.send("", "POST", "/inbox/"+o.inbox("", "")[0].ID+"/link", `{"expiresInSeconds":1}`, 201), &link); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the link to expire", func() bool {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, link.URL, http.NoBody)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode == http.StatusGone && strings.Contains(string(body), "This link has expired")
	})

	// One who guesses links is slowed down.
	for range 5000 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, answer+"?t=guess", http.NoBody)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1" || !strings.Contains(string(body), "Too many requests") {
				t.Errorf("status %d, %v: %s", resp.StatusCode, resp.Header, body)
			}
			return
		}
	}
	t.Error("links can be guessed without a limit")
}

// A file with rules that cannot be read lets no one answer.
func TestInboxRulesFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("index.ts", `import {LlmAgent, FunctionTool} from '@google/adk';
import {z} from 'zod';
const refund = new FunctionTool({name: 'refund', description: 'Refunds an amount.', parameters: z.object({amount: z.number()}), requireConfirmation: true, execute: ({amount}) => ({refunded: amount})});
export const rootAgent = new LlmAgent({name: 'clerk', model: 'offline', description: 'x', instruction: 'x', tools: [refund]});`)
	write("inbox.yaml", "- tool: refund\n  answer: role:managers\n  defaultAfter: 1h\n- tool: '*'\n")
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "office"}, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	o := &office{T: t, url: web.URL, srv: srv}
	o.ask("", "ann", "s")
	list := o.inbox("", "")
	if len(list) != 1 || list[0].Answer != "role:managers" || !list[0].MayAnswer {
		t.Fatalf("the inbox is %+v", list)
	}
	write("inbox.yaml", "- tool: refund\n  answer: everyone there is\n")
	o.send("", "POST", "/inbox/"+list[0].ID+"/answer", `{"response":true}`, 500)
	response := fmt.Sprintf(`{"functionResponse":{"id":%q,"name":"adk_request_confirmation","response":{"confirmed":true}}}`, list[0].Call.ID)
	o.send("", "POST", "/apps/office/users/ann/sessions/s/runs", `{"newMessage":{"parts":[`+response+`]}}`, 500)
	write("inbox.yaml", "[]")
	o.send("", "POST", "/inbox/"+list[0].ID+"/answer", `{"response":{"confirmed":false,"reason":"no"}}`, 202)
}

// Receivers learn once of what has waited for long, also from several servers.
func TestInboxEscalated(t *testing.T) {
	t.Parallel()
	cfg := hookConfig(filepath.Join(t.TempDir(), "s.db"), newKey())
	cfg.Inbox.Rules = []parley.InboxRule{{Tool: "*", EscalateAfter: time.Second}}
	s := newHookServer(t, cfg)
	newHookServer(t, cfg)
	h := newHooks(t, always)
	s.send("POST", "/apps/weather/webhooks", fmt.Sprintf(`{"url":%q,"events":["inbox.escalated"]}`, h.URL), 201)
	s.session("first")
	s.say("first", "danger users", "")
	testkit.Eventually(t, "the first event", func() bool { return h.types("first") != "" })
	s.session("second")
	s.say("second", "danger users", "")
	testkit.Eventually(t, "the second event", func() bool { return h.types("second") != "" })
	ids := map[string]bool{}
	for _, one := range h.list() {
		if b := one.body; b.Type != "inbox.escalated" || b.UserID != "ann" || b.Data["kind"] != "confirmation" || b.Data["entry"] == "" {
			t.Errorf("the event is %s", one.doc)
		}
		ids[one.body.ID] = true
	}
	if len(ids) != 2 { // a delivery may be repeated, with its id
		t.Errorf("there are %d events, want one for each session", len(ids))
	}
}
