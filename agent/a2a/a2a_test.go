package a2a_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/a2a"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
)

// executor is the agent of a server that the library makes.
type executor struct {
	hold chan struct{} // "wait" waits for it
}

func (e *executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		text, hold := ec.Message.Parts[0].Text(), e.hold
		if text == "reply" {
			yield(proto.NewMessage(proto.MessageRoleAgent, proto.NewTextPart("hello")), nil)
			return
		}
		say := func(ev proto.Event) bool { return yield(ev, nil) }
		if ec.StoredTask == nil && !say(proto.NewSubmittedTask(ec, ec.Message)) {
			return
		}
		say(proto.NewStatusUpdateEvent(ec, proto.TaskStateWorking, nil))
		piece := func(id, text string, last bool) {
			ev := proto.NewArtifactUpdateEvent(ec, proto.ArtifactID(id), proto.NewTextPart(text))
			ev.Append, ev.LastChunk = text != "one", last
			say(ev)
		}
		message := func(parts ...*proto.Part) *proto.Message { return proto.NewMessage(proto.MessageRoleAgent, parts...) }
		switch text {
		case "wait":
			piece("a", "one", false)
			select {
			case <-hold:
			case <-ctx.Done():
				return
			}
			piece("a", " two", true)
		case "fail":
			say(proto.NewStatusUpdateEvent(ec, proto.TaskStateFailed, message(proto.NewTextPart("no luck"))))
			return
		case "ask":
			call := proto.NewDataPart(map[string]any{"id": "q", "name": "choose", "args": map[string]any{"n": 1}})
			call.SetMeta("adk_type", "function_call")
			call.SetMeta("adk_is_long_running", true)
			say(proto.NewStatusUpdateEvent(ec, proto.TaskStateInputRequired, message(proto.NewTextPart("which?"), call)))
			return
		default:
			piece("a", "one", false)
			piece("a", " two", true)
			ev := proto.NewArtifactUpdateEvent(ec, "b", proto.NewFileURLPart("https://files.example/x", "text/plain"))
			ev.Append = false
			say(ev)
		}
		say(proto.NewStatusUpdateEvent(ec, proto.TaskStateCompleted, nil))
	}
}

func (e *executor) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		yield(proto.NewStatusUpdateEvent(ec, proto.TaskStateCanceled, nil), nil)
	}
}

// serve starts a server of the library, whose card prefers one binding.
func serve(t *testing.T, e *executor, binding proto.TransportProtocol, version proto.ProtocolVersion, streaming bool, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(wrap(mux))
	t.Cleanup(srv.Close)
	handler := a2asrv.NewHandler(e, a2asrv.WithCapabilityChecks(&proto.AgentCapabilities{Streaming: streaming}))
	routes := map[proto.TransportProtocol]http.Handler{proto.TransportProtocolJSONRPC: a2asrv.NewJSONRPCHandler(handler), proto.TransportProtocolHTTPJSON: a2asrv.NewRESTHandler(handler)}
	if version == a2av0.Version {
		routes = map[proto.TransportProtocol]http.Handler{proto.TransportProtocolJSONRPC: a2av0.NewJSONRPCHandler(handler), proto.TransportProtocolHTTPJSON: a2av0.NewRESTHandler(handler)}
	}
	mux.Handle("/agent/", http.StripPrefix("/agent", routes[binding]))
	card := &proto.AgentCard{
		Name: "Far", Version: "1", Capabilities: proto.AgentCapabilities{Streaming: streaming},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		SupportedInterfaces: []*proto.AgentInterface{{URL: srv.URL + "/agent/", ProtocolBinding: binding, ProtocolVersion: version}},
	}
	cards := a2asrv.NewStaticAgentCardHandler(card)
	if version == a2av0.Version {
		cards = a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card))
	}
	mux.Handle("GET /.well-known/agent-card.json", cards)
	return srv.URL
}

func unwrapped(h http.Handler) http.Handler { return h }

func connect(t *testing.T, address string) agent.Remote {
	t.Helper()
	r, err := a2a.New(a2a.Config{Card: address})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// line is an update as one line.
func line(t *testing.T, u *agent.RemoteUpdate) string {
	t.Helper()
	var words []string
	if ev := u.Event; ev != nil {
		if ev.Partial {
			words = append(words, "partial")
		}
		if ev.Content != nil {
			doc, err := json.Marshal(ev.Content.Parts)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, string(doc))
		}
		if ev.ErrorCode != "" {
			words = append(words, ev.ErrorCode+": "+ev.ErrorMessage)
		}
		words = append(words, ev.LongRunningToolIDs...)
	}
	if u.Input {
		words = append(words, "input")
	}
	if u.Ended {
		words = append(words, "ended")
	}
	return strings.Join(words, " ")
}

