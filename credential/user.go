package credential

import "slices"

// ForProgram reports whether the credential is that of a program, which gets its
// tokens without a user. A scheme with which users can log in is theirs, even if
// it has a flow for programs too.
func (c *Config) ForProgram() bool {
	if c == nil || c.Scheme == nil || c.Raw == nil {
		return false
	}
	switch scheme, raw := c.Scheme, c.Raw; {
	case raw.kind() == TypeServiceAccount:
		return raw.ServiceAccount != nil
	case raw.OAuth2 == nil:
		return false
	case scheme.Type == TypeOAuth2:
		return scheme.Flows != nil && scheme.Flows.ClientCredentials != nil && scheme.AuthorizationEndpoint() == ""
	case scheme.Type == TypeOpenIDConnect:
		grants := scheme.OpenID.GrantTypes
		return slices.Contains(grants, "client_credentials") && !slices.Contains(grants, "authorization_code")
	}
	return false
}

// NeedsUser reports whether a user has to log in: there is no credential that
// can be used as it is, and no program that gets one by itself.
func (c *Config) NeedsUser() bool {
	if c == nil || c.Scheme == nil || c.ForProgram() {
		return false
	}
	switch raw := c.Raw; {
	case raw == nil:
		return true
	case raw.OAuth2 != nil:
		return raw.OAuth2.AccessToken == ""
	}
	return false
}
