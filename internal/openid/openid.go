// Package openid is what the server needs of OpenID Connect: the discovery
// documents of providers, and the verification of their identity tokens. Package
// credential/openid registers the implementation.
package openid

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parley-run/parley/internal/registry"
)

// ScopeOpenID is the scope that requests an identity token.
const ScopeOpenID = "openid"

// The signature algorithms with a private key that only the provider has.
const (
	RS256 = "RS256"
	RS384 = "RS384"
	RS512 = "RS512"
	ES256 = "ES256"
	ES384 = "ES384"
	ES512 = "ES512"
	PS256 = "PS256"
	PS384 = "PS384"
	PS512 = "PS512"
	EdDSA = "EdDSA"
)

// Asymmetric returns these algorithms.
func Asymmetric() []string {
	return []string{RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512, EdDSA}
}

// Library implements OpenID Connect. Requests are made with the client in the
// context, as package oauth2 expects it.
type Library interface {
	// Discover fetches the discovery document of an issuer. It fails with a
	// *MismatchError if the document is about another issuer.
	Discover(ctx context.Context, issuer string) (Provider, error)
	// Unsigned returns a verifier that checks neither the signature nor the issuer.
	Unsigned(c Check) Verifier
}

// Provider is a provider that has been discovered.
type Provider interface {
	// Claims decodes the discovery document.
	Claims(into any) error
	// Verifier returns a verifier of its tokens, which fetches keys with the client in
	// ctx.
	Verifier(ctx context.Context, c Check) Verifier
}

// Verifier verifies identity tokens.
type Verifier interface {
	// Verify fails with a *KeysError if the keys of the provider could not be fetched.
	Verify(ctx context.Context, token string) (*Token, error)
}

// Check says what a verifier checks.
type Check struct {
	// ClientID is the audience that a token must have; empty accepts any.
	ClientID string
	// Algorithms are those that are accepted; nil means those that the provider
	// announces, and none at all RS256.
	Algorithms []string
	// Now is the clock; nil for the system's.
	Now func() time.Time
}

// Token is a verified token.
type Token struct {
	Nonce    string
	Audience []string
	Expiry   time.Time
	Claims   json.RawMessage
}

// MismatchError means that a discovery document is about another issuer.
type MismatchError struct {
	Discovered string // the issuer in the document
	Cause      error
}

// Error implements error.
func (e *MismatchError) Error() string { return e.Cause.Error() }

// KeysError means that the keys of a provider could not be fetched.
type KeysError struct {
	Fetch error // why
	Cause error // of the verification
}

// Error implements error.
func (e *KeysError) Error() string { return e.Cause.Error() }

// Find returns the implementation, or an error that names the package to import.
func Find() (Library, error) {
	if lib, ok := registry.Find[Library](""); ok {
		return lib, nil
	}
	return nil, registry.Missing("OpenID Connect", "credential/openid")
}