func lines(t *testing.T, updates iter.Seq2[*agent.RemoteUpdate, error]) (list []string, task string) {
	t.Helper()
	for u, err := range updates {
		if err != nil {
			t.Fatal(err)
		}
		task = u.Task
		if l := line(t, u); l != "" {
			list = append(list, l)
		}
	}
	return list, task
}

func text(s string) *agent.RemoteMessage {
	return &agent.RemoteMessage{ID: "m-" + s, Parts: []*event.Part{{Text: s}}}
}

func TestRemote(t *testing.T) {
	t.Parallel()
	whole := []string{`[{"text":"one two"}]`, `[{"fileData":{"mimeType":"text/plain","fileUri":"https://files.example/x"}}]`, "ended"}
	streamed := append([]string{`partial [{"text":"one"}]`, `partial [{"text":" two"}]`, whole[0], "partial " + whole[1]}, whole[1:]...)
	question := `[{"text":"which?"},{"functionCall":{"id":"q","name":"choose","args":{"n":1}}}] q input ended`
	for _, version := range []proto.ProtocolVersion{"1.0", a2av0.Version} {
		for _, binding := range []proto.TransportProtocol{proto.TransportProtocolJSONRPC, proto.TransportProtocolHTTPJSON} {
			for _, streaming := range []bool{true, false} {
				name := string(version) + "/" + string(binding)
				if !streaming {
					name += "/no stream"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					r := connect(t, serve(t, &executor{}, binding, version, streaming, unwrapped))
					said := streamed
					if !streaming {
						said = whole
					}
					for message, want := range map[string][]string{
						"hello": said,
						"reply": {`[{"text":"hello"}] ended`},
						"fail":  {"TASK_FAILED: no luck ended"},
						"ask":   {question},
					} {
						got, task := lines(t, r.Send(t.Context(), nil, text(message)))
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s (-want +got):\n%s", message, diff)
						}
						if message == "reply" {
							continue
						}
						if message == "hello" {
							want = whole
						}
						again, _ := lines(t, r.Follow(t.Context(), nil, task))
						if diff := cmp.Diff(want, again); diff != "" {
							t.Errorf("%s followed (-want +got):\n%s", message, diff)
						}
					}
				})
			}
		}
	}
}

