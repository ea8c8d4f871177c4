package credential

import (
	"encoding/json"
	"slices"
)

// Scheme defines how an API authenticates calls, like a security scheme of OpenAPI
// 3.0. Type determines which members apply.
type Scheme struct {
	Type        Type
	Description string

	In, Name string // of TypeAPIKey; In is header, query or cookie

	HTTPScheme, BearerFormat string // of TypeHTTP; the scheme is bearer, basic, …

	Flows *Flows // of TypeOAuth2

	OpenIDConnectURL string // of TypeOpenIDConnect: the discovery document of the provider
	OpenID           OpenID // of TypeOpenIDConnect: the content of the discovery document

	// Extra holds members that Parley does not know, in their original spelling.
	Extra map[string]json.RawMessage
}

// OpenID is the metadata of an OpenID Connect provider. In JSON, its members are
// members of the scheme.
type OpenID struct {
	AuthorizationEndpoint, TokenEndpoint string
	UserinfoEndpoint, RevocationEndpoint string
	TokenEndpointAuthMethods, GrantTypes []string // tokenEndpointAuthMethodsSupported, grantTypesSupported
	Scopes                               []string
}

// Flows are the flows that an OAuth 2.0 provider supports.
type Flows struct {
	Implicit, AuthorizationCode, ClientCredentials, Password *Flow
	Extra                                                    map[string]json.RawMessage
}

// Flow is one way to obtain a token.
type Flow struct {
	AuthorizationURL, TokenURL, RefreshURL string
	Scopes                                 []Scope
	Extra                                  map[string]json.RawMessage
}

// Scope is a permission of a token.
type Scope struct{ Name, Description string }

// flows returns the flows that are set, in order of precedence.
func (s *Scheme) flows() []*Flow {
	if s == nil || s.Flows == nil {
		return nil
	}
	all := []*Flow{s.Flows.Implicit, s.Flows.AuthorizationCode, s.Flows.ClientCredentials, s.Flows.Password}
	return slices.DeleteFunc(all, func(f *Flow) bool { return f == nil })
}

// AuthorizationEndpoint returns the URL where a user logs in: that of the provider,
// or that of the first flow with one (implicit, authorizationCode). It is empty if
// no user is involved, or if only the document at OpenIDConnectURL has it.
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

// TokenEndpoint returns the URL where tokens are issued: that of the provider, or
// that of the first flow with one (authorizationCode, clientCredentials, password).
// It is empty if only the document at OpenIDConnectURL has it.
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

// RefreshEndpoint returns the URL where tokens are refreshed, which for most
// providers is the token endpoint.
func (s *Scheme) RefreshEndpoint() string {
	for _, f := range s.flows() {
		if f.RefreshURL != "" {
			return f.RefreshURL
		}
	}
	return s.TokenEndpoint()
}

// Scopes returns the names of the scopes to request, in their original order: those
// of the provider, or those of the flow whose endpoint is used (implicit,
// authorizationCode, clientCredentials, password).
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

// kind returns the type, or infers it from the members if it is not set.
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
