package broker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func TestGuardNetworks(t *testing.T) {
	g := &guard{allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for address, want := range map[string]bool{
		"8.8.8.8": true, "10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "127.0.0.1": false,
	} {
		if got := g.allow.Permits(netip.MustParseAddr(address)); got != want {
			t.Errorf("permits(%s) is %v", address, got)
		}
	}
}

// get calls an address through a guarded client.
func get(t *testing.T, client *http.Client, address string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.Status + " " + string(body), err
}

func TestGuard(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(rw, r, "/", http.StatusTemporaryRedirect)
		case "/large":
			_, _ = rw.Write(make([]byte, 2<<20))
		}
	}))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	closed, _ := outbound(nil, nil, time.Minute, nil)
	open, _ := outbound(nil, allow, time.Minute, nil)
	transport := &http.Transport{DisableKeepAlives: true}
	given, _ := outbound(&http.Client{Transport: transport}, nil, time.Minute, nil)
	givenOpen, _ := outbound(&http.Client{Transport: transport}, allow, time.Minute, nil)
	for _, test := range []struct {
		client  *http.Client
		address string
		want    error
	}{
		{closed, server.URL, errClosed},
		{closed, "https://127.0.0.1" + port, errClosed},
		{closed, "https://localhost" + port, errClosed}, // known only after the name was resolved
		{closed, "http://localhost" + port, errClosed},
		{closed, "https://[::ffff:127.0.0.1]" + port, errClosed},
		{closed, "http://8.8.8.8/", errPlain}, // refused when the connection is made, before anything is sent
		{closed, "ftp://8.8.8.8/", errPlain},
		{open, "https://127.0.0.2" + port, errClosed},
		{given, "https://127.0.0.1" + port, errClosed},
		{given, "http://localhost" + port, errPlain},
		{given, "http://8.8.8.8/", errPlain},
	} {
		if got, err := get(t, test.client, test.address); !errors.Is(err, test.want) {
			t.Errorf("%s: %q, %v", test.address, got, err)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Fatalf("%d calls came through", n)
	}
	for _, client := range []*http.Client{open, givenOpen} {
		if got, err := get(t, client, server.URL); err != nil || got != "200 OK " {
			t.Errorf("allowed: %q, %v", got, err)
		}
		if got, err := get(t, client, server.URL+"/redirect"); err != nil || !strings.HasPrefix(got, "307") {
			t.Errorf("redirect: %q, %v", got, err)
		}
		if _, err := get(t, client, server.URL+"/large"); err == nil {
			t.Error("an answer may be as large as it likes")
		}
	}
}

// A name that is public when it is looked at and private when it is called gets
// nowhere.
func TestGuardRebinding(t *testing.T) {
	var calls, private atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)
	resolver := nameServer(t, func() [4]byte {
		if private.Load() == 0 {
			return [4]byte{203, 1, 2, 3}
		}
		return [4]byte{127, 0, 0, 1}
	})
	found, err := resolver.LookupNetIP(t.Context(), "ip4", "rebind.test.")
	if err != nil || len(found) != 1 || !(&guard{}).allow.Permits(found[0]) {
		t.Fatalf("%v, %v", found, err)
	}
	client, guard := outbound(nil, nil, time.Minute, resolver)
	if err := guard.callable(t.Context(), "https://rebind.test."); err != nil {
		t.Errorf("a public provider may not be called: %v", err)
	}
	private.Store(1)
	if err := guard.callable(t.Context(), "https://rebind.test."); !errors.Is(err, errClosed) {
		t.Errorf("a private provider may be called: %v", err)
	}
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, scheme := range []string{"http", "https"} {
		if got, err := get(t, client, scheme+"://rebind.test."+port); !errors.Is(err, errClosed) {
			t.Errorf("%s: %q, %v", scheme, got, err)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls came through", n)
	}
}

// nameServer is a resolver that answers every question for an IPv4 address.
func nameServer(t *testing.T, answer func() [4]byte) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: answer()},
				}}
			}
			if text, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(text, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}
