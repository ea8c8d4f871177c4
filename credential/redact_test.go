package credential_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/redact"
)

func TestRedacted(t *testing.T) {
	in := &credential.Config{
		Scheme: &credential.Scheme{Type: "other", Extra: rawMap{"api_key": raw(`"S"`), "x": raw(`{"a":1,"access-token":"S","b":[{"PASSWORD":"S"},2]}`)}},
		Raw:    &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "cid", ClientSecret: "S", Extra: rawMap{"more": raw(`"S"`)}}},
		Exchanged: &credential.Credential{
			Type: credential.TypeOAuth2, APIKey: "S", Extra: rawMap{"more": raw(`"S"`)},
			HTTP: &credential.HTTP{Scheme: "basic", Username: "u", Password: "S", Token: "S", AdditionalHeaders: map[string]string{"a": "S"}},
			OAuth2: &credential.OAuth2{
				ClientID: "cid", ClientSecret: "S", AuthURI: "https://a?state=st", Nonce: "n", State: "st", CodeVerifier: "S", RedirectURI: "https://back",
				AuthResponseURI: "S", AuthCode: "S", AccessToken: "S", RefreshToken: "S", IDToken: "S", ExpiresAt: 5,
			},
			ServiceAccount: &credential.ServiceAccount{Key: &credential.ServiceAccountKey{PrivateKey: "S"}, Scopes: []string{"s"}},
		},
	}
	before := in.Clone()
	want := &credential.Config{
		CredentialKey: in.Key(),
		Scheme:        &credential.Scheme{Type: "other", Extra: rawMap{"x": raw(`{"a":1,"b":[{},2]}`)}},
		Raw:           &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "cid"}},
		Exchanged: &credential.Credential{
			Type: credential.TypeOAuth2, HTTP: &credential.HTTP{Scheme: "basic", Username: "u"},
			OAuth2:         &credential.OAuth2{ClientID: "cid", AuthURI: "https://a?state=st", Nonce: "n", State: "st", RedirectURI: "https://back", ExpiresAt: 5},
			ServiceAccount: &credential.ServiceAccount{Scopes: []string{"s"}},
		},
	}
	if diff := cmp.Diff(want, in.Redacted()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want.Exchanged, in.Exchanged.Redacted()); diff != "" {
		t.Errorf("credential: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the login itself was changed: -want +got:\n%s", diff)
	}
	if (*credential.Config)(nil).Redacted() != nil || (*credential.Credential)(nil).Redacted() != nil {
		t.Error("nothing should stay nothing")
	}
}

const mark = "s3cr3tMARK"

// shown is everything that could end in a log, or in front of a client.
func shown(t *rapid.T, v any) string {
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		fmt.Fprintf(&b, verb+"\n", v)
		fmt.Fprintf(&b, verb+"\n", []any{v})
		fmt.Fprintf(&b, verb+"\n", map[string]any{"v": struct{ V any }{v}})
	}
	b.WriteString(fmt.Errorf("failed: %v", v).Error())
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(h).Info("x", "v", v, "inside", struct{ V any }{v}, "list", []any{v})
	}
	doc, err := json.Marshal(map[string]any{"v": v, "list": []any{v}})
	if err != nil {
		t.Fatal(err)
	}
	b.Write(doc)
	return b.String()
}

func TestNothingShowsSecrets(t *testing.T) {
	hexed := fmt.Sprintf("%x", mark)
	check := func(t *rapid.T, what, text string) {
		if strings.Contains(text, mark) || strings.Contains(text, hexed) {
			t.Fatalf("%s shows a secret: %s", what, text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t, mark)
		for _, spelling := range []credential.Spelling{credential.Camel, credential.Snake} {
			doc, err := c.Redacted().AppendJSON(nil, spelling)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "Redacted", string(doc))
		}
		values := []any{c, *c}
		if c.Scheme != nil {
			values = append(values, c.Scheme, *c.Scheme)
		}
		if cred := c.Raw; cred != nil {
			values = append(values, cred, *cred)
			if cred.OAuth2 != nil {
				values = append(values, cred.OAuth2, *cred.OAuth2)
			}
			if cred.HTTP != nil {
				values = append(values, cred.HTTP, *cred.HTTP)
			}
			if cred.ServiceAccount != nil {
				values = append(values, cred.ServiceAccount, *cred.ServiceAccount)
				if key := cred.ServiceAccount.Key; key != nil {
					values = append(values, key, *key)
				}
			}
		}
		for _, v := range values {
			check(t, fmt.Sprintf("%T", v), shown(t, v))
		}
		for _, err := range []error{c.Validate(), c.Scheme.Validate()} {
			check(t, "Validate", fmt.Sprint(err))
		}
		check(t, "Key", c.Key())
	})
}

func TestString(t *testing.T) {
	c := credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer"}, CredentialKey: "k",
		Raw: &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "cid", ClientSecret: "S", State: "st"}},
	}
	want := `Config{"authScheme":{"type":"http","scheme":"bearer"},"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"cid","clientSecret":"***","state":"***"}},"credentialKey":"k"}`
	if got := fmt.Sprintf("%#v", c); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := fmt.Sprintf("%v", (*credential.Config)(nil)); got != "<nil>" {
		t.Errorf("got %s", got)
	}
}

// The server recognizes every credential in the state of a session.
func TestHoldsCredential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t, mark)
		for _, spelling := range []credential.Spelling{credential.Camel, credential.Snake} {
			doc, err := c.AppendJSON(nil, spelling)
			if err != nil {
				t.Fatal(err)
			}
			filled := func(c *credential.Credential) bool {
				return c != nil && (c.APIKey != "" || c.HTTP != nil || c.OAuth2 != nil || c.ServiceAccount != nil)
			}
			if want := filled(c.Raw) || filled(c.Exchanged); redact.HoldsCredential(doc) != want {
				t.Fatalf("got %t: %s", !want, doc)
			}
		}
	})
}
