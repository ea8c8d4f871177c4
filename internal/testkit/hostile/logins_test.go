//go:build unix

package hostile_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/testkit/hostile"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// logins are what calls login providers.
func logins() []adapter {
	return []adapter{
		{name: "login/token", prepare: token},
		{name: "login/discovery", prepare: discovery},
		{name: "caller/discovery", prepare: issuer("/.well-known/openid-configuration"), follows: true, timeout: true},
		{name: "caller/keys", prepare: issuer("/keys"), follows: true},
	}
}

func newBroker() *broker.Broker {
	v, err := vault.New(vault.Generate())
	if err != nil {
		panic(err)
	}
	return broker.New(broker.Options{
		Vault: v, Secrets: memstore.New(0), AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Log: slog.New(slog.DiscardHandler),
	})
}

func credentials(b *broker.Broker, scheme *credential.Scheme) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.For(session.Key{App: "app", User: "u", ID: "s"}).Response(ctx, &credential.Config{Scheme: scheme, Raw: &credential.Credential{
			Type: scheme.Type, OAuth2: &credential.OAuth2{ClientID: "id", ClientSecret: "a secret"},
		}})
		return err
	}
}

// token fetches a token for a program.
func token(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error) {
	t.Helper()
	srv := hostile.Start(t, m, everything(hostile.JSON(map[string]any{"access_token": "token", "token_type": "bearer"})))
	return srv, credentials(newBroker(), &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{
		ClientCredentials: &credential.Flow{TokenURL: srv.URL},
	}})
}

// discovery asks a provider about itself.
func discovery(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error) {
	t.Helper()
	srv := hostile.Start(t, m, func(_ http.ResponseWriter, r *http.Request) (hostile.Speech, bool) {
		return hostile.JSON(map[string]any{"issuer": "http://" + r.Host, "authorization_endpoint": "https://a.test", "token_endpoint": "https://b.test"}), true
	})
	scheme := &credential.Scheme{Type: credential.TypeOpenIDConnect, OpenIDConnectURL: srv.URL + "/.well-known/openid-configuration"}
	b := newBroker()
	return srv, func(ctx context.Context) error {
		_, err := b.For(session.Key{App: "app", User: "u", ID: "s"}).Request(ctx, &credential.Config{Scheme: scheme, Raw: &credential.Credential{
			Type: scheme.Type, OAuth2: &credential.OAuth2{ClientID: "id", ClientSecret: "a secret"},
		}})
		return err
	}
}

// issuer has a caller show an identity token of an issuer that misbehaves at one
// path.
func issuer(path string) func(*testing.T, hostile.Misbehaviour) (server, func(context.Context) error) {
	return func(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error) {
		t.Helper()
		srv := hostile.Start(t, m, func(w http.ResponseWriter, r *http.Request) (hostile.Speech, bool) {
			about := map[string]any{"issuer": "http://" + r.Host, "jwks_uri": "http://" + r.Host + "/keys"}
			if r.URL.Path != path {
				fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, about["issuer"], about["jwks_uri"])
				return hostile.Speech{}, false
			}
			if path == "/keys" {
				about = map[string]any{"keys": []any{}}
			}
			return hostile.JSON(about), true
		})
		return srv, func(ctx context.Context) error {
			g, err := access.OIDC(ctx, access.OIDCConfig{Issuers: []string{srv.URL}, Audiences: []string{"a"}, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				return err
			}
			encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			req.Header.Set("Authorization", "Bearer "+strings.Join([]string{
				encode(`{"alg":"RS256","kid":"k"}`), encode(`{"iss":"` + srv.URL + `","aud":"a","sub":"u","exp":9999999999}`), encode("signature"),
			}, "."))
			_, err = g.Identify(req)
			return err
		}
	}
}
