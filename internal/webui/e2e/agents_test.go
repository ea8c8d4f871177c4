package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

const tale = "Once upon a time there was a **server** that never lost a word.\n\n" +
	"| what | how |\n|---|---|\n| log | append only |\n| run | one at a time |\n\n" +
	"It lived [happily](https://example.com) ever after. <script>alert(1)</script>"

// teller tells a tale in pieces. It stops in the middle, until the gate opens
// that the message names, as in "tell me, gate g".
func (s *stage) teller() *agent.Agent {
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "teller", Description: "Tells a tale, piece by piece.",
		Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			_, name, gated := strings.Cut(scripted.LastUserText(req), "gate ")
			return func(yield func(*model.Response, error) bool) {
				words := strings.SplitAfter(tale, " ")
				for i, word := range words {
					if gated && i == 7 {
						select {
						case <-s.gate(strings.TrimSpace(name)):
						case <-ctx.Done():
							yield(nil, ctx.Err())
							return
						}
					}
					piece := model.Text(word)
					piece.Partial = true
					if !yield(piece, nil) {
						return
					}
				}
				yield(model.Text(tale), nil)
			}
		}),
	})
	if err != nil {
		panic(err) // the agent itself is wrong
	}
	return root
}

// calendar is an agent with a tool that needs a login.
func calendar(p *provider.Provider) *agent.Agent {
	id, secret := p.Client()
	cfg := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
			AuthorizationURL: p.AuthURL(), TokenURL: p.TokenURL(),
			Scopes: []credential.Scope{{Name: "openid"}, {Name: "offline_access"}, {Name: provider.ScopeRead, Description: "See your events"}},
		}}},
		Raw: &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: id, ClientSecret: secret}},
	}
	list := tool.Must(tool.New(tool.Declaration{Name: "list_events", Description: "Lists what is in the calendar."}, func(ctx *tool.Context, _ struct{}) (any, error) {
		cred, err := ctx.AuthResponse(cfg)
		if err != nil {
			return nil, err
		}
		if cred == nil {
			return tool.Pending("Log in to see your calendar."), ctx.RequestCredential(cfg)
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
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return map[string]any{"status": "success", "code": resp.StatusCode, "data": json.RawMessage(body)}, err
	}))
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "calendar", Description: "Knows what is on, after a login.", Tools: []tool.Tool{list},
		Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			if len(scripted.LastResponses(req)) > 0 {
				return scripted.Say("That is all that is on.")(ctx, req)
			}
			return scripted.Call("list_events", nil)(ctx, req)
		}),
	})
	if err != nil {
		panic(err) // the agent itself is wrong
	}
	return root
}

// question is what asker asks for.
var question = event.FunctionCall{Name: "adk_request_input", Args: json.RawMessage(`{
	"interruptId": "i1", "message": "Where shall we go?",
	"responseSchema": {"type": "object", "required": ["city", "days"], "properties": {
		"city": {"type": "string", "description": "Where to"}, "days": {"type": "integer"},
		"class": {"type": "string", "enum": ["first", "second"]}, "insured": {"type": "boolean", "title": "Insured"}}}}`)}

// choice is what asker asks for if the message is "choose".
var choice = event.FunctionCall{Name: tool.ChoiceCall, Args: json.RawMessage(`{"options": ["by train", "by ship, and slowly"]}`)}

// asker asks a person, and thanks for the answer.
func asker() *agent.Agent {
	root, err := agent.New(agent.Config{Name: "asker", Description: "Asks before it acts."}, func(ctx *agent.Context, emit agent.Emit) error {
		for _, part := range ctx.UserContent().Parts {
			if part.FunctionResponse != nil {
				return emit(&event.Event{Content: event.Text(event.RoleModel, "Thank you.")})
			}
		}
		call := question
		if ctx.UserContent().Text() == "choose" {
			call = choice
		}
		call.ID = event.NewID()
		err := emit(&event.Event{
			Content:            &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &call}}},
			LongRunningToolIDs: []string{call.ID},
		})
		return cmp.Or(err, agent.ErrWaiting)
	})
	if err != nil {
		panic(err) // the agent itself is wrong
	}
	return root
}

// painter saves a picture, for all sessions of the user, and what it thinks of it.
func painter() *agent.Agent {
	paint := tool.Must(tool.New(tool.Declaration{Name: "paint", Description: "Paints a picture."}, func(ctx *tool.Context, _ struct{}) (any, error) {
		canvas := image.NewRGBA(image.Rect(0, 0, 320, 160))
		for x := range 320 {
			for y := range 160 {
				canvas.Set(x, y, color.RGBA{uint8(40 + x/2), uint8(90 + y/2), 120, 255})
			}
		}
		var file bytes.Buffer
		if err := png.Encode(&file, canvas); err != nil {
			return nil, err
		}
		if _, err := ctx.SaveArtifact("user:art/dusk.png", &event.Part{InlineData: &event.Blob{MIMEType: "image/png", Data: file.Bytes()}}); err != nil {
			return nil, err
		}
		thoughts := &event.Part{InlineData: &event.Blob{MIMEType: "application/json", Data: []byte(`{"mood":"calm","colours":["brown","green"]}`)}}
		version, err := ctx.SaveArtifact("thoughts.json", thoughts)
		return map[string]any{"status": "success", "version": version}, err
	}))
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "painter", Description: "Paints.", Instruction: "Paint what you are asked for.", Tools: []tool.Tool{paint},
		Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			if len(scripted.LastResponses(req)) > 0 {
				return scripted.Say("It is dusk.")(ctx, req)
			}
			return scripted.Call("paint", nil)(ctx, req)
		}),
	})
	if err != nil {
		panic(err) // the agent itself is wrong
	}
	return root
}
