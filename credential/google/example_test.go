package google_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	_ "github.com/parley-run/parley/credential/google" // gets tokens of service accounts
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// newKey makes the key of a service account, as Google Cloud does.
func newKey(tokenURI string) *credential.ServiceAccountKey {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		log.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		log.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return &credential.ServiceAccountKey{ClientEmail: "robot@example.com", PrivateKey: string(text), TokenURI: tokenURI}
}

// A tool asks for a token of a service account. With UseDefaultCredential in place of
// a key, it is the account that the program runs as.
func Example() {
	google := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"access_token": "token-of-the-robot", "token_type": "Bearer", "expires_in": 3600}`)
	}))
	defer google.Close()
	login := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer"},
		Raw: &credential.Credential{Type: credential.TypeServiceAccount, ServiceAccount: &credential.ServiceAccount{
			Key: newKey(google.URL), Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"},
		}},
	}
	list, err := tool.New(tool.Declaration{Name: "list_buckets"}, func(ctx *tool.Context, _ struct{}) (string, error) {
		cred, err := ctx.AuthResponse(login)
		if err != nil {
			return "", err
		}
		fmt.Println("the request has the token", cred.HTTP.Token)
		return "There are no buckets.", nil
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	model := scripted.New(scripted.Call("list_buckets", map[string]any{}), scripted.Say("You have none."))
	clerk := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "clerk", Model: model, Tools: []tool.Tool{list}}))
	srv, err := parley.Open(ctx, parley.Config{
		Agents: map[string]*agent.Agent{"app": clerk},
		Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8"}}, // where the token is from here
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	answer, err := srv.Ask(ctx, "app", "ann", "first", "Which buckets do I have?")
	fmt.Println(answer, err)
	// Output:
	// the request has the token token-of-the-robot
	// You have none. <nil>
}
