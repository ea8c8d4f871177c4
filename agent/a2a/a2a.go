// Package a2a connects to agents of other servers that speak the Agent2Agent
// protocol, version 1.0 or 0.3:
//
//	remote, err := a2a.New(a2a.Config{Card: "https://agents.example/a2a/weather"})
//	weather, err := agent.NewRemote(agent.RemoteConfig{
//		Config: agent.Config{Name: "weather", Description: "Knows the weather."},
//		Remote: remote,
//	})
package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/a2apart"
	"github.com/parley-run/parley/internal/retry"
)

// Config says where an agent is.
type Config struct {
	// Card is the address of the card of the agent. If it does not end with .json,
	// it is the address under which .well-known/agent-card.json is.
	Card string
	// CardJSON is the card itself. Card is then not used.
	CardJSON []byte
	// HTTP makes the requests; nil means one that has no limit of time, since tasks
	// may be long.
	HTTP *http.Client
}

// New returns a connection to the agent. The card is read when it is first used.
// The credential of a user is only sent to the server of the card.
func New(cfg Config) (agent.Remote, error) {
	r := &remote{cfg: cfg}
	if cfg.CardJSON != nil {
		card, err := a2av0.NewAgentCardParser()(cfg.CardJSON)
		if err != nil {
			return nil, fmt.Errorf("a2a: read the card of the agent: %w", err)
		}
		r.card = card
	} else {
		u, err := url.Parse(cfg.Card)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("a2a: %q is not the address of a card: it must begin with http:// or https://", cfg.Card)
		}
		r.origin = u.Scheme + "://" + u.Host
	}
	base := cmp.Or(cfg.HTTP, &http.Client{})
	client := *base
	client.Transport = &transport{base: cmp.Or[http.RoundTripper](base.Transport, http.DefaultTransport), origin: r.origin}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r.http = &client
	return r, nil
}

type remote struct {
	cfg    Config
	origin string // of the card; empty if the card was given
	http   *http.Client

	mu     sync.Mutex
	card   *a2a.AgentCard
	client *a2aclient.Client
	stale  time.Time // when the card is read again
}

// A card is read again after cardFor, and after a call that its server did not take.
// One that cannot be read is used for cardAgain longer.
const (
	cardFor   = time.Hour
	cardAgain = time.Minute
)

// outdated has the card read again before the next call.
func (r *remote) outdated() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = time.Time{}
}

// connect returns the client for the interface that the card prefers.
func (r *remote) connect(ctx context.Context) (*a2aclient.Client, error) {
	r.mu.Lock()
	client, card, stale := r.client, r.card, r.stale
	r.mu.Unlock()
	given := r.origin == ""
	if client != nil && (given || time.Now().Before(stale)) {
		return client, nil
	}
	if !given {
		base, file := r.cfg.Card, ".well-known/agent-card.json"
		if u, err := url.Parse(base); err == nil && strings.HasSuffix(u.Path, ".json") {
			file = path.Base(u.Path)
			u.Path, u.RawPath = path.Dir(u.Path), ""
			base = u.String()
		}
		var err error
		resolver := &agentcard.Resolver{Client: r.http, CardParser: a2av0.NewAgentCardParser()}
		if card, err = resolver.Resolve(ctx, base, agentcard.WithPath(file)); err != nil {
			if client != nil {
				r.keep(client, nil, cardAgain)
				return client, nil
			}
			return nil, fmt.Errorf("read the card of the agent: %w", err)
		}
	}
	client, err := a2aclient.NewFromCard(ctx, card,
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithJSONRPCTransport(r.http), a2aclient.WithRESTTransport(r.http),
		a2aclient.WithCompatTransport(a2av0.Version, a2a.TransportProtocolJSONRPC, a2av0.NewJSONRPCTransportFactory(a2av0.JSONRPCTransportConfig{Client: r.http})),
		a2aclient.WithCompatTransport(a2av0.Version, a2a.TransportProtocolHTTPJSON, a2av0.NewRESTTransportFactory(a2av0.RESTTransportConfig{Client: r.http})),
	)
	if err != nil {
		return nil, fmt.Errorf("the card of the agent: %w", err)
	}
	r.keep(client, card, cardFor)
	return client, nil
}

// keep keeps a client and its card for some time; a nil card is the same as before.
func (r *remote) keep(client *a2aclient.Client, card *a2a.AgentCard, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client, r.stale = client, time.Now().Add(d); card != nil {
		r.card = card
	}
}

// Send implements agent.Remote.
func (r *remote) Send(ctx context.Context, auth *agent.RemoteAuth, m *agent.RemoteMessage) iter.Seq2[*agent.RemoteUpdate, error] {
	return func(yield func(*agent.RemoteUpdate, error) bool) {
		ctx, c := r.begin(ctx, auth)
		client, err := r.connect(ctx)
		if err != nil {
			yield(nil, c.explain(err))
			return
		}
		parts, err := a2apart.Encode(m.Parts, nil)
		if err != nil {
			yield(nil, fmt.Errorf("translate the message: %w", err))
			return
		}
		msg := &a2a.Message{
			ID: m.ID, ContextID: m.Conversation, TaskID: a2a.TaskID(m.Task), Role: a2a.MessageRoleUser, Parts: parts,
			Metadata: map[string]any{"adk_app_name": m.App, "adk_user_id": m.User, "adk_session_id": m.Session},
		}
		c.forward(client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: msg}), &reader{}, yield)
	}
}

// Follow implements agent.Remote.
func (r *remote) Follow(ctx context.Context, auth *agent.RemoteAuth, task string) iter.Seq2[*agent.RemoteUpdate, error] {
	return func(yield func(*agent.RemoteUpdate, error) bool) {
		ctx, c := r.begin(ctx, auth)
		client, err := r.connect(ctx)
		if err != nil {
			yield(nil, c.explain(err))
			return
		}
		read := &reader{}
		for {
			now, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(task)})
			if err != nil {
				yield(nil, c.explain(err))
				return
			}
			for _, u := range read.task(now) {
				if !yield(u, nil) || u.Ended {
					return
				}
			}
			if r.streams() {
				break
			}
			if err := retry.Sleep(ctx, time.Second); err != nil {
				yield(nil, err)
				return
			}
		}
		c.forward(client.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(task)}), read, yield)
	}
}

func (r *remote) streams() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.card.Capabilities.Streaming
}

// Cancel implements agent.Remote.
func (r *remote) Cancel(ctx context.Context, auth *agent.RemoteAuth, task string) error {
	ctx, c := r.begin(ctx, auth)
	client, err := r.connect(ctx)
	if err != nil {
		return c.explain(err)
	}
	_, err = client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: a2a.TaskID(task)})
	return c.explain(err)
}

// forward yields what the other server sends.
func (c *call) forward(events iter.Seq2[a2a.Event, error], read *reader, yield func(*agent.RemoteUpdate, error) bool) {
	for ev, err := range events {
		if err != nil {
			if read.id != "" && (errors.Is(err, a2a.ErrUnsupportedOperation) || errors.Is(err, a2a.ErrTaskNotFound)) {
				err = &agent.RemoteError{Err: err} // the task was there a moment ago, and has ended
			}
			yield(nil, c.explain(err))
			return
		}
		updates, err := read.read(ev)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, u := range updates {
			if !yield(u, nil) || u.Ended {
				return
			}
		}
	}
}
