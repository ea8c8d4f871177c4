package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/examples/channel"
	"github.com/parley-run/parley/examples/channel/channeltest"
)

const signing = "8f742231b10e8888abcd99yyyzzz85a5"

// posted is a message that was sent to Slack.
type posted struct {
	Channel string `json:"channel"`
	Thread  string `json:"thread_ts"`
	Text    string `json:"text"`
	Blocks  []struct {
		Type     string `json:"type"`
		Elements []struct {
			Action string `json:"action_id"`
			Value  string `json:"value"`
		} `json:"elements"`
	} `json:"blocks"`
	Replace bool `json:"replace_original"`
}

// standIn is a Slack that has two of its addresses.
func standIn(t *testing.T) (address string, messages <-chan posted) {
	t.Helper()
	all := make(chan posted, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m posted
		err := json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		switch {
		case err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
			_, _ = io.WriteString(w, `{"ok":false,"error":"invalid_json"}`)
		case r.URL.Path == "/chat.postMessage" && r.Header.Get("Authorization") != "Bearer xoxb-test":
			_, _ = io.WriteString(w, `{"ok":false,"error":"invalid_auth"}`)
		case r.URL.Path == "/chat.postMessage", r.URL.Path == "/actions":
			all <- m
			_, _ = io.WriteString(w, `{"ok":true,"channel":"C1","ts":"1503435957.000247"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, all
}

// sign returns the headers of a request of Slack.
func sign(body []byte, kind string) http.Header {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(signing))
	mac.Write([]byte("v0:" + at + ":" + string(body)))
	h := http.Header{"Content-Type": {kind}}
	h.Set("X-Slack-Request-Timestamp", at)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return h
}

type mention struct {
	Type   string `json:"type"`
	User   string `json:"user"`
	Text   string `json:"text"`
	TS     string `json:"ts"`
	Thread string `json:"thread_ts,omitempty"`
	In     string `json:"channel"`
}

// A thread is a session: the agent answers in it, asks with buttons, and goes on when one
// was clicked, once.
func TestSlack(t *testing.T) {
	t.Setenv("SLACK_SIGNING_SECRET", signing)
	slack, messages := standIn(t)
	var bridges http.Handler
	server := channeltest.Start(t, "C1", func(p channel.Parley, secret string) (h http.Handler, err error) {
		bridges, err = (&bridge{parley: p, api: slack, token: "xoxb-test", signing: signing}).handler(secret)
		return bridges, err
	})
	program := httptest.NewServer(bridges)
	t.Cleanup(program.Close)

	say := func(id string, m mention) {
		t.Helper()
		body := channeltest.JSON(t, map[string]any{"type": "event_callback", "event_id": id, "team_id": "T1", "event": m})
		if status, answer := channeltest.Send(t, server+"/apps/approval/triggers/slack", sign(body, "application/json"), body); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, answer)
		}
	}
	say("Ev1", mention{"app_mention", "U1", "Refund 20", "1.1", "", "C1"})
	if m := channeltest.Next(t, messages); m.Channel != "C1" || m.Thread != "1.1" || !strings.Contains(m.Text, "20 euros are on their way back.") {
		t.Errorf("%+v", m)
	}
	say("Ev2", mention{"app_mention", "U2", "Refund 80", "1.2", "1.1", "C1"})
	say("Ev2", mention{"app_mention", "U2", "Refund 80", "1.2", "1.1", "C1"}) // Slack repeats what it gets no answer for
	ask := channeltest.Next(t, messages)
	if len(ask.Blocks) == 0 { // what the agent said before
		ask = channeltest.Next(t, messages)
	}
	if ask.Thread != "1.1" || len(ask.Blocks) != 2 || len(ask.Blocks[1].Elements) != 2 || !strings.Contains(ask.Text, "80") {
		t.Fatalf("%+v", ask)
	}
	click := func(action string) {
		t.Helper()
		value := ask.Blocks[1].Elements[0].Value
		payload := channeltest.JSON(t, map[string]any{
			"type": "block_actions", "user": map[string]string{"id": "U3"}, "response_url": slack + "/actions",
			"actions": []any{map[string]string{"action_id": action, "value": value, "type": "button"}},
		})
		body := []byte(url.Values{"payload": {string(payload)}}.Encode())
		if status, answer := channeltest.Send(t, program.URL+"/click", sign(body, "application/x-www-form-urlencoded"), body); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
	}
	click("approve")
	var replaced, said posted
	for replaced.Text == "" || said.Text == "" {
		if m := channeltest.Next(t, messages); m.Replace {
			replaced = m
		} else {
			said = m
		}
	}
	if replaced.Text != "Approved by <@U3>." || said.Thread != "1.1" || !strings.Contains(said.Text, "80 euros are on their way back.") {
		t.Errorf("%+v\n%+v", replaced, said)
	}
	click("reject")
	if m := channeltest.Next(t, messages); m.Text != "This has been answered." {
		t.Errorf("%+v", m)
	}
}

// What is not signed is refused.
func TestSlackRefuses(t *testing.T) {
	b := &bridge{signing: signing}
	if _, err := b.handler(""); err == nil {
		t.Error("it starts without a secret")
	}
	h, err := b.handler("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	program := httptest.NewServer(h)
	t.Cleanup(program.Close)
	old := sign(nil, "application/json")
	old.Set("X-Slack-Request-Timestamp", "1531420618")
	for path, header := range map[string]http.Header{"/click": {}, "/webhook": {}, "/click?old": old} {
		if status, _ := channeltest.Send(t, program.URL+path, header, []byte(`{}`)); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// A user of the server who gives a session the id of a thread does not write into it, and a
// session of another kind is no failure, which Parley would repeat.
func TestSlackOtherSessions(t *testing.T) {
	b := &bridge{parley: channel.Parley{URL: "http://127.0.0.1:1"}}
	for _, n := range []channel.Notice{{User: "eve", Session: "C1-1.1"}, {User: "eve", Session: "morning-20261118T090000Z"}, {User: "C1", Session: "s"}} {
		if err := b.tell(t.Context(), n); err != nil {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if err := b.tell(t.Context(), channel.Notice{User: "C1", Session: "C1-1.1"}); err == nil {
		t.Error("a session of Slack is not looked at")
	}
}
