package parley_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// uiUser is a user with a browser at a server with the UI.
type uiUser struct {
	*http.Client
	t    *testing.T
	base string
	log  *testkit.Buffer
}

// host starts a server with the UI. Those who visit it share nothing but that.
func host(t *testing.T, cfg parley.Config) func() *uiUser {
	t.Helper()
	log := &testkit.Buffer{}
	cfg.Agents = map[string]*agent.Agent{"weather": testkit.WeatherApp()}
	cfg.UI.Enabled = true
	cfg.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(t.Context()) })
	listening := httptest.NewServer(srv.Handler())
	t.Cleanup(listening.Close)
	return func() *uiUser {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return &uiUser{&http.Client{
			Jar: jar, Transport: &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}, t, listening.URL, log}
	}
}

type page struct {
	*http.Response
	text string
}

// fetch makes a request as a page of the server does, unless headers say
// otherwise; a header with an empty value is left out.
func (v *uiUser) fetch(method, path, body string, headers ...string) *page {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if method != http.MethodGet {
		req.Header.Set("Origin", v.base)
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := v.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	if path != "/" { // the UI itself
		testkit.CheckExchange(v.t, resp, text)
	}
	return &page{resp, string(text)}
}

func (v *uiUser) want(status int, method, path, body string, headers ...string) *page {
	v.t.Helper()
	got := v.fetch(method, path, body, headers...)
	if got.StatusCode != status {
		v.t.Fatalf("%s %s: %d, want %d: %s", method, path, got.StatusCode, status, got.text)
	}
	return got
}

// begin leaves for the issuer.
func (v *uiUser) begin(back string) (address string) {
	v.t.Helper()
	return v.want(http.StatusSeeOther, "GET", "/dev-ui/signin?return="+url.QueryEscape(back), "").Header.Get("Location")
}

// allow signs in at the issuer and returns where it sends the browser back to, as
// a path.
func (v *uiUser) allow(p *provider.Provider, address, user string, yes bool) (path string) {
	v.t.Helper()
	back, err := p.Login(v.t.Context(), address, user, yes)
	if err != nil {
		v.t.Fatal(err)
	}
	path, ok := strings.CutPrefix(back, v.base)
	if !ok {
		v.t.Fatalf("the issuer sends the browser to %s", back)
	}
	return path
}

// is returns the caller as the server knows it.
func (v *uiUser) is() (caller struct {
	SignIn, Issuer string
	Caller         *struct {
		User                         string
		AnyUser, Developer, SignedIn bool
		Expires                      float64
	}
},
) {
	v.t.Helper()
	if err := json.Unmarshal([]byte(v.want(200, "GET", "/dev-ui/caller", "").text), &caller); err != nil {
		v.t.Fatal(err)
	}
	return caller
}

// queryOf is the query of an address.
func queryOf(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// cookieOf is a cookie that a page has set.
func cookieOf(p *page, name string) *http.Cookie {
	for _, c := range p.Cookies() {
		if c.Name == name {
			return c
		}
	}
	return &http.Cookie{}
}

func TestSignInWithOIDC(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley", RequirePKCE: true})
	_, secret := issuer.Client()
	visit := host(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
		Issuers: []string{issuer.Issuer()}, ClientID: "parley", ClientSecret: secret, Admins: []string{"email=root@example.com"},
	}}})
	v := visit()
	if is := v.is(); is.Caller != nil || is.SignIn != "token" || is.Issuer != issuer.Issuer() {
		t.Errorf("without a sign-in, the caller is %+v", is)
	}
	v.want(401, "GET", ofBob, "")
	v.want(200, "GET", "/", "") // the page itself is for everyone

	address := v.begin("/ui/apps/weather/users/bob/sessions?q=a%20b")
	asked, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := asked.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("state") == "" || q.Get("redirect_uri") != v.base+"/dev-ui/signin/callback" {
		t.Errorf("the issuer is asked %s", address)
	}
	back := v.allow(issuer, address, "bob", true)
	done := v.want(http.StatusSeeOther, "GET", back, "")
	if got := done.Header.Get("Location"); got != "/ui/apps/weather/users/bob/sessions?q=a%20b" {
		t.Errorf("the user comes back to %s", got)
	}
	cookie := cookieOf(done, "parley_caller")
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.MaxAge <= 0 || cookie.MaxAge > 3600 {
		t.Errorf("the cookie is %+v", cookie)
	}
	v.want(200, "GET", ofBob, "")
	v.want(200, "POST", ofBob, "{}")
	v.want(200, "GET", "/dev/apps/weather/users/bob/runs", "")
	v.want(404, "GET", "/apps/weather/users/alice/sessions", "")
	v.want(403, "GET", "/apps/weather/app-info", "")
	if is := v.is(); is.Caller == nil || is.Caller.User != "bob" || is.Caller.AnyUser || is.Caller.Developer || !is.Caller.SignedIn || is.Caller.Expires < float64(time.Now().Unix()) {
		t.Errorf("bob is %+v", is.Caller)
	}

	// The cookie is for pages of this server.
	for what, headers := range map[string][]string{
		"another site":                {"Sec-Fetch-Site", "cross-site"},
		"a neighbour":                 {"Sec-Fetch-Site", "same-site"},
		"who does not say, and write": {"Sec-Fetch-Site", "", "Origin", ""},
		"no page, and write":          {"Sec-Fetch-Site", "none", "Origin", ""},
	} {
		if got := v.fetch("POST", ofBob, "{}", headers...); got.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", what, got.StatusCode)
		}
	}
	v.want(403, "POST", ofBob, "{}", "Origin", "https://evil.example")
	v.want(401, "GET", ofBob, "", "Sec-Fetch-Site", "same-site")
	v.want(200, "GET", ofBob, "", "Sec-Fetch-Site", "none")
	v.want(200, "GET", ofBob, "", "Sec-Fetch-Site", "")
	// A token that is there counts, and no cookie makes up for it.
	v.want(401, "GET", ofBob, "", "Authorization", "Bearer nonsense")

	// Who comes back once more, in this browser or in another one.
	v.want(400, "GET", back, "")
	visit().want(400, "GET", back, "")

	// Sign out, and sign in as a user with more scopes.
	v.want(403, "POST", "/dev-ui/signout", "", "Sec-Fetch-Site", "cross-site")
	v.want(200, "POST", "/dev-ui/signout", "")
	v.want(401, "GET", ofBob, "")
	v.want(http.StatusSeeOther, "GET", v.allow(issuer, v.begin(""), "root", true), "")
	v.want(200, "GET", ofBob, "")
	if is := v.is(); !is.Caller.AnyUser || !is.Caller.Developer {
		t.Errorf("root is %+v", is.Caller)
	}
	if token := cookie.Value; strings.Contains(v.log.String(), token) || strings.Contains(v.log.String(), secret) {
		t.Error("there is a secret in the log")
	}
}

