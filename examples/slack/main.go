// Slack connects an application of Parley to Slack: who mentions it gets an answer in a
// thread, each thread is a session, and what has to be approved has two buttons.
//
// Slack sends messages to a trigger of Parley. Parley sends webhooks to this program,
// which writes to Slack, and Slack sends clicks to it. See README.md.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/examples/channel"
)

type bridge struct {
	parley  channel.Parley
	api     string // of Slack
	token   string // of the bot
	signing string // secret
}

// handler serves /webhook for Parley, and /click for Slack.
func (b *bridge) handler(secret string) (http.Handler, error) {
	webhooks, err := channel.Webhooks(secret, b.tell)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /webhook", webhooks)
	mux.HandleFunc("POST /click", b.click)
	return mux, nil
}

// tell writes what the agent said and asks into the thread of a session.
func (b *bridge) tell(ctx context.Context, n channel.Notice) error {
	where, thread, ok := strings.Cut(n.Session, "-")
	if !ok || where != n.User {
		return nil // not a session of Slack: other users choose the ids of theirs
	}
	return b.parley.Forward(ctx, n,
		func(text string) error { return b.post(ctx, where, thread, text, nil) },
		func(q channel.Question) error { return b.ask(ctx, where, thread, q) })
}

type object = map[string]any

// ask writes a question, with buttons where yes or no is the answer.
func (b *bridge) ask(ctx context.Context, where, thread string, q channel.Question) error {
	text := cut(q.Text(), maxSection)
	section := object{"type": "section", "text": object{"type": "mrkdwn", "text": escape(text)}}
	var buttons []object
	if q.Kind == "confirmation" {
		buttons = []object{button("approve", "Approve", "primary"), button("reject", "Reject", "danger")}
		for _, one := range buttons {
			one["value"] = q.ID
		}
	} else {
		link, err := b.parley.Address(ctx, q)
		if link == "" || err != nil {
			return err
		}
		open := button("open", "Open", "primary")
		open["url"] = link
		buttons = []object{open}
	}
	return b.post(ctx, where, thread, text, []object{section, {"type": "actions", "elements": buttons}})
}

// maxSection and maxMessage bound what Slack accepts, with room for what escape adds.
const maxSection, maxMessage = 2000, 30000

// cut shortens a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

func button(id, text, style string) object {
	return object{"type": "button", "action_id": id, "style": style, "text": object{"type": "plain_text", "text": text}}
}

// escape keeps text from being taken for the markup of Slack.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// post writes a message into a thread.
func (b *bridge) post(ctx context.Context, where, thread, text string, blocks []object) error {
	message := object{"channel": where, "thread_ts": thread, "text": escape(cut(text, maxMessage))}
	if blocks != nil {
		message["blocks"] = blocks
	}
	var answer struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	_, err := channel.Call(ctx, http.MethodPost, b.api+"/chat.postMessage", http.Header{"Authorization": {"Bearer " + b.token}}, message, &answer)
	if err == nil && !answer.OK {
		err = fmt.Errorf("slack refused a message: %s", answer.Error)
	}
	return err
}

// maxAge is how old a request of Slack may be.
const maxAge = 5 * time.Minute

// verify checks the signature of a request of Slack.
func (b *bridge) verify(r *http.Request, body []byte) bool {
	at := r.Header.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age > maxAge || age < -maxAge {
		return false
	}
	mac := hmac.New(sha256.New, []byte(b.signing))
	mac.Write([]byte("v0:" + at + ":"))
	mac.Write(body)
	return hmac.Equal([]byte("v0="+hex.EncodeToString(mac.Sum(nil))), []byte(r.Header.Get("X-Slack-Signature")))
}

// click handles a click on a button.
func (b *bridge) click(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || !b.verify(r, body) {
		http.Error(w, "the signature is wrong", http.StatusUnauthorized)
		return
	}
	form, err := url.ParseQuery(string(bytes.TrimSpace(body)))
	var clicked struct {
		Type string `json:"type"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		ResponseURL string `json:"response_url"`
		Actions     []struct {
			ID    string `json:"action_id"`
			Value string `json:"value"`
		} `json:"actions"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(form.Get("payload")), &clicked)
	}
	if err != nil {
		http.Error(w, "the payload is not JSON", http.StatusBadRequest)
		return
	}
	for _, action := range clicked.Actions {
		if action.ID != "approve" && action.ID != "reject" {
			continue // a link
		}
		text := map[string]string{"approve": "Approved", "reject": "Rejected"}[action.ID] + " by <@" + clicked.User.ID + ">."
		switch err := b.parley.Confirm(r.Context(), action.Value, action.ID == "approve"); {
		case errors.Is(err, channel.ErrAnswered):
			text = "This has been answered."
		case err != nil:
			log.Print("answering: ", err)
			http.Error(w, "the answer could not be forwarded", http.StatusBadGateway) // Slack tells the person
			return
		}
		replace := object{"replace_original": true, "text": text}
		if _, err := channel.Call(r.Context(), http.MethodPost, clicked.ResponseURL, nil, replace, nil); err != nil {
			log.Print("replacing the buttons: ", err)
		}
	}
}

func main() {
	b := &bridge{
		parley: channel.Parley{URL: os.Getenv("PARLEY_URL"), Key: os.Getenv("PARLEY_KEY")}, api: "https://slack.com/api",
		token: os.Getenv("SLACK_BOT_TOKEN"), signing: os.Getenv("SLACK_SIGNING_SECRET"),
	}
	if b.parley.URL == "" || b.token == "" || b.signing == "" {
		log.Fatal("set PARLEY_URL, PARLEY_WEBHOOK_SECRET, SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET; see README.md")
	}
	handler, err := b.handler(os.Getenv("PARLEY_WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: ":8090", Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
