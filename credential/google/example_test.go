package google_test

import (
	"github.com/parley-run/parley/credential"
	_ "github.com/parley-run/parley/credential/google" // gets tokens of service accounts
	"github.com/parley-run/parley/tool"
)

// A tool asks for a token of the service account that the program runs as.
func Example() {
	token := func(ctx *tool.Context) (*credential.Credential, error) {
		return ctx.AuthResponse(&credential.Config{
			Scheme: &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer"},
			Raw: &credential.Credential{Type: credential.TypeServiceAccount, ServiceAccount: &credential.ServiceAccount{
				UseDefaultCredential: true, Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"},
			}},
		})
	}
	_ = token
}
