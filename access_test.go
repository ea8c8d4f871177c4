package parley_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// gated is a server that wants to know who calls, and what it has logged.
type gated struct {
	http.Handler
	t   *testing.T
	srv *parley.Server
	log *testkit.Buffer

	issuers bool // users log in with OpenID Connect
}

func serveGated(t *testing.T, cfg parley.Config) *gated {
	t.Helper()
	g := &gated{t: t, log: &testkit.Buffer{}, issuers: cfg.Access.Mode == parley.AccessOIDC}
	cfg.Agents = map[string]*agent.Agent{"weather": testkit.WeatherApp()}
	cfg.Network.Platforms = []parley.Platform{parley.PlatformAgentCore, parley.PlatformFoundry}
	cfg.Log = slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(t.Context()) })
	g.Handler, g.srv = srv.Handler(), srv
	return g
}

// call makes a request with a token, or without one if token is empty.
func (g *gated) call(token, method, path, body string) *httptest.ResponseRecorder {
	g.t.Helper()
	req := httptest.NewRequestWithContext(g.t.Context(), method, path, strings.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	if body == "" {
		req.Body, req.GetBody = http.NoBody, func() (io.ReadCloser, error) { return http.NoBody, nil }
	}
	if strings.HasSuffix(path, "/import") {
		req.Header.Set("Content-Type", "application/jsonl")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	rec := httptest.NewRecorder()
	g.ServeHTTP(rec, req)
	resp := rec.Result()
	resp.Request = req
	testkit.CheckExchange(g.t, resp, rec.Body.Bytes())
	return rec
}

func (g *gated) want(status int, token, method, path, body string) *httptest.ResponseRecorder {
	g.t.Helper()
	rec := g.call(token, method, path, body)
	if rec.Code != status {
		g.t.Fatalf("%s %s: %d, want %d: %s", method, path, rec.Code, status, rec.Body)
	}
	return rec
}

const (
	ofBob   = "/apps/weather/users/bob/sessions"
	bobRuns = `{"appName":"weather","userId":"bob","sessionId":"s1","newMessage":{"parts":[{"text":"hi, a word of bob"}]}}`
)

// claimed returns token with changed claims and its old signature.
func claimed(t *testing.T, token string, change map[string]any) string {
	t.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]any{}
	if err := json.Unmarshal(payload, &said); err != nil {
		t.Fatal(err)
	}
	maps.Copy(said, change)
	if payload, err = json.Marshal(said); err != nil {
		t.Fatal(err)
	}
	parts[1] = base64.RawURLEncoding.EncodeToString(payload)
	return strings.Join(parts, ".")
}

func TestOIDC(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	late := provider.Start(t, provider.Options{ClientID: "parley", IDTokenLife: -time.Hour})
	elsewhere := provider.Start(t, provider.Options{ClientID: "another service"})
	unknown := provider.Start(t, provider.Options{ClientID: "parley"})
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
		Issuers:   []string{issuer.Issuer(), "late=" + late.Issuer(), "elsewhere=" + elsewhere.Issuer()},
		Audiences: []string{"some other", "parley"},
		Admins:    []string{"email=root@example.com"}, Delegates: []string{"email=backend@example.com"},
	}}, UI: parley.UIConfig{Enabled: true}})
	old := issuer.IDToken(t, "bob")
	g.want(200, old, "GET", ofBob, "")
	issuer.RotateKey(t)
	bob, alice := issuer.IDToken(t, "bob"), issuer.IDToken(t, "alice")
	before := strings.Split(alice, ".")
	bad := map[string]string{
		"no token":        "",
		"nonsense":        "nonsense",
		"wrong audience":  elsewhere.IDToken(t, "bob"),
		"expired":         late.IDToken(t, "bob"),
		"rotated key":     old,
		"unknown issuer":  unknown.IDToken(t, "bob"),
		"forged":          claimed(t, alice, map[string]any{"sub": "bob"}),
		"without a key":   base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + before[1] + ".",
		"another's claim": claimed(t, unknown.IDToken(t, "bob"), map[string]any{"iss": issuer.Issuer()}),
	}
	g.checkRoutes(bob, alice, bad)

	// Those who may act for others, and the one who may do everything.
	root, backend := issuer.IDToken(t, "root"), issuer.IDToken(t, "backend")
	g.want(200, root, "GET", ofBob+"/s1", "")
	g.want(200, root, "GET", "/apps/weather/app-info", "")
	for route, d := range devRoutes("e-1") {
		method, _, _ := strings.Cut(route, " ")
		if rec := g.call(root, method, d.path, d.body); rec.Code == closed || rec.Code == denied || rec.Code >= 500 {
			t.Errorf("%s: an administrator gets %d: %s", route, rec.Code, rec.Body)
		}
	}
	if spans := g.want(200, root, "GET", "/debug/trace/session/s1", "").Body.String(); !strings.Contains(spans, "a word of bob") {
		t.Errorf("the trace of the session is %s", spans)
	}
	g.want(200, backend, "POST", "/run", bobRuns)
	g.want(403, backend, "GET", "/apps/weather/app-info", "")
	for what, status := range map[string]int{backend: 403, bob: 403, root: 200} {
		g.want(status, what, "PATCH", ofBob+"/s1", `{"stateDelta":{"app:k":1}}`)
		g.want(status, what, "POST", ofBob, `{"state":{"app:k":1}}`)
		g.want(status, what, "POST", ofBob+"/x"+strconv.Itoa(status)+what[len(what)-5:], `{"app:k":1}`)
		g.want(status, what, "POST", "/run", strings.Replace(bobRuns, `"newMessage"`, `"stateDelta":{"app:k":1},"newMessage"`, 1))
		g.want(status, what, "POST", ofBob+"/i"+strconv.Itoa(status)+what[len(what)-5:]+"/import",
			`{"parley":1,"appName":"weather","userId":"bob","sessionId":"x","state":{"app:k":1},"createTime":1}`+"\n")
	}
	for token, want := range map[string]int{bob: 200, backend: 403, root: 200} {
		g.want(want, token, "GET", "/usage", "")
	}
	if all := g.want(200, root, "GET", "/usage", "").Body.String(); !strings.Contains(all, `"userId":"bob"`) {
		t.Errorf("used is %s", all)
	}
	if hers := g.want(200, alice, "GET", "/usage", "").Body.String(); hers != "[]" {
		t.Errorf("alice has used %s", hers)
	}

	for _, why := range []string{"token is expired", "unknown issuer", `another service`, "failed to verify", "no bearer token"} {
		if !strings.Contains(g.log.String(), why) {
			t.Errorf("the log does not say %q", why)
		}
	}
}

