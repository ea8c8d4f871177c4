package parley_test

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// browser is a user's browser: it keeps cookies, and sends the origin of forms.
type browser struct {
	t    *testing.T
	http http.Client
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	return &browser{t, http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// answer is what a browser gets.
type answer struct {
	*http.Response
	text string
}

func (b *browser) send(method, address, origin string, form url.Values) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.Header.Get("X-Request-Id") != "" && strings.HasPrefix(resp.Request.URL.Path, "/oauth/") { // it is ours, not the provider's
		testkit.CheckExchange(b.t, resp, body)
	}
	return answer{resp, string(body)}
}

func (b *browser) get(address string) answer { return b.send(http.MethodGet, address, "", nil) }

var (
	pageForm   = regexp.MustCompile(`<form method="post" action="([^"]*)">`)
	pageHidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// form is what the form on a page sends, and where to.
func (a answer) form(t *testing.T) (action string, values url.Values) {
	t.Helper()
	found := pageForm.FindStringSubmatch(a.text)
	if found == nil {
		t.Fatalf("there is no form on the page: %d %s", a.StatusCode, a.text)
	}
	values = url.Values{}
	for _, input := range pageHidden.FindAllStringSubmatch(a.text, -1) {
		values.Set(html.UnescapeString(input[1]), html.UnescapeString(input[2]))
	}
	at, err := a.Request.URL.Parse(html.UnescapeString(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return at.String(), values
}

// managed is a server that users log in with the help of.
type managed struct {
	*visitor
	provider *provider.Provider
	public   string
}

func newManaged(t *testing.T, changes ...func(*parley.Config)) *managed {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	public := "http://" + web.Listener.Addr().String()
	p := provider.Start(t, provider.Options{RequirePKCE: true, RedirectURIs: []string{public + "/oauth/callback", redirect}})
	cfg := parley.Config{
		Agents: map[string]*agent.Agent{"calendar": calendar.Agent(p)}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}}, Network: parley.NetworkConfig{PublicURL: public},
	}
	for _, change := range changes {
		change(&cfg)
	}
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = srv.Handler()
	web.Start()
	t.Cleanup(func() { web.Close(); srv.Close(t.Context()) })
	m := &managed{&visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}, p, public}
	m.do("POST", "/apps/calendar/users/u/sessions/s", "")
	return m
}

// logIn logs a user in at the provider, by the address of a login.
func (m *managed) logIn(address string) {
	m.t.Helper()
	b := newBrowser(m.t)
	back, err := m.provider.Login(m.t.Context(), m.begin(b, address), "ann", true)
	if err != nil {
		m.t.Fatal(err)
	}
	if page := b.get(back); page.StatusCode != http.StatusOK || !strings.Contains(page.text, "Thank you") {
		m.t.Fatalf("after the login: %d %s", page.StatusCode, page.text)
	}
}

// begin opens the address of a login, and continues to the provider.
func (m *managed) begin(b *browser, address string) (atProvider string) {
	m.t.Helper()
	action, values := b.get(address).form(m.t)
	on := b.send(http.MethodPost, action, m.public, values)
	if on.StatusCode != http.StatusSeeOther {
		m.t.Fatalf("the form: %d %s", on.StatusCode, on.text)
	}
	return on.Header.Get("Location")
}

// waitFor waits until the session has n runs, of which the latest is over.
func (m *managed) waitFor(n int) (status string) {
	m.t.Helper()
	for m.t.Context().Err() == nil {
		var runs []struct{ Status string }
		if err := json.Unmarshal(m.do("GET", "/apps/calendar/users/u/sessions/s/runs", "").Body.Bytes(), &runs); err != nil {
			m.t.Fatal(err)
		}
		if len(runs) == n && runs[0].Status != "running" && runs[0].Status != "queued" {
			return runs[0].Status
		}
	}
	return ""
}

// With a public address, the client only opens the address of the login; the
// run continues by itself.
func TestManagedLogin(t *testing.T) {
	m := newManaged(t)
	_, address, _ := m.request(m.run(`{"text":"What is on?"}`))
	b := newBrowser(t)
	first := b.get(address)
	for _, said := range []string{"<bdi>calendar</bdi>", "<bdi>u</bdi>", "<li><bdi>" + provider.ScopeRead + "</bdi></li>", strings.TrimPrefix(m.provider.Issuer(), "http://")} {
		if !strings.Contains(first.text, said) {
			t.Errorf("the page does not say %s: %s", said, first.text)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
	} {
		if got := first.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if policy := first.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
	if c := first.Cookies(); len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteLaxMode || c[0].Secure {
		t.Errorf("cookies %v", c)
	}
	back, err := m.provider.Login(t.Context(), m.begin(b, address), "ann", true)
	if err != nil {
		t.Fatal(err)
	}
	last := b.get(back)
	if last.StatusCode != http.StatusOK || !strings.Contains(last.text, "<h1>Thank you</h1>") {
		t.Fatalf("the way back: %d %s", last.StatusCode, last.text)
	}
	if status := m.waitFor(2); status != "completed" {
		t.Errorf("the run is %s", status)
	}
	if got := m.do("GET", "/apps/calendar/users/u/sessions/s", "").Body.String(); !strings.Contains(got, `"code":200`) || !strings.Contains(got, "That is all.") {
		t.Errorf("the session is %s", got)
	}
	for _, over := range []string{back, address} {
		if again := b.get(over); again.StatusCode != http.StatusConflict || !strings.Contains(again.text, "This login is over") {
			t.Errorf("the same address again: %d %s", again.StatusCode, again.text)
		}
	}
}

// An attacker begins a login in a session of their own, and sends a victim
// the address at the provider. The victim logs in, and neither gets a credential.
func TestManagedLoginOfAVictim(t *testing.T) {
	m := newManaged(t)
	_, address, _ := m.request(m.run(`{"text":"What is on?"}`))
	atProvider := m.begin(newBrowser(t), address)
	back, err := m.provider.Login(t.Context(), atProvider, "victim", true)
	if err != nil {
		t.Fatal(err)
	}
	victim := newBrowser(t)
	victim.get(address) // even one who has been here before
	for _, b := range []*browser{victim, newBrowser(t)} {
		if got := b.get(back); got.StatusCode != http.StatusForbidden || !strings.Contains(got.text, "not begun in this browser") {
			t.Errorf("the way back: %d %s", got.StatusCode, got.text)
		}
	}
	if n := m.provider.Counts().Exchanges; n != 0 {
		t.Errorf("%d codes were exchanged", n)
	}
	if status := m.waitFor(1); status != "waiting" {
		t.Errorf("the run is %s", status)
	}
}

// Only the page itself can send its form.
func TestManagedLoginForged(t *testing.T) {
	m := newManaged(t)
	_, address, _ := m.request(m.run(`{"text":"What is on?"}`))
	b, other := newBrowser(t), newBrowser(t)
	action, values := b.get(address).form(t)
	_, foreign := other.get(address).form(t)
	for name, send := range map[string]func() answer{
		"without an origin":        func() answer { return b.send("POST", action, "", values) },
		"from another origin":      func() answer { return b.send("POST", action, "https://evil.example", values) },
		"from nowhere":             func() answer { return b.send("POST", action, "null", values) },
		"without a cookie":         func() answer { return newBrowser(t).send("POST", action, m.public, values) },
		"with another one's token": func() answer { return b.send("POST", action, m.public, foreign) },
		"without a token":          func() answer { return b.send("POST", action, m.public, url.Values{"state": values["state"]}) },
	} {
		if got := send(); got.StatusCode != http.StatusForbidden || got.Header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
	for _, state := range []string{"", "nonsense", "a.b", strings.Repeat("A", 9000)} {
		for _, path := range []string{"/oauth/start?", "/oauth/callback?code=x&", "/oauth/start?redirect_uri=http://x&"} {
			if got := b.get(m.public + path + url.Values{"state": {state}}.Encode()); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.text, "<h1>The login failed</h1>") {
				t.Errorf("%s with the state %.20q: %d %s", path, state, got.StatusCode, got.text)
			}
		}
	}
}

// A user who says no, and a provider that fails.
func TestManagedLoginRefused(t *testing.T) {
	m := newManaged(t)
	_, address, _ := m.request(m.run(`{"text":"What is on?"}`))
	b := newBrowser(t)
	m.begin(b, address)
	state, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	failed := b.get(m.public + "/oauth/callback?" + url.Values{"state": state.Query()["state"], "error": {"server_error"}, "error_description": {"leaky"}}.Encode())
	if failed.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(failed.text, "server_error") || strings.Contains(failed.text, "leaky") {
		t.Errorf("the provider failed: %d %s", failed.StatusCode, failed.text)
	}
	back, err := m.provider.Login(t.Context(), m.begin(b, address), "ann", false)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.get(back); got.StatusCode != http.StatusOK || !strings.Contains(got.text, "You did not allow it") {
		t.Errorf("denied: %d %s", got.StatusCode, got.text)
	}
	if status := m.waitFor(2); status != "failed" {
		t.Errorf("the run is %s", status)
	}
	if got := m.do("GET", "/apps/calendar/users/u/sessions/s", "").Body.String(); !strings.Contains(got, "CREDENTIAL_EXCHANGE_FAILED") {
		t.Errorf("the session is %s", got)
	}
	// They may change their mind.
	m.run(`{"text":"Never mind."}`)
	_, address, _ = m.request(m.run(`{"text":"What is on?"}`))
	if back, err = m.provider.Login(t.Context(), m.begin(b, address), "ann", true); err != nil {
		t.Fatal(err)
	}
	if got := b.get(back); got.StatusCode != http.StatusOK {
		t.Errorf("allowed: %d %s", got.StatusCode, got.text)
	}
	if status := m.waitFor(5); status != "completed" {
		t.Errorf("the run is %s", status)
	}
}

// A client that appends its own address, as the specification has it, completes
// the login itself, and does not notice that the server could.
func TestManagedLoginByTheClient(t *testing.T) {
	m := newManaged(t)
	events := m.run(m.login(m.provider, m.run(`{"text":"What is on?"}`)))
	if len(events) != 2 || !strings.Contains(string(events[0].FunctionResponses()[0].Response), `"code":200`) {
		t.Errorf("after the login: %s", m.seen)
	}
}

// Without a public address there are no such pages.
func TestUnmanagedLogin(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": calendar.Agent(p)}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	for _, path := range []string{"/oauth/start?state=x", "/oauth/callback?state=x&code=y"} {
		if got := v.do("GET", path, ""); got.Code != http.StatusNotFound || got.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	for _, bad := range []string{"agents.example.com", "ftp://x", "https://x?y=1", "https://u:p@x"} {
		if _, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"calendar": calendar.Agent(p)}, Network: parley.NetworkConfig{PublicURL: bad}}); err == nil {
			t.Errorf("PublicURL %q is taken", bad)
		}
	}
}
