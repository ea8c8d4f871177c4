package access

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/loopback"
	"github.com/parley-run/parley/internal/openid"
	"github.com/parley-run/parley/session"
)

// OIDCConfig defines which identity tokens are accepted, and their meaning.
type OIDCConfig struct {
	// Issuers are URLs, or name=URL. The ids of users of a named issuer are prefixed with the name, as in name:id; at
	// most one issuer is unnamed.
	Issuers []string
	// Audiences are the accepted audiences of a token.
	Audiences []string
	// UserClaim is the claim with the id of a user; empty means sub.
	UserClaim string
	// Admins and Delegates are claims, as claim=value, of callers that may do everything, and of those that may act as
	// any user. Readers and Reviewers are those of callers that may only read what any user has, and of those that may
	// also give feedback to it, unless they are administrators or delegates. They apply to the unnamed issuer; for a
	// named one, they are written as name:claim=value.
	Admins, Delegates, Readers, Reviewers []string
	// ClientID is the id of the server at the first issuer, if users sign in there; ClientSecret is its secret, if
	// required. Tokens for the client are accepted regardless of Audiences.
	ClientID, ClientSecret string
	Log                    *slog.Logger
}

// Issuers verifies identity tokens.
type Issuers struct {
	issuers   map[string]*issuer // by URL
	audiences []string
	userClaim string
	grants    []grant
	client    *Client
}

// grant is what callers with one of the claims may do.
type grant struct {
	claims []claim
	scopes []Scope
}

// claim is a claim of a token of an issuer.
type claim struct{ issuer, name, value string }

// OIDC returns a verifier of the identity tokens of issuers. It fetches their keys, and continues if an issuer does not
// answer: the next token of that issuer triggers another attempt.
func OIDC(ctx context.Context, c OIDCConfig) (*Issuers, error) {
	g := &Issuers{issuers: map[string]*issuer{}, audiences: slices.Clone(c.Audiences), userClaim: c.UserClaim}
	if c.ClientID != "" {
		g.audiences = append(g.audiences, c.ClientID)
	}
	if g.userClaim == "" {
		g.userClaim = "sub"
	}
	if len(c.Issuers) == 0 {
		return nil, errors.New("identity tokens need an issuer")
	}
	if len(g.audiences) == 0 || slices.Contains(g.audiences, "") {
		return nil, errors.New("identity tokens need an audience: without one, a token for any other service would do")
	}
	library, err := openid.Find()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, text := range c.Issuers {
		i, err := newIssuer(text, library)
		if err != nil {
			return nil, err
		}
		switch {
		case g.issuers[i.url] != nil:
			return nil, fmt.Errorf("duplicate issuer %s", i.url)
		case names[i.name] && i.name == "":
			return nil, fmt.Errorf("the issuer %s needs a name, as in name=%s: two issuers may have users with the same id", i.url, i.url)
		case names[i.name]:
			return nil, fmt.Errorf("duplicate name of the issuer %s", i.name)
		}
		g.issuers[i.url], names[i.name] = i, true
		if g.client == nil && c.ClientID != "" {
			g.client = newClient(i, c.ClientID, c.ClientSecret)
		}
	}
	// The first that a token has is the caller's.
	for _, r := range []struct {
		claims []string
		scopes []Scope
	}{{c.Admins, []Scope{Run, Admin}}, {c.Delegates, []Scope{Run, Users}}, {c.Reviewers, []Scope{Review, Users}}, {c.Readers, []Scope{Read, Users}}} {
		of, err := claims(r.claims, names)
		if err != nil {
			return nil, err
		}
		g.grants = append(g.grants, grant{of, r.scopes})
	}
	for _, i := range g.issuers {
		if i.name == "" {
			delete(names, "")
			i.foreign = names
		}
	}
	for _, i := range g.issuers {
		if _, err := i.verifier(ctx); err != nil {
			c.Log.Warn("the OIDC issuer is unavailable; its tokens are refused until it answers", "issuer", i.url, "err", err)
		}
	}
	return g, nil
}

