// Package credential defines logins: how an API expects credentials (Scheme),
// the credential itself (Credential), and both together as servers and
// clients exchange them (Config).
//
// Decoding accepts every supported spelling. Encoding uses one of two: camelCase as
// in ADK, or snake_case with values in upper case; see Snake.
//
// Only AppendJSON and Apply reveal secrets. Printing, logging and json.Marshal
// do not.
package credential

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/parley-run/parley/internal/wire"
)

// Type is the kind of a scheme or of a credential, as ADK spells it. A scheme
// may have a kind that is not among the constants.
type Type string

// The kinds of schemes and credentials. A service account is a credential only.
const (
	TypeAPIKey         Type = "apiKey"
	TypeHTTP           Type = "http"
	TypeOAuth2         Type = "oauth2"
	TypeOpenIDConnect  Type = "openIdConnect"
	TypeServiceAccount Type = "serviceAccount"
)

// specTypes are the kinds of credentials as the specification spells them.
var specTypes = map[Type]string{
	TypeAPIKey:         "API_KEY",
	TypeHTTP:           "HTTP",
	TypeOAuth2:         "OAUTH2",
	TypeOpenIDConnect:  "OPEN_ID_CONNECT",
	TypeServiceAccount: "SERVICE_ACCOUNT",
}

// parseType parses a kind in any spelling. It returns unknown kinds unchanged.
func parseType(s string) (t Type, known bool) {
	switch wire.Fold(s) {
	case "apikey":
		return TypeAPIKey, true
	case "http":
		return TypeHTTP, true
	case "oauth2":
		return TypeOAuth2, true
	case "openidconnect", "oidc":
		return TypeOpenIDConnect, true
	case "serviceaccount":
		return TypeServiceAccount, true
	}
	return Type(s), false
}

// interactive reports whether the kind uses OAuth 2.0 logins.
func (t Type) interactive() bool { return t == TypeOAuth2 || t == TypeOpenIDConnect }

// Config is one login: the scheme, the configured credential, and the credential
// that the login resulted in. ADK calls it AuthConfig.
type Config struct {
	Scheme    *Scheme     // authScheme
	Raw       *Credential // rawAuthCredential: as the author of the tool configured it
	Exchanged *Credential // exchangedAuthCredential: the state and the result of the login
	// CredentialKey is the name under which the login is stored. Use Key, which
	// derives a default if it is empty.
	CredentialKey string
	// Extra holds members that Parley does not know, in their original spelling.
	Extra map[string]json.RawMessage
}

// Credential authorizes calls of an API, or can be exchanged for a credential that
// does. Type determines which members apply.
type Credential struct {
	Type           Type
	ResourceRef    string
	APIKey         string
	HTTP           *HTTP
	OAuth2         *OAuth2 // of TypeOAuth2 and TypeOpenIDConnect
	ServiceAccount *ServiceAccount
	Extra          map[string]json.RawMessage
}

// HTTP is a credential for the Authorization header.
type HTTP struct {
	Scheme                    string // bearer, basic, …
	Username, Password, Token string
	AdditionalHeaders         map[string]string
	Extra                     map[string]json.RawMessage
}

// OAuth2 holds a client, one login with it, and the tokens that the login resulted
// in.
type OAuth2 struct {
	ClientID, ClientSecret string

	AuthURI             string // where to send the user; the server sets it
	Nonce, State        string
	CodeVerifier        string
	CodeChallengeMethod string // S256, or empty for a login without PKCE

	RedirectURI     string // where the provider sends the user back to
	AuthResponseURI string // the address that the user came back with; the client sets it
	AuthCode        string

	AccessToken, RefreshToken, IDToken string
	ExpiresAt                          int64 // in seconds since 1970
	ExpiresIn                          int64 // in seconds

	Audience, Prompt        string
	TokenEndpointAuthMethod string // client_secret_basic (the default), client_secret_post, none
	Extra                   map[string]json.RawMessage
}

// ServiceAccount identifies a program. It is exchanged for a token.
type ServiceAccount struct {
	Key                  *ServiceAccountKey
	Scopes               []string
	UseDefaultCredential bool // use the account of the machine, without a key
	UseIDToken           bool // request an ID token for Audience instead of an access token
	Audience             string
	Extra                map[string]json.RawMessage
}

// ServiceAccountKey is the JSON key file of a service account.
type ServiceAccountKey struct {
	Type                                       string
	ProjectID, PrivateKeyID, PrivateKey        string
	ClientEmail, ClientID                      string
	AuthURI, TokenURI                          string
	AuthProviderX509CertURL, ClientX509CertURL string
	UniverseDomain                             string
	Extra                                      map[string]json.RawMessage
}

// kind returns the type, or infers it from the members if it is not set.
func (c *Credential) kind() Type {
	switch {
	case c.Type != "":
		return c.Type
	case c.OAuth2 != nil:
		return TypeOAuth2
	case c.HTTP != nil:
		return TypeHTTP
	case c.ServiceAccount != nil:
		return TypeServiceAccount
	case c.APIKey != "":
		return TypeAPIKey
	}
	return ""
}

// Clone returns a copy that shares nothing with c.
func (c *Config) Clone() *Config {
	if c == nil {
		return nil
	}
	out := *c
	out.Scheme, out.Raw, out.Exchanged = c.Scheme.Clone(), c.Raw.Clone(), c.Exchanged.Clone()
	out.Extra = cloneRaw(c.Extra)
	return &out
}

// Clone returns a copy that shares nothing with c.
func (c *Credential) Clone() *Credential {
	if c == nil {
		return nil
	}
	out := *c
	out.Extra = cloneRaw(c.Extra)
	if c.HTTP != nil {
		h := *c.HTTP
		h.AdditionalHeaders, h.Extra = maps.Clone(h.AdditionalHeaders), cloneRaw(h.Extra)
		out.HTTP = &h
	}
	if c.OAuth2 != nil {
		o := *c.OAuth2
		o.Extra = cloneRaw(o.Extra)
		out.OAuth2 = &o
	}
	if c.ServiceAccount != nil {
		s := *c.ServiceAccount
		s.Scopes, s.Extra = slices.Clone(s.Scopes), cloneRaw(s.Extra)
		if s.Key != nil {
			k := *s.Key
			k.Extra = cloneRaw(k.Extra)
			s.Key = &k
		}
		out.ServiceAccount = &s
	}
	return &out
}

func cloneRaw(m map[string]json.RawMessage) map[string]json.RawMessage {
	m = maps.Clone(m)
	for name, v := range m {
		m[name] = slices.Clone(v)
	}
	return m
}
