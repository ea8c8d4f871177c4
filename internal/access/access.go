// Package access authenticates callers and defines what they may do. It knows tokens, keys and headers; package server
// defines which permission a route requires.
package access

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/session"
)

// Scope is a permission of a caller.
type Scope string

// The scopes.
const (
	// Read allows a user to read their sessions.
	Read Scope = "read"
	// Review allows feedback to runs. It includes Read.
	Review Scope = "review"
	// Run allows everything that users do with their sessions. It includes Review.
	Run Scope = "run"
	// Schedules, Triggers and Inbox allow what users do with their schedules, with their triggers, and with what waits
	// for an answer of theirs. Run includes them, and Read what only looks.
	Schedules Scope = "schedules"
	Triggers  Scope = "triggers"
	Inbox     Scope = "inbox"
	// Users allows acting as any user.
	Users Scope = "users"
	// Dev allows the endpoints for developers. It cannot be granted by itself: where not every caller has it, it
	// requires Admin.
	Dev Scope = "dev"
	// Admin allows everything for every user, and changes of state that all users share.
	Admin Scope = "admin"
)

// Caller identifies who makes a request. A nil Caller has every permission.
type Caller struct {
	// ID identifies the caller in limits and logs. It is not secret.
	ID string
	// User is the user that the caller is, or empty.
	User string
	// Expires is the time when the caller's token expires; zero means never.
	Expires time.Time
	// Roles are those that the identity token of the caller names.
	Roles  []string
	scopes []Scope
}

type callerKey struct{}

// With returns a context with a caller.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From returns the caller of a context, nil if there is none.
func From(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// Has reports whether the caller has a role. Administrators have all.
func (c *Caller) Has(role string) bool { return c.May(Admin) || slices.Contains(c.Roles, role) }

// May reports whether the caller has a scope, or one that includes it.
func (c *Caller) May(scope Scope) bool {
	return c == nil || slices.ContainsFunc(c.scopes, func(has Scope) bool {
		return has == scope || has == Admin || slices.Contains(included[has], scope)
	})
}

// Scopes returns the scopes that the caller has, with those that they include.
func (c *Caller) Scopes() []Scope {
	list := append([]Scope{Dev}, GrantableScopes...)
	return slices.DeleteFunc(list, func(s Scope) bool { return !c.May(s) })
}

// included are the scopes that a scope includes, except for Admin, which includes all.
var included = map[Scope][]Scope{Review: {Read}, Run: {Read, Review, Schedules, Triggers, Inbox}}

// Is reports whether the caller may act as a user.
func (c *Caller) Is(user string) bool {
	return c == nil || c.User != "" && c.User == user || c.May(Users)
}

// Self returns the user that a caller is who names none: itself. It is empty for callers
// who are not authenticated.
func (c *Caller) Self() string {
	if c == nil || c.User == "" && !strings.HasPrefix(c.ID, keyCaller) {
		return ""
	}
	return cmp.Or(c.User, c.ID)
}

// These begin the ids of callers who have an API key, and of those who are named by an issuer or a platform.
const keyCaller, userCaller = "key:", "user:"

// Gate authenticates the caller of a request. It fails with ErrNoToken, a *RefusedError or an *UnavailableError.
type Gate func(r *http.Request) (*Caller, error)

// ErrNoToken means that a request has no credentials.
var ErrNoToken = errors.New("the request has no bearer token")

// RefusedError means that the credentials of a request are invalid. Why is for the log.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// UnavailableError means that the credentials cannot be checked at the moment.
type UnavailableError struct{ Cause error }

func (e *UnavailableError) Error() string {
	return "cannot authenticate the caller: " + e.Cause.Error()
}
func (e *UnavailableError) Unwrap() error { return e.Cause }

// Local gives every permission to callers on the same machine.
func Local(r *http.Request) (*Caller, error) {
	return &Caller{ID: "address:" + address(r.RemoteAddr), scopes: []Scope{Admin}}, nil
}

// Public allows every caller to act as any user, but not to write state that all users share. more adds scopes. If
// proxied is true, the address of the caller is taken from the headers of a proxy.
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

// Platform relies on the platform in front of the server to authenticate callers. If userHeader is not empty, it names
// the header with the user. The platform must not let callers set that header themselves.
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
		return &Caller{ID: userCaller + values[0], User: values[0], scopes: []Scope{Run}}, nil
	}
}

// forwarded returns the client address that the proxy in front of the server has added. Earlier entries of the header
// are not trusted.
func forwarded(r *http.Request) string {
	list := r.Header.Values("X-Forwarded-For")
	if len(list) == 0 {
		return address(r.RemoteAddr)
	}
	last := list[len(list)-1]
	return address(strings.TrimSpace(last[strings.LastIndex(last, ",")+1:]))
}

// address returns the network of an address. The owner of an IPv6 address usually has a whole network of them.
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

// maxToken exceeds every token that fits the usual limits of headers.
const maxToken = 16 << 10

// bearer returns the bearer token of a request.
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
