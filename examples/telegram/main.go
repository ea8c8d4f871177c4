// Telegram connects an application of Parley to a bot of Telegram: each chat, or each
// topic of a group, is a session, and what has to be approved has two buttons.
//
// Telegram sends all updates to this program, which forwards messages to a trigger of
// Parley. Parley sends webhooks to it, and it writes to Telegram. See README.md.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
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
	parley channel.Parley
	app    string
	api    string // of Telegram, with the token of the bot
	secret string // that Telegram sends
}

// handler serves /webhook for Parley, and /update for Telegram.
func (b *bridge) handler(secret string) (http.Handler, error) {
	webhooks, err := channel.Webhooks(secret, b.tell)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /webhook", webhooks)
	mux.HandleFunc("POST /update", b.update)
	return mux, nil
}

type object = map[string]any

// call calls a method of the Bot API.
func (b *bridge) call(ctx context.Context, method string, in object) error {
	_, err := channel.Call(ctx, http.MethodPost, b.api+"/"+method, nil, in, nil)
	return err
}

// place returns the chat and the topic of a session.
func place(session string) (message object, ok bool) {
	parts := strings.Split(session, ".")
	if len(parts) != 3 || parts[0] != "telegram" {
		return nil, false
	}
	chat, err := strconv.ParseInt(parts[1], 10, 64)
	topic, err2 := strconv.ParseInt(parts[2], 10, 64)
	message = object{"chat_id": chat}
	if topic != 0 {
		message["message_thread_id"] = topic
	}
	return message, err == nil && err2 == nil
}

// maxText bounds a message, in bytes.
const maxText = 4000

// send writes a message into the chat of a session.
func (b *bridge) send(ctx context.Context, session, text string, buttons []object) error {
	message, ok := place(session)
	if !ok {
		return nil // not a session of Telegram
	}
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " …"
	}
	message["text"] = text
	if buttons != nil {
		message["reply_markup"] = object{"inline_keyboard": [][]object{buttons}}
	}
	return b.call(ctx, "sendMessage", message)
}

// tell writes what the agent said and asks.
func (b *bridge) tell(ctx context.Context, n channel.Notice) error {
	message, ok := place(n.Session)
	if !ok || fmt.Sprint(message["chat_id"]) != n.User {
		return nil // not a session of Telegram: other users choose the ids of theirs
	}
	return b.parley.Forward(ctx, n,
		func(text string) error { return b.send(ctx, n.Session, text, nil) },
		func(q channel.Question) error { return b.ask(ctx, n.Session, q) })
}

// ask writes a question, with buttons where yes or no is the answer.
func (b *bridge) ask(ctx context.Context, session string, q channel.Question) error {
	if q.Kind == "confirmation" {
		return b.send(ctx, session, q.Text(), []object{
			{"text": "Approve", "callback_data": "yes " + short(q.ID)},
			{"text": "Reject", "callback_data": "no " + short(q.ID)},
		})
	}
	link, err := b.parley.Address(ctx, q)
	if link == "" || err != nil {
		return err
	}
	return b.send(ctx, session, q.Text(), []object{{"text": "Open", "url": link}})
}

// short stands for the id of a question: the data of a button has 64 bytes.
func short(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// update handles an update of Telegram.
func (b *bridge) update(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Telegram-Bot-Api-Secret-Token")), []byte(b.secret)) != 1 {
		http.Error(w, "the secret is wrong", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	var u struct {
		Message *struct {
			Text string `json:"text"`
		} `json:"message"`
		Click *click `json:"callback_query"`
	}
	if err := json.Unmarshal(body, &u); err != nil {
		http.Error(w, "the body is not JSON", http.StatusBadRequest)
		return
	}
	switch {
	case u.Message != nil && u.Message.Text != "":
		err = b.forward(r.Context(), body)
	case u.Click != nil:
		err = b.clicked(r.Context(), u.Click)
	}
	if err != nil {
		log.Print("an update failed; Telegram will send it again: ", err)
		http.Error(w, "it could not be forwarded", http.StatusBadGateway)
	}
}

// forward sends a message to the trigger.
func (b *bridge) forward(ctx context.Context, body []byte) error {
	header := http.Header{"X-Telegram-Bot-Api-Secret-Token": {b.secret}}
	address := strings.TrimSuffix(b.parley.URL, "/") + "/apps/" + url.PathEscape(b.app) + "/triggers/telegram"
	_, err := channel.Call(ctx, http.MethodPost, address, header, json.RawMessage(bytes.TrimSpace(body)), nil)
	return err
}

// click is a click on a button.
type click struct {
	ID   string `json:"id"`
	Data string `json:"data"`
	From struct {
		Name string `json:"first_name"`
	} `json:"from"`
	Message struct {
		ID   int64  `json:"message_id"`
		Text string `json:"text"`
		Chat struct {
			ID int64 `json:"id"`
		} `json:"chat"`
	} `json:"message"`
}

// clicked answers the question of a button, and removes the buttons.
func (b *bridge) clicked(ctx context.Context, c *click) error {
	answer, which, _ := strings.Cut(c.Data, " ")
	questions, err := b.parley.Open(ctx, b.app, strconv.FormatInt(c.Message.Chat.ID, 10))
	if err != nil {
		return err
	}
	text := "This has been answered."
	for _, q := range questions {
		if short(q.ID) != which {
			continue
		}
		if err := b.parley.Confirm(ctx, q.ID, answer == "yes"); err == nil {
			text = map[bool]string{true: "Approved", false: "Rejected"}[answer == "yes"] + " by " + c.From.Name + "."
		} else if !errors.Is(err, channel.ErrAnswered) {
			return err
		}
	}
	if err := b.call(ctx, "answerCallbackQuery", object{"callback_query_id": c.ID, "text": text}); err != nil {
		log.Print("ending a click: ", err) // it only shows that it is handled
	}
	edit := object{"chat_id": c.Message.Chat.ID, "message_id": c.Message.ID, "text": fmt.Sprintf("%s\n\n%s", c.Message.Text, text)}
	if err := b.call(ctx, "editMessageText", edit); err != nil {
		log.Print("removing the buttons: ", err)
	}
	return nil
}

func main() {
	b := &bridge{
		parley: channel.Parley{URL: os.Getenv("PARLEY_URL"), Key: os.Getenv("PARLEY_KEY")}, app: os.Getenv("PARLEY_APP"),
		api: "https://api.telegram.org/bot" + os.Getenv("TELEGRAM_TOKEN"), secret: os.Getenv("TELEGRAM_SECRET"),
	}
	if b.parley.URL == "" || b.app == "" || b.secret == "" || os.Getenv("TELEGRAM_TOKEN") == "" {
		log.Fatal("set PARLEY_URL, PARLEY_APP, PARLEY_WEBHOOK_SECRET, TELEGRAM_TOKEN and TELEGRAM_SECRET; see README.md")
	}
	handler, err := b.handler(os.Getenv("PARLEY_WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: ":8090", Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
