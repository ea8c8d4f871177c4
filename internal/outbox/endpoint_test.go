package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/session"
)

// A receiver of an application that fails delays its own deliveries only, in however many
// sessions these are. Those of a session arrive in their order.
func TestApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t, loopback)
	good := newReceiver(t, func(int) int { return http.StatusOK })
	bad := newReceiver(t, func(int) int { return http.StatusInternalServerError })
	for id, url := range map[string]string{"good": good.URL, "bad": bad.URL} {
		s := &session.Subscription{Key: session.Key{App: w.key.App}, ID: id, Kind: "test", Label: id}
		if err := w.box.Subscribe(t.Context(), s, "", url, fmt.Appendf(nil, "%q", url)); err != nil {
			t.Fatal(err)
		}
	}
	w.box.Handle("test", compose)
	const sessions, runs = 40, 3
	for i := range sessions {
		w.key.ID = fmt.Sprint("s", i)
		if _, err := w.store.Create(t.Context(), session.NewSession{Key: w.key}); err != nil && i > 0 {
			t.Fatal(err)
		}
		for n := range runs {
			w.run(fmt.Sprintf("%d-%d", i, n))
		}
	}
	testkit.Eventually(t, "all are sent to one of them", func() bool { return len(good.list()) >= sessions*runs })
	got := good.list()
	for i := range sessions {
		var of []string
		for _, line := range got {
			if strings.Contains(line, fmt.Sprintf(" %d-", i)) {
				of = append(of, line)
			}
		}
		if of = slices.Compact(of); len(of) != runs || !slices.IsSorted(of) {
			t.Errorf("about session %d, it got %q", i, of)
		}
	}
	left, err := w.store.Outbox.AppDeliveries(t.Context(), w.key.App, "bad", 0, sessions*runs+1)
	if err != nil || len(left) != sessions*runs {
		t.Errorf("the other one has %d left, error %v", len(left), err)
	}
	if n := len(bad.list()); n == 0 || n > sessions {
		t.Errorf("the other one got %d requests", n)
	}
}

// The receiver of an application that is gone keeps its subscription, which an operator
// has made; what it did not accept can be replayed.
func TestApplicationGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, loopback)
	r := newReceiver(t, func(n int) int {
		if n == 1 {
			return http.StatusGone
		}
		return http.StatusOK
	})
	key := session.Key{App: w.key.App}
	if err := w.box.Subscribe(t.Context(), &session.Subscription{Key: key, ID: "x", Kind: "test"}, "", r.URL, fmt.Appendf(nil, "%q", r.URL)); err != nil {
		t.Fatal(err)
	}
	w.box.Handle("test", compose)
	w.run("r")
	dead := func() []*session.Delivery {
		left, err := w.store.Outbox.AppDeliveries(t.Context(), key.App, "x", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	testkit.Eventually(t, "it is given up", func() bool { left := dead(); return len(left) == 1 && left[0].Failed })
	if list, err := w.box.Subscriptions(t.Context(), key); err != nil || len(list) != 1 {
		t.Errorf("the subscriptions are %v, error %v", list, err)
	}
	if err := w.store.Outbox.ReplayDelivery(t.Context(), key.App, "x", dead()[0].Number); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "it is sent", func() bool { return len(dead()) == 0 && len(r.list()) == 2 })
}

// However many deliveries a receiver does not accept, they are given up after a day, and not
// one after the other.
func TestApplicationGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, loopback)
		key := session.Key{App: w.key.App}
		if err := w.box.Subscribe(t.Context(), &session.Subscription{Key: key, ID: "x", Kind: "test"}, "", "https://127.0.0.1/", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		w.box.Handle("test", func(context.Context, *session.Delivery, []byte) (*outbox.Message, error) {
			return nil, errors.New("it is not there")
		})
		const runs = 400
		for i := range runs {
			w.run(fmt.Sprint(i))
		}
		failed := func() (n int) {
			left, err := w.store.Outbox.AppDeliveries(t.Context(), key.App, "x", 0, 2*runs)
			if err != nil || len(left) != runs {
				t.Fatalf("%d are listed, error %v", len(left), err)
			}
			for _, d := range left {
				if d.Failed {
					n++
				}
			}
			return n
		}
		time.Sleep(23 * time.Hour)
		if n := failed(); n != 0 {
			t.Errorf("after 23 hours, %d are given up", n)
		}
		time.Sleep(4 * time.Hour)
		if n := failed(); n != runs {
			t.Errorf("after 27 hours, %d are given up, want all", n)
		}
		w.box.Close()
	})
}
