package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

func TestMain(m *testing.M) { leak.Main(m) }

// world is a store, and what sends its deliveries.
type world struct {
	*testing.T
	store session.Store
	box   *outbox.Outbox
	key   session.Key
}

func newWorld(t *testing.T, allow ...string) *world {
	t.Helper()
	w := &world{T: t, store: memstore.New(0), key: session.Key{App: "app", User: "user", ID: "s"}}
	w.box = w.open(allow...)
	if _, err := w.store.Create(t.Context(), session.NewSession{Key: w.key}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) open(allow ...string) *outbox.Outbox {
	w.Helper()
	v, err := vault.New(vault.Generate())
	if err != nil {
		w.Fatal(err)
	}
	var networks []netip.Prefix
	for _, text := range allow {
		networks = append(networks, netip.MustParsePrefix(text))
	}
	box := outbox.New(outbox.Options{
		Store: w.store.Outbox, Secrets: broker.New(broker.Options{Secrets: w.store, Vault: v}), AllowPrivate: networks,
		Log: slog.New(slog.NewTextHandler(w.Output(), nil)),
	})
	w.Cleanup(box.Close)
	return box
}

// loopback is where the receivers of tests are.
const loopback = "127.0.0.0/8"

func (w *world) subscribe(id, url string) {
	w.Helper()
	if err := w.box.Subscribe(w.Context(), w.subscription(id), "", url, fmt.Appendf(nil, "%q", url)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) subscription(id string) *session.Subscription {
	return &session.Subscription{Key: w.key, ID: id, Kind: "test", Label: "about " + id}
}

// run makes a run, and so two deliveries for every subscription.
func (w *world) run(id string) {
	w.Helper()
	begun, err := w.store.Begin(w.Context(), session.NewRun{ID: id, Key: w.key})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.store.End(w.Context(), w.key, begun.Run.Epoch, session.End{Status: session.Completed}); err != nil {
		w.Fatal(err)
	}
}

// left are the deliveries that were not sent.
func (w *world) left() []*session.Delivery {
	w.Helper()
	list, err := w.store.Outbox.Deliveries(w.Context(), w.key)
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func (w *world) subscribed() int {
	w.Helper()
	list, err := w.box.Subscriptions(w.Context(), w.key)
	if err != nil {
		w.Fatal(err)
	}
	return len(list)
}

// compose sends the name of the change to the URL that the config is.
func compose(_ context.Context, d *session.Delivery, config []byte) (*outbox.Message, error) {
	return &outbox.Message{
		URL: strings.Trim(string(config), `"`), Header: http.Header{"Authorization": {"Bearer x"}},
		Body: []byte(d.Label + ": " + d.Run + " " + string(d.Status)),
	}, nil
}

// receiver remembers what it gets.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

// newReceiver answers with what status returns for the number of the request.
func newReceiver(t *testing.T, status func(n int) int) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got = append(r.got, string(body))
		n := len(r.got)
		r.mu.Unlock()
		code := status(n)
		if code == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.got...)
}

// A receiver that fails gets the same again, before what follows. Another one does not
// wait for it.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, loopback)
	fixed := make(chan struct{})
	bad := newReceiver(t, func(n int) int {
		select {
		case <-fixed:
			return http.StatusNoContent
		default:
			return []int{http.StatusServiceUnavailable, http.StatusFound, http.StatusNotFound}[n%3]
		}
	})
	good := newReceiver(t, func(int) int { return http.StatusOK })
	w.subscribe("bad", bad.URL)
	w.subscribe("good", good.URL)
	w.box.Handle("test", compose)
	w.run("r1")
	w.run("r2")
	testkit.Eventually(t, "the good receiver has everything", func() bool { return len(slices.Compact(good.list())) == 4 })
	testkit.Eventually(t, "the other one has failed", func() bool { return len(bad.list()) > 0 })
	for _, got := range bad.list() {
		if got != "about bad: r1 running" {
			t.Errorf("before the first was accepted, it got %q", got)
		}
	}
	close(fixed)
	testkit.Eventually(t, "everything is sent", func() bool { return len(w.left()) == 0 })
	if got := strings.Join(slices.Compact(bad.list()), ", "); got != "about bad: r1 running, about bad: r1 completed, about bad: r2 running, about bad: r2 completed" {
		t.Errorf("the bad one got %s", got)
	}
	if got := strings.Join(slices.Compact(good.list()), ", "); got != "about good: r1 running, about good: r1 completed, about good: r2 running, about good: r2 completed" {
		t.Errorf("the good one got %s", got)
	}
}

