package public

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

func TestHosts(t *testing.T) {
	h, err := ParseHosts([]string{"public", "10.0.0.0/8", "192.168.1.5:5432", "[fd00::1]:80", "fd00::2", "Db.Internal:5432", "cache."})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"8.8.8.8:53": true, "10.1.2.3:1": true, "[::ffff:10.1.2.3]:1": true, "192.168.1.5:5432": true, "192.168.1.5:5433": false, "192.168.1.6:5432": false,
		"[fd00::1]:80": true, "[fd00::1]:81": false, "[fd00::2]:9": true, "127.0.0.1:80": false, "[::1]:80": false, "[::ffff:127.0.0.1]:80": false, "169.254.169.254:80": false,
	} {
		if got := h.Permits(netip.MustParseAddrPort(address)); got != want {
			t.Errorf("Permits(%s) is %v", address, got)
		}
	}
	for _, c := range []struct {
		host, port string
		want       bool
	}{{"db.internal", "5432", true}, {"DB.internal.", "5432", true}, {"db.internal", "80", false}, {"cache", "6379", true}, {"other", "5432", false}, {"10.1.1.1", "1", false}} {
		if got := h.names(c.host, c.port); got != c.want {
			t.Errorf("names(%s, %s) is %v", c.host, c.port, got)
		}
	}
	for _, text := range []string{"", " ", "a b", "10.0.0.0/40", "db:0", "db:x", "db:70000", "http://db", "a@b"} {
		if _, err := ParseHosts([]string{text}); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestHostsDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for list, reached := range map[string]bool{"public": false, "127.0.0.0/8": true, "127.0.0.1:" + port: true, "127.0.0.1:1": false, "localhost": false} {
		h, err := ParseHosts([]string{list})
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.Dial(t.Context(), &net.Dialer{}, "tcp", l.Addr().String())
		if err == nil {
			_ = c.Close()
		}
		if refused := (*RefusedError)(nil); reached != (err == nil) || !reached && !errors.As(err, &refused) {
			t.Errorf("with %s: %v", list, err)
		}
	}
	h, _ := ParseHosts([]string{"localhost:" + port})
	c, err := h.Dial(t.Context(), &net.Dialer{}, "tcp4", "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
