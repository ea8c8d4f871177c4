package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/model/offline"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

// site is where the calendar is, and what the agent is known by there.
type site struct {
	issuer, clientID, clientSecret string
}

// login says how users log in, and as which client the agent asks them to.
func (s site) login() *credential.Config {
	return &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{
			AuthorizationCode: &credential.Flow{
				AuthorizationURL: s.issuer + "/authorize",
				TokenURL:         s.issuer + "/oauth/token",
				Scopes:           []credential.Scope{{Name: "calendar.read"}, {Name: "calendar.write"}, {Name: "offline_access"}},
			},
		}},
		Raw: &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{
			ClientID: s.clientID, ClientSecret: s.clientSecret,
		}},
	}
}

// listEvents is a tool that needs a login, written by hand.
func listEvents(api string, login *credential.Config) (tool.Tool, error) {
	declaration := tool.Declaration{Name: "list_events", Description: "Lists the events in the user's calendar.", Effect: tool.Pure, NeedsLogin: true}
	return tool.New(declaration, func(ctx *tool.Context, _ struct{}) (any, error) {
		cred, err := ctx.AuthResponse(login)
		if err != nil {
			return nil, err
		}
		if cred == nil { // the user has to log in, and then the call is made again
			return tool.Pending("Log in to see your calendar."), ctx.RequestCredential(login)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, api, http.NoBody)
		if err != nil {
			return nil, err
		}
		if err := credential.Apply(req, login.Scheme, cred); err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			return report(resp)
		case http.StatusUnauthorized, http.StatusForbidden: // it was revoked, say
			if err := ctx.DropCredential(login); err != nil {
				return nil, err
			}
			return tool.Pending("Log in again to see your calendar."), ctx.RequestCredential(login)
		}
		return nil, fmt.Errorf("the calendar answers %s", resp.Status)
	})
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// report says in words what is in the calendar.
func report(resp *http.Response) (any, error) {
	var calendar struct {
		Events []struct{ Title, Start string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&calendar); err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range calendar.Events {
		lines = append(lines, strings.TrimSpace(e.Start+" "+e.Title))
	}
	return map[string]any{"status": "success", "report": "In your calendar: " + strings.Join(lines, ", ") + "."}, nil
}

//go:embed calendar.yaml
var document []byte

// newAgent makes the agent. Its second tool is made of a document, and asks for
// the same login by itself.
func newAgent(ctx context.Context, s site) (*agent.Agent, error) {
	login := s.login()
	list, err := listEvents(s.issuer+"/calendar/events", login)
	if err != nil {
		return nil, err
	}
	made, err := openapi.New(ctx, openapi.Config{
		Spec: document, BaseURL: s.issuer, Client: client,
		Scheme: login.Scheme, Credential: login.Raw,
	})
	if err != nil {
		return nil, err
	}
	return agent.NewLLM(agent.LLMConfig{
		Name:        "calendar",
		Description: "Manages the user's calendar.",
		Model:       offline.New(),
		Instruction: "Answer questions about the user's calendar with list_events, and add to it with add_event.",
		Tools:       append([]tool.Tool{list}, made.All()...),
	})
}
