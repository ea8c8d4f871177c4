package credential

import (
	"encoding/json"
	"slices"
)

// Scheme says how an API wants to be called, as a security scheme of OpenAPI
// 3.0 does. Which of its members count is said by Type.
type Scheme struct {
	Type        Type
	Description string

	In, Name string // of TypeAPIKey; In is header, query or cookie

	HTTPScheme, BearerFormat string // of TypeHTTP; the scheme is bearer, basic, …

	Flows *Flows // of TypeOAuth2

	OpenIDConnectURL string // of TypeOpenIDConnect: where the provider describes itself
	OpenID           OpenID // of TypeOpenIDConnect: what it would say there

	// Extra has members that Parley does not know, as they were spelled.
	Extra map[string]json.RawMessage
}

// OpenID is what a provider of OpenID Connect says about itself. Its members
// stand directly in the scheme.
type OpenID struct {
	AuthorizationEndpoint, TokenEndpoint string
	UserinfoEndpoint, RevocationEndpoint string
	TokenEndpointAuthMethods, GrantTypes []string // tokenEndpointAuthMethodsSupported, grantTypesSupported
	Scopes                               []string
}

// Flows are the ways to a token that an OAuth 2.0 provider offers.
type Flows struct {
	Implicit, AuthorizationCode, ClientCredentials, Password *Flow
	Extra                                                    map[string]json.RawMessage
}

// Flow is one way to a token.
type Flow struct {
	AuthorizationURL, TokenURL, RefreshURL string
	Scopes                                 []Scope
	Extra                                  map[string]json.RawMessage
}

// Scope is one thing that a token allows.
type Scope struct{ Name, Description string }

// flows returns the flows that are there, in the order in which they are
// looked at.
func (s *Scheme) flows() []*Flow {
	if s == nil || s.Flows == nil {
		return nil
	}
	all := []*Flow{s.Flows.Implicit, s.Flows.AuthorizationCode, s.Flows.ClientCredentials, s.Flows.Password}
	return slices.DeleteFunc(all, func(f *Flow) bool { return f == nil })
}

// AuthorizationEndpoint is where a user logs in: the provider's own, or that
// of the first flow that has one (implicit, authorizationCode). It is empty
// when no user takes part, and when only OpenIDConnectURL knows it.
func (s *Scheme) AuthorizationEndpoint() string {
	if s != nil && s.OpenID.AuthorizationEndpoint != "" {
		return s.OpenID.AuthorizationEndpoint
	}
	for _, f := range s.flows() {
		if f.AuthorizationURL != "" {
			return f.AuthorizationURL
		}
	}
	return ""
}

// TokenEndpoint is where tokens are given out: the provider's own, or that of
// the first flow that has one (authorizationCode, clientCredentials,
// password). It is empty when only OpenIDConnectURL knows it.
func (s *Scheme) TokenEndpoint() string {
	if s != nil && s.OpenID.TokenEndpoint != "" {
		return s.OpenID.TokenEndpoint
	}
	for _, f := range s.flows() {
		if f.TokenURL != "" {
			return f.TokenURL
		}
	}
	return ""
}

// RefreshEndpoint is where tokens are renewed. Most providers do that at the
// token endpoint.
func (s *Scheme) RefreshEndpoint() string {
	for _, f := range s.flows() {
		if f.RefreshURL != "" {
			return f.RefreshURL
		}
	}
	return s.TokenEndpoint()
}

// Scopes are the names of what to ask for, in the order in which they were
// given: the provider's own, or those of the flow whose endpoint is used
// (implicit, authorizationCode, clientCredentials, password).
func (s *Scheme) Scopes() []string {
	if s == nil {
		return nil
	}
	if len(s.OpenID.Scopes) > 0 {
		return slices.Clone(s.OpenID.Scopes)
	}
	flows := s.flows()
	used := slices.IndexFunc(flows, func(f *Flow) bool { return f.AuthorizationURL != "" || f.TokenURL != "" })
	if len(flows) == 0 {
		return nil
	}
	var names []string
	for _, scope := range flows[max(used, 0)].Scopes {
		names = append(names, scope.Name)
	}
	return names
}

// kind is the type, or what the members say when there is none.
func (s *Scheme) kind() Type {
	switch {
	case s == nil:
		return ""
	case s.Type != "":
		return s.Type
	case s.Flows != nil:
		return TypeOAuth2
	case s.OpenIDConnectURL != "" || s.OpenID.AuthorizationEndpoint != "" || s.OpenID.TokenEndpoint != "":
		return TypeOpenIDConnect
	case s.In != "" && s.Name != "":
		return TypeAPIKey
	case s.HTTPScheme != "":
		return TypeHTTP
	}
	return ""
}

// Clone returns a copy that shares nothing with s.
func (s *Scheme) Clone() *Scheme {
	if s == nil {
		return nil
	}
	out := *s
	out.Extra = cloneRaw(s.Extra)
	out.OpenID.TokenEndpointAuthMethods = slices.Clone(s.OpenID.TokenEndpointAuthMethods)
	out.OpenID.GrantTypes = slices.Clone(s.OpenID.GrantTypes)
	out.OpenID.Scopes = slices.Clone(s.OpenID.Scopes)
	if s.Flows != nil {
		out.Flows = &Flows{
			Implicit: s.Flows.Implicit.clone(), AuthorizationCode: s.Flows.AuthorizationCode.clone(),
			ClientCredentials: s.Flows.ClientCredentials.clone(), Password: s.Flows.Password.clone(),
			Extra: cloneRaw(s.Flows.Extra),
		}
	}
	return &out
}

func (f *Flow) clone() *Flow {
	if f == nil {
		return nil
	}
	out := *f
	out.Scopes, out.Extra = slices.Clone(f.Scopes), cloneRaw(f.Extra)
	return &out
}
