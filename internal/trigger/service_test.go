package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/session/memstore"
)

// starter remembers runs by their idempotency keys.
type starter struct {
	starts []*Start
	err    error
}

func (s *starter) Start(_ context.Context, start *Start) (string, bool, error) {
	if s.err != nil {
		return "", false, s.err
	}
	repeated := start.IdempotencyKey != "" && slices.ContainsFunc(s.starts, func(one *Start) bool {
		return one.Key == start.Key && one.IdempotencyKey == start.IdempotencyKey
	})
	s.starts = append(s.starts, start)
	return "e-1", repeated, nil
}

func service(t *testing.T) (*Service, *starter) {
	t.Helper()
	keys, err := vault.New(vault.Generate())
	if err != nil {
		t.Fatal(err)
	}
	runs := &starter{}
	return &Service{
		Vault:   broker.New(broker.Options{Secrets: memstore.New(0), Vault: keys, Log: slog.New(slog.DiscardHandler)}),
		Files:   func(string) (map[string]*Trigger, error) { return nil, nil },
		Starter: runs, Now: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler),
	}, runs
}

// as returns a caller.
func as(t *testing.T, user string, scopes ...access.Scope) *access.Caller {
	t.Helper()
	caller, err := access.RecallUsers(t.Context(), access.Holder{ID: "user:" + user, User: user, Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

func (s *Service) send(t *testing.T, r *Request) (*Result, error) {
	t.Helper()
	one, err := s.Authenticate(t.Context(), r)
	if err != nil {
		return nil, err
	}
	return s.Deliver(t.Context(), one, r, nil)
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec    Spec
		body    string
		headers []string
		// want is the user, the session, the message and the state, or the outcome, or a
		// part of the error.
		want string
		err  string
	}{
		"templates": {
			Spec{User: "u-{{ body.by }}", Session: "issue-{{ body.n }}", Message: "New: {{ body.title }}", StateDelta: map[string]json.RawMessage{"n": json.RawMessage(`"{{ body.n }}"`)}},
			`{"by":"ann","n":7,"title":"Hi"}`, nil, `u-ann issue-7 "New: Hi" map[n:7]`, "",
		},
		"whole body":     {Spec{User: "u", Session: "s"}, `{"a":1}`, nil, `u s "{\n  \"a\": 1\n}" map[]`, ""},
		"text":           {Spec{User: "u", Session: "s"}, "hello", []string{"Content-Type", "text/plain"}, `u s "hello" map[]`, ""},
		"form":           {Spec{User: "u", Session: "s", Message: "{{ body.text }}"}, "text=a+b&x=1", []string{"Content-Type", "application/x-www-form-urlencoded"}, `u s "a b" map[]`, ""},
		"form with JSON": {Spec{User: "u", Session: "s", Message: "{{ body.a }}"}, "payload=%7B%22a%22%3A1%7D", []string{"Content-Type", "application/x-www-form-urlencoded"}, `u s "1" map[]`, ""},
		"not JSON":       {Spec{User: "u"}, "hello", []string{"Content-Type", "application/json"}, "", "not JSON"},
		"not text":       {Spec{User: "u"}, "\xff", nil, "", "nor text"},
		"empty":          {Spec{User: "u"}, "", nil, "", "empty message"},
		"missing":        {Spec{User: "u", Message: "{{ body.issue.title }}"}, "{}", nil, "", "the payload has no body.issue.title,"},
		"bad user":       {Spec{User: "{{ body.u }}"}, `{"u":".."}`, nil, "", "cannot be an id"},
		"bad session":    {Spec{User: "u", Session: "{{ body.s }}"}, `{"s":"a\u0000"}`, nil, "", "cannot be an id"},
		"long session":   {Spec{User: "u", Session: "{{ body.s }}"}, `{"s":"` + strings.Repeat("a", 300) + `"}`, nil, "", "cannot be an id"},
		"too much":       {Spec{User: "u"}, `"` + strings.Repeat("a", maxOutput+1) + `"`, nil, "", "more than"},
		"paused":         {Spec{User: "u", Paused: true}, "{}", nil, Ignored, ""},
		"other event":    {Spec{User: "u", Events: []string{"invoice.paid"}}, `{"type":"invoice.sent"}`, nil, Ignored, ""},
		"event":          {Spec{User: "u", Session: "s", Message: "{{ type }}", Events: []string{"invoice.*"}}, `{"type":"invoice.sent"}`, nil, `u s "invoice.sent" map[]`, ""},
		"other value":    {Spec{User: "u", Match: map[string][]string{"body.ref": {"main"}}}, `{"ref":"dev"}`, nil, Ignored, ""},
		"no value":       {Spec{User: "u", Match: map[string][]string{"body.ref": {"main"}}}, `{}`, nil, Ignored, ""},
		"value":          {Spec{User: "u", Session: "s", Message: "m", Match: map[string][]string{"body.n": {"1", "2"}}}, `{"n":2}`, nil, `u s "m" map[]`, ""},
		"no secrets":     {Spec{User: "u", Message: "{{ headers.authorization }}"}, "{}", nil, "", "no headers.authorization"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, runs := service(t)
			tt.spec.Check = SharedSecret
			if _, _, err := s.Create(t.Context(), nil, "a", "t", aSecret, &tt.spec); err != nil {
				t.Fatal(err)
			}
			result, err := s.send(t, request(tt.body, append(tt.headers, "Authorization", "Bearer "+aSecret)...))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("%v, want %q", err, tt.err)
			}
			past := s.Past("a", "t")
			if err != nil {
				if len(runs.starts) != 0 || past[0].Outcome != Failed {
					t.Errorf("%d runs, %+v", len(runs.starts), past[0])
				}
				return
			}
			got := result.Outcome
			if result.Outcome == Started {
				one := runs.starts[0]
				state := map[string]string{}
				for k, v := range one.StateDelta {
					state[k] = string(v)
				}
				got = one.Key.User + " " + one.Key.ID + " " + quote(one.Message.Text()) + " " + fmt.Sprint(state)
			}
			if got != tt.want || past[0].Outcome != result.Outcome {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// A delivery that is repeated has the run of the first one; every sender and every envelope has
// its own place for the id.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	const json = "application/json"
	message := `{"message":{"data":"eyJuIjoxfQ==","messageId":"136969346945","attributes":{"k":"v","eventType":"OBJECT_FINALIZE"},"publishTime":"2026-01-01T00:00:00Z"},"subscription":"projects/p/subscriptions/s"}`
	for name, tt := range map[string]struct {
		check   Check
		text    string // template of the message
		body    string
		headers []string
		id      string
		kind    string
		want    string
	}{
		"github":  {GitHub, "{{ body.n }}", `{"n":1,"action":"opened"}`, []string{"X-GitHub-Delivery", "72d3162e", "X-GitHub-Event", "issues"}, "72d3162e", "issues.opened", "1"},
		"slack":   {Slack, "{{ body.event.text }}", `{"type":"event_callback","event_id":"Ev1","event":{"type":"message","text":"hi"}}`, nil, "Ev1", "message", "hi"},
		"button":  {Slack, "{{ body.actions.0.value }}", "payload=" + `{"type":"block_actions","trigger_id":"12.3","actions":[{"value":"yes"}]}`, []string{"Content-Type", "application/x-www-form-urlencoded"}, "12.3", "block_actions", "yes"},
		"stripe":  {Stripe, "{{ body.type }}", `{"id":"evt_1","type":"invoice.paid"}`, nil, "evt_1", "invoice.paid", "invoice.paid"},
		"webhook": {StandardWebhooks, "x", `{"type":"a.b"}`, []string{"Webhook-Id", "msg_1"}, "msg_1", "a.b", "x"},
		"key":     {SharedSecret, "x", `{}`, []string{"Idempotency-Key", "k1"}, "k1", "", "x"},
		"none":    {SharedSecret, "x", `{}`, nil, "", "", "x"},
		"pubsub":  {Google, "{{ body.n }} {{ attributes.k }} {{ attributes.subscription }}", message, []string{"Content-Type", json}, "136969346945", "OBJECT_FINALIZE", "1 v projects/p/subscriptions/s"},
		"eventarc": {
			Google, "{{ body.n }} {{ attributes.type }} {{ attributes.k }}", message,
			[]string{"Content-Type", json, "Ce-Specversion", "1.0", "Ce-Id", "42", "Ce-Source", "//pubsub.googleapis.com/t", "Ce-Type", "google.cloud.pubsub.topic.v1.messagePublished"},
			"//pubsub.googleapis.com/t 42", "google.cloud.pubsub.topic.v1.messagePublished", "1 google.cloud.pubsub.topic.v1.messagePublished v",
		},
		"binary": {
			SharedSecret, "{{ body.name }} {{ attributes.subject }}", `{"name":"o"}`,
			[]string{"Content-Type", json, "Ce-Specversion", "1.0", "Ce-Id", "1", "Ce-Source", "/b", "Ce-Type", "t", "Ce-Subject", "caf%C3%A9"},
			"/b 1", "t", "o café",
		},
		"structured": {
			SharedSecret, "{{ body.name }} {{ attributes.source }}", `{"specversion":"1.0","id":"1","source":"/b","type":"t","data":{"name":"o"}}`,
			[]string{"Content-Type", "application/cloudevents+json; charset=utf-8"},
			"/b 1", "t", "o /b",
		},
		"structured, bytes": {
			SharedSecret, "{{ body.name }}", `{"specversion":"1.0","id":"1","source":"/b","type":"t","datacontenttype":"application/json","data_base64":"eyJuYW1lIjoibyJ9"}`,
			[]string{"Content-Type", "application/cloudevents+json"},
			"/b 1", "t", "o",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, runs := service(t)
			one := &Trigger{App: "a", Name: "t", Spec: Spec{Check: tt.check, User: "u", Message: tt.text}}
			var results []*Result
			for range 2 {
				result, err := s.Deliver(t.Context(), one, request(tt.body, tt.headers...), nil)
				if err != nil {
					t.Fatal(err)
				}
				results = append(results, result)
			}
			first, second := runs.starts[0], runs.starts[1]
			if first.Message.Text() != tt.want || results[0].Delivery != tt.id || results[0].Type != tt.kind || results[0].Outcome != Started {
				t.Errorf("%q, %+v", first.Message.Text(), results[0])
			}
			again := Repeated
			if tt.id == "" {
				again = Started
			}
			if results[1].Outcome != again || (first.Key == second.Key) != (tt.id != "") {
				t.Errorf("again: %+v, %v and %v", results[1], first.Key, second.Key)
			}
		})
	}
}

func TestDeliveryPath(t *testing.T) {
	t.Parallel()
	s, runs := service(t)
	one := &Trigger{App: "a", Name: "t", Spec: Spec{Check: SharedSecret, User: "u", Delivery: "{{ body.n }}"}}
	for _, body := range []string{`{"n":1}`, `{"n":1}`, `{"n":2}`} {
		if _, err := s.Deliver(t.Context(), one, request(body), nil); err != nil {
			t.Fatal(err)
		}
	}
	if runs.starts[0].Key != runs.starts[1].Key || runs.starts[0].Key == runs.starts[2].Key {
		t.Errorf("%v", runs.starts)
	}
	if _, err := s.Deliver(t.Context(), one, request("{}"), nil); err == nil {
		t.Error("a delivery without the id that the trigger names is accepted")
	}
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	s, runs := service(t)
	one := &Trigger{App: "a", Name: "t", Spec: Spec{Check: Slack, User: "u", Paused: true}}
	result, err := s.Deliver(t.Context(), one, request(`{"type":"url_verification","challenge":"3eZbrw1aB"}`), nil)
	if err != nil || result.Challenge != "3eZbrw1aB" || len(runs.starts) != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := s.Deliver(t.Context(), one, request(`{"type":"url_verification"}`), nil); err == nil {
		t.Error("no challenge")
	}
	one.Spec.Check = GitHub
	if result, err = s.Deliver(t.Context(), one, request(`{"zen":"x"}`, "X-GitHub-Event", "ping"), nil); err != nil || result.Outcome != Ignored {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestBatchesAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := open(&Spec{}, request("[]", "Content-Type", "application/cloudevents-batch+json")); err == nil {
		t.Error("it is accepted")
	}
}

// A caller may have triggers that act as itself, and see and change those alone.
func TestOwners(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	bob, alice := as(t, "bob", access.Triggers), as(t, "alice", access.Run)
	backend, root := as(t, "", access.Triggers, access.Users), as(t, "", access.Admin)
	create := func(caller *access.Caller, name string, spec Spec) error {
		spec.Check = SharedSecret
		_, _, err := s.Create(t.Context(), caller, "a", name, "", &spec)
		return err
	}
	forbidden := func(err error) bool { _, ok := errors.AsType[*ForbiddenError](err); return ok }
	if err := errors.Join(create(bob, "bobs", Spec{}), create(backend, "any", Spec{User: "{{ body.user }}"}), create(backend, "of-alice", Spec{User: "alice"}),
		create(root, "shared", Spec{User: "x", StateDelta: map[string]json.RawMessage{"app:k": json.RawMessage("1")}})); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"another user": create(bob, "x", Spec{User: "alice"}),
		"any user":     create(bob, "x", Spec{User: "{{ body.user }}"}),
		"shared state": create(backend, "x", Spec{User: "alice", StateDelta: map[string]json.RawMessage{"app:k": json.RawMessage("1")}}),
	} {
		if !forbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := create(alice, "bobs", Spec{}); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if err := create(root, "x", Spec{User: "u", Issuer: "https://evil.example"}); err == nil {
		t.Error("a caller chooses an issuer")
	}
	for want, caller := range map[string]*access.Caller{"bobs": bob, "of-alice": alice, "any bobs of-alice shared": root} {
		list, problem, err := s.List(t.Context(), caller, "a")
		var names []string
		for _, one := range list {
			names = append(names, one.Name)
		}
		if strings.Join(names, " ") != want || err != nil || problem != nil {
			t.Errorf("%v, want %s, %v, %v", names, want, err, problem)
		}
	}
	pause := func(spec *Spec, _ *string) error { spec.Paused = true; return nil }
	if _, _, err := s.Change(t.Context(), alice, "a", "bobs", pause); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), alice, "a", "bobs"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	// Who has changed it owns it, and must have the rights.
	if _, _, err := s.Change(t.Context(), bob, "a", "bobs", func(spec *Spec, _ *string) error { spec.User = "alice"; return nil }); !forbidden(err) {
		t.Error(err)
	}
	changed, secret, err := s.Change(t.Context(), alice, "a", "of-alice", pause)
	if err != nil || secret != "" || changed.Owner.ID != alice.ID || !changed.Spec.Paused {
		t.Errorf("%+v %q %v", changed, secret, err)
	}
	before := changed.secret
	if changed, secret, err = s.Change(t.Context(), alice, "a", "of-alice", func(_ *Spec, secret *string) error { *secret = ""; return nil }); err != nil || secret == "" || secret == before {
		t.Errorf("%+v %q %v", changed, secret, err)
	}
	if err := s.Delete(t.Context(), bob, "a", "bobs"); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(t.Context(), bob, "a", "bobs"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// A trigger does nothing any more when its owner may not.
func TestOwnerIsRecalled(t *testing.T) {
	t.Parallel()
	one := &Trigger{Spec: Spec{User: "bob"}, Owner: &Owner{ID: "key:k"}}
	now := as(t, "bob", access.Run)
	for name, tt := range map[string]struct {
		now  *access.Caller
		err  error
		user string
		want error
	}{
		"as before":   {now, nil, "bob", nil},
		"revoked":     {nil, &access.RefusedError{Why: "gone"}, "bob", ErrOwner},
		"other user":  {now, nil, "alice", ErrOwner},
		"only reads":  {as(t, "bob", access.Read), nil, "bob", ErrOwner},
		"unavailable": {nil, &access.UnavailableError{Cause: errors.New("no")}, "bob", errors.ErrUnsupported},
	} {
		err := one.allowed(t.Context(), tt.user, func(context.Context, access.Holder) (*access.Caller, error) { return tt.now, tt.err })
		if errors.Is(tt.want, errors.ErrUnsupported) {
			if _, ok := errors.AsType[*access.UnavailableError](err); !ok {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An unknown trigger and a wrong secret look the same.
func TestUnknownTriggers(t *testing.T) {
	t.Parallel()
	s, _ := service(t)
	if _, _, err := s.Create(t.Context(), nil, "a", "t", "", &Spec{Check: SharedSecret, User: "u"}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Request{
		{App: "a", Name: "none", Header: http.Header{}},
		{App: "none", Name: "t", Header: http.Header{}},
		{App: "a", Name: "..", Header: http.Header{}},
		{App: "a", Name: "t", Header: http.Header{}},
		{App: "a", Name: "t", Header: http.Header{"Authorization": {"Bearer " + another}}},
	} {
		_, err := s.Authenticate(t.Context(), r)
		if _, ok := errors.AsType[*RefusedError](err); !ok {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if past := s.Past("a", "t"); len(past) != 1 || past[0].Outcome != Refused {
		t.Errorf("%v", past)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string {
		return map[string]string{"SECRET": aSecret, "SHORT": "x"}[name]
	}
	all, err := ReadFile("a", []byte(`{"one":{"check":"secret","secret_env":"SECRET","userId":"{{ body.u }}"},"two":{"check":"github","secretEnv":"NONE","userId":"u"},
		"three":{"check":"github","secretEnv":"SHORT","userId":"u"},"four":{"check":"google","audience":"a","email":"e@x.example","issuer":"https://i.example","userId":"u"}}`), getenv)
	if err != nil || all["one"].Problem != "" || !strings.Contains(all["two"].Problem, "NONE is not set") || !strings.Contains(all["three"].Problem, "16 characters") || all["four"].Problem != "" {
		t.Errorf("%+v, %v", all, err)
	}
	for doc, want := range map[string]string{
		`[]`: "object",
		`{"a":{"check":"secret","secretEnv":"SECRET"}}`:                                    "userId",
		`{"a":{"check":"secret","userId":"u"}}`:                                            "secretEnv",
		`{"a":{"check":"secret","secret":"x","userId":"u"}}`:                               "not a member",
		`{"a b":{"check":"secret","secretEnv":"SECRET","userId":"u"}}`:                     "name",
		`{"a":{"check":"secret","secretEnv":"SECRET","userId":"u","mesage":"typo"}}`:       "mesage",
		`{"a":{"check":"google","secretEnv":"X","audience":"a","email":"e","userId":"u"}}`: "secretEnv",
	} {
		if _, err := ReadFile("a", []byte(doc), getenv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", doc, err)
		}
	}
	if all, err := ReadFile("a", []byte("null"), getenv); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
}

func FuzzPayload(f *testing.F) {
	for _, seed := range [][3]string{
		{`{"message":{"data":"eyJuIjoxfQ==","messageId":"1"},"subscription":"s"}`, "application/json", ""},
		{`{"specversion":"1.0","id":"1","source":"/b","data_base64":"eyJ9"}`, "application/cloudevents+json", ""},
		{"payload=%7B%7D&a=%ff", "application/x-www-form-urlencoded", "1.0"},
		{"\xff", "", "1.0"},
	} {
		f.Add([]byte(seed[0]), seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, body []byte, kind, version string) {
		for _, check := range checks {
			one := &Trigger{App: "a", Name: "t", Spec: Spec{Check: Check(check), User: "u", Match: map[string][]string{"body.a": {"b"}}}}
			r := request(string(body), "Content-Type", kind, "Ce-Specversion", version, "Ce-Id", "%zz")
			p, err := open(&one.Spec, r)
			if err != nil {
				continue
			}
			p.ignored(&one.Spec)
			if start, err := one.start(p); err == nil && len(start.Message.Text()) > maxOutput {
				t.Errorf("%d bytes", len(start.Message.Text()))
			}
		}
	})
}

func quote(text string) string {
	doc, _ := encode(text, "")
	return string(doc)
}
