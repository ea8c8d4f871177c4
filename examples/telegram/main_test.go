package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley/examples/channel"
	"github.com/parley-run/parley/examples/channel/channeltest"
)

const secret = "a1long2secret3of4Telegram"

// called is a call of the Bot API.
type called struct {
	Method string `json:"-"`
	Chat   int64  `json:"chat_id"`
	Topic  int64  `json:"message_thread_id"`
	Text   string `json:"text"`
	Markup struct {
		Keyboard [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
	} `json:"reply_markup"`
}

// standIn is a Bot API.
func standIn(t *testing.T) (address string, calls <-chan called) {
	t.Helper()
	all := make(chan called, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		method, ok := strings.CutPrefix(r.URL.Path, "/bot123:token/")
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
			return
		}
		c := called{Method: method}
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil || len(c.Text) > 4096 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"ok":false,"error_code":400,"description":"Bad Request"}`)
			return
		}
		for _, row := range c.Markup.Keyboard {
			for _, button := range row {
				if len(button.Data) > 64 {
					t.Errorf("the data of a button has %d bytes", len(button.Data))
				}
			}
		}
		all <- c
		_, _ = io.WriteString(w, `{"ok":true,"result":{}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/bot123:token", all
}

// A topic of a group is a session: the bot answers in it, asks with buttons, and goes on
// when one was clicked, once.
func TestTelegram(t *testing.T) {
	t.Setenv("TELEGRAM_SECRET", secret)
	api, calls := standIn(t)
	var bridges http.Handler
	channeltest.Start(t, "-1001234", func(p channel.Parley, webhookSecret string) (h http.Handler, err error) {
		bridges, err = (&bridge{parley: p, app: "approval", api: api, secret: secret}).handler(webhookSecret)
		return bridges, err
	})
	program := httptest.NewServer(bridges)
	t.Cleanup(program.Close)
	update := func(token string, u any) int {
		t.Helper()
		header := http.Header{"Content-Type": {"application/json"}}
		header.Set("X-Telegram-Bot-Api-Secret-Token", token)
		status, _ := channeltest.Send(t, program.URL+"/update", header, channeltest.JSON(t, u))
		return status
	}
	chat := map[string]any{"id": -1001234, "type": "supergroup"}
	say := func(id int, text string) {
		t.Helper()
		message := map[string]any{"message_id": id, "message_thread_id": 7, "chat": chat, "from": map[string]any{"id": 5, "first_name": "Ann"}, "text": text}
		if status := update(secret, map[string]any{"update_id": id, "message": message}); status != http.StatusOK {
			t.Fatalf("%d", status)
		}
	}
	if status := update("wrong", map[string]any{"update_id": 1}); status != http.StatusUnauthorized {
		t.Errorf("a wrong secret gets %d", status)
	}
	say(2, "Refund 20")
	if c := channeltest.Next(t, calls); c.Method != "sendMessage" || c.Chat != -1001234 || c.Topic != 7 || !strings.Contains(c.Text, "20 euros are on their way back.") {
		t.Errorf("%+v", c)
	}
	say(3, "Refund 80")
	say(3, "Refund 80") // Telegram repeats what it gets no answer for
	ask := channeltest.Next(t, calls)
	if len(ask.Markup.Keyboard) == 0 { // what the agent said before
		ask = channeltest.Next(t, calls)
	}
	if len(ask.Markup.Keyboard) != 1 || len(ask.Markup.Keyboard[0]) != 2 {
		t.Fatalf("%+v", ask)
	}
	click := func(button int) {
		t.Helper()
		query := map[string]any{
			"id": "77", "from": map[string]any{"id": 6, "first_name": "Ben"}, "data": ask.Markup.Keyboard[0][button].Data,
			"message": map[string]any{"message_id": 9, "message_thread_id": 7, "chat": chat, "text": ask.Text},
		}
		if status := update(secret, map[string]any{"update_id": 4 + button, "callback_query": query}); status != http.StatusOK {
			t.Fatalf("%d", status)
		}
	}
	expect := func(want map[string]string) {
		t.Helper()
		for range len(want) {
			c := channeltest.Next(t, calls)
			if text, ok := want[c.Method]; !ok || !strings.Contains(c.Text, text) {
				t.Errorf("%+v", c)
			}
		}
	}
	click(0)
	expect(map[string]string{"answerCallbackQuery": "Approved by Ben.", "editMessageText": "Approved by Ben.", "sendMessage": "80 euros are on their way back."})
	click(1)
	expect(map[string]string{"answerCallbackQuery": "This has been answered.", "editMessageText": "This has been answered."})
}

// A user of the server who gives a session the id of a chat does not write into it.
func TestTelegramOtherSessions(t *testing.T) {
	b := &bridge{parley: channel.Parley{URL: "http://127.0.0.1:1"}}
	for _, n := range []channel.Notice{{User: "eve", Session: "telegram.-1001234.7"}, {User: "-1001234", Session: "s"}} {
		if err := b.tell(t.Context(), n); err != nil {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if err := b.tell(t.Context(), channel.Notice{User: "-1001234", Session: "telegram.-1001234.7"}); err == nil {
		t.Error("a session of Telegram is not looked at")
	}
}
