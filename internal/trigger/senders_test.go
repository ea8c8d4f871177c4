package trigger

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// What the packages of senders sign is accepted.
func TestSenders(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages of npm")
	}
	const dir = "testdata/signers"
	nodejs.Remember(t, dir)
	nodejs.Install(t, dir)
	const body = `{"text":"Grüße, 世界","n":1}`
	var signed map[Check]map[string]string
	if err := json.Unmarshal([]byte(nodejs.Run(t, dir, nodejs.Node(t), "sign.mjs", aSecret, aKey, body)), &signed); err != nil {
		t.Fatal(err)
	}
	if len(signed) != 3 {
		t.Fatalf("%v", signed)
	}
	for check, headers := range signed {
		secret := aSecret
		if check == StandardWebhooks {
			secret = aKey
		}
		one := &Trigger{Spec: Spec{Check: check}, secret: secret}
		r := request(body)
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		if err := new(Service).verify(t.Context(), one, r); err != nil {
			t.Errorf("%s: %v: %v", check, err, headers)
		}
		r.Body = append(r.Body, ' ')
		if err := new(Service).verify(t.Context(), one, r); err == nil {
			t.Errorf("%s: another body is accepted", check)
		}
	}
}

// The example of Slack's documentation.
func TestSlackExample(t *testing.T) {
	t.Parallel()
	const body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar" +
		"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
		"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	r := request(body, "X-Slack-Request-Timestamp", "1531420618", "X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503")
	s := &Service{Now: func() time.Time { return time.Unix(1531420620, 0) }}
	if err := s.verify(t.Context(), &Trigger{Spec: Spec{Check: Slack}, secret: "8f742231b10e8888abcd99yyyzzz85a5"}, r); err != nil {
		t.Error(err)
	}
}
