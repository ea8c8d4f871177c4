// Package access tells who makes a request, and what they may do. It knows
// tokens, keys and headers; what a route needs is the server's to say.
package access

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/session"
)

// Scope is something that a caller may do.
type Scope string

// The scopes.
const (
	// Read is to look at one's sessions.
	Read Scope = "read"
	// Run is to do everything with them that users do. It includes Read.
	Run Scope = "run"
	// Users is to act for any user.
	Users Scope = "users"
	// Dev is to use what is for developers. It cannot be granted by itself: where
	// not everybody has it, it takes Admin.
	Dev Scope = "dev"
	// Admin is everything, for everybody, and to write what all users share.
	Admin Scope = "admin"
)

// Caller is who makes a request. Nil is somebody whom nothing is forbidden to.
type Caller struct {
	// ID tells callers apart, for limits and logs. It is no secret.
	ID string
	// User is the one user that the caller is, empty for none.
	User string
	// Expires is when the caller has to show another token; zero for never.
	Expires time.Time
	scopes  []Scope
}

// May reports whether the caller has a scope, or one that includes it.
func (c *Caller) May(scope Scope) bool {
	return c == nil || slices.Contains(c.scopes, scope) || slices.Contains(c.scopes, Admin) ||
		scope == Read && slices.Contains(c.scopes, Run)
}

// Is reports whether the caller may act as a user.
func (c *Caller) Is(user string) bool {
	return c == nil || c.User != "" && c.User == user || c.May(Users)
}

// Gate tells who makes a request. It fails with ErrNoToken, a *RefusedError or an
// *UnavailableError.
type Gate func(r *http.Request) (*Caller, error)

// ErrNoToken means that a request does not say who makes it.
var ErrNoToken = errors.New("the request has no bearer token")

// RefusedError means that what a request says of who makes it does not hold. Why
// is for the log.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// UnavailableError means that it cannot be found out just now.
type UnavailableError struct{ Cause error }

func (e *UnavailableError) Error() string {
	return "cannot find out who is calling: " + e.Cause.Error()
}
func (e *UnavailableError) Unwrap() error { return e.Cause }

// Local lets programs on the same machine do everything.
func Local(r *http.Request) (*Caller, error) {
	return &Caller{ID: "address:" + address(r.RemoteAddr), scopes: []Scope{Admin}}, nil
}

// Public lets everybody be any user. Nobody may write what all users share. With
// more scopes, everybody has those as well. If proxied is true, a proxy in front
// says where callers are.
func Public(proxied bool, more ...Scope) Gate {
	scopes := append([]Scope{Run, Users}, more...)
	return func(r *http.Request) (*Caller, error) {
		from := address(r.RemoteAddr)
		if proxied {
			from = forwarded(r)
		}
		return &Caller{ID: "address:" + from, scopes: scopes}, nil
	}
}

// Platform leaves it to what is in front of the server to let callers through.
// If userHeader is not empty, it is where the platform says which user a caller
// is. It must not let callers set that header themselves.
func Platform(userHeader string) Gate {
	if userHeader == "" {
		return func(r *http.Request) (*Caller, error) {
			return &Caller{ID: "address:" + forwarded(r), scopes: []Scope{Admin}}, nil
		}
	}
	return func(r *http.Request) (*Caller, error) {
		values := r.Header.Values(userHeader)
		switch {
		case len(values) == 0:
			return nil, ErrNoToken
		case len(values) > 1:
			return nil, &RefusedError{"the request has several headers " + userHeader}
		}
		if err := session.CheckIdentifier("user id", values[0]); err != nil {
			return nil, &RefusedError{"the header " + userHeader + ": " + err.Error()}
		}
		return &Caller{ID: "user:" + values[0], User: values[0], scopes: []Scope{Run}}, nil
	}
}

// forwarded is the address that what is in front of the server has seen, which it
// adds to those that were claimed before.
func forwarded(r *http.Request) string {
	list := r.Header.Values("X-Forwarded-For")
	if len(list) == 0 {
		return address(r.RemoteAddr)
	}
	last := list[len(list)-1]
	return address(strings.TrimSpace(last[strings.LastIndex(last, ",")+1:]))
}

// address is the network of whoever is at an address. One who has an IPv6
// address has a whole network of them.
func address(of string) string {
	host, _, err := net.SplitHostPort(of)
	if err != nil {
		host = of
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return "unknown"
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return "unknown"
	}
	return network.String()
}

// maxToken is longer than any token that fits the usual limits for headers.
const maxToken = 16 << 10

// bearer is the token of a request.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", ErrNoToken
	}
	if len(values) > 1 {
		return "", &RefusedError{"the request has several Authorization headers"}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	switch {
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return "", ErrNoToken
	case len(token) > maxToken:
		return "", &RefusedError{"the token is too long"}
	}
	return token, nil
}
