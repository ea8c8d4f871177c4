package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
)

// recorder is a ResponseWriter that records calls and their times.
type recorder struct {
	start  time.Time
	header http.Header
	log    []string
	body   strings.Builder
	broken bool // the client has disconnected
}

func newRecorder() *recorder { return &recorder{start: time.Now(), header: http.Header{}} }

func (r *recorder) note(what string) {
	r.log = append(r.log, fmt.Sprintf("%v %s", time.Since(r.start), what))
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.note(fmt.Sprint(status)) }
func (r *recorder) Flush()                 { r.note("flush") }

func (r *recorder) Write(b []byte) (int, error) {
	if r.broken {
		return 0, errors.New("the client disconnected")
	}
	r.body.Write(b)
	kind, _, _ := strings.Cut(string(b), " ")
	switch {
	case strings.Count(string(b), "\n\n") != 1 || !strings.HasSuffix(string(b), "\n\n"):
		kind = string(b) // not one frame
	case strings.HasPrefix(string(b), `data: {"error"`):
		kind = "error"
	case strings.Contains(string(b), `"partial":true`):
		kind = "piece"
	}
	r.note(kind)
	return len(b), nil
}

// after delays a step.
func after(d time.Duration, step scripted.Step) scripted.Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
			step(ctx, req)(yield)
		}
	}
}

// Each event is one write and one flush, headers wait for the first event only briefly, and a comment breaks silence
// every 15 seconds.
func TestStreamInTime(t *testing.T) {
	t.Parallel()
	tick := scripted.Call("tick", nil)
	for name, tt := range map[string]struct {
		steps     []scripted.Step
		streaming bool
		want      []string
	}{
		"at once": {
			steps: []scripted.Step{tick, scripted.Say("Done.")},
			want:  []string{"0s 200", "0s data:", "0s flush", "0s data:", "0s flush", "0s data:", "0s flush"},
		},
		"in pieces": {
			steps: []scripted.Step{scripted.Say("All done.")}, streaming: true,
			want: []string{"0s 200", "0s piece", "0s flush", "0s piece", "0s flush", "0s data:", "0s flush"},
		},
		"failure": {
			steps: []scripted.Step{scripted.Fail(errors.New("boom"))},
			want:  []string{"0s 200", "0s error", "0s flush"},
		},
		"headers first": {
			steps: []scripted.Step{after(time.Second, scripted.Say("Done."))},
			want:  []string{"100ms 200", "100ms flush", "1s data:", "1s flush"},
		},
		"silence": {
			steps: []scripted.Step{after(40*time.Second, scripted.Say("Done."))},
			want:  []string{"100ms 200", "100ms flush", "15s :", "15s flush", "30s :", "30s flush", "40s data:", "40s flush"},
		},
		"silence after an event": {
			steps: []scripted.Step{after(14*time.Second, tick), after(31*time.Second, scripted.Say("Done."))},
			want: []string{
				"100ms 200", "100ms flush", "14s data:", "14s flush", "14s data:", "14s flush",
				"29s :", "29s flush", "44s :", "44s flush", "45s data:", "45s flush",
			},
		},
		"no silence": {
			steps: []scripted.Step{after(10*time.Second, tick), after(10*time.Second, tick), after(10*time.Second, scripted.Say("Done."))},
			want: []string{
				"100ms 200", "100ms flush", "10s data:", "10s flush", "10s data:", "10s flush",
				"20s data:", "20s flush", "20s data:", "20s flush", "30s data:", "30s flush",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := serve(t, scripts(t, tt.steps...))
				wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
				body := message("hi")
				if tt.streaming {
					body = strings.Replace(body, "{", `{"streaming":true,`, 1)
				}
				rec := newRecorder()
				srv.ServeHTTP(rec, request(t, "POST", "/run_sse", body))
				if diff := cmp.Diff(tt.want, rec.log); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A stream ends when its caller's token expires. The run continues, whatever the disconnect policy of the request is.
func TestStreamOfAnExpiredToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		expires := time.Now().Add(20 * time.Second)
		srv := serve(t, scripts(t, scripted.Call("tick", nil), after(time.Minute, scripted.Say("Done."))), func(o *server.Options) {
			o.Gate = func(r *http.Request) (*access.Caller, error) {
				caller, err := access.Local(r)
				if time.Now().Before(expires) {
					caller.Expires = expires
				}
				return caller, err
			}
		})
		wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
		body := strings.Replace(message("hi"), "{", `{"onDisconnect":"cancel",`, 1)
		rec := newRecorder()
		followed := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			time.Sleep(time.Second)
			runs := do(t, srv, "GET", session1+"/runs", "")
			id, _, _ := strings.Cut(strings.TrimPrefix(runs.Body.String(), `[{"id":"`), `"`)
			followed <- do(t, srv, "GET", session1+"/runs/"+id+"/events", "")
		}()
		srv.ServeHTTP(rec, request(t, "POST", "/run_sse", body))
		if at := time.Since(rec.start); at != 20*time.Second {
			t.Errorf("the stream ends after %v", at)
		}
		last := rec.body.String()[strings.LastIndex(rec.body.String(), "data: "):]
		if !strings.Contains(last, `"error_type":"token_expired"`) || !strings.Contains(last, session1+"/runs/") {
			t.Errorf("the stream ends with %s", last)
		}
		got := (<-followed).Body.String()
		if _, resume, ok := strings.Cut(got, "event: resume\n"); !ok || !strings.Contains(resume, "/events?after=") || time.Since(rec.start) != 20*time.Second {
			t.Errorf("after %v, a client that follows the run gets %s", time.Since(rec.start), got)
		}
		time.Sleep(time.Hour)
		if got := do(t, srv, "GET", session1, "").Body.String(); !strings.Contains(got, "Done.") {
			t.Errorf("the run has left %s", got)
		}
	})
}

