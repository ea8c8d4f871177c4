package trigger

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	aSecret  = "0123456789abcdef0123456789abcdef"
	aKey     = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	another  = "fedcba9876543210fedcba9876543210"
	aPayload = `{"id":"evt_1","type":"invoice.paid"}`
)

var noon = time.Unix(1_800_000_000, 0)

func request(body string, headers ...string) *Request {
	r := &Request{App: "a", Name: "t", Header: http.Header{}, Query: url.Values{}, Body: []byte(body)}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func hexOf(secret, text string) string { return hex.EncodeToString(mac([]byte(secret), []byte(text))) }

// Signatures of others than the sender, of another body, of another time, or in another
// form are refused.
func TestSignatures(t *testing.T) {
	t.Parallel()
	at := strconv.FormatInt(noon.Unix(), 10)
	moved := func(by time.Duration) string { return strconv.FormatInt(noon.Add(by).Unix(), 10) }
	standardOf := func(id, at, body string) string {
		return "v1," + base64.StdEncoding.EncodeToString(mac([]byte(aSecret), []byte(id+"."+at+"."+body)))
	}
	github := "sha256=" + hexOf(aSecret, aPayload)
	slackOf := func(at string) []string {
		return []string{"X-Slack-Request-Timestamp", at, "X-Slack-Signature", "v0=" + hexOf(aSecret, "v0:"+at+":"+aPayload)}
	}
	stripeOf := func(at string) string { return "t=" + at + ",v1=" + hexOf(aSecret, at+"."+aPayload) }
	standardHeaders := func(prefix, id, at, sum string) []string {
		return []string{prefix + "-Id", id, prefix + "-Timestamp", at, prefix + "-Signature", sum}
	}
	good := standardOf("msg_1", at, aPayload)
	for name, tt := range map[string]struct {
		check   Check
		headers []string
		why     string // empty if it is accepted
	}{
		"github":              {GitHub, []string{"X-Hub-Signature-256", github}, ""},
		"github, none":        {GitHub, nil, "no signature"},
		"github, empty":       {GitHub, []string{"X-Hub-Signature-256", ""}, "no signature"},
		"github, no prefix":   {GitHub, []string{"X-Hub-Signature-256", strings.TrimPrefix(github, "sha256=")}, "no signature"},
		"github, short":       {GitHub, []string{"X-Hub-Signature-256", github[:len(github)-2]}, "no signature"},
		"github, long":        {GitHub, []string{"X-Hub-Signature-256", github + "00"}, "no signature"},
		"github, no hex":      {GitHub, []string{"X-Hub-Signature-256", github[:len(github)-2] + "zz"}, "no signature"},
		"github, other":       {GitHub, []string{"X-Hub-Signature-256", "sha256=" + hexOf(another, aPayload)}, "does not match"},
		"github, other body":  {GitHub, []string{"X-Hub-Signature-256", "sha256=" + hexOf(aSecret, aPayload+" ")}, "does not match"},
		"github, SHA-1":       {GitHub, []string{"X-Hub-Signature", "sha1=0123456789012345678901234567890123456789"}, "no signature"},
		"slack":               {Slack, slackOf(at), ""},
		"slack, old":          {Slack, slackOf(moved(-6 * time.Minute)), "5 minutes"},
		"slack, ahead":        {Slack, slackOf(moved(6 * time.Minute)), "5 minutes"},
		"slack, late":         {Slack, slackOf(moved(-4 * time.Minute)), ""},
		"slack, other time":   {Slack, append([]string{"X-Slack-Request-Timestamp", moved(time.Second)}, slackOf(at)[2:]...), "does not match"},
		"slack, no time":      {Slack, slackOf(at)[2:], "no time"},
		"slack, huge time":    {Slack, slackOf("99999999999999999999"), "no time"},
		"stripe":              {Stripe, []string{"Stripe-Signature", stripeOf(at)}, ""},
		"stripe, two":         {Stripe, []string{"Stripe-Signature", "t=" + at + ",v1=" + hexOf(another, at+"."+aPayload) + ",v1=" + hexOf(aSecret, at+"."+aPayload)}, ""},
		"stripe, old":         {Stripe, []string{"Stripe-Signature", stripeOf(moved(-time.Hour))}, "5 minutes"},
		"stripe, v0":          {Stripe, []string{"Stripe-Signature", strings.Replace(stripeOf(at), "v1", "v0", 1)}, "no signature"},
		"stripe, no time":     {Stripe, []string{"Stripe-Signature", strings.TrimPrefix(stripeOf(at), "t="+at+",")}, "no time"},
		"stripe, two headers": {Stripe, []string{"Stripe-Signature", stripeOf(at), "Stripe-Signature", stripeOf(at)}, "no signature"},
		"stripe, nonsense":    {Stripe, []string{"Stripe-Signature", ",,=,t,v1,v1="}, "no signature"},
		"standard":            {StandardWebhooks, standardHeaders("Webhook", "msg_1", at, good), ""},
		"standard, svix":      {StandardWebhooks, standardHeaders("Svix", "msg_1", at, good), ""},
		"standard, several":   {StandardWebhooks, standardHeaders("Webhook", "msg_1", at, "v1a,xyz v1,AAAA "+good), ""},
		"standard, other id":  {StandardWebhooks, standardHeaders("Webhook", "msg_2", at, good), "does not match"},
		"standard, no id":     {StandardWebhooks, standardHeaders("Webhook", "", at, good), "no signature"},
		"standard, empty id":  {StandardWebhooks, standardHeaders("Svix", "", at, standardOf("", at, aPayload)), "no id"},
		"standard, old":       {StandardWebhooks, standardHeaders("Webhook", "msg_1", moved(-time.Hour), standardOf("msg_1", moved(-time.Hour), aPayload)), "5 minutes"},
		"standard, v2":        {StandardWebhooks, standardHeaders("Webhook", "msg_1", at, strings.Replace(good, "v1", "v2", 1)), "no signature"},
		"secret":              {SharedSecret, []string{"Authorization", "Bearer " + aSecret}, ""},
		"secret, lower":       {SharedSecret, []string{"Authorization", "bearer " + aSecret}, ""},
		"secret, wrong":       {SharedSecret, []string{"Authorization", "Bearer " + another}, "wrong"},
		"secret, shorter":     {SharedSecret, []string{"Authorization", "Bearer " + aSecret[1:]}, "wrong"},
		"secret, none":        {SharedSecret, nil, "no secret"},
		"secret, basic":       {SharedSecret, []string{"Authorization", "Basic " + aSecret}, "no secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := aSecret
			if tt.check == StandardWebhooks {
				secret = aKey
			}
			s := &Service{Now: func() time.Time { return noon }}
			// The second secret is the one that is to be replaced.
			for _, secrets := range []string{secret, another + another + " " + secret} {
				one := &Trigger{Spec: Spec{Check: tt.check}, secret: secrets}
				if tt.check == StandardWebhooks && secrets != secret {
					one.secret = "whsec_AAAA " + secret
				}
				err := s.verify(t.Context(), one, request(aPayload, tt.headers...))
				refused, ok := errors.AsType[*RefusedError](err)
				if (err == nil) != (tt.why == "") || ok && !strings.Contains(refused.Why, tt.why) {
					t.Errorf("%v, want %q", err, tt.why)
				}
			}
			none := &Trigger{Spec: Spec{Check: tt.check}}
			if err := s.verify(t.Context(), none, request(aPayload, tt.headers...)); err == nil {
				t.Error("a trigger without a secret accepts it")
			}
		})
	}
}

func TestSharedSecretPlaces(t *testing.T) {
	t.Parallel()
	s := &Service{}
	for _, tt := range []struct {
		spec Spec
		ok   bool
	}{
		{Spec{Check: SharedSecret, Header: "x-token"}, true},
		{Spec{Check: SharedSecret, Query: "token"}, true},
		{Spec{Check: SharedSecret, Header: "x-other"}, false},
		{Spec{Check: SharedSecret, Query: "other"}, false},
		{Spec{Check: SharedSecret}, false},
	} {
		r := request("{}", "X-Token", aSecret)
		r.Query.Set("token", aSecret)
		if err := s.verify(t.Context(), &Trigger{Spec: tt.spec, secret: aSecret}, r); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt.spec, err)
		}
	}
}