// Requests that an attacker could have a browser make.
func TestSignInIsRefused(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	other := provider.Start(t, provider.Options{ClientID: "parley"})
	_, secret := issuer.Client()
	visit := host(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
		Issuers: []string{issuer.Issuer(), "other=" + other.Issuer()}, ClientID: "parley", ClientSecret: secret,
	}}})
	refused := func(what string, v *uiUser, status int, path string) {
		t.Helper()
		got := v.want(status, "GET", path, "")
		if cookieOf(got, "parley_caller").Value != "" {
			t.Errorf("%s: a cookie is set", what)
		}
		if !strings.Contains(got.text, "You are not signed in") || !strings.Contains(got.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: the page says %s", what, got.text)
		}
		v.want(401, "GET", ofBob, "")
	}

	v := visit()
	back := v.allow(issuer, v.begin("/"), "bob", true)
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("state", "another")
	refused("wrong state", v, 400, u.Path+"?"+q.Encode())
	refused("the attempt is over then", v, 400, back)

	refused("another user's browser", visit(), 400, back)

	v = visit()
	refused("denied", v, 403, v.allow(issuer, v.begin("/"), "bob", false))

	v = visit()
	back = v.allow(issuer, v.begin("/"), "bob", true)
	refused("another issuer's answer", v, 403, back+"&iss="+url.QueryEscape(other.Issuer()))

	// A code that was used, with the cookie of when it was not.
	v = visit()
	began := v.want(http.StatusSeeOther, "GET", "/dev-ui/signin", "")
	back = v.allow(issuer, began.Header.Get("Location"), "bob", true)
	v.want(http.StatusSeeOther, "GET", back, "")
	again := visit()
	attempt := cookieOf(began, "parley_signin")
	got := again.want(403, "GET", back, "", "Cookie", attempt.Name+"="+attempt.Value)
	if cookieOf(got, "parley_caller").Value != "" {
		t.Error("a code counts twice")
	}

	// An attempt that was made up, changed, or begun under another address.
	v = visit()
	began = v.want(http.StatusSeeOther, "GET", "/dev-ui/signin", "")
	back = v.allow(issuer, began.Header.Get("Location"), "bob", true)
	q = queryOf(t, back)
	attempt = cookieOf(began, "parley_signin")
	plain := base64.RawURLEncoding.EncodeToString([]byte(`{"s":"` + q.Get("state") + `","n":"n","v":"v","r":"/"}`))
	last := attempt.Value[len(attempt.Value)-5:]
	for what, value := range map[string]string{
		"made up": plain, "made up, and said to be sealed": "sealed:v1:" + plain, "shortened": attempt.Value[:len(attempt.Value)-8],
		"changed": strings.TrimSuffix(attempt.Value, last) + map[bool]string{true: "BBBBB", false: "AAAAA"}[last == "AAAAA"],
	} {
		got = again.want(400, "GET", back, "", "Cookie", attempt.Name+"="+value)
		if cookieOf(got, "parley_caller").Value != "" {
			t.Errorf("an attempt that is %s counts", what)
		}
	}
	if n := len(issuer.Requests(provider.TokenPath)); n != 2 {
		t.Errorf("the issuer was asked %d times about codes", n)
	}
	if strings.Contains(attempt.Value, "eyJ") {
		t.Error("the attempt can be read")
	}
	again.want(http.StatusSeeOther, "GET", back, "", "Cookie", attempt.Name+"="+attempt.Value)

	for address, want := range map[string]string{
		"https://evil.example/ui/": "/", "//evil.example/ui/": "/", "/\\evil.example": "/", "/ui": "/", "/run": "/", "javascript:alert(1)": "/",
		"/ui/apps/a?x=1": "/ui/apps/a?x=1", "": "/", "/ui/apps/a%2Fb": "/ui/apps/a%2Fb",
	} {
		v = visit()
		done := v.want(http.StatusSeeOther, "GET", v.allow(issuer, v.begin(address), "bob", true), "")
		if got := done.Header.Get("Location"); got != want {
			t.Errorf("back to %q leads to %q, want %q", address, got, want)
		}
	}

	issuer.Break(provider.TokenPath, provider.Fault{Status: 500})
	v = visit()
	refused("the issuer is unavailable", v, 503, v.allow(issuer, v.begin("/"), "bob", true))
}

