package credential

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Validate reports what a login lacks, one error per line. The errors contain names
// and kinds, never values.
func (c *Config) Validate() error {
	if c == nil || c.Scheme == nil {
		return errors.New("authScheme is missing: say how the API expects credentials, for example " +
			`{"type": "apiKey", "in": "header", "name": "X-Api-Key"}`)
	}
	problems := []error{c.Scheme.Validate()}
	if c.Raw != nil && !c.Exchanged.settled() {
		problems = append(problems, c.Raw.Validate())
	}
	return errors.Join(append(problems, c.match())...)
}

// settled reports whether a login has already completed.
func (c *Credential) settled() bool {
	return c != nil && c.OAuth2 != nil && (c.OAuth2.AuthURI != "" || c.OAuth2.AccessToken != "")
}

// match checks that the scheme and the credential are compatible.
func (c *Config) match() error {
	scheme := c.Scheme.kind()
	if c.Raw == nil {
		if scheme.interactive() && !c.Exchanged.settled() {
			return fmt.Errorf("a scheme of type %s needs a credential: set rawAuthCredential with the client's id and secret", scheme)
		}
		return nil // the client is asked for it
	}
	raw := c.Raw.kind()
	switch {
	case scheme == TypeAPIKey && raw != TypeAPIKey && raw != "":
		return fmt.Errorf("the scheme asks for an API key, and the credential is of type %s: give it authType apiKey, or change the scheme", raw)
	case scheme == TypeHTTP && raw == TypeAPIKey:
		return errors.New("the scheme is http, and the credential an API key: give it authType http, or use a scheme of type apiKey")
	case scheme.interactive() && raw == TypeAPIKey:
		return fmt.Errorf("a scheme of type %s needs oauth2 in its credential: set authType oauth2, and oauth2 with clientId and clientSecret", scheme)
	}
	return nil // a service account and a token need no user, and the credential checks the rest
}

// Validate reports what a scheme lacks, one error per line.
func (s *Scheme) Validate() error {
	var p problems
	switch s.kind() {
	case "":
		p.add("authScheme has no type: set it to apiKey, http, oauth2 or openIdConnect")
	case TypeAPIKey:
		if s.Name == "" {
			p.add("an apiKey scheme needs a name: set it to that of the header, query parameter or cookie")
		}
		if !slices.Contains([]string{"header", "query", "cookie"}, s.In) {
			p.add("an apiKey scheme needs a place: set in to header, query or cookie")
		}
	case TypeHTTP:
		if s.HTTPScheme == "" {
			p.add("an http scheme needs the name of its scheme: set it to bearer or basic, for example")
		}
	case TypeOAuth2:
		s.validateFlows(&p)
	case TypeOpenIDConnect:
		p.url("openIdConnectUrl", s.OpenIDConnectURL, false)
		explicit := s.OpenIDConnectURL == ""
		p.url("authorizationEndpoint", s.OpenID.AuthorizationEndpoint, explicit)
		p.url("tokenEndpoint", s.OpenID.TokenEndpoint, explicit)
	case TypeServiceAccount:
		p.add("serviceAccount is a type of credentials: set the scheme's type to oauth2 or http")
	}
	return p.join()
}

func (s *Scheme) validateFlows(p *problems) {
	if len(s.flows()) == 0 {
		p.add("an oauth2 scheme needs a flow: set flows.authorizationCode with authorizationUrl, tokenUrl and scopes, for example")
		return
	}
	for _, f := range []struct {
		name             string
		flow             *Flow
		authorize, token bool // the URLs that it needs
	}{
		{"implicit", s.Flows.Implicit, true, false},
		{"authorizationCode", s.Flows.AuthorizationCode, true, true},
		{"clientCredentials", s.Flows.ClientCredentials, false, true},
		{"password", s.Flows.Password, false, true},
	} {
		if f.flow != nil {
			p.url("flows."+f.name+".authorizationUrl", f.flow.AuthorizationURL, f.authorize)
			p.url("flows."+f.name+".tokenUrl", f.flow.TokenURL, f.token)
			p.url("flows."+f.name+".refreshUrl", f.flow.RefreshURL, false)
		}
	}
}

// Validate reports what a credential lacks, one error per line.
func (c *Credential) Validate() error {
	var p problems
	switch c.kind() {
	case "":
		p.add("the credential has no authType: set it to apiKey, http, oauth2, openIdConnect or serviceAccount")
	case TypeAPIKey:
		if c.APIKey == "" {
			p.add("a credential of type apiKey needs the key: set apiKey")
		}
	case TypeHTTP:
		c.HTTP.validate(&p)
	case TypeOAuth2, TypeOpenIDConnect:
		c.OAuth2.validate(c.kind(), &p)
	case TypeServiceAccount:
		c.ServiceAccount.validate(&p)
	default:
		p.add("authType should be apiKey, http, oauth2, openIdConnect or serviceAccount")
	}
	return p.join()
}

func (h *HTTP) validate(p *problems) {
	switch {
	case h == nil:
		p.add("a credential of type http needs http: set its scheme and its credentials")
	case h.scheme() == "basic" && h.Username == "" && h.Password == "":
		p.add("a basic credential needs http.credentials: set username and password")
	case h.scheme() != "basic" && h.Token == "" && len(h.AdditionalHeaders) == 0:
		p.add("a credential of type http needs http.credentials: set token, or scheme basic with username and password")
	}
}

func (o *OAuth2) validate(kind Type, p *problems) {
	if o == nil {
		p.add(fmt.Sprintf("a credential of type %s needs oauth2: set clientId and clientSecret in it", kind))
		return
	}
	if o.AccessToken == "" && o.AuthURI == "" {
		if o.ClientID == "" {
			p.add("oauth2 needs the client's id: set clientId to what the provider gave you")
		}
		if o.ClientSecret == "" && o.TokenEndpointAuthMethod != "none" {
			p.add("oauth2 needs the client's secret: set clientSecret, or tokenEndpointAuthMethod none for a client that has none")
		}
	}
	if o.CodeChallengeMethod != "" && o.CodeChallengeMethod != "S256" {
		p.add("codeChallengeMethod should be S256, or absent for a login without PKCE")
	}
}

func (s *ServiceAccount) validate(p *problems) {
	switch {
	case s == nil:
		p.add("a credential of type serviceAccount needs serviceAccount: set its key, or useDefaultCredential")
		return
	case s.Key == nil && !s.UseDefaultCredential:
		p.add("a service account needs its key: set serviceAccountCredential to the JSON key file, or useDefaultCredential")
	case s.Key != nil && (s.Key.ClientEmail == "" || s.Key.PrivateKey == ""):
		p.add("the key of a service account needs client_email and private_key: use the JSON key file as it was downloaded")
	}
	if s.UseIDToken && s.Audience == "" {
		p.add("an ID token needs an audience: set audience as well as useIdToken")
	}
}

// problems collects the errors.
type problems []error

func (p *problems) add(msg string) { *p = append(*p, errors.New(msg)) }
func (p problems) join() error     { return errors.Join(p...) }

// url checks the URL of an endpoint. The error does not repeat the URL, which may
// contain a password.
func (p *problems) url(name, address string, needed bool) {
	if address == "" {
		if needed {
			p.add(name + " is missing: set it to the provider's address")
		}
		return
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http") {
		p.add(name + " should be an address that begins with https://")
	}
}
