package server_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// sleeper is an application whose agent calls a tool that takes ten seconds when the message is "nap", and repeats
// every other message.
type sleeper struct {
	apps
	model *scripted.Model

	mu          sync.Mutex
	interrupted []time.Duration // the durations of naps that were interrupted
}

const nap = 10 * time.Second

func newSleeper(t *testing.T) *sleeper {
	t.Helper()
	s := &sleeper{}
	sleep := tool.Must(tool.New(tool.Declaration{Name: "sleep", Description: "Sleeps."},
		func(ctx *tool.Context, _ struct{}) (string, error) {
			begun := time.Now()
			select {
			case <-time.After(nap):
				return "rested", nil
			case <-ctx.Done():
				s.mu.Lock()
				defer s.mu.Unlock()
				s.interrupted = append(s.interrupted, time.Since(begun))
				return "", ctx.Err()
			}
		}))
	s.model = scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		switch text := scripted.LastUserText(req); {
		case len(scripted.LastResponses(req)) > 0:
			return scripted.Say("Good morning.")(ctx, req)
		case text == "nap":
			return scripted.Call("sleep", nil)(ctx, req)
		default:
			return scripted.Say("You said: "+text)(ctx, req)
		}
	})
	root, err := agent.NewLLM(agent.LLMConfig{Name: "sleeper", Model: s.model, Tools: []tool.Tool{sleep}})
	if err != nil {
		t.Fatal(err)
	}
	s.apps = apps{"weather": root}
	return s
}

// asleep starts a server with a session whose run began to sleep a second ago, and returns the pending response.
func asleep(t *testing.T, change ...func(*server.Options)) (*server.Server, *sleeper, <-chan *httptest.ResponseRecorder) {
	t.Helper()
	app := newSleeper(t)
	srv := serve(t, app.apps, change...)
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	first := later(t, srv, "/run", message("nap"))
	time.Sleep(time.Second)
	return srv, app, first
}

// runOf returns the id of the run that a response names.
func runOf(rec *httptest.ResponseRecorder) string { return rec.Header().Get("X-Parley-Run") }

// status returns the status of a run of session1.
func status(t *testing.T, srv http.Handler, id string) string {
	t.Helper()
	rec := do(t, srv, "GET", session1+"/runs/"+id, "")
	wantStatus(t, rec, http.StatusOK)
	var row struct{ Status, Stop string }
	if err := json.Unmarshal(rec.Body.Bytes(), &row); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(row.Status + " " + row.Stop)
}

// texts returns a summary of the events of session1.
func texts(t *testing.T, srv http.Handler) []string {
	t.Helper()
	rec := do(t, srv, "GET", session1, "")
	wantStatus(t, rec, http.StatusOK)
	var s struct{ Events json.RawMessage }
	if err := json.Unmarshal(rec.Body.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	return short(t, s.Events)
}

func short(t *testing.T, doc []byte) []string {
	t.Helper()
	var events []struct {
		Content *struct {
			Parts []struct {
				Text             string
				FunctionCall     *struct{ Name string }
				FunctionResponse *struct{ Response struct{ Status string } }
			}
		}
		ErrorCode string
	}
	if err := json.Unmarshal(doc, &events); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	list := []string{}
	for _, e := range events {
		line := ""
		if e.Content != nil {
			for _, p := range e.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					line += p.FunctionCall.Name + "?"
				case p.FunctionResponse != nil:
					line += strings.TrimSpace("! " + p.FunctionResponse.Response.Status)
				default:
					line += p.Text
				}
			}
		}
		list = append(list, strings.TrimSpace(line+" "+e.ErrorCode))
	}
	return list
}

