package trigger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/access"
)

// Check is how a trigger knows its sender.
type Check string

// The checks.
const (
	SharedSecret     Check = "secret"            // the sender sends a secret
	StandardWebhooks Check = "standard-webhooks" // signatures as standardwebhooks.com has them
	GitHub           Check = "github"            // X-Hub-Signature-256
	Slack            Check = "slack"             // X-Slack-Signature
	Stripe           Check = "stripe"            // Stripe-Signature
	Google           Check = "google"            // an identity token of a service account, as Pub/Sub and Eventarc send it
)

var checks = []string{string(SharedSecret), string(StandardWebhooks), string(GitHub), string(Slack), string(Stripe), string(Google)}

// signs reports whether the sender signs the body, and not the headers.
func (c Check) signs() bool {
	return c == StandardWebhooks || c == GitHub || c == Slack || c == Stripe
}

// slackTime is the header with the time of a signature of Slack.
const slackTime = "X-Slack-Request-Timestamp"

// tolerance is how old a signature with a time may be, and how far its time may be
// ahead.
const tolerance = 5 * time.Minute

// Request is a request for a trigger.
type Request struct {
	App, Name string
	Header    http.Header
	Query     url.Values
	Body      []byte
}

// RefusedError means that a request is not from the sender that the trigger is for. Why
// is for the log.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func refused(why string) error { return &RefusedError{why} }

// decoyKey signs what no trigger is for, so that an unknown trigger takes as long as a
// wrong signature.
var decoyKey = []byte(rand.Text())

// mac returns the HMAC-SHA256 of the parts of a message.
func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range parts {
		_, _ = h.Write(part)
	}
	return h.Sum(nil)
}

// same compares two secrets in constant time, whatever their lengths are.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// verify checks that a request is from the sender of the trigger. It returns a
// *RefusedError or an *access.UnavailableError.
func (s *Service) verify(ctx context.Context, t *Trigger, r *Request) error {
	secrets := strings.Fields(t.secret)
	switch t.Spec.Check {
	case StandardWebhooks:
		return standard(secrets, r, s.now())
	case GitHub:
		return signed(secrets, r.Body, "", prefixed(r.Header.Values("X-Hub-Signature-256"), "sha256="), nil)
	case Slack:
		at := r.Header.Get(slackTime)
		return signed(secrets, r.Body, "v0:"+at+":", prefixed(r.Header.Values("X-Slack-Signature"), "v0="), fresh(at, s.now()))
	case Stripe:
		at, sums := stripe(r.Header.Values("Stripe-Signature"))
		return signed(secrets, r.Body, at+".", sums, fresh(at, s.now()))
	case SharedSecret:
		mac(decoyKey, r.Body)
		return shared(&t.Spec, secrets, r)
	case Google:
		mac(decoyKey, r.Body)
		return s.identity(ctx, &t.Spec, r)
	}
	return refused("the check is unknown")
}

// signed checks that one of the sums is that of the body with a prefix. problem is
// reported after the sums are computed.
func signed(secrets []string, body []byte, prefix string, sums [][]byte, problem error) error {
	found := false
	for _, secret := range secrets {
		want := mac([]byte(secret), []byte(prefix), body)
		found = slices.ContainsFunc(sums, func(sum []byte) bool { return hmac.Equal(sum, want) }) || found
	}
	switch {
	case len(sums) == 0:
		return refused("the request has no signature")
	case problem != nil:
		return problem
	case !found:
		return refused("the signature does not match")
	}
	return nil
}

// maxSums bounds the signatures of a request. Senders have two while their secret
// changes.
const maxSums = 10

// prefixed returns the sums in headers that have a prefix and a sum in hexadecimal.
func prefixed(values []string, prefix string) (sums [][]byte) {
	for _, value := range values[:min(len(values), maxSums)] {
		text, ok := strings.CutPrefix(value, prefix)
		if sum, err := hex.DecodeString(text); ok && err == nil && len(sum) == sha256.Size {
			sums = append(sums, sum)
		}
	}
	return sums
}

