package trigger

import (
	"encoding/base64"
	"strconv"
	"testing"
)

// A signature covers the body, and no headers but its own. Who sends a request again with
// other headers gets the run of the first one, and does not change its type.
func TestSignedDeliveriesCannotBeRenamed(t *testing.T) {
	t.Parallel()
	at := strconv.FormatInt(noon.Unix(), 10)
	event := `{"type":"event_callback","event_id":"Ev1","event":{"type":"message"},"id":"evt_1","data":{"a":1},"specversion":"1.0","source":"x"}`
	form := "payload=" + `{"type":"block_actions","trigger_id":"12.3"}`
	command := "command=%2Fask&text=hi"
	slackOf := func(body string) []string {
		return []string{"X-Slack-Request-Timestamp", at, "X-Slack-Signature", "v0=" + hexOf(aSecret, "v0:"+at+":"+body)}
	}
	for name, tt := range map[string]struct {
		check Check
		body  string
		sum   []string
		kind  string
	}{
		"standard": {StandardWebhooks, event, []string{
			"Webhook-Id", "msg_1", "Webhook-Timestamp", at,
			"Webhook-Signature", "v1," + base64.StdEncoding.EncodeToString(mac([]byte(aSecret), []byte("msg_1."+at+"."+event))),
		}, "event_callback"},
		"stripe":         {Stripe, event, []string{"Stripe-Signature", "t=" + at + ",v1=" + hexOf(aSecret, at+"."+event)}, "event_callback"},
		"slack":          {Slack, event, slackOf(event), "message"},
		"slack, button":  {Slack, form, slackOf(form), "block_actions"},
		"slack, command": {Slack, command, slackOf(command), ""},
		"github":         {GitHub, event, []string{"X-Hub-Signature-256", "sha256=" + hexOf(aSecret, event), "X-GitHub-Delivery", "1", "X-GitHub-Event", "push"}, "push"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, runs := service(t)
			secret := aSecret
			if tt.check == StandardWebhooks {
				secret = aKey
			}
			if _, _, err := s.Create(t.Context(), nil, "a", "t", secret, &Spec{Check: tt.check, User: "u", Message: "go"}); err != nil {
				t.Fatal(err)
			}
			for i, more := range [][]string{
				nil,
				{"Ce-Specversion", "1.0", "Ce-Id", "2", "Ce-Source", "s", "Ce-Type", "other"},
				{"Content-Type", "application/cloudevents+json"},
				{"Content-Type", "application/json"},
				{"Content-Type", "application/x-www-form-urlencoded"},
				{"Content-Type", "text/plain"},
				{"Idempotency-Key", "3", "X-Goog-Pubsub-Message-Id", "4", "Svix-Id", "5"},
			} {
				result, err := s.send(t, request(tt.body, append(more, tt.sum...)...))
				if err != nil {
					if i == 0 {
						t.Fatal(err)
					}
					continue // it starts nothing
				}
				if want := map[bool]string{true: Started, false: Repeated}[i == 0]; result.Outcome != want || result.Type != tt.kind {
					t.Errorf("with %q: %s of type %q, want %s of type %q", more, result.Outcome, result.Type, want, tt.kind)
				}
			}
			for _, one := range runs.starts {
				if one.Key != runs.starts[0].Key {
					t.Errorf("runs in %v and %v", runs.starts[0].Key, one.Key)
				}
			}
		})
	}
}