// TestFollow follows a task whose connection has broken.
func TestFollow(t *testing.T) {
	t.Parallel()
	e := &executor{hold: make(chan struct{})}
	r := connect(t, serve(t, e, proto.TransportProtocolJSONRPC, "1.0", true, unwrapped))
	var task string
	for u, err := range r.Send(t.Context(), nil, text("wait")) {
		if err != nil {
			t.Fatal(err)
		}
		if task = u.Task; u.Event != nil {
			break
		}
	}
	var got []string
	for ended := false; !ended; {
		for u, err := range r.Follow(t.Context(), nil, task) {
			if broken := (*agent.RemoteError)(nil); err != nil && !errors.As(err, &broken) {
				t.Fatal(err)
			}
			if err != nil {
				break // it ended before it could be followed
			}
			if e.hold != nil {
				close(e.hold)
				e.hold = nil
			}
			if ended = u.Ended; u.Event != nil && !u.Event.Partial {
				got = append(got, line(t, u))
			}
		}
	}
	if diff := cmp.Diff([]string{`[{"text":"one two"}]`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	e := &executor{hold: make(chan struct{})}
	r := connect(t, serve(t, e, proto.TransportProtocolJSONRPC, "1.0", true, unwrapped))
	var last string
	for u, err := range r.Send(t.Context(), nil, text("wait")) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Event != nil && u.Event.Partial {
			if err := r.Cancel(t.Context(), nil, u.Task); err != nil {
				t.Fatal(err)
			}
		}
		last = line(t, u)
	}
	if want := "TASK_CANCELED: The task of the agent ended as TASK_STATE_CANCELED. ended"; last != want {
		t.Errorf("the last update is %q, want %q", last, want)
	}
}

// TestErrors tells errors that pass from others.
func TestErrors(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	address := serve(t, &executor{}, proto.TransportProtocolJSONRPC, "1.0", true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s := int(status.Load()); s != 0 {
				w.WriteHeader(s)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	for code, passes := range map[int]bool{500: true, 503: true, 429: true, 401: false, 403: false, 404: false, 302: false} {
		status.Store(int64(code))
		for u, err := range connect(t, address).Send(t.Context(), nil, text("hello")) {
			if broken := (*agent.RemoteError)(nil); err == nil || errors.As(err, &broken) != passes {
				t.Errorf("%d: %+v, %v, want that it passes: %t", code, u, err, passes)
			}
		}
	}
	status.Store(0)
	for _, err := range connect(t, address).Follow(t.Context(), nil, "unknown") {
		if broken := (*agent.RemoteError)(nil); !errors.Is(err, proto.ErrTaskNotFound) || errors.As(err, &broken) {
			t.Errorf("an unknown task: %v", err)
		}
	}
	for _, bad := range []string{"", "agents.example", "ftp://agents.example", "/card.json"} {
		if _, err := a2a.New(a2a.Config{Card: bad}); err == nil {
			t.Errorf("%q is accepted as the address of a card", bad)
		}
	}
	if _, err := a2a.New(a2a.Config{CardJSON: []byte("{")}); err == nil {
		t.Error("a card that is not JSON is accepted")
	}
}

// TestMoved has an agent that moves to another address of its server. The card is read
// again after a call that failed, and if it cannot be read, the old one is used.
func TestMoved(t *testing.T) {
	t.Parallel()
	var moved, cardless atomic.Bool
	address := serve(t, &executor{}, proto.TransportProtocolJSONRPC, "1.0", true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			card := strings.HasSuffix(r.URL.Path, ".json")
			switch {
			case card && cardless.Load(), moved.Load() && strings.HasPrefix(r.URL.Path, "/agent/"):
				w.WriteHeader(http.StatusNotFound)
			case moved.Load() && card:
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, r)
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(strings.ReplaceAll(rec.Body.String(), "/agent/", "/new/")))
			default:
				r.URL.Path = strings.Replace(r.URL.Path, "/new/", "/agent/", 1)
				h.ServeHTTP(w, r)
			}
		})
	})
	r := connect(t, address)
	works := func() bool {
		t.Helper()
		for _, err := range r.Send(t.Context(), nil, text("reply")) {
			if err != nil {
				return false
			}
		}
		return true
	}
	for _, step := range []struct {
		what            string
		moved, cardless bool
		works           bool
	}{
		{"at first", false, false, true},
		{"the agent has moved", true, false, false},
		{"the card is read again", true, false, true},
		{"the agent has moved back, and there is no card", false, true, true},
	} {
		moved.Store(step.moved)
		cardless.Store(step.cardless)
		if works() != step.works {
			t.Errorf("%s: it works is %v", step.what, !step.works)
		}
	}
}

// TestCredentialStaysAtItsServer has a card that sends clients to another server.
func TestCredentialStaysAtItsServer(t *testing.T) {
	t.Parallel()
	var stolen atomic.Bool
	thief := serve(t, &executor{}, proto.TransportProtocolJSONRPC, "1.0", true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stolen.Store(stolen.Load() || r.Header.Get("Authorization") != "")
			h.ServeHTTP(w, r)
		})
	})
	lure := httptest.NewServer(nil)
	defer lure.Close()
	auth := &agent.RemoteAuth{
		Scheme:     &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer"},
		Credential: &credential.Credential{Type: credential.TypeHTTP, HTTP: &credential.HTTP{Scheme: "bearer", Token: "secret"}},
	}
	card := `{"name":"x","version":"1","capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[],"supportedInterfaces":[{"url":"` + thief + `/agent/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
	lure.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(card)) })
	var failure error
	for _, err := range connect(t, lure.URL).Send(t.Context(), auth, text("hello")) {
		failure = err
	}
	if failure == nil || !strings.Contains(failure.Error(), "names another server") || stolen.Load() {
		t.Errorf("%v, the other server got the credential: %t", failure, stolen.Load())
	}
	for _, err := range connect(t, thief).Send(t.Context(), auth, text("hello")) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !stolen.Load() {
		t.Error("the server of the card did not get the credential")
	}
}
