// Package google lets tools use service accounts of Google Cloud: those of a key,
// and that of the process, which are the application default credentials. Import it
// for its side effect:
//
//	import _ "github.com/parley-run/parley/credential/google"
package google

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/credentials/idtoken"
	"golang.org/x/oauth2"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/registry"
)

func init() { registry.Register[broker.ServiceAccounts]("", open) }

func open(account *credential.ServiceAccount, scopes []string, client *http.Client) (broker.TokenSource, error) {
	tokens, err := tokensOf(account, scopes, client)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, time.Time, error) {
		token, err := tokens.Token(ctx)
		if answered, ok := errors.AsType[*auth.Error](err); ok {
			return "", time.Time{}, &oauth2.RetrieveError{Response: answered.Response}
		}
		if err != nil {
			return "", time.Time{}, err
		}
		return token.Value, token.Expiry, nil
	}, nil
}

func tokensOf(account *credential.ServiceAccount, scopes []string, client *http.Client) (auth.TokenProvider, error) {
	quiet := slog.New(slog.DiscardHandler) // the library would log tokens
	switch key := account.Key; {
	case key != nil:
		o := &auth.Options2LO{
			Email: key.ClientEmail, PrivateKey: []byte(key.PrivateKey), PrivateKeyID: key.PrivateKeyID,
			TokenURL: cmp.Or(key.TokenURI, "https://oauth2.googleapis.com/token"), Scopes: scopes, Client: client, Logger: quiet,
		}
		if account.UseIDToken {
			o.Scopes, o.UseIDToken, o.PrivateClaims = nil, true, map[string]any{"target_audience": account.Audience}
		}
		return auth.New2LOTokenProvider(o)
	case account.UseIDToken:
		return idtoken.NewCredentials(&idtoken.Options{Audience: account.Audience, Logger: quiet})
	default:
		return credentials.DetectDefault(&credentials.DetectOptions{Scopes: scopes, DisableAsyncRefresh: true, Logger: quiet})
	}
}
