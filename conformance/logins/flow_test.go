package logins

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// The whole flow, on every store and by every way to start a run.
func TestC50_Flow(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		for _, app := range []string{custom, documented} {
			for _, way := range []string{"run", "run_sse", "in process"} {
				t.Run(app+" by "+way, func(t *testing.T) {
					c := w.talk(t, app, strings.ReplaceAll(way, " ", "-"))
					switch way {
					case "run_sse":
						c.send = c.streamed
					case "in process":
						c.send = c.inProcess(w.server)
					}
					before := w.exchanges()
					events := c.say("call list_events")
					a := c.asked(events)
					if len(events) != 3 || len(events[0].FunctionCalls()) != 1 {
						t.Fatalf("events %q", texts(events))
					}
					call := events[0].FunctionCalls()[0].ID
					if _, ok := events[2].Actions.RequestedAuthConfigs[call]; !ok || events[2].FunctionResponses()[0].ID != call {
						t.Errorf("the call is %s, and pending is %v", call, events[2])
					}
					checkAddress(t, a)
					events = c.send(a.answer(c.visit(a, true)))
					c.done(events, 1)
					if got := events[0].FunctionResponses()[0].ID; got != call || events[0].Author != app {
						t.Errorf("%s has the result of %s, want that of %s", events[0].Author, got, call)
					}
					if got := w.exchanges() - before; got != 1 {
						t.Errorf("%d calls of the token endpoint", got)
					}
					// The login is remembered, and the log is what was told.
					later := c.say("call list_events")
					if len(later) != 3 || len(c.asks(later)) != 0 || w.exchanges()-before != 1 {
						t.Errorf("later: %q", texts(later))
					}
					if stored := c.stored(); len(stored) != 3+3+3+3-1 || cmp.Diff(texts(events), texts(stored[5:7])) != "" {
						t.Errorf("stored are %q", texts(stored))
					}
				})
			}
		}
	})
}

// checkAddress is C51: what the address has in its query.
func checkAddress(t *testing.T, a ask) {
	t.Helper()
	address, err := url.Parse(a.uri)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "parley", "access_type": "offline", "prompt": "consent", "code_challenge_method": "S256",
		"scope": "openid offline_access calendar.read",
		"state": oauth2(a.snake, "exchanged_auth_credential")["state"].(string),
	} {
		if got := query.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if query.Has("redirect_uri") || query.Get("code_challenge") == "" {
		t.Errorf("the address is %s", a.uri)
	}
}

// What clients send, each in its own way.
func TestC54_Answers(t *testing.T) {
	w := newWorld(t, parley.Config{})
	for name, reply := range map[string]func(a ask, callback string) any{
		"adk-web": func(a ask, callback string) any {
			config := clone(a.camel)
			o := oauth2(config, "exchangedAuthCredential")
			o["authResponseUri"], o["redirectUri"] = callback, redirect
			return config
		},
		"a Python client": func(a ask, callback string) any {
			config := clone(a.snake)
			cred := config["exchanged_auth_credential"].(object)
			for _, member := range []string{"resource_ref", "api_key", "http", "service_account"} {
				cred[member] = nil
				config["raw_auth_credential"].(object)[member] = nil
			}
			o := oauth2(config, "exchanged_auth_credential")
			for _, member := range []string{"client_secret", "nonce", "code_verifier", "auth_code", "access_token", "refresh_token", "id_token", "expires_at", "expires_in", "audience", "prompt"} {
				o[member] = nil
			}
			cred["auth_type"] = "oauth2"
			o["auth_response_uri"], o["redirect_uri"] = callback, redirect
			return config
		},
		"a string": func(a ask, callback string) any {
			response := a.answer(callback)["functionResponse"].(object)["response"]
			text, err := json.Marshal(response)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		},
		"no more than needed": func(_ ask, callback string) any {
			return object{"exchangedAuthCredential": object{"oauth2": object{"authResponseUri": callback, "redirectUri": redirect}}}
		},
		"authorization_code": func(a ask, callback string) any {
			return a.answer(strings.Replace(callback, "code=", "authorization_code=", 1))["functionResponse"].(object)["response"]
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := w.talk(t, custom, strings.ReplaceAll(name, " ", "-"))
			a := c.asked(c.say("call list_events"))
			seen := w.exchanges()
			c.done(c.send(a.reply(reply(a, c.visit(a, true)))), 1)
			made := w.provider.Requests(provider.TokenPath)[seen:]
			want := provider.Request{
				Method: http.MethodPost, Path: provider.TokenPath, Grant: "authorization_code",
				Form: []string{"code", "code_verifier", "grant_type", "redirect_uri"},
			}
			if diff := cmp.Diff([]provider.Request{want}, made); diff != "" {
				t.Errorf("calls of the token endpoint (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTwoCredentials(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		c := w.talk(t, custom, "s")
		events := c.say("call list_events list_contacts")
		list := c.asks(events)
		if len(list) != 2 || len(events) != 4 || len(events[3].Actions.RequestedAuthConfigs) != 2 {
			t.Fatalf("events %q", texts(events))
		}
		// The one that is answered is resumed, the other one stays.
		first := c.answered(list[1], "waiting")
		if got := first[0].FunctionResponses()[0].Name; got != "list_contacts" {
			t.Errorf("the result is that of %s", got)
		}
		c.say("While I look for my password")
		second := c.answered(list[0], "completed")
		if got := second[0].FunctionResponses()[0].Name; got != "list_events" {
			t.Errorf("the result is that of %s", got)
		}
	})
}

// answered answers a request whose run then has a status.
func (c *talk) answered(a ask, status string) (events []*event.Event) {
	c.Helper()
	answer := c.post(a.answer(c.visit(a, true))).Want(c.T, http.StatusOK).Into(c.T, &events)
	c.done(events, 1)
	var row struct{ Status string }
	c.client.Do(c.T, http.MethodGet, c.path()+"/runs/"+answer.Header.Get("X-Parley-Run"), nil).Want(c.T, http.StatusOK).Into(c.T, &row)
	if row.Status != status {
		c.Errorf("the run is %s, want %s", row.Status, status)
	}
	return events
}

func TestSharedCredential(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		c := w.talk(t, custom, "s")
		c.login(c.asked(c.say("call list_events list_events")), 2)
		if got := w.exchanges(); got != 1 {
			t.Errorf("%d calls of the token endpoint", got)
		}
	})
}

