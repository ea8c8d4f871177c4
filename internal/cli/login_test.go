package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model/offline"
	"github.com/parley-run/parley/tool"
)

// calendar is an agent with a tool that needs a login at the provider, and one
// that needs a key.
func calendar(t *testing.T, p *provider.Provider) parley.Config {
	t.Helper()
	id, secret := p.Client()
	login := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
			AuthorizationURL: p.AuthURL(), TokenURL: p.TokenURL(), Scopes: []credential.Scope{{Name: provider.ScopeRead}},
		}}},
		Raw: &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: id, ClientSecret: secret}},
	}
	key := &credential.Config{Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"}}
	needing := func(name, description string, cfg *credential.Config) tool.Tool {
		return tool.Must(tool.New(tool.Declaration{Name: name, Description: description}, func(ctx *tool.Context, _ struct{}) (any, error) {
			cred, err := ctx.AuthResponse(cfg)
			if err != nil {
				return nil, err
			}
			if cred == nil {
				return tool.Pending("Log in, please."), ctx.RequestCredential(cfg)
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.API(), http.NoBody)
			if err == nil {
				err = credential.Apply(req, cfg.Scheme, cred)
			}
			if err != nil {
				return nil, err
			}
			if cfg == key {
				return map[string]any{"result": "The key has " + strings.Repeat("*", len(req.Header.Get("X-Key")))}, nil
			}
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			return map[string]any{"result": "The calendar answers " + resp.Status, "data": json.RawMessage(body)}, err
		}))
	}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "calendar", Model: offline.New(), Tools: []tool.Tool{
		needing("list_events", "Lists the events in the calendar.", login), needing("read_mail", "Reads the mail.", key),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return parley.Config{Agents: map[string]*agent.Agent{"calendar": root}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8"}}}
}

var shownAddress = regexp.MustCompile(`(?m)^  (http://\S+)$`)

// asks makes the agent ask for a login, and returns the address that is shown.
func (p *terminal) asks() string {
	p.t.Helper()
	p.say("List the events")
	shown := p.until(prompt)
	address := shownAddress.FindStringSubmatch(shown)
	if address == nil || !strings.Contains(shown, "asks you to log in at 127.0.0.1:") || strings.Contains(shown, "svc_request_credential") {
		p.t.Fatalf("it shows %q", shown)
	}
	return address[1]
}

// logsIn does what the user does in the browser, up to where the provider sends
// it back.
func (p *terminal) logsIn(at *provider.Provider, address string, allow bool) string {
	p.t.Helper()
	callback, err := at.Login(p.t.Context(), address, "ann", allow)
	if err != nil {
		p.t.Fatal(err)
	}
	return callback
}

// browse lets the browser go where it is sent.
func browse(t *testing.T, address string) (status int, page string) {
	t.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

const served = "The calendar answers 200 OK"

func TestLoginByBrowser(t *testing.T) {
	at := provider.Start(t, provider.Options{RequirePKCE: true})
	p := openWith(t.Context(), t, calendar(t, at), runOptions{})
	p.until(prompt)
	address := p.asks()
	p.say("One moment") // it is still a conversation
	if shown := p.until(prompt); !strings.Contains(shown, "still waits for you to log in") {
		t.Errorf("in between: %q", shown)
	}
	if other := p.asks(); other != address {
		t.Errorf("it asks for %s, and then for %s", address, other)
	}
	callback := p.logsIn(at, address, true)
	u, err := url.Parse(callback)
	if err != nil || u.Hostname() != "127.0.0.1" {
		t.Fatalf("the browser is sent to %s", callback)
	}
	if status, _ := browse(t, "http://"+u.Host+"/favicon.ico"); status != http.StatusNotFound {
		t.Errorf("the icon is there: %d", status)
	}
	if status, page := browse(t, callback); status != http.StatusOK || !strings.Contains(page, "Go back to the terminal") {
		t.Errorf("the browser shows %d %s", status, page)
	}
	if shown := p.until(prompt); !strings.Contains(shown, served) || strings.Contains(shown, "still waits") || !strings.HasPrefix(shown, "\n") {
		t.Errorf("after the login: %q", shown)
	}
	p.say("List the events")
	if shown := p.until(prompt); !strings.Contains(shown, served) {
		t.Errorf("later: %q", shown)
	}
	p.say("exit")
	if rest, err := p.end(); err != nil || p.stderr.Len() != 0 {
		t.Errorf("it ends with %v, and then %q, %s", err, rest, p.stderr)
	}
}

func TestLoginByPaste(t *testing.T) {
	const redirect = "https://app.example.com/back"
	at := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	p := openWith(t.Context(), t, calendar(t, at), runOptions{redirect: redirect})
	p.until(prompt)
	p.say(p.logsIn(at, p.asks(), false))
	p.until(prompt)
	if !strings.Contains(p.stderr.String(), "the user did not allow access") {
		t.Errorf("after a no: %s", p.stderr)
	}
	p.stderr.Reset()
	callback := p.logsIn(at, p.asks(), true)
	p.say(redirect + "?code=1&state=2")
	p.until(prompt)
	if !strings.Contains(p.stderr.String(), "does not belong to a pending login") {
		t.Errorf("after a wrong address: %s", p.stderr)
	}
	p.say(callback)
	if shown := p.until(prompt); !strings.Contains(shown, served) {
		t.Errorf("after the login: %q", shown)
	}
	p.in.Close()
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
}

// The command listens at a redirect address on this machine, unless another process
// does.
func TestLoginAtAPort(t *testing.T) {
	at := provider.Start(t, provider.Options{})
	first := newLoginListener("")
	defer first.close()
	free, err := first.listen(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	first.close()
	p := openWith(t.Context(), t, calendar(t, at), runOptions{redirect: strings.Replace(free, "127.0.0.1", "localhost", 1)})
	p.until(prompt)
	callback := p.logsIn(at, p.asks(), true)
	if taken, err := newLoginListener("").listen(t.Context(), free); err != nil || taken != free {
		t.Errorf("a port that is taken: %s, %v", taken, err)
	}
	browse(t, strings.Replace(callback, "localhost", "127.0.0.1", 1))
	if shown := p.until(prompt); !strings.Contains(shown, served) {
		t.Errorf("after the login: %q", shown)
	}
	p.in.Close()
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestLoginByKey(t *testing.T) {
	p := openWith(t.Context(), t, calendar(t, provider.Start(t, provider.Options{})), runOptions{})
	p.until(prompt)
	p.say("Read the mail")
	shown := p.until(prompt)
	call := regexp.MustCompile(`/answer (\S+) "the key"`).FindStringSubmatch(shown)
	if call == nil {
		t.Fatalf("it shows %q", shown)
	}
	p.say("/answer " + call[1] + ` "12345"`)
	if shown := p.until(prompt); !strings.Contains(shown, "The key has *****") {
		t.Errorf("after the answer: %q", shown)
	}
	p.in.Close()
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestLoginWithoutATerminal(t *testing.T) {
	cfg := calendar(t, provider.Start(t, provider.Options{}))
	cfg.Log = slog.New(slog.DiscardHandler)
	var out, errs bytes.Buffer
	err := converse(t.Context(), &Env{Stdin: strings.NewReader("List the events\nand more\n"), Stdout: &out, Stderr: &errs}, cfg, runOptions{user: "user"})
	if err == nil || !strings.Contains(err.Error(), "needs a terminal") || strings.Contains(out.String(), "and more") {
		t.Errorf("it ends with %v, after %q", err, out.String())
	}
}