// A new key is found, and then the old one counts no more.
func TestOIDCRotatedKey(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{})
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{issuer.Issuer()}, Audiences: []string{"parley"}}}})
	bob := issuer.IDToken(t, "bob")
	g.want(200, bob, "GET", ofBob, "")
	asked := len(issuer.Requests(provider.KeysPath))
	for range 3 {
		g.want(200, bob, "GET", ofBob, "")
	}
	if again := len(issuer.Requests(provider.KeysPath)); again != asked {
		t.Errorf("the keys were fetched %d times more", again-asked)
	}
	issuer.RotateKey(t)
	g.want(200, bob, "GET", ofBob, "")
	g.want(200, issuer.IDToken(t, "bob"), "GET", ofBob, "")
	g.want(401, bob, "GET", ofBob, "")

	// Invalid tokens do not make the server fetch keys for each request.
	asked = len(issuer.Requests(provider.KeysPath))
	for range 50 {
		g.want(401, claimed(t, bob, map[string]any{"sub": "alice"}), "GET", ofBob, "")
	}
	if again := len(issuer.Requests(provider.KeysPath)); again-asked > 10 {
		t.Errorf("the keys were fetched %d times for 50 bad tokens", again-asked)
	}
}

// While an issuer is unavailable its tokens are refused, and it is asked again later.
func TestOIDCUnavailable(t *testing.T) {
	t.Parallel()
	issuer := provider.Start(t, provider.Options{ClientID: "parley"})
	broken := issuer.Break(provider.KeysPath, provider.Fault{Status: 500})
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
		Issuers: []string{issuer.Issuer()}, Audiences: []string{"parley"}, UserClaim: "email",
	}}})
	token := issuer.IDToken(t, "bob")
	rec := g.want(503, token, "GET", "/apps/weather/users/bob@example.com/sessions", "")
	if rec.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	g.want(200, "", "GET", "/health", "")
	broken.Repair()
	g.want(200, token, "GET", "/apps/weather/users/bob@example.com/sessions", "")
	g.want(404, token, "GET", ofBob, "")
}

