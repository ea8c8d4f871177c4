package provider

import (
	"crypto/rand"
	"crypto/rsa"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// authRequest is an authorization from the moment when a user comes until the
// code is exchanged. The library is given copies.
type authRequest struct {
	oidc.AuthRequest
	id      string
	auto    string // who is logged in without being asked
	subject string // who has logged in and said yes
	at      time.Time
	expires time.Time
}

func (r *authRequest) copy() *authRequest {
	made := *r
	made.Scopes = slices.Clone(r.Scopes)
	return &made
}

func (r *authRequest) GetID() string          { return r.id }
func (r *authRequest) GetACR() string         { return "" }
func (r *authRequest) GetAMR() []string       { return nil }
func (r *authRequest) GetAudience() []string  { return []string{r.ClientID} }
func (r *authRequest) GetAuthTime() time.Time { return r.at }
func (r *authRequest) GetClientID() string    { return r.ClientID }
func (r *authRequest) GetNonce() string       { return r.Nonce }
func (r *authRequest) GetScopes() []string    { return r.Scopes }
func (r *authRequest) GetSubject() string     { return r.subject }
func (r *authRequest) Done() bool             { return r.subject != "" }

func (r *authRequest) GetCodeChallenge() *oidc.CodeChallenge {
	if r.CodeChallenge == "" {
		return nil
	}
	return &oidc.CodeChallenge{Challenge: r.CodeChallenge, Method: r.CodeChallengeMethod}
}

// refreshRequest is a refresh, maybe for less than what was granted.
type refreshRequest struct {
	client string
	grant  *grant
	scopes []string
}

func (r *refreshRequest) GetAMR() []string                 { return nil }
func (r *refreshRequest) GetAudience() []string            { return []string{r.client} }
func (r *refreshRequest) GetAuthTime() time.Time           { return r.grant.at }
func (r *refreshRequest) GetClientID() string              { return r.client }
func (r *refreshRequest) GetScopes() []string              { return r.scopes }
func (r *refreshRequest) GetSubject() string               { return r.grant.subject }
func (r *refreshRequest) SetCurrentScopes(scopes []string) { r.scopes = scopes }

// clientRequest is the client itself, without a user.
type clientRequest struct {
	client string
	scopes []string
}

func (r *clientRequest) GetAudience() []string { return []string{r.client} }
func (r *clientRequest) GetScopes() []string   { return r.scopes }
func (r *clientRequest) GetSubject() string    { return r.client }

// client is the one client.
type client struct {
	options Options
	issuer  string
}

func (c client) GetID() string                       { return c.options.ClientID }
func (c client) RedirectURIs() []string              { return c.options.RedirectURIs }
func (c client) PostLogoutRedirectURIs() []string    { return nil }
func (c client) ApplicationType() op.ApplicationType { return op.ApplicationTypeWeb }
func (c client) AuthMethod() oidc.AuthMethod         { return oidc.AuthMethodBasic } // the form will do too
func (c client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}

func (c client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeClientCredentials}
}
func (c client) LoginURL(id string) string            { return c.issuer + LoginPath + "?id=" + id }
func (c client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeBearer }
func (c client) IDTokenLifetime() time.Duration       { return c.options.IDTokenLife }
func (c client) DevMode() bool                        { return true }
func (c client) IsScopeAllowed(scope string) bool     { return slices.Contains(c.options.Scopes, scope) }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c client) ClockSkew() time.Duration             { return 0 }

func (c client) RestrictAdditionalIdTokenScopes() func([]string) []string     { return all }
func (c client) RestrictAdditionalAccessTokenScopes() func([]string) []string { return all }

func all(scopes []string) []string { return scopes }

// RedirectURIGlobs lets users be sent anywhere when nothing else was said.
func (c client) RedirectURIGlobs() []string {
	if len(c.options.RedirectURIs) > 0 {
		return nil
	}
	return []string{"http://**", "https://**"}
}

func (c client) PostLogoutRedirectURIGlobs() []string { return nil }

// signingKey signs ID tokens.
type signingKey struct {
	id  string
	key *rsa.PrivateKey
}

func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k signingKey) Key() any                                    { return k.key }
func (k signingKey) ID() string                                  { return k.id }

// publicKey is what others may know of it.
type publicKey signingKey

func (k publicKey) ID() string                         { return k.id }
func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return &k.key.PublicKey }

// signing makes the key. It takes a while, so the providers of a process share it.
var signing = sync.OnceValues(func() (signingKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	return signingKey{rand.Text(), key}, err
})
