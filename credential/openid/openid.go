// Package openid lets a program verify identity tokens of OpenID Connect: those of
// callers, with parley.AccessOIDC, and those of users who log in to a provider with
// the scope openid, or with a scheme of the type openIdConnect. Import it for its
// side effect:
//
//	import _ "github.com/parley-run/parley/credential/openid"
//
// Logins with OAuth 2.0 alone do not need it.
package openid

import (
	"context"
	"errors"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/parley-run/parley/internal/openid"
	"github.com/parley-run/parley/internal/registry"
)

func init() { registry.Register[openid.Library]("", library{}) }

type library struct{}

// Discover implements openid.Library.
func (library) Discover(ctx context.Context, issuer string) (openid.Provider, error) {
	p, err := oidc.NewProvider(ctx, issuer)
	if other, ok := errors.AsType[*oidc.IssuerMismatchError](err); ok {
		return nil, &openid.MismatchError{Discovered: other.Discovered, Cause: err}
	}
	if err != nil {
		return nil, err
	}
	return &provider{p, issuer}, nil
}

// Unsigned implements openid.Library.
func (library) Unsigned(c openid.Check) openid.Verifier {
	config := configOf(c)
	config.SkipIssuerCheck, config.InsecureSkipSignatureCheck = true, true
	return verifier{oidc.NewVerifier("", nil, config)}
}

type provider struct {
	*oidc.Provider
	issuer string
}

// Verifier implements openid.Provider.
func (p *provider) Verifier(ctx context.Context, c openid.Check) openid.Verifier {
	if c.Algorithms == nil {
		return verifier{p.VerifierContext(ctx, configOf(c))}
	}
	var about struct {
		Keys string `json:"jwks_uri"`
	}
	_ = p.Claims(&about) // the document was decoded before
	return verifier{oidc.NewVerifier(p.issuer, keySet{oidc.NewRemoteKeySet(ctx, about.Keys)}, configOf(c))}
}

func configOf(c openid.Check) *oidc.Config {
	return &oidc.Config{ClientID: c.ClientID, SkipClientIDCheck: c.ClientID == "", SupportedSigningAlgs: c.Algorithms, Now: c.Now}
}

type verifier struct{ *oidc.IDTokenVerifier }

// Verify implements openid.Verifier.
func (v verifier) Verify(ctx context.Context, text string) (*openid.Token, error) {
	var fetch error
	token, err := v.IDTokenVerifier.Verify(context.WithValue(ctx, fetchKey{}, &fetch), text)
	switch {
	case fetch != nil:
		return nil, &openid.KeysError{Fetch: fetch, Cause: err}
	case err != nil:
		return nil, err
	}
	verified := &openid.Token{Nonce: token.Nonce, Audience: token.Audience, Expiry: token.Expiry}
	if err := token.Claims(&verified.Claims); err != nil {
		return nil, err
	}
	return verified, nil
}

// keySet distinguishes keys that could not be fetched from invalid signatures, which the verifier does not.
type keySet struct{ *oidc.RemoteKeySet }

type fetchKey struct{}

// VerifySignature implements oidc.KeySet.
func (k keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, token)
	if err != nil && strings.HasPrefix(err.Error(), "fetching keys ") {
		if failed, ok := ctx.Value(fetchKey{}).(*error); ok {
			*failed = err
		}
	}
	return payload, err
}
