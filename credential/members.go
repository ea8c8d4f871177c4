package credential

import "encoding/json"

// One table of members describes each object of this package. Decoding, encoding in
// both spellings, redaction, printing and the default key all use the table, so
// that none of them can miss a new member.

// trait is a property of a member.
type trait uint8

const (
	secret  trait = 1 << iota // never leaves the server
	quiet                     // sent to clients, but not logged
	passing                   // belongs to one login: Key ignores it
	always                    // is written even if empty
)

// member is one member of a JSON object.
type member struct {
	name  string // in camelCase
	spec  string // in the other spelling, if that is not the snake_case of camel
	also  string // an additional accepted name
	trait trait
	value value
}

// table holds the members of an object, in the order in which they are written.
type table struct {
	members []member
	// extra holds unknown members. If open is set, only those with the name of a
	// secret are secret.
	extra *map[string]json.RawMessage
	open  bool
	// done is called after the object is decoded.
	done func()
}

// tabled is an object with a table.
type tabled interface{ table() table }

func (c *Config) table() table {
	return table{extra: &c.Extra, open: true, members: []member{
		{name: "authScheme", value: object[Scheme, *Scheme]{&c.Scheme}},
		{name: "rawAuthCredential", value: object[Credential, *Credential]{&c.Raw}},
		{name: "exchangedAuthCredential", value: object[Credential, *Credential]{&c.Exchanged}},
		{name: "credentialKey", value: text{&c.CredentialKey}},
	}}
}

// The members of a scheme that OpenAPI defines have the same names in both
// spellings; only those that OpenID Connect adds have two. The Python models write
// type_ and in_ unless they are asked for aliases.
func (s *Scheme) table() table {
	return table{extra: &s.Extra, open: true, done: func() { s.Type = s.kind() }, members: []member{
		{name: "type", also: "type_", value: schemeType{&s.Type}},
		{name: "description", value: text{&s.Description}},
		{name: "in", also: "in_", value: text{&s.In}},
		{name: "name", value: text{&s.Name}},
		{name: "scheme", value: text{&s.HTTPScheme}},
		{name: "bearerFormat", spec: "bearerFormat", value: text{&s.BearerFormat}},
		{name: "flows", value: object[Flows, *Flows]{&s.Flows}},
		{name: "openIdConnectUrl", spec: "openIdConnectUrl", value: text{&s.OpenIDConnectURL}},
		{name: "authorizationEndpoint", value: text{&s.OpenID.AuthorizationEndpoint}},
		{name: "tokenEndpoint", value: text{&s.OpenID.TokenEndpoint}},
		{name: "userinfoEndpoint", value: text{&s.OpenID.UserinfoEndpoint}},
		{name: "revocationEndpoint", value: text{&s.OpenID.RevocationEndpoint}},
		{name: "tokenEndpointAuthMethodsSupported", value: list{&s.OpenID.TokenEndpointAuthMethods}},
		{name: "grantTypesSupported", value: list{&s.OpenID.GrantTypes}},
		{name: "scopes", value: scopeNames{&s.OpenID.Scopes}},
	}}
}

func (f *Flows) table() table {
	return table{extra: &f.Extra, open: true, members: []member{
		{name: "implicit", value: object[Flow, *Flow]{&f.Implicit}},
		{name: "authorizationCode", spec: "authorizationCode", value: object[Flow, *Flow]{&f.AuthorizationCode}},
		{name: "clientCredentials", spec: "clientCredentials", value: object[Flow, *Flow]{&f.ClientCredentials}},
		{name: "password", value: object[Flow, *Flow]{&f.Password}},
	}}
}

func (f *Flow) table() table {
	return table{extra: &f.Extra, open: true, members: []member{
		{name: "authorizationUrl", spec: "authorizationUrl", value: text{&f.AuthorizationURL}},
		{name: "tokenUrl", spec: "tokenUrl", value: text{&f.TokenURL}},
		{name: "refreshUrl", spec: "refreshUrl", value: text{&f.RefreshURL}},
		{name: "scopes", trait: always, value: scopes{&f.Scopes}},
	}}
}