func want[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A run that was started in the background has a URL at once and does not depend on its client.
func TestStartRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := serve(t, newSleeper(t).apps)
		wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
		ctx, leave := context.WithCancel(t.Context())
		rec := httptest.NewRecorder()
		body := `{"newMessage":{"parts":[{"text":"nap"}]},"streaming":true,"onDisconnect":"cancel"}`
		srv.ServeHTTP(rec, request(t, "POST", session1+"/runs", body).WithContext(ctx))
		leave()
		wantStatus(t, rec, http.StatusAccepted)
		address := rec.Header().Get("Location")
		want(t, "address", session1+"/runs/"+runOf(rec), address)
		if got := rec.Body.String(); !strings.Contains(got, `"status":"running"`) || strings.Contains(got, "endTime") {
			t.Errorf("accepted as %s", got)
		}
		synctest.Wait()
		so := do(t, srv, "GET", address+"/events", "", "Accept: application/json")
		want(t, "events so far", []string{"sleep?"}, short(t, so.Body.Bytes()))

		follower := newRecorder()
		srv.ServeHTTP(follower, request(t, "GET", address+"/events", ""))
		want(t, "what the follower saw", []string{
			"0s 200", "0s flush", "0s id:", "0s flush", "10s id:", "10s flush", "10s piece", "10s flush", "10s piece", "10s flush",
			"10s id:", "10s flush", "10s event:", "10s flush",
		}, follower.log)
		want(t, "history", []string{"nap", "sleep?", "!", "Good morning."}, texts(t, srv))
		want(t, "status", "completed", status(t, srv, runOf(rec)))
		if got := follower.body.String(); !strings.Contains(got, "event: end\ndata: "+do(t, srv, "GET", address, "").Body.String()+"\n\n") {
			t.Errorf("the end is not the run: %s", got)
		}
	})
}

func TestFollowInSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := serve(t, scripts(t, after(20*time.Second, scripted.Say("Done.")), scripted.Say("Me, too.")))
		wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
		const body = `{"newMessage":{"parts":[{"text":"hi"}]}}`
		wantStatus(t, do(t, srv, "POST", session1+"/runs", body), http.StatusAccepted)
		second := do(t, srv, "POST", session1+"/runs", body)
		if got := second.Body.String(); !strings.Contains(got, `"status":"queued"`) || strings.Contains(got, "attempt") {
			t.Errorf("accepted as %s", got)
		}
		rec := newRecorder() // of a queued run
		srv.ServeHTTP(rec, request(t, "GET", second.Header().Get("Location")+"/events", ""))
		want(t, "what the follower saw",
			[]string{"0s 200", "0s flush", "15s :", "15s flush", "20s id:", "20s flush", "20s event:", "20s flush"}, rec.log)

		head := newRecorder()
		srv.ServeHTTP(head, request(t, "HEAD", second.Header().Get("Location")+"/events", ""))
		want(t, "HEAD", []string{"0s 200", "0s flush"}, head.log)
	})
}

