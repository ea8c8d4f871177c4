package provider

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// What is said about an access token that is not good.
var (
	errUnknownToken = errors.New("the access token is not known, or it was revoked")
	errExpiredToken = errors.New("the access token has expired")
)

// storage is what the library keeps its things in: memory. The methods that only
// the library calls are in storage_op.go.
type storage struct {
	options Options
	issuer  string
	key     signingKey

	mu       sync.Mutex
	shift    time.Duration // how far the clock here is ahead
	auto     string        // who is logged in without being asked
	deny     bool          // whether everyone says no
	counts   Counts
	requests map[string]*authRequest
	codes    map[string]string // from a code to its request
	access   map[string]accessToken
	refresh  map[string]refreshToken
}

// grant is what a user has allowed. The tokens that follow from it share it, and
// are revoked with it.
type grant struct {
	subject string
	scopes  []string
	at      time.Time
	revoked bool
}

// accessToken may have less scopes than its grant.
type accessToken struct {
	*grant
	scopes  []string
	expires time.Time
}

func (t accessToken) has(scope string) bool { return slices.Contains(t.scopes, scope) }

type refreshToken struct {
	*grant
	expires time.Time
}

func newStorage(options Options, issuer string, key signingKey) *storage {
	return &storage{
		options: options, issuer: issuer, key: key, auto: options.AutoLogin,
		requests: map[string]*authRequest{}, codes: map[string]string{},
		access: map[string]accessToken{}, refresh: map[string]refreshToken{},
	}
}

// now is the time as tokens here see it. The caller holds the lock.
func (s *storage) now() time.Time { return time.Now().Add(s.shift) }

// Advance puts the provider's clock forward, so that what it has handed out
// expires without anyone waiting. What clients are told about the life of a
// token stays as it is.
func (p *Provider) Advance(by time.Duration) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.shift += by
}

// AutoLogin logs everyone in as the user from now on, as the option does. With
// no name, the page is shown again.
func (p *Provider) AutoLogin(user string) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.auto = user
}

// DenyConsent makes everyone say no from now on, whatever they choose.
func (p *Provider) DenyConsent(deny bool) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.deny = deny
}

// RevokeAccessTokens makes all access tokens until now bad. Refresh tokens stay
// good.
func (p *Provider) RevokeAccessTokens() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	clear(p.store.access)
}

// RevokeAll makes all tokens until now bad, so that users have to log in again.
func (p *Provider) RevokeAll() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	clear(p.store.access)
	clear(p.store.refresh)
}

// accessToken finds a token that is good.
func (s *storage) accessToken(id string) (accessToken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, ok := s.access[id]
	switch {
	case !ok || token.revoked:
		return accessToken{}, errUnknownToken
	case !s.now().Before(token.expires):
		return accessToken{}, errExpiredToken
	}
	return token, nil
}

// refreshable finds a refresh token that is good. The caller holds the lock.
func (s *storage) refreshable(value string) (refreshToken, error) {
	token, ok := s.refresh[value]
	if !ok || token.revoked || !s.now().Before(token.expires) {
		return refreshToken{}, oidc.ErrInvalidGrant().WithDescription("the refresh token was used, was revoked, has expired or never was")
	}
	return token, nil
}

// request finds an authorization that is in progress. The caller holds the lock.
func (s *storage) request(id string) (*authRequest, error) {
	request, ok := s.requests[id]
	if !ok || !s.now().Before(request.expires) {
		return nil, oidc.ErrInvalidRequest().WithDescription("the authorization is over, has expired or never was")
	}
	return request, nil
}

// issue makes an access token. The caller holds the lock.
func (s *storage) issue(g *grant, scopes []string) (id string, expires time.Time) {
	id = rand.Text()
	s.access[id] = accessToken{g, scopes, s.now().Add(s.options.AccessTokenLife)}
	// The library tells clients how many whole seconds are left, and by then a
	// part of the first one is over. Without a bit more, a second would become
	// none, which means forever.
	return id, time.Now().Add(s.options.AccessTokenLife + 900*time.Millisecond)
}

// issueRefresh makes a refresh token. The caller holds the lock.
func (s *storage) issueRefresh(g *grant) string {
	value := "refresh-" + rand.Text()
	s.refresh[value] = refreshToken{g, s.now().Add(s.options.RefreshTokenLife)}
	return value
}

// spend ends an authorization whose code is exchanged, so that of two exchanges
// one is too late. The caller holds the lock.
func (s *storage) spend(id string) (*grant, error) {
	request, err := s.request(id)
	if err != nil {
		return nil, oidc.ErrInvalidGrant().WithDescription("the code was used before")
	}
	delete(s.requests, id)
	s.counts.Exchanges++
	return &grant{subject: request.subject, scopes: request.Scopes, at: request.at}, nil
}

// CreateAccessToken is for the library: a token without a refresh token.
func (s *storage) CreateAccessToken(_ context.Context, request op.TokenRequest) (string, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var g *grant
	switch request := request.(type) {
	case *authRequest:
		var err error
		if g, err = s.spend(request.id); err != nil {
			return "", time.Time{}, err
		}
	case *clientRequest:
		s.counts.ClientCredentials++
		g = &grant{subject: request.GetSubject(), scopes: request.scopes, at: s.now()}
	default:
		return "", time.Time{}, oidc.ErrUnsupportedGrantType()
	}
	id, expires := s.issue(g, g.scopes)
	return id, expires, nil
}

// CreateAccessAndRefreshTokens is for the library: tokens for a code or for the
// refresh token of before, which is used up by it.
func (s *storage) CreateAccessAndRefreshTokens(_ context.Context, request op.TokenRequest, current string) (string, string, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch request := request.(type) {
	case *authRequest:
		g, err := s.spend(request.id)
		if err != nil {
			return "", "", time.Time{}, err
		}
		id, expires := s.issue(g, g.scopes)
		return id, s.issueRefresh(g), expires, nil
	case *refreshRequest:
		token, err := s.refreshable(current)
		if err != nil {
			return "", "", time.Time{}, err
		}
		s.counts.Refreshes++
		id, expires := s.issue(token.grant, request.scopes)
		if s.options.KeepRefreshTokens {
			return id, "", expires, nil
		}
		delete(s.refresh, current)
		return id, s.issueRefresh(token.grant), expires, nil
	default:
		return "", "", time.Time{}, oidc.ErrUnsupportedGrantType()
	}
}

// TokenRequestByRefreshToken is for the library.
func (s *storage) TokenRequestByRefreshToken(_ context.Context, value string) (op.RefreshTokenRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, err := s.refreshable(value)
	if err != nil {
		return nil, err
	}
	return &refreshRequest{s.options.ClientID, token.grant, token.scopes}, nil
}

// GetRefreshTokenInfo is for the library, which asks whether a token that is to
// be revoked is a refresh token.
func (s *storage) GetRefreshTokenInfo(_ context.Context, _, value string) (userID, tokenID string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, ok := s.refresh[value]
	if !ok {
		return "", "", op.ErrInvalidRefreshToken
	}
	return token.subject, value, nil
}

// RevokeToken implements op.Storage. A refresh token revokes all that was granted with it; revoking an invalid token is
// not an error.
func (s *storage) RevokeToken(_ context.Context, value, _, _ string) *oidc.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token, ok := s.refresh[value]; ok && !token.revoked {
		token.revoked = true
		s.counts.Revocations++
	} else if token, ok := s.access[value]; ok && !token.revoked {
		delete(s.access, value)
		s.counts.Revocations++
	}
	return nil
}
