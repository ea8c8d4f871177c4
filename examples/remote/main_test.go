package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	_ "github.com/parley-run/parley/credential/keyset" // for logins in a database
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/internal/testkit/replaytest"
	_ "github.com/parley-run/parley/session/sqlite" // keeps what is repeated
)

// A person opens the address of the login, and the conversation goes on. Repeated with
// what was recorded, it is the same without the other server.
func TestRemote(t *testing.T) {
	shown, out := io.Pipe()
	cfg := parley.Config{
		Sessions:  parley.SessionConfig{URL: "sqlite://" + filepath.Join(t.TempDir(), "parley.db")},
		Recording: parley.RecordingConfig{Share: 1},
	}
	go func() { out.CloseWithError(run(t.Context(), out, cfg)) }()
	var all strings.Builder
	address := regexp.MustCompile(`(http://\S+/oauth/start\S+)\n`)
	for buf := make([]byte, 4096); !address.MatchString(all.String()); {
		n, err := shown.Read(buf)
		if err != nil {
			t.Fatalf("%v after %s", err, &all)
		}
		all.Write(buf[:n])
	}
	logIn(t, address.FindStringSubmatch(all.String())[1])
	rest, err := io.ReadAll(shown)
	if err != nil {
		t.Fatal(err)
	}
	if string(rest) != "calendar: That is all.\n" {
		t.Errorf("after the login it says %q", rest)
	}
	assistant, err := newAssistant("http://127.0.0.1:1/a2a/calendar")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Agents = map[string]*agent.Agent{"assistant": assistant}
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(context.WithoutCancel(t.Context()))
	replaytest.Runs(t, srv, "assistant", "user")
}

// logIn does what a person does with a browser.
func logIn(t *testing.T, address string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer browser.CloseIdleConnections()
	visit := func(method, address, form string) (location, page string) {
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", req.URL.Scheme+"://"+req.URL.Host)
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		doc, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 400 {
			t.Fatalf("%s: %d %s %v", address, resp.StatusCode, doc, err)
		}
		return resp.Header.Get("Location"), string(doc)
	}
	_, page := visit(http.MethodGet, address, "")
	form := url.Values{}
	for _, input := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		form.Set(html.UnescapeString(input[1]), html.UnescapeString(input[2]))
	}
	action := regexp.MustCompile(`action="([^"]*)"`).FindStringSubmatch(page)
	if action == nil {
		t.Fatalf("there is no form: %s", page)
	}
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	target, err := base.Parse(html.UnescapeString(action[1]))
	if err != nil {
		t.Fatal(err)
	}
	atProvider, _ := visit(http.MethodPost, target.String(), form.Encode())
	back, err := provider.Visit(context.WithoutCancel(t.Context()), atProvider, "ann", true)
	if err != nil {
		t.Fatal(err)
	}
	visit(http.MethodGet, back, "")
}
