package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/parley-run/parley/internal/testkit/provider"
)

func TestDeny(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	c := config(p, "openid")
	deny := func(uri string, allow bool) {
		t.Helper()
		back, err := p.Login(t.Context(), uri, "alice", allow)
		if err != nil {
			t.Fatal(err)
		}
		if values := query(t, back); values.Get("error") != "access_denied" || values.Get("code") != "" || values.Get("state") != "s" {
			t.Errorf("%v", values)
		}
	}
	deny(c.AuthCodeURL("s"), false)
	p.DenyConsent(true)
	deny(c.AuthCodeURL("s"), true)
	p.AutoLogin("bob")
	deny(c.AuthCodeURL("s"), true)
	p.DenyConsent(false)
	p.AutoLogin("")
	code(t, p, c)
	if got, want := p.Counts(), (provider.Counts{Authorizations: 1, Denials: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAutoLogin logs in with no more than a client that follows redirects.
func TestAutoLogin(t *testing.T) {
	p := provider.Start(t, provider.Options{AutoLogin: "carol"})
	follow := func(uri string) string {
		t.Helper()
		browser := *client(t).Value(oauth2.HTTPClient).(*http.Client)
		browser.CheckRedirect = func(request *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(request.URL.String(), callback) {
				return http.ErrUseLastResponse
			}
			return nil
		}
		response, err := browser.Get(uri)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode == http.StatusOK {
			page, _ := io.ReadAll(response.Body)
			return string(page)
		}
		return response.Header.Get("Location")
	}
	c := config(p, "openid", provider.ScopeRead, provider.ScopeWrite)
	for user, uri := range map[string]string{
		"carol": c.AuthCodeURL("s"),
		"dave":  c.AuthCodeURL("s", oauth2.SetAuthURLParam("auto_login", "dave")),
		"erin":  c.AuthCodeURL("s", oauth2.SetAuthURLParam("auto_login", "erin"), oauth2.SetAuthURLParam("prompt", "none")),
	} {
		got, err := c.Exchange(client(t), query(t, follow(uri)).Get("code"))
		if err != nil {
			t.Fatal(err)
		}
		wantStatus(t, p, http.MethodPost, got.AccessToken, http.StatusCreated, "")
		if len(p.Events(user)) != 1 {
			t.Errorf("the token is not %s's", user)
		}
	}
	p.AutoLogin("")
	if values := query(t, follow(c.AuthCodeURL("s", oauth2.SetAuthURLParam("prompt", "none")))); values.Get("error") != "login_required" {
		t.Errorf("%v", values)
	}
	page := follow(c.AuthCodeURL("s", oauth2.SetAuthURLParam("login_hint", `"><script>`)))
	if !strings.Contains(page, provider.ScopeWrite) || !strings.Contains(page, `value="deny"`) || strings.Contains(page, "<script>") {
		t.Errorf("%s", page)
	}
}

func TestBadNames(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	for _, name := range []string{"", "  ", "a:b", "a\nb"} {
		if back, err := p.Login(t.Context(), config(p, "openid").AuthCodeURL("s"), name, true); err == nil {
			t.Errorf("%q was sent to %s", name, back)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Issuer()+provider.LoginPath+"?id=nonsense", nil)
	if status, body := do(t, request, err); status != http.StatusBadRequest || !strings.Contains(body, "start again") {
		t.Errorf("%d %s", status, body)
	}
}

func TestErrors(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	c := config(p, "openid")
	got := code(t, p, c)
	p.Break(provider.TokenPath, provider.OAuthError("temporarily_unavailable", "try later"))
	_, err := c.Exchange(client(t), got)
	wantRefused(t, err, "temporarily_unavailable")
	broken := p.Break(provider.TokenPath, provider.Fault{Status: http.StatusInternalServerError, Times: 1})
	_, err = c.Exchange(client(t), got)
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); !ok || refused.Response.StatusCode != http.StatusInternalServerError {
		t.Errorf("%v", err)
	}
	if _, err = c.Exchange(client(t), got); err != nil {
		t.Errorf("after the one time: %v", err)
	}
	broken.Repair()
	if n := len(p.Requests(provider.TokenPath)); n != 3 || p.Counts().Exchanges != 1 {
		t.Errorf("%d requests, %+v", n, p.Counts())
	}
	p.Break(provider.APIPath, provider.Fault{Status: http.StatusServiceUnavailable, Body: `{"code":"away","message":"back soon"}`})
	wantStatus(t, p, http.MethodGet, "", http.StatusServiceUnavailable, "away")
}

// TestHang lets one request continue, one give up, and one see the end.
func TestHang(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	c := config(p, "openid")
	exchange := func(ctx context.Context, got string) <-chan error {
		result := make(chan error, 1)
		go func() {
			_, err := c.Exchange(ctx, got)
			result <- err
		}()
		return result
	}
	hang := p.Break(provider.TokenPath, provider.Fault{Hang: true})
	got := code(t, p, c)
	result := exchange(client(t), got)
	<-hang.Reached()
	select {
	case err := <-result:
		t.Fatalf("it does not hang: %v", err)
	default:
	}
	hang.Repair()
	hang.Repair()
	if err := <-result; err != nil {
		t.Errorf("after the release: %v", err)
	}

	hang = p.Break(provider.TokenPath, provider.Fault{Hang: true})
	ctx, cancel := context.WithCancel(client(t))
	result = exchange(ctx, code(t, p, c))
	<-hang.Reached()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("a client that gives up: %v", err)
	}

	hang = p.Break(provider.TokenPath, provider.Fault{Hang: true})
	result = exchange(client(t), code(t, p, c))
	<-hang.Reached()
	p.Close()
	if err := <-result; err == nil {
		t.Error("a provider that is closed has answered")
	}
}

func TestSlow(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	p.Break(provider.APIPath, provider.Fault{Delay: time.Millisecond, Times: 1})
	wantStatus(t, p, http.MethodGet, "", http.StatusUnauthorized, "missing_token")
	slow := p.Break(provider.APIPath, provider.Fault{Delay: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-slow.Reached()
		cancel()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.API(), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client(t).Value(oauth2.HTTPClient).(*http.Client).Do(request)
	if err == nil {
		response.Body.Close()
		t.Error("answered an hour too soon")
	}
}