// A client that follows a run is redirected when the server shuts down and the run continues elsewhere. It sees the end
// of a run that does not.
func TestFollowUntilShutdown(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]time.Duration{"own store": 0, "shared store": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				app := newSleeper(t)
				o := server.Options{Store: memstore.New(0), Apps: app.apps, Log: slog.New(slog.DiscardHandler)}
				o.Engine = run.NewEngine(run.Options{Store: o.Store, Agent: app.Agent, Log: o.Log, Lease: lease})
				srv := server.New(o)
				wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
				first := do(t, srv, "POST", session1+"/runs", `{"newMessage":{"parts":[{"text":"nap"}]}}`)
				second := do(t, srv, "POST", session1+"/runs", `{"newMessage":{"parts":[{"text":"hi"}]}}`)
				synctest.Wait()
				follow := func(rec *httptest.ResponseRecorder) <-chan []string {
					c := make(chan []string, 1)
					go func() {
						body := do(t, srv, "GET", rec.Header().Get("Location")+"/events", "").Body.String()
						c <- strings.Split(strings.TrimSpace(body), "\n\n")
					}()
					return c
				}
				one, two, stream, plain := follow(first), follow(second), later(t, srv, "/run_sse", message("hello")), later(t, srv, "/run", message("hello"))
				time.Sleep(16 * time.Second / 2)
				done, cancel := context.WithCancel(context.Background())
				cancel()
				srv.Engine.Shutdown(done)

				frames := <-one
				id, _, _ := strings.Cut(strings.TrimPrefix(frames[0], "id: "), "\n")
				last := frames[len(frames)-1]
				if lease == 0 {
					if !strings.HasPrefix(last, "event: end\n") || !strings.Contains(last, `"status":"cancelled"`) {
						t.Errorf("the last frame is %s", last)
					}
				} else {
					want(t, "last frame", `event: resume`+"\n"+`data: {"url":"`+first.Header().Get("Location")+"/events?after="+id+`"}`, last)
				}
				want(t, "frames of the queued run", []string{`event: resume` + "\n" + `data: {"url":"` + second.Header().Get("Location") + `/events"}`}, <-two)
				for _, left := range []*httptest.ResponseRecorder{<-stream, <-plain} { // they were accepted
					wantStatus(t, left, http.StatusInternalServerError)
					at := session1 + "/runs/" + runOf(left) + "/events"
					want(t, "address", at, left.Header().Get("Location"))
					want(t, "invitation to repeat it", "", left.Header().Get("Retry-After"))
					if !strings.Contains(left.Body.String(), "Its events are at "+at+": look there before you send the message again.") {
						t.Errorf("the client is told %s", left.Body)
					}
				}
				wantStatus(t, do(t, srv, "POST", session1+"/runs", `{"newMessage":{"parts":[{"text":"hi"}]}}`), http.StatusServiceUnavailable)
			})
		})
	}
}

// A stream does not end as if it were complete when the server shuts down and the run continues.
func TestStreamUntilShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		app := newSleeper(t)
		o := server.Options{Store: memstore.New(0), Apps: app.apps, Log: slog.New(slog.DiscardHandler)}
		o.Engine = run.NewEngine(run.Options{Store: o.Store, Agent: app.Agent, Log: o.Log, Lease: time.Minute})
		srv := server.New(o)
		wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
		stream := later(t, srv, "/run_sse", message("nap"))
		time.Sleep(time.Second)
		done, cancel := context.WithCancel(context.Background())
		cancel()
		srv.Engine.Shutdown(done)
		rec := <-stream
		wantStatus(t, rec, http.StatusOK)
		frames := strings.Split(strings.TrimSpace(rec.Body.String()), "\n\n")
		var event struct{ ID string }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(frames[0], "data: ")), &event); err != nil {
			t.Fatal(err)
		}
		var last struct {
			Error   string
			Details struct {
				Type string `json:"error_type"`
				URL  string
			} `json:"error_details"`
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(frames[len(frames)-1], "data: ")), &last); err != nil {
			t.Fatal(err)
		}
		at := session1 + "/runs/" + runOf(rec) + "/events?after=" + event.ID
		want(t, "address", at, last.Details.URL)
		want(t, "type", "shutdown", last.Details.Type)
		if !strings.HasSuffix(last.Error, "Its events are at "+at+": look there before you send the message again.") {
			t.Errorf("the client is told %q", last.Error)
		}
	})
}

// A run that is followed ends with its session.
func TestFollowUntilDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, _, first := asleep(t)
		second := do(t, srv, "POST", session1+"/runs", `{"newMessage":{"parts":[{"text":"hi"}]}}`)
		rec := make(chan *httptest.ResponseRecorder, 1)
		go func() { rec <- do(t, srv, "GET", second.Header().Get("Location")+"/events", "") }()
		synctest.Wait()
		wantStatus(t, do(t, srv, "DELETE", session1, ""), http.StatusOK)
		if got := (<-rec).Body.String(); !strings.HasPrefix(got, "event: end\n") || !strings.Contains(got, `"status":"cancelled"`) {
			t.Errorf("the end is %s", got)
		}
		wantStatus(t, <-first, http.StatusConflict)
		wantStatus(t, do(t, srv, "GET", second.Header().Get("Location")+"/events", ""), http.StatusNotFound)
	})
}