// Names keep the users of two issuers apart.
func TestOIDCIssuers(t *testing.T) {
	t.Parallel()
	home, partner := provider.Start(t, provider.Options{}), provider.Start(t, provider.Options{})
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{
		Issuers: []string{home.Issuer(), "partner=" + partner.Issuer()}, Audiences: []string{"parley"},
		Admins: []string{"email=root@example.com", "partner:email=chief@example.com"},
	}}})
	ours, theirs := home.IDToken(t, "bob"), partner.IDToken(t, "bob")
	for token, want := range map[string]int{home.IDToken(t, "root"): 200, partner.IDToken(t, "root"): 404, partner.IDToken(t, "chief"): 200, home.IDToken(t, "chief"): 404} {
		g.want(want, token, "GET", ofBob, "") // what one issuer says of roles is nothing to the other
	}
	g.want(200, ours, "GET", ofBob, "")
	g.want(404, theirs, "GET", ofBob, "")
	g.want(200, theirs, "GET", "/apps/weather/users/partner:bob/sessions", "")
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "keys.db")
	keys, err := parley.OpenAPIKeys(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	create := func(user string, life time.Duration, scopes ...string) (string, parley.APIKey) {
		t.Helper()
		text, key, err := keys.Create(t.Context(), parley.NewAPIKey{User: user, Scopes: scopes, Life: life})
		if err != nil {
			t.Fatal(err)
		}
		return text, key
	}
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessKeys, KeysURL: url}, UI: parley.UIConfig{Enabled: true}})
	bob, about := create("bob", 0)
	alice, _ := create("alice", time.Hour)
	expired, _ := create("bob", time.Nanosecond)
	revoked, gone := create("bob", 0)
	if err := keys.Revoke(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	g.checkRoutes(bob, alice, map[string]string{
		"no token": "", "nonsense": "nonsense", "expired": expired, "revoked": revoked,
		"wrong secret":  bob[:len(bob)-1] + string('A'+(bob[len(bob)-1]-'A'+1)%26),
		"another's id":  strings.Replace(alice, strings.Split(alice, "_")[1], about.ID, 1),
		"only the id":   "parley_" + about.ID,
		"no prefix":     strings.TrimPrefix(bob, "parley_"),
		"shorter":       bob[:len(bob)-1],
		"longer":        bob + "A",
		"an empty part": "parley__" + strings.Split(bob, "_")[2],
	})
	reader, _ := create("bob", 0, "read")
	backend, _ := create("", 0, "run", "users")
	root, _ := create("", 0, "admin")
	g.want(200, reader, "GET", ofBob+"/s1", "")
	rec := g.want(403, reader, "POST", "/run", bobRuns)
	if got := rec.Header().Get("WWW-Authenticate"); got != `Bearer realm="parley", error="insufficient_scope", scope="run"` {
		t.Errorf("WWW-Authenticate is %q", got)
	}
	g.want(403, reader, "DELETE", ofBob+"/s1", "")

	// A key for schedules alone.
	const schedules = "/apps/weather/users/bob/schedules"
	planner, _ := create("bob", 0, "schedules")
	const daily = `{"id":"daily","cron":"@daily","newMessage":{"parts":[{"text":"hi"}]}}`
	g.want(201, planner, "POST", schedules, daily)
	g.want(200, planner, "GET", schedules, "")
	g.want(200, planner, "DELETE", schedules+"/daily", "")
	g.want(404, planner, "GET", "/apps/weather/users/alice/schedules", "")
	g.want(403, planner, "GET", ofBob, "")
	g.want(403, planner, "POST", "/run", bobRuns)
	g.want(200, reader, "GET", schedules, "")
	g.want(403, reader, "POST", schedules, daily)
	other, _ := create("bob", 0, "triggers", "inbox")
	g.want(403, other, "GET", schedules, "")

	g.want(200, backend, "POST", "/run", bobRuns)
	g.want(403, backend, "PATCH", ofBob+"/s1", `{"stateDelta":{"app:k":1}}`)
	g.want(200, root, "PATCH", ofBob+"/s1", `{"stateDelta":{"app:k":1}}`)
	g.want(200, root, "GET", "/apps/weather/app-info", "")

	list, err := keys.List(t.Context())
	if err != nil || list[0].ID != about.ID || time.Since(list[0].Used) > time.Minute || !list[2].Used.IsZero() {
		t.Errorf("the keys are %+v, %v", list, err)
	}
}

