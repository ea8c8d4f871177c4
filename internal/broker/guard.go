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
		"--allow_private_logins (AllowPrivateLogins in Go) allows a network, such as 10.0.0.0/8 or 127.0.0.0/8"}
	errPlain = &guardError{"the provider was not called, because its address does not begin with https://"}
	errVisit = &guardError{"users are not sent to the provider's authorization endpoint, because its address does not begin with https://"}
)

// guard is what stands between us and the addresses in the configuration of
// tools. Its decision about a network is made on the address that is connected
// to, after all names were resolved.
type guard struct {
	base  http.RoundTripper
	allow []netip.Prefix
	dials bool // whether the connections are looked at too

	resolver *net.Resolver // nil for the usual one
}

// outbound makes the client that all providers are called with.
func outbound(given *http.Client, allow []netip.Prefix, timeout time.Duration, resolver *net.Resolver) (*http.Client, *guard) {
	g := &guard{allow: allow, resolver: resolver}
	if given == nil {
		g.dials = true
		dialer := &net.Dialer{Timeout: timeout, Resolver: resolver, ControlContext: g.control}
		g.base = &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
			// Calls are rare, and nothing should stay behind them.
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

// lookupTimeout is how long the addresses of a provider are looked up before a
// user is asked to log in there.
const lookupTimeout = 2 * time.Second

// callable refuses a provider that calls are going to be refused to, as far as
// can be seen before: otherwise its users would log in there in vain. Whether a
// connection is made is decided by control nevertheless.
func (g *guard) callable(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errPlain
	}
	refused := error(nil)
	for _, to := range g.lookup(ctx, u.Hostname()) {
		switch {
		case !g.permits(to):
			refused = errClosed
		case u.Scheme == "http" && !g.allowed(to):
			refused = errPlain
		default:
			return nil // of several addresses, one will do
		}
	}
	return refused
}

// visitable refuses an address that a browser must not be sent to: one that is
// not a web page, or that others on the way could change. Without TLS, users are
// sent to their own machine and to networks that were allowed.
func (g *guard) visitable(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return errVisit
	}
	if loopback.Secure(u) {
		return nil
	}
	found := g.lookup(ctx, u.Hostname())
	if u.Scheme != "http" || len(found) == 0 || slices.ContainsFunc(found, func(to netip.Addr) bool { return !g.allowed(to) }) {
		return errVisit
	}
	return nil
}

// lookup is what the addresses of a host are now; none if that is not known.
func (g *guard) lookup(ctx context.Context, name string) []netip.Addr {
	if address, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{address}
	}
	if !g.dials || name == "" { // a given client may find hosts in its own way
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := g.resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil // the call says it
	}
	return found
}

// plain marks the context of a call without TLS.
type plain struct{}

// RoundTrip makes a call if it may be made.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	name := r.URL.Hostname()
	if address, err := netip.ParseAddr(name); err == nil && !g.permits(address) {
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

// control is called with the address of a connection that is about to be made.
func (g *guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return &guardError{"the provider's address could not be checked"}
	case !g.permits(to.Addr()):
		return errClosed
	case ctx.Value(plain{}) != nil && !g.allowed(to.Addr()):
		return errPlain
	}
	return nil
}

// permits tells whether an address may be called at all.
func (g *guard) permits(address netip.Addr) bool {
	return g.allowed(address) || public.Is(address)
}

// allowed tells whether an address was explicitly allowed.
func (g *guard) allowed(address netip.Addr) bool {
	address = address.WithZone("").Unmap()
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(address) })
}

// trusted is allowed for the host of an address, when connections cannot be
// looked at. Names are not trusted, except for the one that is always us.
func (g *guard) trusted(name string) bool {
	if strings.EqualFold(name, "localhost") {
		name = "127.0.0.1"
	}
	address, err := netip.ParseAddr(name)
	return err == nil && g.allowed(address)
}
