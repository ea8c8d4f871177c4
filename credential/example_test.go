package credential_test

import (
	"fmt"
	"net/http"

	"github.com/parley-run/parley/credential"
)

func ExampleApply() {
	scheme := &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Api-Key"}
	cred := &credential.Credential{Type: credential.TypeAPIKey, APIKey: "my-key"}
	req, err := http.NewRequest(http.MethodGet, "https://api.example.com/events", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := credential.Apply(req, scheme, cred); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(req.Header.Get("X-Api-Key"))
	// Output: my-key
}

func ExampleConfig() {
	cfg := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
			AuthorizationURL: "https://id.example.com/authorize", TokenURL: "https://id.example.com/token",
			Scopes: []credential.Scope{{Name: "calendar.read"}},
		}}},
		Raw:           &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "app", ClientSecret: "hidden"}},
		CredentialKey: "calendar",
	}
	fmt.Println(cfg.Validate(), cfg.NeedsUser(), cfg.Key())
	fmt.Println(cfg.Raw) // printing never shows secrets
	// Output:
	// <nil> true calendar
	// Credential{"authType":"oauth2","oauth2":{"clientId":"app","clientSecret":"***"}}
}