func TestAccept(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather(), func(o *server.Options) { o.AllowOrigins = []string{"https://a.example"} })
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	path := session1 + "/runs/" + runOf(do(t, srv, "POST", "/run", message("hi"))) + "/events"
	const stream, whole = "text/event-stream; charset=utf-8", "application/json"
	for accept, kind := range map[string]string{
		"*/*":                                       stream,
		"text/event-stream":                         stream,
		"text/html, */*;q=0.8":                      stream,
		"application/json":                          whole,
		"Application/JSON; charset=utf-8":           whole,
		"application/json, text/event-stream":       whole,
		"text/event-stream, application/json":       stream,
		"application/json;q=0.5, text/event-stream": stream,
		"text/event-stream;q=0.5, application/json": whole,
		"text/event-stream;q=0":                     whole,
		"application/json;q=0":                      stream,
		"application/json;q=much":                   stream,
		",;":                                        stream,
	} {
		rec := do(t, srv, "GET", path, "", "Accept: "+accept)
		wantStatus(t, rec, http.StatusOK)
		want(t, accept, kind, rec.Header().Get("Content-Type"))
		want(t, "Vary", []string{"Origin", "Accept"}, rec.Header()["Vary"])
	}
}

// cancellable is a store that, like a database, fails once the context of a request is done.
type cancellable struct{ session.Store }

func (s cancellable) Run(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Store.Run(ctx, key, id)
}

// Prefer: wait=N bounds how long /run takes, and nothing else.
func TestPatience(t *testing.T) {
	t.Parallel()
	for prefer, tt := range map[string]struct {
		status int
		after  time.Duration
	}{
		"wait=0":                             {202, 0},
		"wait=1":                             {202, time.Second},
		`return=minimal; foo, wait = "2"`:    {202, 2 * time.Second},
		"wait=3, wait=1":                     {202, 3 * time.Second},
		"wait=11":                            {200, nap},
		"wait=99999999999999999999":          {200, nap},
		"respond-async":                      {200, nap},
		"wait=":                              {422, 0},
		"wait":                               {422, 0},
		"wait=-1":                            {422, 0},
		"wait=1.5":                           {422, 0},
		"wait=1s, handling=lenient":          {422, 0},
		"handling=lenient;wait=1, waiting=2": {200, nap},
	} {
		t.Run(prefer, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := serve(t, newSleeper(t).apps, func(o *server.Options) { o.Store = session.NewStore(cancellable{o.Store}) })
				wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
				for _, line := range []bool{false, true} { // the second run is queued, unless the first has ended
					begun := time.Now()
					rec := do(t, srv, "POST", "/run", message("nap"), "Prefer: "+prefer, "X-Parley-On-Disconnect: cancel")
					wantStatus(t, rec, tt.status)
					want(t, "time", tt.after, time.Since(begun))
					switch tt.status {
					case http.StatusAccepted:
						if rec.Header().Get("Preference-Applied") == "" || rec.Header().Get("Location") == "" {
							t.Errorf("headers %v", rec.Header())
						}
						if line {
							want(t, "status", session.Completed, finish(t, srv, runOf(rec)).Status)
							want(t, "events", 8, len(texts(t, srv)))
						}
					case http.StatusOK:
						want(t, "turn", []string{"sleep?", "!", "Good morning."}, short(t, rec.Body.Bytes()))
					default:
						want(t, "events", 0, len(texts(t, srv)))
					}
				}
			})
		})
	}
}