// claims parses claims of the named issuers.
func claims(list []string, issuers map[string]bool) ([]claim, error) {
	var out []claim
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("%q is not a claim: write claim=value", text)
		}
		one := claim{name: name, value: value}
		if issuer, rest, ok := strings.Cut(name, ":"); ok && issuers[issuer] { // names of claims may contain colons, too
			one.issuer, one.name = issuer, rest
		}
		if !issuers[one.issuer] {
			return nil, fmt.Errorf("%s: all issuers have names, so write name:%s", text, text)
		}
		out = append(out, one)
	}
	return out, nil
}

// URLs returns the URLs of the issuers.
func (g *Issuers) URLs() []string { return slices.Sorted(maps.Keys(g.issuers)) }

// Identify is a Gate.
func (g *Issuers) Identify(r *http.Request) (*Caller, error) {
	token, err := bearer(r)
	if err != nil {
		return nil, err
	}
	i := g.issuers[issuerOf(token)]
	if i == nil {
		return nil, &RefusedError{"the token has an unknown issuer"}
	}
	verified, err := i.verify(r.Context(), token)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(verified.Audience, func(a string) bool { return slices.Contains(g.audiences, a) }) {
		return nil, &RefusedError{fmt.Sprintf("the token is for %q", verified.Audience)}
	}
	said := map[string]any{}
	if err := json.Unmarshal(verified.Claims, &said); err != nil {
		return nil, &RefusedError{"the claims of the token cannot be read"}
	}
	user, err := i.user(said, g.userClaim)
	if err != nil {
		return nil, err
	}
	c := &Caller{ID: userCaller + user, User: user, Expires: verified.Expiry, Roles: i.roles(said), scopes: []Scope{Run}}
	for _, one := range g.grants {
		if slices.ContainsFunc(one.claims, func(c claim) bool { return c.issuer == i.name && c.in(said) }) {
			c.scopes = one.scopes
			break
		}
	}
	return c, nil
}

// maxRoles bounds the roles of a caller.
const maxRoles = 1000

// roles returns the roles in the claims of a token: the values of "roles" and of "groups". Those of a named issuer have
// its name before them, like its users.
func (i *issuer) roles(said map[string]any) []string {
	var list []string
	for _, name := range []string{"roles", "groups"} {
		values, ok := said[name].([]any)
		if one, text := said[name].(string); text {
			values, ok = []any{one}, true
		}
		for _, v := range values {
			role, text := v.(string)
			issuer, _, _ := strings.Cut(role, ":")
			if !ok || !text || role == "" || i.foreign[issuer] || len(list) == maxRoles {
				continue
			}
			if i.name != "" {
				role = i.name + ":" + role
			}
			list = append(list, role)
		}
	}
	return list
}

// in reports whether a token has the claim: as a string, as an element of a list or, for scopes, as a word.
func (c claim) in(said map[string]any) bool {
	if c.name == "email" && !verifiedEmail(said) {
		return false
	}
	switch v := said[c.name].(type) {
	case string:
		words := []string{v}
		if c.name == "scope" || c.name == "scp" {
			words = strings.Split(v, " ") // RFC 6749, section 3.3: no other character separates scopes
		}
		return slices.Contains(words, c.value)
	case []any:
		return slices.Contains(v, any(c.value))
	}
	return false
}

// verifiedEmail reports whether the issuer has verified the email address. Some issuers let users enter any address.
func verifiedEmail(said map[string]any) bool {
	return said["email_verified"] == true || said["email_verified"] == "true"
}

// issuerOf returns the issuer that a token names, before anything is verified.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var named struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(payload, &named) != nil {
		return ""
	}
	if named.Issuer == "accounts.google.com" { // allowed in tokens of Google
		return "https://" + named.Issuer
	}
	return named.Issuer
}

// issuer is an issuer whose tokens are accepted.
type issuer struct {
	name, url string
	foreign   map[string]bool // names of the other issuers, which user ids must not start with
	client    *http.Client
	library   openid.Library

	mu         sync.Mutex
	ready      openid.Verifier // nil until discovery succeeds
	signIn     oauth2.Endpoint // set by discovery
	saysIssuer bool            // set by discovery: callbacks have the iss parameter
	failed     error
	tried      time.Time
}