// Receivers of one user that do not answer do not delay those of another user.
func TestFair(t *testing.T) {
	t.Parallel()
	w := newWorld(t, loopback)
	release := make(chan struct{})
	slow := newReceiver(t, func(int) int {
		<-release
		return http.StatusOK
	})
	defer close(release)
	for i := range 40 {
		w.subscribe(fmt.Sprint("slow", i), slow.URL)
	}
	w.run("r1")
	w.box.Handle("test", compose)
	testkit.Eventually(t, "some are sent", func() bool { return len(slow.list()) >= 4 })
	w.key.User = "other"
	if _, err := w.store.Create(t.Context(), session.NewSession{Key: w.key}); err != nil {
		t.Fatal(err)
	}
	good := newReceiver(t, func(int) int { return http.StatusOK })
	w.subscribe("good", good.URL)
	w.run("r2")
	testkit.Eventually(t, "the other user's receiver has everything", func() bool { return len(slices.Compact(good.list())) == 2 })
}

// A receiver that is gone for good, and a subscription about something that has ended,
// are not kept.
func TestOver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status  int
		compose outbox.Compose
		sent    int
	}{
		"gone": {http.StatusGone, compose, 1},
		"last": {http.StatusOK, func(ctx context.Context, d *session.Delivery, config []byte) (*outbox.Message, error) {
			m, err := compose(ctx, d, config)
			m.Last = d.Status == session.Completed
			return m, err
		}, 2},
		"over": {http.StatusOK, func(context.Context, *session.Delivery, []byte) (*outbox.Message, error) { return nil, outbox.ErrOver }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, loopback)
			r := newReceiver(t, func(int) int { return tt.status })
			w.subscribe("x", r.URL)
			w.run("r")
			w.box.Handle("test", tt.compose)
			testkit.Eventually(t, "there is no subscription", func() bool { return w.subscribed() == 0 })
			if left := w.left(); len(left) > 0 || len(slices.Compact(r.list())) != tt.sent {
				t.Errorf("left are %v, and sent were %v", left, r.list())
			}
			testkit.Eventually(t, "its config is deleted", func() bool {
				_, err := w.box.Config(t.Context(), w.key, "x")
				return errors.Is(err, session.ErrNoSecret)
			})
		})
	}
}

// What is sent again while the last delivery of a subscription is sent is not deleted with it.
func TestReplayedWhileTheLastIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, loopback)
		w.subscribe("x", "https://127.0.0.1/")
		var mu sync.Mutex
		var failed []*session.Delivery
		sent := 0
		w.box.Handle("test", func(ctx context.Context, d *session.Delivery, _ []byte) (*outbox.Message, error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case d.Run == "r" && failed == nil:
				return nil, errors.New("it is not there")
			case d.Run == "r":
				sent++
				return nil, nil
			}
			for _, one := range failed {
				if err := w.store.Outbox.ReplayFailed(ctx, "app", one.Number); err != nil && !errors.Is(err, session.ErrNotFound) {
					t.Error(err)
				}
			}
			return nil, outbox.ErrOver
		})
		w.run("r")
		time.Sleep(30 * time.Hour)
		mu.Lock()
		failed = w.left()
		mu.Unlock()
		w.run("last")
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if len(failed) == 0 || sent != len(failed) {
			t.Errorf("%d of %d are sent", sent, len(failed))
		}
	})
}

// A subscription that is over stays as long as what was given up of it can be sent again, if
// the session has few of these.
func TestOverGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, loopback)
		var mu sync.Mutex
		there := map[string]bool{}
		const many = 22
		for i := range many {
			w.subscribe(fmt.Sprint("x", i), "https://127.0.0.1/")
		}
		w.box.Handle("test", func(_ context.Context, d *session.Delivery, _ []byte) (*outbox.Message, error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case d.Run != "r":
				return nil, outbox.ErrOver
			case !there[d.ID]:
				return nil, errors.New("it is not there")
			}
			return nil, nil
		})
		w.run("r")
		time.Sleep(30 * time.Hour)
		if left := w.left(); len(left) != 2*many {
			t.Fatalf("%d deliveries are given up", len(left))
		}
		w.run("another")
		time.Sleep(time.Minute)
		if n := w.subscribed(); n != 20 {
			t.Errorf("%d subscriptions stay", n)
		}
		var failed []*session.Delivery
		for _, d := range w.left() {
			if !d.Failed || d.Run != "r" {
				t.Errorf("left is %+v", d)
			}
			failed = append(failed, d)
		}
		if len(failed) != 2*20 {
			t.Fatalf("%d deliveries stay", len(failed))
		}
		again := failed[0].ID
		mu.Lock()
		there[again] = true
		mu.Unlock()
		for _, d := range failed {
			if d.ID == again {
				if err := w.store.Outbox.ReplayFailed(t.Context(), "app", d.Number); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(time.Minute)
		w.run("third")
		time.Sleep(time.Minute)
		if n := w.subscribed(); n != 19 {
			t.Errorf("%d subscriptions stay when everything of one was sent", n)
		}
		time.Sleep(8 * 24 * time.Hour)
		w.run("last")
		time.Sleep(time.Minute)
		if n := w.subscribed(); n != 0 || len(w.left()) > 0 {
			t.Errorf("a week later, there are %d subscriptions with %d deliveries", n, len(w.left()))
		}
		w.box.Close()
	})
}