// The client decides what happens to a run when it disconnects; the server has a default.
func TestOnDisconnect(t *testing.T) {
	t.Parallel()
	cancels := func(o *server.Options) { o.OnDisconnect = "cancel" }
	for name, tt := range map[string]struct {
		member, header string
		change         []func(*server.Options)
		cancelled      bool
	}{
		"nothing":           {},
		"continue":          {member: "continue"},
		"cancel":            {member: "cancel", cancelled: true},
		"header":            {header: "cancel", cancelled: true},
		"member and header": {member: "continue", header: "cancel"},
		"server":            {change: []func(*server.Options){cancels}, cancelled: true},
		"server and header": {header: "continue", change: []func(*server.Options){cancels}},
	} {
		for _, path := range []string{"/run", "/run_sse"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					app := newSleeper(t)
					srv := serve(t, app.apps, tt.change...)
					wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
					body, headers := message("nap"), []string{}
					if tt.member != "" {
						body = strings.Replace(body, "{", `{"onDisconnect":"`+tt.member+`",`, 1)
					}
					if tt.header != "" {
						headers = append(headers, "X-Parley-On-Disconnect: "+tt.header)
					}
					ctx, leave := context.WithTimeout(t.Context(), time.Second)
					defer leave()
					rec := newRecorder()
					srv.ServeHTTP(rec, request(t, "POST", path, body, headers...).WithContext(ctx))
					want(t, "time", time.Second, time.Since(rec.start))
					got := finish(t, srv, rec.header.Get("X-Parley-Run"))
					synctest.Wait()
					if !tt.cancelled {
						want(t, "status", session.Completed, got.Status)
						want(t, "history", []string{"nap", "sleep?", "!", "Good morning."}, texts(t, srv))
						return
					}
					want(t, "status", session.Cancelled, got.Status)
					want(t, "time of the end", time.Second, time.Since(rec.start))
					want(t, "naps", []time.Duration{time.Second}, app.interrupted)
					want(t, "history", []string{"nap", "sleep?", "! cancelled INVOCATION_ABORTED"}, texts(t, srv))
					want(t, "model calls", 1, app.model.Calls())
				})
			})
		}
	}
}

// A queued run is cancelled with its client, too, and leaves no trace.
func TestDisconnectWhileQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, _, first := asleep(t)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		rec := newRecorder()
		srv.ServeHTTP(rec, request(t, "POST", "/run_sse", message("hi"), "X-Parley-On-Disconnect: cancel").WithContext(ctx))
		want(t, "status", "cancelled", status(t, srv, rec.header.Get("X-Parley-Run")))
		wantStatus(t, <-first, http.StatusOK)
		want(t, "history", []string{"nap", "sleep?", "!", "Good morning."}, texts(t, srv))
	})
}

// The client decides what a message does in a busy session; the server has a default.
func TestBusy(t *testing.T) {
	t.Parallel()
	whole := []string{"nap", "sleep?", "!", "Good morning."}
	reply := []string{"hi", "You said: hi"}
	cut := []string{"nap", "sleep?", "! cancelled INVOCATION_ABORTED"}
	for name, tt := range map[string]struct {
		policy, server string
		first, second  int
		status         string // of the first run
		after          time.Duration
		history        [][]string
	}{
		"default":           {"", "", 200, 200, "completed", nap, [][]string{whole, reply}},
		"enqueue":           {"enqueue", "reject", 200, 200, "completed", nap, [][]string{whole, reply}},
		"reject":            {"reject", "", 200, 409, "completed", time.Second, [][]string{whole}},
		"interrupt":         {"interrupt", "", 409, 200, "cancelled cancel", time.Second, [][]string{cut, reply}},
		"rollback":          {"rollback", "", 409, 200, "cancelled rollback", time.Second, [][]string{reply}},
		"reject, server":    {"", "reject", 200, 409, "completed", time.Second, [][]string{whole}},
		"interrupt, server": {"", "interrupt", 409, 200, "cancelled cancel", time.Second, [][]string{cut, reply}},
	} {
		for _, path := range []string{"/run", "/run_sse", session1 + "/runs"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					begun := time.Now()
					srv, _, first := asleep(t, func(o *server.Options) { o.Concurrency = session.Policy(tt.server) })
					var headers []string
					if tt.policy != "" {
						headers = append(headers, "X-Parley-Concurrency: "+tt.policy)
					}
					body, expected := message("hi"), tt.second
					if strings.HasSuffix(path, "/runs") && expected == http.StatusOK {
						expected = http.StatusAccepted
					}
					second := do(t, srv, "POST", path, body, headers...)
					wantStatus(t, second, expected)
					if expected == http.StatusAccepted {
						finish(t, srv, runOf(second))
					}
					want(t, "time", tt.after, time.Since(begun))
					one := <-first
					wantStatus(t, one, tt.first)
					want(t, "first run", tt.status, status(t, srv, runOf(one)))
					if expected == http.StatusConflict && (!strings.Contains(second.Body.String(), runOf(one)) || runOf(second) != "") {
						t.Errorf("refused with %s", second.Body)
					}
					var history []string
					for _, turn := range tt.history {
						history = append(history, turn...)
					}
					want(t, "history", history, texts(t, srv))
				})
			})
		}
	}
}

