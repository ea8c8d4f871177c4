package credential

import "slices"

// ForProgram reports whether the credential belongs to a program, which obtains
// tokens without a user. If users can log in with the scheme, it is theirs, even if
// it also has a flow for programs.
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

// NeedsUser reports whether a user has to log in: the credential cannot be used
// directly, and no program can obtain one.
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
