// Email connects an application of Parley to e-mail: who writes to it gets an answer,
// a thread is a session, and what has to be approved comes with a link.
//
// A service that receives e-mail sends it to a trigger of Parley. Parley sends webhooks to
// this program, which sends e-mail with SMTP. See README.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/smtp"
	"os"
	"strings"
	"time"

	"github.com/parley-run/parley/examples/channel"
)

type bridge struct {
	parley channel.Parley
	smtp   string // host and port
	auth   smtp.Auth
	from   mail.Address
}

// tell sends what the agent said and asks to the user of a session.
func (b *bridge) tell(ctx context.Context, n channel.Notice) error {
	to, err := mail.ParseAddress(n.User)
	if err != nil {
		return nil //nolint:nilerr // it is not a user of e-mail
	}
	var parts []string
	err = b.parley.Forward(ctx, n, func(text string) error {
		parts = append(parts, text)
		return nil
	}, func(q channel.Question) error {
		link, err := b.parley.Address(ctx, q)
		if link != "" {
			parts = append(parts, q.Text()+"\nAnswer here: "+link)
		}
		return err
	})
	if err != nil || len(parts) == 0 {
		return err
	}
	state, err := b.parley.State(ctx, n)
	if err != nil {
		return err
	}
	var subject string
	if json.Unmarshal(state["email_subject"], &subject) != nil || subject == "" {
		subject = "Your message"
	}
	return b.send(to.Address, "Re: "+strings.TrimPrefix(subject, "Re: "), strings.Join(parts, "\n\n"), n)
}

// send sends an e-mail whose replies belong to a session.
func (b *bridge) send(to, subject, text string, n channel.Notice) error {
	name, host, _ := strings.Cut(b.from.Address, "@")
	reply := mail.Address{Name: b.from.Name, Address: name + "+" + n.Session + "@" + host}
	var m bytes.Buffer
	for _, line := range [][2]string{
		{"From", b.from.String()},
		{"Reply-To", reply.String()},
		{"To", (&mail.Address{Address: to}).String()},
		{"Subject", mime.QEncoding.Encode("utf-8", strings.Join(strings.Fields(subject), " "))},
		{"Date", time.Now().Format(time.RFC1123Z)},
		// An e-mail that is sent again is recognized by its id.
		{"Message-ID", "<" + n.ID + "@" + host + ">"},
		{"Auto-Submitted", "auto-replied"}, // other programs do not answer it
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&m, "%s: %s\r\n", line[0], line[1])
	}
	m.WriteString("\r\n")
	body := quotedprintable.NewWriter(&m)
	if _, err := body.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n"))); err != nil {
		return err
	}
	if err := body.Close(); err != nil {
		return err
	}
	return smtp.SendMail(b.smtp, b.auth, b.from.Address, []string{to}, m.Bytes())
}

func main() {
	b := &bridge{parley: channel.Parley{URL: os.Getenv("PARLEY_URL"), Key: os.Getenv("PARLEY_KEY")}, smtp: os.Getenv("SMTP_ADDRESS")}
	from, err := mail.ParseAddress(os.Getenv("EMAIL_FROM"))
	if err != nil || b.parley.URL == "" || b.smtp == "" {
		log.Fatal("set PARLEY_URL, PARLEY_WEBHOOK_SECRET, SMTP_ADDRESS and EMAIL_FROM; see README.md")
	}
	b.from = *from
	if user := os.Getenv("SMTP_USER"); user != "" {
		host, _, err := net.SplitHostPort(b.smtp)
		if err != nil {
			log.Fatal("SMTP_ADDRESS: ", err)
		}
		b.auth = smtp.PlainAuth("", user, os.Getenv("SMTP_PASSWORD"), host)
	}
	webhooks, err := channel.Webhooks(os.Getenv("PARLEY_WEBHOOK_SECRET"), b.tell)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /webhook", webhooks)
	server := &http.Server{Addr: ":8090", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