func (c *Credential) table() table {
	return table{extra: &c.Extra, done: func() { c.Type = c.kind() }, members: []member{
		{name: "authType", value: authType{&c.Type}},
		{name: "resourceRef", value: text{&c.ResourceRef}},
		{name: "apiKey", trait: secret, value: apiKey{&c.APIKey}},
		{name: "http", value: object[HTTP, *HTTP]{&c.HTTP}},
		{name: "oauth2", value: object[OAuth2, *OAuth2]{&c.OAuth2}},
		{name: "serviceAccount", value: object[ServiceAccount, *ServiceAccount]{&c.ServiceAccount}},
	}}
}

func (h *HTTP) table() table {
	return table{extra: &h.Extra, members: []member{
		{name: "scheme", value: text{&h.Scheme}},
		{name: "credentials", value: group{table{members: []member{
			{name: "username", value: text{&h.Username}},
			{name: "password", trait: secret, value: text{&h.Password}},
			{name: "token", trait: secret, value: text{&h.Token}},
		}}}},
		{name: "additionalHeaders", trait: secret, value: headers{&h.AdditionalHeaders}},
	}}
}

func (o *OAuth2) table() table {
	return table{extra: &o.Extra, members: []member{
		{name: "clientId", value: text{&o.ClientID}},
		{name: "clientSecret", trait: secret, value: text{&o.ClientSecret}},
		{name: "authUri", trait: quiet | passing, value: text{&o.AuthURI}},
		{name: "nonce", trait: quiet | passing, value: text{&o.Nonce}},
		{name: "state", trait: quiet | passing, value: text{&o.State}},
		{name: "codeVerifier", trait: secret | passing, value: text{&o.CodeVerifier}},
		{name: "codeChallengeMethod", value: text{&o.CodeChallengeMethod}},
		{name: "redirectUri", value: text{&o.RedirectURI}},
		{name: "authResponseUri", trait: secret | passing, value: text{&o.AuthResponseURI}},
		{name: "authCode", trait: secret | passing, value: text{&o.AuthCode}},
		{name: "accessToken", trait: secret | passing, value: text{&o.AccessToken}},
		{name: "refreshToken", trait: secret | passing, value: text{&o.RefreshToken}},
		{name: "idToken", trait: secret | passing, value: text{&o.IDToken}},
		{name: "expiresAt", trait: passing, value: number{&o.ExpiresAt}},
		{name: "expiresIn", trait: passing, value: number{&o.ExpiresIn}},
		{name: "audience", value: text{&o.Audience}},
		{name: "prompt", value: text{&o.Prompt}},
		{name: "tokenEndpointAuthMethod", value: text{&o.TokenEndpointAuthMethod}},
	}}
}

func (s *ServiceAccount) table() table {
	return table{extra: &s.Extra, members: []member{
		{name: "serviceAccountCredential", spec: "credentials", trait: secret, value: keyFile{&s.Key}},
		{name: "scopes", value: scopeNames{&s.Scopes}},
		{name: "useDefaultCredential", value: flag{&s.UseDefaultCredential}},
		{name: "useIdToken", value: flag{&s.UseIDToken}},
		{name: "audience", value: text{&s.Audience}},
	}}
}

func (k *ServiceAccountKey) table() table {
	return table{extra: &k.Extra, members: []member{
		{name: "type", value: text{&k.Type}},
		{name: "projectId", value: text{&k.ProjectID}},
		{name: "privateKeyId", trait: secret, value: text{&k.PrivateKeyID}},
		{name: "privateKey", trait: secret, value: text{&k.PrivateKey}},
		{name: "clientEmail", value: text{&k.ClientEmail}},
		{name: "clientId", value: text{&k.ClientID}},
		{name: "authUri", value: text{&k.AuthURI}},
		{name: "tokenUri", value: text{&k.TokenURI}},
		{name: "authProviderX509CertUrl", value: text{&k.AuthProviderX509CertURL}},
		{name: "clientX509CertUrl", value: text{&k.ClientX509CertURL}},
		{name: "universeDomain", value: text{&k.UniverseDomain}},
	}}
}
