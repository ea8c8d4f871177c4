package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/internal/testkit/replaytest"
)

// in the order in which they are said
var said = []string{
	"In your calendar: 08:30 Breakfast with Ben, 14:00 Dentist.",
	"title: Walk the dog",
	"In your calendar: 08:30 Breakfast with Ben, 14:00 Dentist, Walk the dog.",
}

func check(t *testing.T, shown string) {
	t.Helper()
	rest := shown
	for _, text := range said {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Fatalf("it does not say %q in its turn: %s", text, shown)
		}
		rest = after
	}
	if n := strings.Count(shown, `"pending":true`); n != 1 {
		t.Errorf("it asks for %d logins: %s", n, shown)
	}
}

func TestUnattended(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, options{user: "ann"}); err != nil {
		t.Fatal(err)
	}
	check(t, out.String())
}

// A person reads the address, allows it in a browser, and the browser goes where
// it is sent.
func TestAttended(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shown, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, out, options{})
		out.Close()
	}()
	var all strings.Builder
	address := regexp.MustCompile(`(?m)^  (http://\S+)\n\n`)
	for buf := make([]byte, 4096); !address.MatchString(all.String()); {
		n, err := shown.Read(buf)
		if err != nil {
			t.Fatalf("%v after %s", err, &all)
		}
		all.Write(buf[:n])
	}
	callback, err := provider.Visit(ctx, address.FindStringSubmatch(all.String())[1], "ann", true)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, callback, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	rest, _ := io.ReadAll(shown)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	check(t, all.String()+string(rest))
}

// Repeated with what was recorded, the runs before and after the login are the same, and
// the provider is not asked.
func TestReplay(t *testing.T) {
	p := provider.Start(t, provider.Options{Events: []provider.Event{{Title: "Dentist", Start: "14:00"}}})
	id, secret := p.Client()
	srv, err := newServer(t.Context(), site{p.Issuer(), id, secret}, parley.Config{Recording: parley.RecordingConfig{Share: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(context.WithoutCancel(t.Context()))
	v := &visitor{server: srv, out: io.Discard, redirect: "http://127.0.0.1:1/callback", visit: unattended("ann")}
	if err := converse(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	before := len(p.Requests())
	replaytest.Runs(t, srv, "calendar", "you")
	if n := len(p.Requests()) - before; n != 0 {
		t.Errorf("the provider got %d requests", n)
	}
}

// With -serve, the login can be seen in the developer UI, at the address that is printed.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shown, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, out, options{serve: true})
		out.Close()
	}()
	lines := bufio.NewScanner(shown)
	for lines.Scan() && lines.Text() != "Open the developer UI in a browser:" {
	}
	lines.Scan()
	base := lines.Text()
	go func() { _, _ = io.Copy(io.Discard, shown) }()
	if page := get(t, http.MethodGet, base+"/", ""); !strings.Contains(string(page), "<html") {
		t.Errorf("at %s there is %s", base, page)
	}
	if apps := get(t, http.MethodGet, base+"/list-apps", ""); string(apps) != `["calendar"]` {
		t.Errorf("it serves %s", apps)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
