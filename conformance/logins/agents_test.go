package logins

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

// site is what an agent knows of the provider and the API.
type site struct{ issuer, client, secret string }

// The applications: one whose tools are written by hand, and one whose tool is
// made of a document.
const (
	custom     = "custom"
	documented = "documented"
)

func applications(at site) (map[string]*agent.Agent, error) {
	made, err := openapi.New(context.Background(), openapi.Config{
		Spec: fmt.Appendf(nil, `{"openapi":"3.0.3","info":{"title":"Calendar","version":"1"},"servers":[{"url":%q}],
			"paths":{%q:{"get":{"operationId":"listEvents","responses":{"200":{"description":"The events."}}}}}}`, at.issuer, provider.APIPath),
		Scheme: &credential.Scheme{
			Type: credential.TypeOpenIDConnect, OpenIDConnectURL: at.issuer + provider.DiscoveryPath,
			OpenID: credential.OpenID{Scopes: []string{"openid", "offline_access", provider.ScopeRead}},
		},
		Credential: at.raw(credential.TypeOpenIDConnect),
	})
	if err != nil {
		return nil, err
	}
	block := tool.Must(tool.New(tool.Declaration{Name: "block", Effect: tool.Pure}, func(ctx *tool.Context, _ struct{}) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	apps := map[string]*agent.Agent{}
	for name, tools := range map[string][]tool.Tool{
		custom: {at.reader("list_events", ""), at.reader("list_contacts", "contacts"), block}, documented: made.All(),
	} {
		if apps[name], err = agent.NewLLM(agent.LLMConfig{Name: name, Tools: tools, Model: scripted.Func(decide)}); err != nil {
			return nil, err
		}
	}
	return apps, nil
}

func (at site) raw(kind credential.Type) *credential.Credential {
	return &credential.Credential{Type: kind, OAuth2: &credential.OAuth2{ClientID: at.client, ClientSecret: at.secret}}
}

// reader is a tool that reads the protected API, and does what the
// specification says of tools that need a login. Those with the same key share
// one.
func (at site) reader(name, key string) tool.Tool {
	cfg := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
			AuthorizationURL: at.issuer + provider.AuthorizePath, TokenURL: at.issuer + provider.TokenPath,
			Scopes: []credential.Scope{{Name: "openid"}, {Name: "offline_access"}, {Name: provider.ScopeRead}},
		}}},
		Raw: at.raw(credential.TypeOAuth2), CredentialKey: key,
	}
	return tool.Must(tool.New(tool.Declaration{Name: name, Effect: tool.Pure}, func(ctx *tool.Context, _ struct{}) (any, error) {
		ask := func(message string) (any, error) {
			if err := ctx.RequestCredential(cfg); err != nil {
				return nil, err
			}
			return tool.Pending(message), nil
		}
		cred, err := ctx.AuthResponse(cfg)
		switch {
		case err != nil:
			return nil, err
		case cred == nil:
			return ask("Log in, please.")
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.issuer+provider.APIPath, http.NoBody)
		if err != nil {
			return nil, err
		}
		if err := credential.Apply(req, cfg.Scheme, cred); err != nil {
			return nil, err
		}
		used.Store(req.Header.Get("Authorization"), true)
		resp, err := caller.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
			if err := ctx.DropCredential(cfg); err != nil {
				return nil, err
			}
			return ask("Log in again, please.")
		}
		body, err := io.ReadAll(resp.Body)
		return map[string]any{"status": "success", "data": json.RawMessage(body)}, err
	}))
}

// used are the tokens that tools in this process have shown.
var used sync.Map

var caller = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// decide is the model: a pure function of the conversation, so that any process
// can continue with any run. It says how many results it has seen, or does what the
// user says.
func decide(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	if results := scripted.LastResponses(req); len(results) > 0 {
		return scripted.Say(fmt.Sprintf("%d result(s).", len(results)))(ctx, req)
	}
	said := scripted.LastUserText(req)
	names, ok := strings.CutPrefix(said, "call ")
	if !ok {
		return scripted.Say("You said: "+said)(ctx, req)
	}
	var calls []*event.FunctionCall
	for name := range strings.FieldsSeq(names) {
		calls = append(calls, &event.FunctionCall{Name: name, Args: json.RawMessage("{}")})
	}
	return scripted.Calls(calls...)(ctx, req)
}
