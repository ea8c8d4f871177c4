package logins

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/provider"
)

type object = map[string]any

// talk is a session with an application, as a client has it.
type talk struct {
	*testing.T
	client   *testkit.Client
	provider *provider.Provider
	app, id  string
	// send sends a message and returns the events that come of it.
	send func(part object) []*event.Event
}

// talk begins a session, over /run.
func (w *world) talk(t *testing.T, app, id string) *talk {
	t.Helper()
	c := &talk{T: t, client: testkit.NewClient(t, w.base), provider: w.provider, app: app, id: id}
	c.client.Do(t, http.MethodPost, c.path(), nil).Want(t, http.StatusOK)
	c.send = c.collected
	return c
}

func (c *talk) path() string { return "/apps/" + c.app + "/users/ann/sessions/" + c.id }

// request is the body of a run request.
func (c *talk) request(part object) object {
	return object{
		"appName": c.app, "userId": "ann", "sessionId": c.id, "functionCallEventId": "as adk-web sends it",
		"newMessage": object{"role": "user", "parts": []object{part}},
	}
}

// post sends a message that may be refused.
func (c *talk) post(part object, options ...func(*http.Request)) *testkit.Response {
	c.Helper()
	return c.client.Do(c.T, http.MethodPost, "/run", c.request(part), options...)
}

// collected is a run by /run.
func (c *talk) collected(part object) (events []*event.Event) {
	c.Helper()
	c.post(part).Want(c.T, http.StatusOK).Into(c.T, &events)
	return events
}

// streamed is a run by /run_sse, without what is partial.
func (c *talk) streamed(part object) (events []*event.Event) {
	c.Helper()
	body := c.request(part)
	body["streaming"] = true
	for _, frame := range c.client.Stream(c.T, "/run_sse", body).Rest(c.T) {
		ev := &event.Event{}
		if err := json.Unmarshal(frame, ev); err != nil {
			c.Fatalf("%v in %s", err, frame)
		}
		if !ev.Partial {
			events = append(events, ev)
		}
	}
	return events
}

// inProcess is a run without HTTP.
func (c *talk) inProcess(srv *parley.Server) func(object) []*event.Event {
	return func(part object) (events []*event.Event) {
		c.Helper()
		text, err := json.Marshal(object{"parts": []object{part}})
		message := &event.Content{}
		if err == nil {
			err = json.Unmarshal(text, message)
		}
		if err != nil {
			c.Fatal(err)
		}
		for ev, err := range srv.Stream(c.Context(), parley.Request{App: c.app, User: "ann", Session: c.id, Message: message}) {
			if err != nil {
				c.Fatal(err)
			}
			events = append(events, ev)
		}
		return events
	}
}

func (c *talk) say(text string) []*event.Event {
	c.Helper()
	return c.send(object{"text": text})
}

// stored are the events of the session.
func (c *talk) stored() []*event.Event {
	c.Helper()
	var session struct{ Events []*event.Event }
	c.client.Do(c.T, http.MethodGet, c.path(), nil).Want(c.T, http.StatusOK).Into(c.T, &session)
	return session.Events
}

// ask is a request for a login, as a client finds it among events.
type ask struct {
	id, uri      string
	snake, camel object // the AuthConfig in both spellings
}

// asks are the requests for logins among events. All that a client relies on
// is checked.
func (c *talk) asks(events []*event.Event) (list []ask) {
	c.Helper()
	for _, ev := range events {
		for _, call := range ev.FunctionCalls() {
			if call.Name != "svc_request_credential" {
				continue
			}
			var args struct {
				Snake object `json:"auth_config"`
				Camel object `json:"authConfig"`
				ForA  string `json:"function_call_id"`
				ForB  string `json:"functionCallId"`
			}
			if err := json.Unmarshal(call.Args, &args); err != nil {
				c.Fatal(err)
			}
			a := ask{id: call.ID, snake: args.Snake, camel: args.Camel}
			a.uri, _ = oauth2(a.snake, "exchanged_auth_credential")["auth_uri"].(string)
			if other := oauth2(a.camel, "exchangedAuthCredential")["authUri"]; a.uri == "" || a.uri != other || args.ForA == "" || args.ForA != args.ForB {
				c.Errorf("the spellings differ: %s", call.Args)
			}
			if len(ev.LongRunningToolIDs) != 1 || ev.LongRunningToolIDs[0] != call.ID || ev.Content.Role != event.RoleModel {
				c.Errorf("the request is in %v", ev)
			}
			list = append(list, a)
		}
	}
	return list
}

// asked is the only request for a login among the events of a run that ends with
// a pending result.
func (c *talk) asked(events []*event.Event) ask {
	c.Helper()
	list := c.asks(events)
	if len(list) != 1 {
		c.Fatalf("%d requests for logins in %v", len(list), texts(events))
	}
	last := events[len(events)-1]
	if results := last.FunctionResponses(); len(results) == 0 || !strings.Contains(string(results[0].Response), `"pending":true`) || len(last.Actions.RequestedAuthConfigs) != len(results) {
		c.Fatalf("the run ends with %v", last)
	}
	return list[0]
}

// oauth2 is that member of a credential in an AuthConfig.
func oauth2(config object, credential string) object {
	cred, _ := config[credential].(object)
	o, _ := cred["oauth2"].(object)
	return o
}

// visit does what a user with a browser does, and returns the address that the
// user comes back with.
func (c *talk) visit(a ask, allow bool) string {
	c.Helper()
	callback, err := c.provider.Login(c.Context(), a.uri+"&redirect_uri="+url.QueryEscape(redirect), "ann", allow)
	if err != nil {
		c.Fatal(err)
	}
	return callback
}

// answer is the answer of a client that does what the specification says.
func (a ask) answer(callback string) object {
	config := clone(a.snake)
	o := oauth2(config, "exchanged_auth_credential")
	o["auth_response_uri"], o["redirect_uri"] = callback, redirect
	return a.reply(config)
}

// reply answers the request with anything.
func (a ask) reply(response any) object {
	return object{"functionResponse": object{"id": a.id, "name": "svc_request_credential", "response": response}}
}

func clone(o object) (copied object) {
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &copied)
	}
	if err != nil {
		panic(err)
	}
	return copied
}

// done makes sure that a run has made its calls and has ended.
func (c *talk) done(events []*event.Event, results int) {
	c.Helper()
	if len(events) != 2 || len(events[0].FunctionResponses()) != results || !strings.HasSuffix(events[1].Content.Text(), "result(s).") {
		c.Fatalf("after the login: %q", texts(events))
	}
	for _, r := range events[0].FunctionResponses() {
		if text := string(r.Response); !strings.Contains(text, `"events":[]`) {
			c.Errorf("the result is %s", text)
		}
	}
}

// login answers a request and expects the results of that many calls.
func (c *talk) login(a ask, results int) {
	c.Helper()
	c.done(c.send(a.answer(c.visit(a, true))), results)
}

// texts are events as they are sent.
func texts(events []*event.Event) (list []string) {
	for _, ev := range events {
		text, err := json.Marshal(ev)
		if err != nil {
			panic(err)
		}
		list = append(list, string(text))
	}
	return list
}

// exchanges is how many codes the provider was shown.
func (w *world) exchanges() int { return len(w.provider.Requests(provider.TokenPath)) }
