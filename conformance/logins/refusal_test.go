package logins

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit/provider"
)

// refusals are invalid answers, each in its own session. other is a request in another session, with the callback URL
// of its user.
var refusals = []struct {
	name   string
	status int
	says   string
	part   func(a ask, callback string, other ask, otherCallback string) object
}{
	{"wrong id", 422, "no function call is waiting", func(a ask, callback string, _ ask, _ string) object {
		a.id = "parley-1234"
		return a.answer(callback)
	}},
	{"wrong name", 422, "not of list_events", func(a ask, callback string, _ ask, _ string) object {
		return named(a.answer(callback), "list_events")
	}},
	{"the name of another question", 422, "not of adk_request_confirmation", func(a ask, callback string, _ ask, _ string) object {
		return named(a.answer(callback), "adk_request_confirmation")
	}},
	{"wrong state", 400, "state", func(a ask, callback string, _ ask, _ string) object {
		return a.answer(with(callback, "state", "x"))
	}},
	{"no state", 400, "state", func(a ask, callback string, _ ask, _ string) object {
		return a.answer(with(callback, "state"))
	}},
	{"two states", 400, "more than once", func(a ask, callback string, _ ask, _ string) object {
		return a.answer(callback + "&state=x")
	}},
	{"wrong state beside the address", 400, "state", func(a ask, callback string, _ ask, _ string) object {
		return set(a.answer(callback), "x", "exchanged_auth_credential", "oauth2", "state")
	}},
	{"no code", 422, "no code", func(a ask, callback string, _ ask, _ string) object {
		return a.answer(with(callback, "code"))
	}},
	{"two codes", 400, "more than once", func(a ask, callback string, _ ask, _ string) object {
		return a.answer(callback + "&code=x")
	}},
	{"an error of the provider", 422, "server_error", func(a ask, callback string, _ ask, _ string) object {
		return a.answer(with(with(callback, "code"), "error", "server_error"))
	}},
	{"tampered token endpoint", 400, "token endpoint", func(a ask, callback string, _ ask, _ string) object {
		return set(a.answer(callback), "https://evil.example/token", "auth_scheme", "flows", "authorizationCode", "tokenUrl")
	}},
	{"tampered authorization endpoint", 400, "authorization endpoint", func(a ask, callback string, _ ask, _ string) object {
		return set(a.answer(callback), "https://evil.example/auth", "auth_scheme", "flows", "authorizationCode", "authorizationUrl")
	}},
	{"tampered scheme", 400, "type of the scheme", func(a ask, callback string, _ ask, _ string) object {
		return set(a.answer(callback), object{"type": "apiKey", "in": "header", "name": "X-Key"}, "auth_scheme")
	}},
	{"tampered client", 400, "client id", func(a ask, callback string, _ ask, _ string) object {
		return set(a.answer(callback), "evil", "exchanged_auth_credential", "oauth2", "client_id")
	}},
	{"tampered key", 400, "credentialKey", func(a ask, callback string, _ ask, _ string) object {
		return set(a.answer(callback), "contacts", "credential_key")
	}},
	{"a token instead of a code", 422, "no code", func(a ask, _ string, _ ask, _ string) object {
		return a.reply(object{"exchangedAuthCredential": object{"oauth2": object{"accessToken": "mine"}}})
	}},
	{"the answer of another session", 422, "no function call is waiting", func(_ ask, _ string, other ask, otherCallback string) object {
		return other.answer(otherCallback)
	}},
	{"the code of another session", 400, "state", func(a ask, _ string, _ ask, otherCallback string) object {
		return a.answer(otherCallback)
	}},
	{"nothing", 422, "no code", func(a ask, _ string, _ ask, _ string) object { return a.reply(object{}) }},
	{"what it was asked", 422, "no code", func(a ask, _ string, _ ask, _ string) object { return a.reply(a.camel) }},
	{"no JSON in a string", 422, "cannot be read", func(a ask, _ string, _ ask, _ string) object { return a.reply("{") }},
	{"a number", 422, "", func(a ask, _ string, _ ask, _ string) object { return a.reply(7) }},
	{"a list", 422, "", func(a ask, _ string, _ ask, _ string) object { return a.reply([]string{"x"}) }},
}