// A queued message is refused with a status as long as nothing was sent, and with a last frame after that.
func TestRefusedWhileQueued(t *testing.T) {
	t.Parallel()
	const answer = `{"appName":"weather","userId":"u","sessionId":"s1","newMessage":{"parts":[{"functionResponse":{"id":"nope","name":"f"}}]}}`
	for name, tt := range map[string]struct {
		busy time.Duration
		want []string
		body string
	}{
		"soon": {
			busy: 5 * time.Second, want: []string{"5s 422", "5s " + refusedBody},
			body: refusedBody,
		},
		"late": {
			busy: 20 * time.Second, want: []string{"15s 200", "15s :", "15s flush", "20s error", "20s flush"},
			body: `"error_type":"refused","error_message":"no function call is waiting for this answer: nope"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := serve(t, scripts(t, after(tt.busy, scripted.Say("Done."))))
				wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
				first := later(t, srv, "/run", message("hi"))
				synctest.Wait()
				rec := newRecorder()
				srv.ServeHTTP(rec, request(t, "POST", "/run_sse", answer))
				if diff := cmp.Diff(tt.want, rec.log); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if !strings.Contains(rec.body.String(), tt.body) {
					t.Errorf("the body is %s", &rec.body)
				}
				wantStatus(t, <-first, http.StatusOK)
			})
		})
	}
}

const refusedBody = `{"error":"no function call is waiting for this answer: nope","detail":"no function call is waiting for this answer: nope"}`

// Queued messages end with the session, or with the server.
func TestCancelledWhileQueued(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cancel        func(t *testing.T, srv http.Handler, shutdown func())
		first, second int // statuses
		text          string
	}{
		"deleted": {
			cancel: func(t *testing.T, srv http.Handler, _ func()) {
				t.Helper()
				wantStatus(t, do(t, srv, "DELETE", session1, ""), http.StatusOK)
			},
			first: http.StatusConflict, second: http.StatusConflict, text: "the run was cancelled",
		},
		"shut down": {
			cancel: func(_ *testing.T, _ http.Handler, shutdown func()) { shutdown() },
			first:  http.StatusConflict, second: http.StatusInternalServerError, text: "before you send the message again",
		},
	} {
		for _, path := range []string{"/run", "/run_sse"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					srv := serve(t, scripts(t, scripted.Wait(nil, nil)))
					wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
					first := later(t, srv, "/run", message("hi"))
					synctest.Wait()
					second := later(t, srv, path, message("and hello"))
					synctest.Wait()
					cancelled := make(chan struct{})
					go func() {
						defer close(cancelled)
						tt.cancel(t, srv, func() {
							ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
							defer cancel()
							srv.Engine.Shutdown(ctx)
						})
					}()
					wantStatus(t, <-first, tt.first)
					got := <-second
					wantStatus(t, got, tt.second)
					if !strings.Contains(got.Body.String(), tt.text) {
						t.Errorf("body %s", got.Body)
					}
					<-cancelled
				})
			})
		}
	}
}

// A client that cannot be written to loses the stream, not the run.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := serve(t, scripts(t, scripted.Call("tick", nil), after(time.Minute, scripted.Say("Done."))))
		wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
		rec := newRecorder()
		rec.broken = true
		srv.ServeHTTP(rec, request(t, "POST", "/run_sse", message("hi")))
		if got := time.Since(rec.start); got != 0 {
			t.Errorf("the handler went on for %v", got)
		}
		finish(t, srv, rec.header.Get("X-Parley-Run"))
		if got := do(t, srv, "GET", session1, "").Body.String(); !strings.Contains(got, `"text":"Done."`) {
			t.Errorf("the session is %s", got)
		}
	})
}

// A client that disconnects ends its request at once, on both endpoints.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/run", "/run_sse"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := serve(t, scripts(t, after(time.Minute, scripted.Say("Done."))))
				wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
				ctx, leave := context.WithTimeout(t.Context(), time.Second)
				defer leave()
				rec := newRecorder()
				srv.ServeHTTP(rec, request(t, "POST", path, message("hi")).WithContext(ctx))
				if got := time.Since(rec.start); got != time.Second || rec.body.Len() != 0 {
					t.Errorf("after %v, %q was written", got, &rec.body)
				}
				if got := finish(t, srv, rec.header.Get("X-Parley-Run")).Status; got != session.Completed {
					t.Errorf("the run is %s", got)
				}
			})
		})
	}
}

// finish waits for the end of a run of session1.
func finish(t *testing.T, srv *server.Server, id string) *session.Run {
	t.Helper()
	reader, err := srv.Engine.Follow(t.Context(), key1, id, "")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for {
		if _, err := reader.Next(t.Context()); errors.Is(err, io.EOF) {
			return reader.Run()
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// pipes is a listener for in-memory connections, because a synctest bubble cannot use sockets.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A reader may be slow, but must not stop. The time for a large event is not limited.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	for name, tt := range map[string]struct {
		bytes int
		pause time.Duration // the pause after each
		whole bool
	}{
		"slow":  {10 << 10, time.Second, true}, // more than six minutes for the event
		"stops": {1 << 20, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := serve(t, scripts(t, scripted.Say(strings.Repeat("x", size))))
				wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
				listener := pipes{make(chan net.Conn, 1)}
				server := &http.Server{Handler: srv, ReadHeaderTimeout: time.Minute}
				go func() { _ = server.Serve(listener) }()
				here, there := net.Pipe()
				listener.conns <- there
				body := message("hi")
				fmt.Fprintf(here, "POST /run_sse HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				resp, err := http.ReadResponse(bufio.NewReaderSize(here, 16), nil)
				if err != nil {
					t.Fatal(err)
				}
				read := int64(0)
				for err == nil {
					var n int64
					n, err = io.CopyN(io.Discard, resp.Body, int64(tt.bytes))
					read += n
					time.Sleep(tt.pause)
				}
				if whole := errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && read > size; whole != tt.whole {
					t.Errorf("%d bytes were read, then: %v", read, err)
				}
				_ = resp.Body.Close()
				_ = here.Close()
				close(listener.conns)
				_ = server.Close()
			})
		})
	}
}