// stripe returns the time and the sums of a header such as t=1,v1=ab,v1=cd.
func stripe(values []string) (at string, sums [][]byte) {
	if len(values) != 1 {
		return "", nil
	}
	list := strings.Split(values[0], ",")
	for _, one := range list[:min(len(list), 2*maxSums)] {
		switch name, value, _ := strings.Cut(strings.TrimSpace(one), "="); name {
		case "t":
			at = value
		case "v1":
			sums = append(sums, prefixed([]string{value}, "")...)
		}
	}
	return at, sums
}

// fresh reports a time in seconds that is too far from now.
func fresh(at string, now time.Time) error {
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return refused("the request has no time")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return refused("the time of the request is more than 5 minutes from now")
	}
	return nil
}

// standardKey returns the key in a secret of Standard Webhooks.
func standardKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, errors.New("the secret is not base64")
	}
	return key, nil
}

// standard checks the signature of Standard Webhooks, also under the names that Svix
// gives to the headers.
func standard(secrets []string, r *Request, now time.Time) error {
	prefix := "Webhook-"
	if r.Header.Get(prefix+"Id") == "" {
		prefix = "Svix-"
	}
	id, at := r.Header.Get(prefix+"Id"), r.Header.Get(prefix+"Timestamp")
	var sums [][]byte
	list := strings.Fields(r.Header.Get(prefix + "Signature"))
	for _, one := range list[:min(len(list), maxSums)] {
		text, ok := strings.CutPrefix(one, "v1,")
		if sum, err := base64.StdEncoding.DecodeString(text); ok && err == nil && len(sum) == sha256.Size {
			sums = append(sums, sum)
		}
	}
	keys := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		if key, err := standardKey(secret); err == nil {
			keys = append(keys, string(key))
		}
	}
	problem := fresh(at, now)
	if id == "" {
		problem = refused("the request has no id")
	}
	return signed(keys, r.Body, id+"."+at+".", sums, problem)
}

// shared checks a secret that the sender sends.
func shared(s *Spec, secrets []string, r *Request) error {
	var sent string
	switch {
	case s.Header != "":
		sent = r.Header.Get(s.Header)
	case s.Query != "":
		sent = r.Query.Get(s.Query)
	default:
		sent = bearer(r.Header)
	}
	found := false
	for _, secret := range secrets {
		found = same(sent, secret) || found
	}
	switch {
	case sent == "":
		return refused("the request has no secret")
	case !found:
		return refused("the secret is wrong")
	}
	return nil
}

// bearer returns the bearer token of a request.
func bearer(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// GoogleIssuer issues the tokens of Google's service accounts.
const GoogleIssuer = "https://accounts.google.com"

// identity checks an identity token.
func (s *Service) identity(ctx context.Context, spec *Spec, r *Request) error {
	token := bearer(r.Header)
	if token == "" {
		return refused("the request has no token")
	}
	issuer := spec.Issuer
	if issuer == "" {
		issuer = GoogleIssuer
	}
	verified, err := s.Tokens.Verify(ctx, issuer, token)
	if denied, ok := errors.AsType[*access.RefusedError](err); ok {
		return refused(denied.Why)
	}
	if err != nil {
		return err
	}
	var claims struct {
		Email    string `json:"email"`
		Verified any    `json:"email_verified"`
	}
	switch {
	case json.Unmarshal(verified.Claims, &claims) != nil:
		return refused("the claims of the token cannot be read")
	case !slices.Contains(verified.Audience, spec.Audience):
		return refused(fmt.Sprintf("the token is for %q", verified.Audience))
	case claims.Verified != true && claims.Verified != "true" || !strings.EqualFold(claims.Email, spec.Email):
		return refused("the token is not one of the service account")
	}
	return nil
}