// named gives a function response another name.
func named(part object, name string) object {
	part["functionResponse"].(object)["name"] = name
	return part
}

// set changes a member of the AuthConfig in an answer.
func set(part object, value any, path ...string) object {
	o := part["functionResponse"].(object)["response"].(object)
	for _, name := range path[:len(path)-1] {
		o = o[name].(object)
	}
	o[path[len(path)-1]] = value
	return part
}

// with changes a parameter of an address, or removes it.
func with(address, name string, values ...string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	query := u.Query()
	query[name] = values
	u.RawQuery = query.Encode()
	return u.String()
}

// An answer that does not match its request is refused with a reason, no provider is called, and nothing is lost.
func TestC59_Refusals(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		there := w.talk(t, custom, "there")
		other := there.asked(there.say("call list_events"))
		otherCallback := there.visit(other, true)
		for _, test := range refusals {
			t.Run(test.name, func(t *testing.T) {
				c := w.talk(t, custom, strings.ReplaceAll(test.name, " ", "-"))
				a := c.asked(c.say("call list_events"))
				callback := c.visit(a, true)
				seen, stored := len(w.provider.Requests()), len(c.stored())
				part := test.part(a, callback, other, otherCallback)
				for _, path := range []string{"/run", "/run_sse", c.path() + "/runs"} {
					got := c.client.Do(t, http.MethodPost, path, c.request(part))
					var problem struct{ Error, Detail any }
					got.Into(t, &problem)
					if text, _ := problem.Error.(string); got.Status != test.status || text == "" || !strings.Contains(text, test.says) || problem.Detail == nil {
						t.Errorf("%s: status %d, %s; want %d and %q", path, got.Status, got.Body, test.status, test.says)
					}
					if strings.Contains(string(got.Body), url.QueryEscape(code(callback))) {
						t.Errorf("%s repeats the code: %s", path, got.Body)
					}
				}
				if now := len(w.provider.Requests()); now != seen {
					t.Errorf("the provider was called: %v", w.provider.Requests()[seen:])
				}
				if now := len(c.stored()); now != stored {
					t.Errorf("%d events were stored", now-stored)
				}
				if said := c.say("Are you there?"); len(said) != 1 {
					t.Errorf("afterwards: %q", texts(said))
				}
				c.done(c.send(a.answer(callback)), 1)
			})
		}
		// The other session has not been harmed by all of this.
		there.done(there.send(other.answer(otherCallback)), 1)
	})
}

func code(callback string) string {
	u, err := url.Parse(callback)
	if err != nil || u.Query().Get("code") == "" {
		panic("no code in " + callback)
	}
	return u.Query().Get("code")
}

func TestCodeUsedTwice(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		c := w.talk(t, custom, "s")
		a := c.asked(c.say("call list_events"))
		callback := c.visit(a, true)
		c.done(c.send(a.answer(callback)), 1)
		seen := w.exchanges()
		c.post(a.answer(callback)).Want(t, http.StatusConflict)
		c.client.Do(t, http.MethodDelete, "/apps/"+custom+"/users/ann/credentials", nil).Want(t, http.StatusOK)
		b := c.asked(c.say("call list_events"))
		c.post(b.answer(callback)).Want(t, http.StatusBadRequest) // it came of another request
		if got := w.exchanges(); got != seen {
			t.Errorf("%d more calls of the token endpoint", got-seen)
		}
		c.login(b, 1)
	})
}

// Whatever the order in which answers to one request come, one of them counts.
func TestAnswersAtOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w *world) {
		t := w.T
		c := w.talk(t, custom, "s")
		a := c.asked(c.say("call list_events"))
		answer := a.answer(c.visit(a, true))
		statuses := make(chan int)
		for range 5 {
			go func() { statuses <- c.post(answer).Status }()
		}
		var got []int
		for range 5 {
			got = append(got, <-statuses)
		}
		slices.Sort(got)
		if !slices.Equal(got, []int{200, 409, 409, 409, 409}) {
			t.Errorf("the statuses are %v", got)
		}
		if n := len(w.provider.Requests(provider.TokenPath)); n != 1 {
			t.Errorf("%d calls of the token endpoint", n)
		}
	})
}