func newIssuer(text string, library openid.Library) (*issuer, error) {
	i := &issuer{url: text, library: library}
	if name, address, ok := strings.Cut(text, "="); ok && !strings.Contains(name, ":") {
		i.name, i.url = name, address
	}
	u, err := url.Parse(i.url)
	if err != nil || !loopback.Secure(u) || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the issuer %q is not a URL such as https://accounts.example.com", i.url)
	}
	// Callers can invent key ids, and each one makes the verifier fetch the keys.
	transport := &throttled{next: http.DefaultTransport, limit: rate.NewLimiter(rate.Every(10*time.Second), 5)}
	i.client = &http.Client{Timeout: issuerTimeout, Transport: transport}
	return i, nil
}

const (
	// issuerTimeout is the timeout of requests to an issuer.
	issuerTimeout = 10 * time.Second
	// issuerPause is the time after which a failed discovery is repeated.
	issuerPause = 5 * time.Second
)

// errThrottled means that an issuer was called too often.
var errThrottled = errors.New("too many requests to the issuer")

// throttled limits the requests to an issuer.
type throttled struct {
	next  http.RoundTripper
	limit *rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (t *throttled) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.limit.Allow() {
		return nil, errThrottled
	}
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		resp.Body = bounded.NewDecoded(resp.Body, bounded.LoginAnswer, bounded.Whole, "an answer of the issuer")
	}
	return resp, err
}

// verifier returns the verifier of tokens, after discovery.
func (i *issuer) verifier(ctx context.Context) (openid.Verifier, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ready != nil {
		return i.ready, nil
	}
	if i.failed != nil && time.Since(i.tried) < issuerPause {
		return nil, i.failed
	}
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, i.client)
	found, err := i.library.Discover(ctx, i.url)
	i.tried, i.failed = time.Now(), err
	if err != nil {
		return nil, err
	}
	var about struct {
		AuthURL  string   `json:"authorization_endpoint"`
		TokenURL string   `json:"token_endpoint"`
		Algs     []string `json:"id_token_signing_alg_values_supported"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`

		SaysIssuer bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&about); err != nil {
		i.failed = err
		return nil, err
	}
	i.saysIssuer = about.SaysIssuer
	i.signIn = oauth2.Endpoint{AuthURL: about.AuthURL, TokenURL: about.TokenURL, AuthStyle: oauth2.AuthStyleInHeader}
	if len(about.Methods) > 0 && !slices.Contains(about.Methods, "client_secret_basic") {
		i.signIn.AuthStyle = oauth2.AuthStyleInParams
	}
	i.ready = found.Verifier(ctx, openid.Check{Algorithms: asymmetric(about.Algs)}) // of any client: there may be several
	return i.ready, nil
}

// asymmetric returns the algorithms whose private key only the issuer has.
func asymmetric(algs []string) []string {
	safe := openid.Asymmetric()
	return slices.DeleteFunc(append([]string{}, algs...), func(a string) bool { return !slices.Contains(safe, a) })
}

// verify checks the signature, the issuer and the times of a token.
func (i *issuer) verify(ctx context.Context, token string) (*openid.Token, error) {
	v, err := i.verifier(ctx)
	if err != nil {
		return nil, &UnavailableError{err}
	}
	verified, err := v.Verify(ctx, token)
	// Every invalid signature triggers a fetch of the keys, so a signature that fails while fetches are throttled is
	// most likely invalid. The next fetch finds a new key.
	if keys, ok := errors.AsType[*openid.KeysError](err); ok && !errors.Is(keys.Fetch, errThrottled) {
		return nil, &UnavailableError{keys.Fetch}
	}
	if err != nil {
		return nil, &RefusedError{err.Error()}
	}
	return verified, nil
}

// user returns the user id of a token.
func (i *issuer) user(said map[string]any, name string) (string, error) {
	user, _ := said[name].(string)
	if user == "" {
		return "", &RefusedError{"the token has no claim " + name}
	}
	if name == "email" && !verifiedEmail(said) {
		return "", &RefusedError{"the issuer has not verified the email address"}
	}
	if prefix, _, ok := strings.Cut(user, ":"); ok && i.foreign[prefix] {
		return "", &RefusedError{"the user id looks like one of another issuer"}
	}
	if i.name != "" {
		user = i.name + ":" + user
	}
	if err := session.CheckIdentifier("user id", user); err != nil {
		return "", &RefusedError{err.Error()}
	}
	return user, nil
}