// A server behind a platform that names the user in a header.
func TestUserHeader(t *testing.T) {
	t.Parallel()
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessPlatform, UserHeader: "X-User"}})
	as := func(users ...string) int {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, ofBob, nil)
		req.Header["X-User"] = users
		rec := httptest.NewRecorder()
		g.ServeHTTP(rec, req)
		resp := rec.Result()
		resp.Request = req
		testkit.CheckExchange(t, resp, rec.Body.Bytes())
		return rec.Code
	}
	for want, got := range map[string]int{"200": as("bob"), "404": as("alice"), "401": as(), "401 ": as("alice", "bob"), "401  ": as("")} {
		if strings.TrimSpace(want) != strconv.Itoa(got) {
			t.Errorf("%d, want %s", got, want)
		}
	}
}

// The public may be anyone, and change nothing for everyone.
func TestPublic(t *testing.T) {
	t.Parallel()
	g := serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessPublic}})
	g.want(200, "", "POST", ofBob+"/s1", "{}")
	g.want(200, "", "POST", "/run", bobRuns)
	g.want(403, "", "PATCH", ofBob+"/s1", `{"stateDelta":{"app:k":1}}`)
	g.want(403, "", "GET", "/usage", "")
	g.want(200, "", "GET", "/usage?userId=bob", "")
	// What is for developers is there with what they use.
	if rec := g.want(403, "", "GET", "/apps/weather/app-info", ""); !strings.Contains(rec.Body.String(), "scope admin") {
		t.Errorf("%s", rec.Body)
	}
	serveGated(t, parley.Config{Access: parley.AccessConfig{Mode: parley.AccessPublic}, UI: parley.UIConfig{Enabled: true}}).want(200, "", "GET", "/apps/weather/app-info", "")
}

func TestRequestLimit(t *testing.T) {
	t.Parallel()
	g := serveGated(t, parley.Config{Limits: parley.Limits{RequestsPerMinute: 3}})
	for range 3 {
		g.want(200, "", "GET", ofBob, "")
	}
	rec := g.want(429, "", "GET", ofBob, "")
	if after, err := strconv.Atoi(rec.Header().Get("Retry-After")); err != nil || after < 1 || after > 20 {
		t.Errorf("Retry-After is %q", rec.Header().Get("Retry-After"))
	}
	g.want(429, "", "POST", "/run", bobRuns) // of the same application
	g.want(200, "", "GET", "/list-apps", "")
	// Unknown applications, and bodies that cannot be read, count as well.
	g.want(404, "", "GET", "/apps/other/users/bob/sessions", "")
	g.want(422, "", "POST", "/run", "{")
	g.want(429, "", "GET", "/apps/another/users/bob/sessions", "")
	g.want(429, "", "POST", "/run", "{")
	for range 10 {
		g.want(200, "", "GET", "/health", "")
	}
	g.Handler = g.srv.Handler() // the limits are those of the server, and not of a handler
	g.want(429, "", "GET", ofBob, "")
}

