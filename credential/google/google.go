// Package google lets tools use the service account of the process: the
// application default credentials of Google Cloud. Import it for its side effect:
//
//	import _ "github.com/parley-run/parley/credential/google"
package google

import (
	"log/slog"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/credentials/idtoken"

	"github.com/parley-run/parley/internal/broker"
)

func init() {
	broker.NewIDTokens = func(audience string, log *slog.Logger) (auth.TokenProvider, error) {
		return idtoken.NewCredentials(&idtoken.Options{Audience: audience, Logger: log})
	}
	broker.NewDefaultTokens = func(scopes []string, log *slog.Logger) (auth.TokenProvider, error) {
		return credentials.DetectDefault(&credentials.DetectOptions{Scopes: scopes, DisableAsyncRefresh: true, Logger: log})
	}
}
