package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley/examples/channel"
	"github.com/parley-run/parley/examples/channel/channeltest"
)

// received is an e-mail that was sent.
type received struct {
	to      string
	header  mail.Header
	subject string
	text    string
}

// standIn is a server for SMTP that takes all e-mail.
func standIn(t *testing.T) (address string, mails <-chan received) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan received, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			one, err := receive(conn)
			if err != nil && !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			if one != nil {
				all <- *one
			}
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String(), all
}

// receive takes one e-mail.
func receive(conn net.Conn) (*received, error) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	reply := func(line string) { _, _ = fmt.Fprint(conn, line+"\r\n") }
	reply("220 localhost")
	var one *received
	to := ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return one, err
		}
		switch verb := strings.ToUpper(strings.Fields(line + " x")[0]); verb {
		case "EHLO", "HELO", "MAIL":
			reply("250 ok")
		case "RCPT":
			to = strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "RCPT TO:"), "<>")
			reply("250 ok")
		case "DATA":
			reply("354 go on")
			var text strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return nil, err
				}
				if line == ".\r\n" {
					break
				}
				text.WriteString(strings.TrimPrefix(line, "."))
			}
			if one, err = parse(to, text.String()); err != nil {
				return nil, err
			}
			reply("250 ok")
		case "QUIT":
			reply("221 bye")
			return one, nil
		default:
			reply("502 unknown")
		}
	}
}

func parse(to, text string) (*received, error) {
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	return &received{to, m.Header, subject, string(body)}, err
}

var link = regexp.MustCompile(`Answer here: (\S+)`)

// An e-mail gets an answer, whose reply goes on with the session, and a question has a link
// to a page with the answers.
func TestEmail(t *testing.T) {
	t.Setenv("EMAIL_TRIGGER_SECRET", "a-long-secret-of-the-trigger")
	address, mails := standIn(t)
	server := channeltest.Start(t, "ann@example.com", func(p channel.Parley, secret string) (http.Handler, error) {
		b := &bridge{parley: p, smtp: address, from: mail.Address{Name: "Shop", Address: "agent@shop.example"}}
		return channel.Webhooks(secret, b.tell)
	})
	write := func(id, text, hash, stripped string) {
		t.Helper()
		body := channeltest.JSON(t, map[string]any{
			"FromFull": map[string]string{"Email": "ann@example.com", "Name": "Ann", "MailboxHash": ""}, "From": "ann@example.com", "FromName": "Ann",
			"To": "agent@shop.example", "MailboxHash": hash, "Subject": "Größe passt nicht", "MessageID": id, "TextBody": text, "StrippedTextReply": stripped, "Attachments": []any{},
		})
		address := server + "/apps/approval/triggers/email?key=" + url.QueryEscape("a-long-secret-of-the-trigger")
		if status, answer := channeltest.Send(t, address, http.Header{"Content-Type": {"application/json"}}, body); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, answer)
		}
	}
	write("22c74902-a0c1-4511-804f-341342852c90", "Refund 20", "", "")
	first := channeltest.Next(t, mails)
	if first.to != "ann@example.com" || first.subject != "Re: Größe passt nicht" || !strings.Contains(first.text, "20 euros are on their way back.") {
		t.Errorf("%+v", first)
	}
	reply, err := mail.ParseAddress(first.header.Get("Reply-To"))
	if err != nil {
		t.Fatal(err)
	}
	_, hash, _ := strings.Cut(strings.TrimSuffix(reply.Address, "@shop.example"), "+")
	if hash != "22c74902-a0c1-4511-804f-341342852c90" {
		t.Errorf("the session of a reply is %q", hash)
	}
	write("73e6d360-66eb-11e1-8e72-a8904824019b", "Refund 80\n\n> 20 euros are on their way back.", hash, "Refund 80")
	ask := channeltest.Next(t, mails)
	found := link.FindStringSubmatch(ask.text)
	if found == nil {
		t.Fatalf("there is no link in %q", ask.text)
	}
	page := func(resp *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(resp.StatusCode, " ", string(text))
	}
	opened, err := url.Parse(found[1])
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"t": {opened.Query().Get("t")}, "decision": {"approve"}}
	opened.RawQuery = ""
	for _, want := range []string{"May refund_order be called?", "Thank you", "It is answered"} {
		var got string
		if strings.HasPrefix(want, "May") {
			got = page(http.Get(found[1]))
		} else {
			got = page(http.PostForm(opened.String(), form))
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s has no %q", got, want)
		}
	}
	if last := channeltest.Next(t, mails); !strings.Contains(last.text, "80 euros are on their way back.") {
		t.Errorf("%+v", last)
	}
}
