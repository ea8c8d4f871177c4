package broker_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/testkit/provider"
)

const public = "http://127.0.0.1:9"

func managedWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t, provider.Options{RequirePKCE: true}, func(o *broker.Options) { o.PublicURL = public + "/" })
}

// startURL returns the state in the URL that a client opens.
func startURL(t *testing.T, asked *credential.Config) string {
	t.Helper()
	u, err := url.Parse(asked.Exchanged.OAuth2.AuthURI)
	if err != nil || !strings.HasPrefix(u.String(), public+broker.StartPath+"?") || u.Query().Get("state") != asked.Exchanged.OAuth2.State {
		t.Fatalf("the client opens %v, %v", u, err)
	}
	return u.Query().Get("state")
}

// begin goes from the start page to the provider and back, in a browser.
func (w *world) begin(asked *credential.Config, browser string, allow bool) *url.URL {
	w.Helper()
	address, err := w.broker.Begin(w.Context(), startURL(w.T, asked), browser)
	if w.hear(err) != nil {
		w.Fatal(err)
	}
	back, err := w.provider.Login(w.Context(), address, "alice", allow)
	if err != nil {
		w.Fatal(err)
	}
	u, err := url.Parse(back)
	if err != nil || u.Path != broker.CallbackPath {
		w.Fatalf("sent back to %v, %v", u, err)
	}
	w.secret(u.Query().Get("code"))
	return u
}

func TestManagedLogin(t *testing.T) {
	w := managedWorld(t)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	visit, err := w.broker.Visit(t.Context(), startURL(t, asked))
	if w.hear(err) != nil || visit.App != "app" || visit.User != "user" || !strings.Contains(w.provider.AuthURL(), visit.Provider) || len(visit.Scopes) != 3 {
		t.Errorf("the user is told %+v, %v", visit, err)
	}
	back := w.begin(asked, "browser", true)
	wrong := *back
	wrong.RawQuery = strings.Replace(back.RawQuery, "state=", "state=A", 1)
	_, err = w.broker.Callback(t.Context(), &wrong, "browser")
	wantRefused(t, w.hear(err), broker.Mismatched)
	nothing := json.RawMessage(`{"credentialKey":"` + asked.Key() + `"}`)
	wantRefused(t, w.receive(w.broker, w.key, "call-1", asked, nothing), broker.Incomplete)

	came, err := w.broker.Callback(t.Context(), back, "browser")
	if w.hear(err) != nil || came != (broker.Back{Key: w.key, RequestID: "call-1"}) {
		t.Fatalf("the login belongs to %v, %v", came, err)
	}
	if err := w.receive(w.broker, w.key, "call-1", asked, nothing); err != nil {
		t.Fatal(err)
	}
	if err := w.broker.Complete(t.Context(), came.Key, came.RequestID, asked); w.hear(err) != nil {
		t.Fatal(err)
	}
	if w.response(w.broker, w.key, w.config()) == nil {
		t.Error("there is no credential after the login")
	}
	_, err = w.broker.Callback(t.Context(), back, "browser")
	wantRefused(t, w.hear(err), broker.Conflicting)
	_, err = w.broker.Visit(t.Context(), startURL(t, asked))
	wantRefused(t, w.hear(err), broker.Conflicting)
	if err := w.receive(w.broker, w.key, "call-1", asked, nothing); err != nil {
		t.Errorf("the client's own answer comes after all: %v", err)
	}
}

// A login that was begun in one browser and completed in another is not used.
func TestManagedLoginOfAnotherBrowser(t *testing.T) {
	w := managedWorld(t)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	for _, browser := range []string{"", "victim"} {
		back := w.begin(asked, "attacker", true)
		_, err := w.broker.Callback(t.Context(), back, browser)
		wantRefused(t, w.hear(err), broker.Forbidden)
	}
	if n := w.provider.Counts().Exchanges; n != 0 {
		t.Errorf("%d codes were exchanged", n)
	}
	// This login was never begun.
	other := w.ask(w.broker, w.session("s2"), "call-2", w.config(), credential.Camel)
	_, err := w.broker.Callback(t.Context(), &url.URL{RawQuery: url.Values{"state": {startURL(t, other)}, "code": {"x"}}.Encode()}, "browser")
	wantRefused(t, w.hear(err), broker.Forbidden)
	// The login itself can still be completed.
	if _, err := w.broker.Callback(t.Context(), w.begin(asked, "browser", true), "browser"); w.hear(err) != nil {
		t.Error(err)
	}
}

func TestManagedLoginDenied(t *testing.T) {
	w := managedWorld(t)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	back, err := w.broker.Callback(t.Context(), w.begin(asked, "browser", false), "browser")
	if w.hear(err) != nil || !back.Denied {
		t.Fatalf("came back as %+v, %v", back, err)
	}
	wantDenied(t, w.hear(w.broker.Complete(t.Context(), back.Key, back.RequestID, asked)))
}

// A provider's own error changes nothing: the user may try again.
func TestManagedLoginError(t *testing.T) {
	w := managedWorld(t)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	back := w.begin(asked, "browser", true)
	failed := url.URL{RawQuery: url.Values{"state": {startURL(t, asked)}, "error": {"server_error"}}.Encode()}
	_, err := w.broker.Callback(t.Context(), &failed, "browser")
	wantRefused(t, w.hear(err), broker.Incomplete)
	if _, err := w.broker.Callback(t.Context(), back, "browser"); w.hear(err) != nil {
		t.Error(err)
	}
}

func TestManagedLoginExpires(t *testing.T) {
	w := managedWorld(t)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	back := w.begin(asked, "browser", true)
	w.advance(25 * time.Hour)
	_, err := w.broker.Callback(t.Context(), back, "browser")
	wantRefused(t, w.hear(err), broker.Conflicting)
	_, err = w.broker.Begin(t.Context(), startURL(t, asked), "browser")
	wantRefused(t, w.hear(err), broker.Conflicting)
}

// A client that adds an address of its own completes the login itself.
func TestManagedLoginByTheClient(t *testing.T) {
	w := managedWorld(t)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	address, err := w.broker.SendOn(t.Context(), startURL(t, asked), clientURI)
	if w.hear(err) != nil {
		t.Fatal(err)
	}
	back, err := w.provider.Login(t.Context(), address, "alice", true)
	if err != nil || !strings.HasPrefix(back, clientURI) {
		t.Fatalf("sent back to %s, %v", back, err)
	}
	if err := w.receive(w.broker, w.key, "call-1", asked, w.reply(asked, back, credential.Snake)); err != nil {
		t.Fatal(err)
	}
	if err := w.broker.Complete(t.Context(), w.key, "call-1", asked); w.hear(err) != nil {
		t.Fatal(err)
	}
	if w.response(w.broker, w.key, w.config()) == nil {
		t.Error("there is no credential after the login")
	}
}

// A tool that says where users come back to has its way.
func TestManagedLoginElsewhere(t *testing.T) {
	w := managedWorld(t)
	config := w.config()
	config.Raw.OAuth2.RedirectURI = clientURI
	asked := w.ask(w.broker, w.key, "call-1", config, credential.Camel)
	if got := asked.Exchanged.OAuth2.AuthURI; !strings.HasPrefix(got, w.provider.AuthURL()) {
		t.Errorf("the client opens %s", got)
	}
}