func TestAccessSettings(t *testing.T) {
	t.Parallel()
	agents := map[string]*agent.Agent{"weather": testkit.WeatherApp()}
	for want, cfg := range map[string]parley.Config{
		"oidc for those with an identity token": {Network: parley.NetworkConfig{Host: "0.0.0.0"}},
		"must not be negative":                  {Limits: parley.Limits{DayTokens: -1}},
		"needs Access.Mode platform":            {Access: parley.AccessConfig{UserHeader: "X-User"}},
		"with Access.Mode oidc":                 {Access: parley.AccessConfig{OIDC: parley.OIDC{Issuers: []string{"https://i.example"}}}},
		"with Access.Mode keys":                 {Access: parley.AccessConfig{KeysURL: "sqlite:x.db"}},
		"AllowOrigins":                          {Network: parley.NetworkConfig{AllowOrigins: []string{"https://a.example", "b.example"}}},
		"AllowHosts":                            {Network: parley.NetworkConfig{AllowHosts: []string{"a.example", "b.example:80"}}},
		"needs Access.Mode public":              {Access: parley.AccessConfig{Proxied: true}},
		"need a database":                       {Access: parley.AccessConfig{Mode: parley.AccessKeys}},
		"Issuers: identity tokens need an":      {Access: parley.AccessConfig{Mode: parley.AccessOIDC}},
		"Audiences: identity tokens need an":    {Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{"https://i.example"}}}},
		"a token for any other service":         {Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{"https://i.example"}, Audiences: []string{"a", ""}}}},
		"is not a URL":                          {Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{"http://i.example"}, Audiences: []string{"a"}}}},
		"needs a name":                          {Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{"https://i.example", "https://j.example"}, Audiences: []string{"a"}}}},
		"duplicate issuer":                      {Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{"https://i.example", "a=https://i.example"}, Audiences: []string{"a"}}}},
		"write claim=value":                     {Access: parley.AccessConfig{Mode: parley.AccessOIDC, OIDC: parley.OIDC{Issuers: []string{"https://i.example"}, Audiences: []string{"a"}, Admins: []string{"x"}}}},
	} {
		cfg.Agents = agents
		if srv, err := parley.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
			if srv != nil {
				srv.Close(t.Context())
			}
		}
	}
}

// What is taken as an origin is one that a browser can send, and that counts.
func TestOriginSettings(t *testing.T) {
	t.Parallel()
	agents := map[string]*agent.Agent{"weather": testkit.WeatherApp()}
	for origin, want := range map[string]string{
		"https://app.example.com":   "https://app.example.com",
		"https://*.example.com":     "https://a.example.com",
		"http://localhost:*":        "http://localhost:4200",
		"https://a.example.com:444": "https://a.example.com:444",
		"*":                         "https://a.example",
		"https://*.*.example.com":   "", // only one * counts
		"https://*.example.com:*":   "",
		"https://a.example.com/":    "",
		"a.example.com":             "",
		"http://localhost:x":        "",
		"https://a.example.com:443": "", // browsers leave it out
		"https://b@a.example.com":   "",
		"https://bücher.example":    "", // browsers send its name in ASCII
	} {
		srv, err := parley.Open(t.Context(), parley.Config{Agents: agents, Network: parley.NetworkConfig{AllowOrigins: []string{origin}}})
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", origin, err)
			}
			continue
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/health", http.NoBody)
		req.Header.Set("Origin", want)
		rec := httptest.NewRecorder()
		srv.Handler().ServeHTTP(rec, req)
		if want == "" || rec.Code != http.StatusOK {
			t.Errorf("%s is taken, and a page of %q gets %d", origin, want, rec.Code)
		}
		srv.Close(t.Context())
	}
}
