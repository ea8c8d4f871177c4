package host

import (
	"context"
	"net"
	"net/http"

	"github.com/parley-run/parley/internal/public"
)

// dialer returns a function that connects to permitted hosts; to all, if hosts is
// nil.
func dialer(hosts *public.Hosts) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: maxDial}
	if hosts == nil {
		return d.DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return hosts.Dial(ctx, d, network, address)
	}
}

// guardedClient is defaultClient for permitted hosts. It uses no proxy, which
// would connect to all.
func guardedClient(hosts *public.Hosts) *http.Client {
	t, ok := defaultTransport().(*http.Transport)
	if !ok {
		t = &http.Transport{}
	}
	t.Proxy, t.DialContext = nil, dialer(hosts)
	return &http.Client{Transport: t}
}