// Cancel is a request: it takes effect at once, and repeating it does no harm.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, app, first := asleep(t)
		queued := do(t, srv, "POST", session1+"/runs", `{"newMessage":{"parts":[{"text":"hi"}]}}`)
		list := do(t, srv, "GET", session1+"/runs", "").Body.Bytes()
		var runs []struct{ ID, Status string }
		if err := json.Unmarshal(list, &runs); err != nil || len(runs) != 2 || runs[0].Status != "queued" || runs[1].Status != "running" {
			t.Fatalf("runs %s", list)
		}
		for range 2 {
			rec := do(t, srv, "POST", queued.Header().Get("Location")+"/cancel", "")
			wantStatus(t, rec, http.StatusOK)
			if !strings.Contains(rec.Body.String(), `"status":"cancelled"`) {
				t.Errorf("cancelled while queued: %s", rec.Body)
			}
		}
		rec := do(t, srv, "POST", session1+"/runs/"+runs[1].ID+"/cancel", "")
		wantStatus(t, rec, http.StatusOK)
		if !strings.Contains(rec.Body.String(), `"status":"running","stop":"cancel"`) {
			t.Errorf("cancelled while running: %s", rec.Body)
		}
		one := <-first
		wantStatus(t, one, http.StatusConflict)
		if !strings.Contains(one.Body.String(), `"events":[{`) {
			t.Errorf("the answer is %s", one.Body)
		}
		want(t, "naps", []time.Duration{time.Second}, app.interrupted)
		rec = do(t, srv, "POST", session1+"/runs/"+runs[1].ID+"/cancel", "{}")
		wantStatus(t, rec, http.StatusOK)
		if !strings.Contains(rec.Body.String(), `"status":"cancelled","stop":"cancel"`) {
			t.Errorf("cancelled again: %s", rec.Body)
		}
		want(t, "history", []string{"nap", "sleep?", "! cancelled INVOCATION_ABORTED"}, texts(t, srv))
		wantStatus(t, do(t, srv, "POST", "/run", message("hi")), http.StatusOK)
	})
}

// A repeated request returns the same run, whether it is queued, running or has ended, and does not cancel it.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, app, first := asleep(t)
		const header = "Idempotency-Key: k"
		send := func(path string) <-chan *httptest.ResponseRecorder {
			c := make(chan *httptest.ResponseRecorder, 1)
			go func() { c <- do(t, srv, "POST", path, message("nap"), header, "X-Parley-On-Disconnect: cancel") }()
			return c
		}
		original := send("/run")
		synctest.Wait()
		var repeats []<-chan *httptest.ResponseRecorder
		for range 10 { // queued
			repeats = append(repeats, send("/run"), send("/run_sse"))
		}
		time.Sleep(nap)
		for range 10 { // running
			repeats = append(repeats, send("/run"), send("/run_sse"))
		}
		synctest.Wait()
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		srv.ServeHTTP(newRecorder(), request(t, "POST", "/run", message("nap"), header, "X-Parley-On-Disconnect: cancel").WithContext(ctx))
		wantStatus(t, <-first, http.StatusOK)
		one := <-original
		wantStatus(t, one, http.StatusOK)
		repeats = append(repeats, send("/run"), send("/run_sse")) // ended
		stream := "data: " + strings.ReplaceAll(strings.Trim(one.Body.String(), "[]"), `},{"id"`, "}\n\ndata: {\"id\"") + "\n\n"
		for i, c := range repeats {
			rec := <-c
			wantStatus(t, rec, http.StatusOK)
			expected := []string{one.Body.String(), stream}[i%2]
			if rec.Body.String() != expected || runOf(rec) != runOf(one) || rec.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("repetition %d is %v, %s", i, rec.Header(), rec.Body)
			}
		}
		if one.Header().Get("Idempotent-Replayed") != "" {
			t.Error("the first one is not a repetition")
		}
		want(t, "model calls", 4, app.model.Calls())
		want(t, "events", 8, len(texts(t, srv)))

		wantStatus(t, do(t, srv, "POST", "/run", message("hi"), header), http.StatusConflict)
		wantStatus(t, do(t, srv, "POST", session1+"/runs", message("nap"), header), http.StatusAccepted)
		for _, bad := range []string{"", strings.Repeat("k", 257), "a\tb", "\xff"} {
			req := request(t, "POST", "/run", message("hi"))
			req.Header["Idempotency-Key"] = []string{bad}
			rec := httptest.NewRecorder()
			srv.ServeHTTP(rec, req)
			wantStatus(t, rec, http.StatusBadRequest)
		}
		want(t, "events", 8, len(texts(t, srv)))
	})
}