// A browser may come back to another server than the one at which it began.
func TestSignInOnSeveralServers(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	_, secret := issuer.Client()
	keys := make([]string, 2)
	for i := range keys {
		keys[i] = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(i + 1)}, 32))
	}
	const public = "http://parley.example"
	shared := pgtest.Quick(t).Database(t) // for which no key is made
	for name, tt := range map[string]struct {
		one, other parley.Config
		want       int
	}{
		"the same key":        {parley.Config{Logins: parley.LoginConfig{Key: keys[0]}}, parley.Config{Logins: parley.LoginConfig{Key: keys[0]}}, http.StatusSeeOther},
		"another key":         {parley.Config{Logins: parley.LoginConfig{Key: keys[0]}}, parley.Config{Logins: parley.LoginConfig{Key: keys[1]}}, http.StatusBadRequest},
		"the client's secret": {parley.Config{Sessions: parley.SessionConfig{URL: shared}}, parley.Config{Sessions: parley.SessionConfig{URL: shared}}, http.StatusSeeOther},
	} {
		var servers []func() *uiUser
		for _, cfg := range []parley.Config{tt.one, tt.other} {
			cfg.Access.Mode, cfg.Network.PublicURL = parley.AccessOIDC, public
			cfg.Access.OIDC = parley.OIDC{Issuers: []string{issuer.Issuer()}, ClientID: "parley", ClientSecret: secret}
			servers = append(servers, host(t, cfg))
		}
		v, other := servers[0](), servers[1]()
		began := v.want(http.StatusSeeOther, "GET", "/dev-ui/signin", "")
		attempt := cookieOf(began, "parley_signin")
		back, err := issuer.Login(t.Context(), began.Header.Get("Location"), "bob", true)
		if err != nil {
			t.Fatal(err)
		}
		got := other.fetch("GET", strings.TrimPrefix(back, public), "", "Cookie", attempt.Name+"="+attempt.Value)
		if got.StatusCode != tt.want || (cookieOf(got, "parley_caller").Value != "") != (tt.want == http.StatusSeeOther) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.text)
		}
	}
}

