// Package channel is what the recipes for Slack, e-mail and Telegram have in common:
// they receive the webhooks of a Parley server, read what the agent said in the run that
// a webhook is about, and answer what the agent asks. They keep nothing: the id of a
// session says where its answers belong.
package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	// maxBody bounds what is read of a request or a response.
	maxBody = 8 << 20
	// maxSeen is how many webhooks are remembered.
	maxSeen = 10000
)

// Notice is a webhook of Parley.
type Notice struct {
	ID      string `json:"id"`
	Type    string `json:"type"` // such as run.completed
	App     string `json:"appName"`
	User    string `json:"userId"`
	Session string `json:"sessionId"`
	Run     string `json:"runId"`
}

// Webhooks receives the webhooks that Parley signs with a secret. If handle fails, Parley
// sends the webhook again; one that it sends again after success is not handled again.
func Webhooks(secret string, handle func(context.Context, Notice) error) (http.Handler, error) {
	if secret == "" { // it would sign nothing, and everyone could do the same
		return nil, errors.New("the secret of the webhook is missing: set PARLEY_WEBHOOK_SECRET")
	}
	signed, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, fmt.Errorf("the secret of the webhook: %w", err)
	}
	seen := &memory{ids: map[string]bool{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		if err := signed.Verify(body, r.Header); err != nil {
			http.Error(w, "the signature is wrong", http.StatusUnauthorized)
			return
		}
		var n Notice
		if err := json.Unmarshal(body, &n); err != nil {
			http.Error(w, "the body is not JSON", http.StatusBadRequest)
			return
		}
		if seen.has(n.ID) {
			return
		}
		if err := handle(r.Context(), n); err != nil {
			log.Printf("webhook %s about run %s failed; Parley will send it again: %v", n.ID, n.Run, err)
			http.Error(w, "it could not be forwarded", http.StatusBadGateway)
			return
		}
		seen.add(n.ID)
	}), nil
}

// memory remembers the last ids.
type memory struct {
	mu    sync.Mutex
	ids   map[string]bool
	order []string
}

func (m *memory) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[id]
}

func (m *memory) add(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids[id], m.order = true, append(m.order, id)
	if len(m.order) > maxSeen {
		delete(m.ids, m.order[0])
		m.order = m.order[1:]
	}
}

// Parley is a client of a Parley server.
type Parley struct {
	URL string
	Key string // an API key with the scopes inbox, read and users; empty for a server without access control
}

// Question is something that the agent asks.
type Question struct {
	ID      string `json:"id"`
	Session string `json:"sessionId"`
	Run     string `json:"runId"`
	Kind    string `json:"kind"` // confirmation, input, login or result
	Tool    string `json:"tool"`
	Message string `json:"message"`
	// Args are the arguments of the call that is to be approved.
	Args     json.RawMessage `json:"args"`
	LoginURL string          `json:"loginUrl"`
}

// Text is what a person reads of a question.
func (q *Question) Text() string {
	text := q.Message
	if text == "" {
		text = q.Tool + " needs an answer."
	}
	if len(q.Args) > 2 { // more than {}
		text += "\n" + q.Tool + " " + string(q.Args)
	}
	return text
}

// Said returns what the agent said in a run.
func (p *Parley) Said(ctx context.Context, n Notice) (string, error) {
	var events []struct {
		Author  string `json:"author"`
		Partial bool   `json:"partial"`
		Error   string `json:"errorMessage"`
		Content struct {
			Parts []struct {
				Text    string `json:"text"`
				Thought bool   `json:"thought"`
			} `json:"parts"`
		} `json:"content"`
	}
	if err := p.call(ctx, http.MethodGet, p.session(n)+"/runs/"+url.PathEscape(n.Run)+"/events", nil, &events); err != nil {
		return "", err
	}
	var said []string
	for _, ev := range events {
		if ev.Author == "user" || ev.Partial {
			continue
		}
		text := ""
		for _, part := range ev.Content.Parts {
			if !part.Thought {
				text += part.Text
			}
		}
		if text == "" {
			text = ev.Error
		}
		if text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "\n\n"), nil
}

// Open returns what waits for an answer of a user.
func (p *Parley) Open(ctx context.Context, app, user string) (all []Question, err error) {
	query := url.Values{"appName": {app}, "userId": {user}}
	return all, p.call(ctx, http.MethodGet, "/inbox?"+query.Encode(), nil, &all)
}

