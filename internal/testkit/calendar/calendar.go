// Package calendar is an agent whose tool needs a login, for tests.
package calendar

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// Agent returns an agent with a tool that needs a login at p. Its model calls the tool
// for every message, and then says that this is all.
func Agent(p *provider.Provider) *agent.Agent {
	id, secret := p.Client()
	cfg := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
			AuthorizationURL: p.AuthURL(), TokenURL: p.TokenURL(),
			Scopes: []credential.Scope{{Name: "openid"}, {Name: "offline_access"}, {Name: provider.ScopeRead}},
		}}},
		Raw: &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: id, ClientSecret: secret}},
	}
	list := tool.Must(tool.New(tool.Declaration{Name: "list_events"}, func(ctx *tool.Context, _ struct{}) (any, error) {
		cred, err := ctx.AuthResponse(cfg)
		if err != nil {
			return nil, err
		}
		if cred == nil {
			if err := ctx.RequestCredential(cfg); err != nil {
				return nil, err
			}
			return tool.Pending("Log in to see your calendar."), nil
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.API(), nil)
		if err != nil {
			return nil, err
		}
		if err := credential.Apply(req, cfg.Scheme, cred); err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode == http.StatusUnauthorized {
			if err := ctx.DropCredential(cfg); err != nil {
				return nil, err
			}
			if err := ctx.RequestCredential(cfg); err != nil {
				return nil, err
			}
			return tool.Pending("Log in again, please."), nil
		}
		body, err := io.ReadAll(resp.Body)
		return map[string]any{"status": "success", "code": resp.StatusCode, "data": json.RawMessage(body)}, err
	}))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "calendar", Tools: []tool.Tool{list}, Model: scripted.Func(answer)})
	if err != nil {
		panic(err) // the fixture itself is wrong
	}
	return root
}

func answer(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	if len(scripted.LastResponses(req)) > 0 {
		return scripted.Say("That is all.")(ctx, req)
	}
	return scripted.Call("list_events", nil)(ctx, req)
}