// Codes can be made up by anyone: only a few are sent to the issuer.
func TestSignInIsThrottled(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	_, secret := issuer.Client()
	v := host(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, ClientID: "parley", ClientSecret: secret}}})()
	began := v.want(http.StatusSeeOther, "GET", "/dev-ui/signin", "")
	attempt, state := cookieOf(began, "parley_signin"), queryOf(t, began.Header.Get("Location")).Get("state")
	for range 1000 {
		answer := v.fetch("GET", "/dev-ui/signin/callback?state="+state+"&code=c", "", "Cookie", attempt.Name+"="+attempt.Value)
		switch answer.StatusCode {
		case http.StatusServiceUnavailable:
			if !strings.Contains(v.log.String(), "too many requests to the issuer") {
				t.Errorf("the log does not say why: %s", v.log)
			}
			return
		case http.StatusForbidden: // the issuer was asked
		default:
			t.Fatalf("a made-up attempt: %d", answer.StatusCode)
		}
	}
	t.Error("the issuer is asked as often as anyone likes")
}

// A token ends, and so does what the cookie is good for.
func TestSignInExpires(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley", IDTokenLife: -time.Hour})
	_, secret := issuer.Client()
	v := host(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, ClientID: "parley", ClientSecret: secret}}})()
	v.want(403, "GET", v.allow(issuer, v.begin("/"), "bob", true), "")
	late := "parley_caller=" + issuer.IDToken(t, "bob")
	v.want(401, "GET", ofBob, "", "Cookie", late)
	if got := v.want(200, "GET", "/dev-ui/caller", "", "Cookie", late).text; !strings.Contains(got, `"caller":null`) {
		t.Errorf("an old cookie is %s", got)
	}
}

// Over TLS, only this very host can set the cookies.
func TestSignInBehindTLS(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	v := host(t, parley.Config{
		Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, ClientID: "parley"}}, Network: parley.NetworkConfig{Host: "0.0.0.0", PublicURL: "https://agents.example.com"},
	})()
	began := v.want(http.StatusSeeOther, "GET", "/dev-ui/signin", "")
	if c := cookieOf(began, "__Host-parley_signin"); !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
		t.Errorf("the cookie is %+v", c)
	}
	if !strings.Contains(began.Header.Get("Location"), url.QueryEscape("https://agents.example.com/dev-ui/signin/callback")) {
		t.Errorf("the issuer is asked %s", began.Header.Get("Location"))
	}
	token := issuer.IDToken(t, "bob")
	v.want(401, "GET", ofBob, "", "Cookie", "parley_caller="+token)
	v.want(200, "GET", ofBob, "", "Cookie", "__Host-parley_caller="+token)
	v.want(200, "POST", ofBob, "{}", "Cookie", "__Host-parley_caller="+token, "Origin", "https://agents.example.com")
}