// Questions returns what a run waits for.
func (p *Parley) Questions(ctx context.Context, n Notice) ([]Question, error) {
	all, err := p.Open(ctx, n.App, n.User)
	return slices.DeleteFunc(all, func(q Question) bool { return q.Session != n.Session || q.Run != n.Run }), err
}

// Forward calls say with what the agent said in the run of a webhook, if anything, and then
// ask with each question.
func (p *Parley) Forward(ctx context.Context, n Notice, say func(text string) error, ask func(Question) error) error {
	text, err := p.Said(ctx, n)
	if err != nil {
		return err
	}
	if text == "" && n.Type == "run.failed" {
		text = "That did not work. Please try again."
	}
	if text != "" {
		if err := say(text); err != nil {
			return err
		}
	}
	if n.Type != "run.waiting" {
		return nil
	}
	questions, err := p.Questions(ctx, n)
	for _, q := range questions {
		if err == nil {
			err = ask(q)
		}
	}
	return err
}

// Address returns where a person logs in for a question, or answers it on a page, once;
// empty if it has been answered.
func (p *Parley) Address(ctx context.Context, q Question) (string, error) {
	if q.LoginURL != "" {
		return q.LoginURL, nil
	}
	link, err := p.link(ctx, q.ID)
	if errors.Is(err, ErrAnswered) {
		return "", nil
	}
	return link, err
}

// State returns the state of the session.
func (p *Parley) State(ctx context.Context, n Notice) (map[string]json.RawMessage, error) {
	var s struct {
		State map[string]json.RawMessage `json:"state"`
	}
	err := p.call(ctx, http.MethodGet, p.session(n)+"?numRecentEvents=0", nil, &s)
	return s.State, err
}

// ErrAnswered means that a question has been answered, or is not open any more.
var ErrAnswered = errors.New("it has been answered")

// Confirm approves or rejects a call, once.
func (p *Parley) Confirm(ctx context.Context, question string, yes bool) error {
	body := map[string]any{"response": map[string]bool{"confirmed": yes}}
	return p.call(ctx, http.MethodPost, "/inbox/"+url.PathEscape(question)+"/answer", body, nil)
}

// link returns the address of a page on which a person can answer a question, once.
func (p *Parley) link(ctx context.Context, question string) (string, error) {
	var link struct {
		URL string `json:"url"`
	}
	err := p.call(ctx, http.MethodPost, "/inbox/"+url.PathEscape(question)+"/link", map[string]any{}, &link)
	return link.URL, err
}

func (p *Parley) session(n Notice) string {
	return "/apps/" + url.PathEscape(n.App) + "/users/" + url.PathEscape(n.User) + "/sessions/" + url.PathEscape(n.Session)
}

// call sends a request to Parley.
func (p *Parley) call(ctx context.Context, method, path string, in, out any) error {
	header := http.Header{"Accept": {"application/json"}}
	if p.Key != "" {
		header.Set("Authorization", "Bearer "+p.Key)
	}
	status, err := Call(ctx, method, strings.TrimSuffix(p.URL, "/")+path, header, in, out)
	if status == http.StatusConflict || status == http.StatusGone || status == http.StatusNotFound && method == http.MethodPost {
		return ErrAnswered
	}
	return err
}

var client = &http.Client{Timeout: 30 * time.Second}

// Call sends a request with JSON, and reads the JSON of the response. It fails if the
// status is not one of success.
func Call(ctx context.Context, method, address string, header http.Header, in, out any) (status int, err error) {
	var body io.Reader
	if in != nil {
		doc, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(doc)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return 0, err
	}
	if header != nil {
		req.Header = header
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	resp, err := client.Do(req)
	if err != nil {
		if where, ok := errors.AsType[*url.Error](err); ok {
			err = where.Err // without the address, which may have a token in it
		}
		return 0, fmt.Errorf("%s: %w", req.URL.Host, err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return resp.StatusCode, err
	}
	if resp.StatusCode/100 != 2 {
		return resp.StatusCode, fmt.Errorf("%s answered with the status %d: %.300s", req.URL.Host, resp.StatusCode, doc)
	}
	if out == nil {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, json.Unmarshal(doc, out)
}
