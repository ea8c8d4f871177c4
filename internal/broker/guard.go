package broker

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/loopback"
	"github.com/parley-run/parley/internal/public"
	"github.com/parley-run/parley/internal/traceparent"
)

// guardError refuses a call before anything was sent.
type guardError struct{ reason string }

func (e *guardError) Error() string { return e.reason }

var (
	errClosed = &guardError{"the provider was not called, because it is in a private network, or on the server's own machine; " +
		"--allow_private_logins (Config.Logins.AllowPrivate in Go) allows a network, such as 10.0.0.0/8 or 127.0.0.0/8"}
	errPlain = &guardError{"the provider was not called, because its address does not begin with https://"}
	errVisit = &guardError{"users are not sent to the provider's authorization endpoint, because its address does not begin with https://"}
)

// guard restricts the URLs in the configuration of tools. It checks the address of the connection, after all names are
// resolved.
type guard struct {
	base  http.RoundTripper
	allow public.Networks
	dials bool // whether the guard also checks connections

	resolver *net.Resolver // nil for the default
}

// outbound returns the client for all calls to providers.
func outbound(given *http.Client, allow []netip.Prefix, timeout time.Duration, resolver *net.Resolver) (*http.Client, *guard) {
	g := &guard{allow: allow, resolver: resolver}
	if given == nil {
		g.dials = true
		dialer := &net.Dialer{Timeout: timeout, Resolver: resolver, ControlContext: g.control}
		g.base = &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
			// Calls are rare, so idle connections are not worth keeping.
			DisableKeepAlives: true,
		}
	} else if g.base = given.Transport; g.base == nil {
		g.base = http.DefaultTransport
	}
	return &http.Client{
		Transport: g, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, g
}

// lookupTimeout bounds the lookup of a provider's addresses before a user is asked to log in.
const lookupTimeout = 2 * time.Second

// callable refuses a provider that cannot be called later, as far as that can be known, because its users would log in
// in vain. control still decides about every connection.
func (g *guard) callable(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errPlain
	}
	refused := error(nil)
	for _, to := range g.lookup(ctx, u.Hostname()) {
		switch {
		case !g.allow.Permits(to):
			refused = errClosed
		case u.Scheme == "http" && !g.allow.Contains(to):
			refused = errPlain
		default:
			return nil // one of several addresses is sufficient
		}
	}
	return refused
}

// visitable refuses a URL that a browser must not be sent to: one that is not a web page, or that can be tampered with
// on the network. Without TLS, it allows only loopback and allowed networks.
func (g *guard) visitable(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return errVisit
	}
	if loopback.Secure(u) {
		return nil
	}
	found := g.lookup(ctx, u.Hostname())
	if u.Scheme != "http" || len(found) == 0 || slices.ContainsFunc(found, func(to netip.Addr) bool { return !g.allow.Contains(to) }) {
		return errVisit
	}
	return nil
}

// lookup resolves a host; it returns none on failure.
func (g *guard) lookup(ctx context.Context, name string) []netip.Addr {
	if address, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{address}
	}
	if !g.dials || name == "" { // a given client may resolve hosts in its own way
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := g.resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil // the call reports the error
	}
	return found
}

// plain marks the context of a call without TLS.
type plain struct{}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	name := r.URL.Hostname()
	if address, err := netip.ParseAddr(name); err == nil && !g.allow.Permits(address) {
		return nil, errClosed
	}
	switch {
	case strings.EqualFold(r.URL.Scheme, "https"):
	case !strings.EqualFold(r.URL.Scheme, "http"), !g.dials && !g.trusted(name):
		return nil, errPlain
	default:
		r = r.WithContext(context.WithValue(r.Context(), plain{}, true))
	}
	response, err := g.base.RoundTrip(traceparent.Stamp(r))
	if err != nil {
		return nil, err
	}
	response.Body = bounded.NewDecoded(response.Body, bounded.LoginAnswer, bounded.Whole, "an answer of the provider")
	return response, nil
}

// control checks the address of a connection before it is made.
func (g *guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return &guardError{"the provider's address could not be checked"}
	case !g.allow.Permits(to.Addr()):
		return errClosed
	case ctx.Value(plain{}) != nil && !g.allow.Contains(to.Addr()):
		return errPlain
	}
	return nil
}

// trusted is like Networks.Contains for the host of a URL, for clients whose connections cannot be checked. It trusts no names
// except localhost.
func (g *guard) trusted(name string) bool {
	if strings.EqualFold(name, "localhost") {
		name = "127.0.0.1"
	}
	address, err := netip.ParseAddr(name)
	return err == nil && g.allow.Contains(address)
}