// What callers choose must not make the server call what only it can reach.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "10.1.0.0/16")
	for url, want := range map[string]string{
		"https://10.1.2.3/hook": "", "http://10.1.2.3/hook": "", "https://8.8.8.8/hook": "",
		"https://10.2.0.1/hook": "private", "http://169.254.169.254/latest": "private", "https://[::1]/": "private", "https://127.0.0.1:8000/": "private",
		"https://[::ffff:10.2.0.1]/": "private", "http://8.8.8.8/": "https://",
		"ftp://8.8.8.8/": "not valid", "https://user:pass@8.8.8.8/": "not valid", "https://": "not valid", "/hook": "not valid",
		"https://8.8.8.8/" + strings.Repeat("x", 2048): "not valid",
	} {
		err := w.box.Subscribe(t.Context(), w.subscription("x"), "", url, []byte("{}"))
		if want == "" && err != nil {
			t.Errorf("%.50s: %v", url, err)
		} else if want != "" {
			if refused := (*outbox.RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%.50s: %v, want %q", url, err, want)
			}
		}
	}
}

// A name may have another address than at the time when it was checked: what counts is
// where the connection goes.
func TestPrivateConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, func(int) int { return http.StatusOK })
	w.subscribe("x", "https://8.8.8.8/hook")
	w.box.Handle("test", func(ctx context.Context, d *session.Delivery, config []byte) (*outbox.Message, error) {
		m, err := compose(ctx, d, config)
		m.URL = r.URL + "/?secret"
		return m, err
	})
	w.run("r")
	testkit.Eventually(t, "it was refused", func() bool {
		left := w.left()
		return len(left) == 2 && strings.Contains(left[0].Error, "private network")
	})
	if strings.Contains(w.left()[0].Error, "secret") || len(r.list()) > 0 {
		t.Errorf("left is %+v, and sent was %v", w.left()[0], r.list())
	}
}

// A delivery that cannot be sent is tried for a day, less and less often, and then kept
// for a week, while the next one is tried.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, loopback)
		w.subscribe("x", "https://127.0.0.1/")
		tries := map[session.Status]int{}
		var mu sync.Mutex
		w.box.Handle("test", func(_ context.Context, d *session.Delivery, _ []byte) (*outbox.Message, error) {
			mu.Lock()
			defer mu.Unlock()
			if tries[d.Status]++; tries[d.Status]%2 == 0 {
				panic("it is not there")
			}
			return nil, errors.New("it is not there")
		})
		w.run("r")
		time.Sleep(23 * time.Hour)
		mu.Lock()
		if n := tries[session.Running]; n < 15 || n > 80 || tries[session.Completed] > 0 {
			t.Errorf("after 23 hours, the tries were %v", tries)
		}
		mu.Unlock()
		if left := w.left(); left[0].Failed || !strings.Contains(left[0].Error, "it is not there") {
			t.Errorf("after 23 hours, it is %+v", left[0])
		}
		time.Sleep(4 * time.Hour)
		if left := w.left(); len(left) != 2 || !left[0].Failed || left[0].Error == "" || !left[1].Failed {
			t.Errorf("after 27 hours, left are %+v and %+v", left[0], left[1])
		}
		mu.Lock()
		if tries[session.Completed] == 0 {
			t.Error("the next one was not tried")
		}
		mu.Unlock()
		time.Sleep(8 * 24 * time.Hour)
		if left := w.left(); len(left) > 0 {
			t.Errorf("after nine days, there are %v", left)
		}
		w.box.Close()
	})
}

// A server with another key leaves the subscriptions alone: one with the right key sends
// their notifications.
func TestOtherKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, loopback)
	r := newReceiver(t, func(int) int { return http.StatusOK })
	w.subscribe("x", r.URL)
	w.run("r")
	other := w.open(loopback)
	other.Handle("test", compose)
	testkit.Eventually(t, "it has failed", func() bool {
		left := w.left()
		return len(left) == 2 && strings.Contains(left[0].Error, "another key")
	})
	other.Close()
	w.box.Handle("test", compose)
	testkit.Eventually(t, "everything is sent", func() bool { return len(w.left()) == 0 && len(slices.Compact(r.list())) == 2 })
}

// What a server was sending when it ended is sent by the next one.
func TestClose(t *testing.T) {
	t.Parallel()
	w := newWorld(t, loopback)
	ended := make(chan struct{})
	r := newReceiver(t, func(n int) int {
		if n == 1 {
			<-ended
		}
		return http.StatusOK
	})
	w.subscribe("x", r.URL)
	w.box.Handle("test", compose)
	w.run("r")
	testkit.Eventually(t, "the first is being sent", func() bool { return len(r.list()) == 1 })
	w.box.Close()
	w.box.Close()
	close(ended)
	if left, err := w.store.Outbox.ClaimDeliveries(t.Context(), time.Minute, 10, nil); err != nil || len(left) != 1 || left[0].Attempt != 2 {
		t.Fatalf("left are %v, %v", left, err)
	}
	var none *outbox.Outbox
	none.Close()
}