func TestTextInBetween(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		c := w.talk(t, custom, "s")
		a := c.asked(c.say("call list_events"))
		if said := c.say("One moment"); len(said) != 1 || said[0].Content.Text() != "You said: One moment" {
			t.Errorf("in between: %q", texts(said))
		}
		// Who asks again while a login is pending is sent to the same place.
		b := c.asked(c.say("call list_events"))
		if a.uri != b.uri || a.id == b.id {
			t.Errorf("it asks for %s and then for %s", a.uri, b.uri)
		}
		c.login(a, 1)
	})
}

// An API that refuses a credential makes the tool ask again, and a tool that is
// made of a document asks only once.
func TestRefusedByTheAPI(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		for _, app := range []string{custom, documented} {
			for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
				t.Run(app+" "+http.StatusText(status), func(t *testing.T) {
					c := w.talk(t, app, http.StatusText(status))
					c.login(c.asked(c.say("call list_events")), 1)
					broken := w.provider.Break(provider.APIPath, provider.Fault{Status: status, Body: `{"code":"no","message":"not with this token"}`})
					t.Cleanup(broken.Repair)
					a := c.asked(c.say("call list_events"))
					if app == custom {
						broken.Repair()
						c.login(a, 1)
						return
					}
					// It is refused once more: that is the result.
					events := c.send(a.answer(c.visit(a, true)))
					if len(events) != 2 || len(c.asks(events)) != 0 || !strings.Contains(texts(events)[0], "not with this token") {
						t.Errorf("refused again: %q", texts(events))
					}
					broken.Repair()
				})
			}
		}
	})
}

// A token is renewed before it ends, and every refresh token is used once.
func TestRefresh(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		c := w.talk(t, custom, "s")
		c.login(c.asked(c.say("call list_events")), 1)
		for range 3 {
			if events := c.say("call list_events"); len(c.asks(events)) != 0 || !strings.Contains(texts(events)[1], `"status":"success"`) {
				t.Fatalf("events %q", texts(events))
			}
		}
		// The call after the login found the token as short-lived as the others.
		if got := w.provider.Counts(); got.Exchanges != 1 || got.Refreshes != 4 {
			t.Errorf("the provider has counted %+v", got)
		}
		grants := w.provider.Requests(provider.TokenPath)
		if refused := len(grants) - 5; refused != 0 {
			t.Errorf("%d calls of the token endpoint were refused", refused)
		}
	}, func(o *provider.Options, _ *parley.Config) { o.AccessTokenLife = 30 * time.Second })
}

// A client that has lost the answer to its answer may repeat it.
func TestRepeatedAnswer(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		c := w.talk(t, custom, "s")
		a := c.asked(c.say("call list_events"))
		answer, key := a.answer(c.visit(a, true)), testkit.Header("Idempotency-Key", "k")
		var first, second []*event.Event
		c.post(answer, key).Want(t, http.StatusOK).Into(t, &first)
		c.done(first, 1)
		again := c.post(answer, key).Want(t, http.StatusOK).Into(t, &second)
		if !slices.Equal(texts(first), texts(second)) || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the second time: %q", texts(second))
		}
		c.post(answer, testkit.Header("Idempotency-Key", "other")).Want(t, http.StatusConflict)
		c.post(answer).Want(t, http.StatusConflict)
		if got := w.exchanges(); got != 1 {
			t.Errorf("%d calls of the token endpoint", got)
		}
	})
}