// A session is deleted when its TTL is over, but not during a run.
func TestTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := serve(t, scripts(t, after(10*time.Minute, scripted.Say("Done."))))
		wantStatus(t, do(t, srv, "POST", session1+"?ttl=60", ""), http.StatusOK)
		wantStatus(t, do(t, srv, "POST", session1+"2", ""), http.StatusOK)
		wantStatus(t, do(t, srv, "POST", "/run", message("hi")), http.StatusOK)
		wantStatus(t, do(t, srv, "GET", session1, ""), http.StatusOK)
		time.Sleep(3 * time.Minute)
		wantStatus(t, do(t, srv, "GET", session1, ""), http.StatusNotFound)
		wantStatus(t, do(t, srv, "GET", session1+"2", ""), http.StatusOK)
	})
}

// Changes of a log from outside do not wait: a rewind is refused during a run; a fork and an export take what is
// stored.
func TestForkDuringARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, _, first := asleep(t)
		rec := do(t, srv, "POST", session1+"/rewind", `{"rewindBeforeInvocationId":"e-1"}`)
		wantStatus(t, rec, http.StatusConflict)
		if got := rec.Body.String(); !strings.Contains(got, "busy with the run e-") || strings.Contains(got, "enqueue") {
			t.Errorf("refused with %s", got)
		}
		fork := do(t, srv, "POST", session1+"/fork", `{"sessionId":"s2"}`)
		wantStatus(t, fork, http.StatusOK)
		if got := fork.Body.String(); !strings.Contains(got, `"status":"interrupted"`) {
			t.Errorf("forked as %s", got)
		}
		lines := strings.Split(do(t, srv, "GET", session1+"/export", "").Body.String(), "\n")
		want(t, "lines", 4, len(lines))
		wantStatus(t, <-first, http.StatusOK)
		want(t, "history", []string{"nap", "sleep?", "!", "Good morning."}, texts(t, srv))
	})
}

// A run reports its usage.
func TestUsageOfARun(t *testing.T) {
	t.Parallel()
	said := func(prompt int64) scripted.Step {
		return scripted.Respond(&model.Response{
			Content: event.Text(event.RoleModel, "Done."), Usage: &event.Usage{Prompt: prompt, Total: prompt},
		})
	}
	srv := serve(t, scripts(t, said(12), said(0)))
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	for _, usage := range []string{`,"usageMetadata":{"promptTokenCount":12,"totalTokenCount":12},"unpricedTokens":12,"createTime"`, `"attempt":1,"createTime"`} {
		id := runOf(do(t, srv, "POST", "/run", message("hi")))
		if got := do(t, srv, "GET", session1+"/runs/"+id, "").Body.String(); !strings.Contains(got, usage) {
			t.Errorf("the run is %s, want %s", got, usage)
		}
	}
}
