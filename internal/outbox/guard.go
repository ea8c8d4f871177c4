package outbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/parley-run/parley/internal/public"
	"github.com/parley-run/parley/internal/traceparent"
)

// RefusedError means that a URL must not be called.
type RefusedError struct{ reason string }

func (e *RefusedError) Error() string { return e.reason }

var (
	errURL     = &RefusedError{"The URL is not valid: it must be like https://example.com/hook, without a user, and not longer than 2048 bytes"}
	errPrivate = &RefusedError{"The URL is in a private network, or on the server's own machine, which the operator of the server has not allowed (--allow_private_webhooks)"}
	errPlain   = &RefusedError{"The URL must begin with https://"}
)

const (
	maxURL = 2048
	// maxAnswer is how much of an answer is read, so that the connection can be used
	// again.
	maxAnswer = 16 << 10
	// lookupTimeout bounds the lookup of the addresses of a new receiver.
	lookupTimeout = 2 * time.Second
)

// guard decides which addresses are called: callers choose them, and must not reach what
// only the server can reach.
type guard struct{ allow public.Networks }

// client returns the client for all receivers. It uses no proxy, which would connect to
// other addresses than the guard has seen, and follows no redirects.
func (g guard) client() *http.Client {
	dialer := &net.Dialer{Timeout: timeout, ControlContext: g.control}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 100, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// parse returns a URL that may be called, as far as its text tells.
func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxURL || u.Hostname() == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errURL
	}
	return u, nil
}

// check refuses a URL that will not be called, as far as that can be known. control still
// decides about every connection.
func (g guard) check(ctx context.Context, address string) error {
	u, err := parse(address)
	if err != nil {
		return err
	}
	var refused error
	for _, to := range lookup(ctx, u.Hostname()) {
		if refused = g.permits(to, u.Scheme == "http"); refused == nil {
			return nil // one of several addresses is sufficient
		}
	}
	return refused
}

func (g guard) permits(to netip.Addr, plain bool) error {
	switch {
	case !g.allow.Permits(to):
		return errPrivate
	case plain && !g.allow.Contains(to):
		return errPlain
	}
	return nil
}

// lookup resolves a host; it returns none on failure, which the first attempt reports.
func lookup(ctx context.Context, name string) []netip.Addr {
	if address, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{address}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil
	}
	return found
}

// plainKey marks the context of a request without TLS.
type plainKey struct{}

// control checks the address of a connection before it is made.
func (g guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return errURL
	}
	return g.permits(to.Addr(), ctx.Value(plainKey{}) != nil)
}

// post sends a message, and returns the status of the answer. Errors do not contain the
// URL, which may have a secret.
func (o *Outbox) post(ctx context.Context, m *Message) (status int, err error) {
	u, err := parse(m.URL)
	if err != nil {
		return 0, err
	}
	if u.Scheme == "http" {
		ctx = context.WithValue(ctx, plainKey{}, true)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return 0, errURL
	}
	maps.Copy(r.Header, m.Header)
	r.Header.Set("User-Agent", "parley")
	resp, err := o.client.Do(traceparent.Stamp(r))
	if err != nil {
		if bad, ok := errors.AsType[*url.Error](err); ok {
			err = bad.Err
		}
		return 0, errors.New(strings.ReplaceAll(err.Error(), m.URL, "the URL"))
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, nil
}