func TestSignInWithKey(t *testing.T) {
	t.Parallel()
	db := "sqlite://" + filepath.Join(t.TempDir(), "keys.db")
	keys, err := parley.OpenAPIKeys(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	key, _, err := keys.Create(t.Context(), parley.NewAPIKey{User: "bob", Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	visit := host(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessKeys, KeysURL: db}, Network: parley.NetworkConfig{AllowOrigins: []string{"https://friend.example"}}})
	v := visit()
	if is := v.is(); is.SignIn != "key" || is.Issuer != "" || is.Caller != nil {
		t.Errorf("without a sign-in, the caller is %+v", is)
	}
	form := func(token string) string { return `{"token":"` + token + `"}` }
	v.want(401, "POST", "/dev-ui/signin", form(key[:len(key)-1]))
	v.want(401, "POST", "/dev-ui/signin", form("nonsense"))
	v.want(422, "POST", "/dev-ui/signin", `{}`)
	v.want(422, "POST", "/dev-ui/signin", form(" "))
	v.want(413, "POST", "/dev-ui/signin", form(strings.Repeat("x", 32<<10))) // from anyone
	v.want(415, "POST", "/dev-ui/signin", "token="+key, "Content-Type", "application/x-www-form-urlencoded")
	v.want(403, "POST", "/dev-ui/signin", form(key), "Origin", "https://friend.example", "Sec-Fetch-Site", "cross-site")
	v.want(404, "GET", "/dev-ui/signin", "")
	v.want(404, "GET", "/dev-ui/signin/callback?code=c&state=s", "")
	v.want(401, "GET", ofBob, "")

	done := v.want(200, "POST", "/dev-ui/signin", form("  "+key+"\\n"))
	if c := cookieOf(done, "parley_caller"); !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge > 3600 || c.MaxAge < 3000 {
		t.Errorf("the cookie is %+v", c)
	}
	v.want(200, "GET", ofBob, "")
	// A page of an allowed origin may call, but not as the user who looks at it.
	v.want(401, "GET", ofBob, "", "Origin", "https://friend.example", "Sec-Fetch-Site", "cross-site")
	v.want(401, "POST", ofBob, "{}", "Origin", "https://friend.example", "Sec-Fetch-Site", "cross-site")
	visit().want(200, "GET", ofBob, "", "Origin", "https://friend.example", "Sec-Fetch-Site", "cross-site", "Authorization", "Bearer "+key)
	v.want(200, "POST", "/dev-ui/signout", "")
	v.want(401, "GET", ofBob, "")
	if strings.Contains(v.log.String(), key) {
		t.Error("the key is in the log")
	}
}

// Without the UI, and on servers that do not check callers, there is no sign-in.
func TestNoSignIn(t *testing.T) {
	t.Parallel()
	v := host(t, parley.Config{})()
	if is := v.is(); is.SignIn != "none" || is.Caller == nil || !is.Caller.AnyUser || !is.Caller.Developer || is.Caller.SignedIn {
		t.Errorf("a local caller is %+v", is.Caller)
	}
	v.want(404, "POST", "/dev-ui/signin", `{"token":"t"}`)
	v.want(404, "GET", "/dev-ui/signin", "")

	// A cookie is nothing to a server without the UI.
	issuer := provider.Start(t, provider.Options{})
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, Audiences: []string{"parley"}}}})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, ofBob, nil)
	req.AddCookie(&http.Cookie{Name: "parley_caller", Value: issuer.IDToken(t, "bob")})
	rec := httptest.NewRecorder()
	g.ServeHTTP(rec, req)
	if rec.Code != http.StatusUnauthorized {
		t.Errorf("without the UI: %d", rec.Code)
	}
	for _, cfg := range []parley.Config{
		{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, ClientID: "parley"}}},
		{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, ClientID: "parley"}}, UI: parley.UIConfig{Enabled: true}, Network: parley.NetworkConfig{Host: "0.0.0.0"}},
		{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, Audiences: []string{"a"}, ClientSecret: "s"}}, UI: parley.UIConfig{Enabled: true}},
		{Access: parley.AccessConfig{Mode: parley.AccessPublic, OIDC: parley.OIDC{ClientID: "parley"}}, UI: parley.UIConfig{Enabled: true}},
	} {
		cfg.Agents = map[string]*agent.Agent{"weather": testkit.WeatherApp()}
		if _, err := parley.Open(t.Context(), cfg); err == nil {
			t.Errorf("%+v: there is a server", cfg.Access.OIDC)
		}
	}
}
