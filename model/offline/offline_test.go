package offline

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

func user(text string) *event.Content  { return event.Text(event.RoleUser, text) }
func reply(text string) *event.Content { return event.Text(event.RoleModel, text) }

func called(name string) *event.Content {
	return &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{Name: name}}}}
}

// returned is a name and a response each.
func returned(nameAndResponse ...string) *event.Content {
	c := &event.Content{Role: event.RoleUser}
	for i := 0; i < len(nameAndResponse); i += 2 {
		c.Parts = append(c.Parts, &event.Part{FunctionResponse: &event.FunctionResponse{
			Name: nameAndResponse[i], Response: json.RawMessage(nameAndResponse[i+1]),
		}})
	}
	return c
}

func request(contents ...*event.Content) *model.Request {
	req := &model.Request{Tools: kit}
	req.SetContents(contents)
	return req
}

// generate is the one response to a request, as a call or a text.
func generate(t *testing.T, req *model.Request) string {
	t.Helper()
	var got []string
	for r, err := range New().Generate(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Partial || r.FinishReason != "STOP" || r.Usage == nil {
			t.Errorf("got partial %v, finish reason %q, usage %v", r.Partial, r.FinishReason, r.Usage)
		}
		for _, c := range r.Content.FunctionCalls() {
			if c.ID != "" || len(r.Content.Parts) != 1 {
				t.Errorf("got the id %q in %d parts", c.ID, len(r.Content.Parts))
			}
			got = append(got, c.Name+string(c.Args))
		}
		if text := r.Content.Text(); text != "" {
			got = append(got, text)
		}
	}
	if len(got) != 1 {
		t.Fatalf("got %q, want one answer", got)
	}
	return got[0]
}

func TestConversations(t *testing.T) {
	t.Parallel()
	const weather = `{"report":"It is sunny."}`
	tests := []struct {
		name     string
		contents []*event.Content
		want     string
	}{
		{"a call", []*event.Content{user("weather in Rome")}, `get_weather{"city":"Rome"}`},
		{"its result", []*event.Content{user("weather in Rome"), called("get_weather"), returned("get_weather", weather)}, "It is sunny."},
		{
			"a new turn",
			[]*event.Content{
				user("weather in Rome"), called("get_weather"), returned("get_weather", weather), reply("It is sunny."),
				user("and the weather in Oslo?"),
			},
			`get_weather{"city":"Oslo"}`,
		},
		{
			"not a second call in the same turn",
			[]*event.Content{
				user("weather in Rome"), called("get_weather"), returned("get_weather", weather), user("For context:[other] said: fine"),
			},
			"It is sunny.",
		},
		{
			"a transfer is not read out",
			[]*event.Content{
				user("weather in Rome"), called(transferTool), returned(transferTool, `{"result":null}`),
			},
			`get_weather{"city":"Rome"}`,
		},
		{
			"what others said is not the user's",
			[]*event.Content{
				user("weather in Rome"), user("For context:"), user("For context:[root] called tool `transfer_to_agent`"),
			},
			`get_weather{"city":"Rome"}`,
		},
		{
			"an answer to a question",
			[]*event.Content{
				user("what's the weather?"), reply("To use get_weather I need: city."), user("new york please"),
			},
			`get_weather{"city":"new york"}`,
		},
		{
			"answers to several questions",
			[]*event.Content{
				user("flights tomorrow"), reply("To use search_flights I need: origin, destination."),
				user("rome"), reply("To use search_flights I need: destination."), user("oslo"),
			},
			`search_flights{"date":"tomorrow","destination":"oslo","origin":"rome"}`,
		},
		{
			"no answer to a question",
			[]*event.Content{
				user("what's the weather?"), reply("To use get_weather I need: city."), user("who are you?"),
			},
			"To use get_weather I need: city.",
		},
		{
			"an answer about something else",
			[]*event.Content{
				user("what's the weather?"), reply("To use get_weather I need: city."), user("list my files"),
			},
			"list_files{}",
		},
		{
			"a later answer from outside",
			[]*event.Content{
				user("weather in Rome"), called("get_weather"), returned("get_weather", `{"status":"pending"}`), reply("Waiting."),
				returned("get_weather", weather),
			},
			"It is sunny.",
		},
		{
			"parts that are not there",
			[]*event.Content{
				nil, {Role: event.RoleUser, Parts: []*event.Part{nil, {Text: "weather in Rome"}, nil}}, {}, {Parts: []*event.Part{nil}},
			},
			`get_weather{"city":"Rome"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := generate(t, request(tt.contents...)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	tools := append(slices.Clone(kit), model.Declaration{
		Name:        transferTool,
		Description: "Hands over to another agent.\n- bill: Sends invoices and refunds.\n- bill_checker: Verifies invoices.",
		Parameters:  object("agent_name", `{"type":"string","enum":["bill","bill_checker","travel_agent","poet"]}`),
	})
	const instruction = "Be kind.\n\nAgent name: poet\nAgent description: Writes poems and limericks.\n"
	tests := []struct {
		name     string
		contents []*event.Content
		want     string // the agent, "" for no transfer
	}{
		{"by name", []*event.Content{user("I want to talk to the travel agent")}, "travel_agent"},
		{"by description in the tool", []*event.Content{user("I would like refunds for two broken lamps")}, ""},
		{"by two words of it", []*event.Content{user("please verify the invoice that came with my broken lamp")}, "bill_checker"},
		{"by description in the instruction", []*event.Content{user("write a poem")}, "poet"},
		{"not when two fit", []*event.Content{user("an invoice")}, ""},
		{"not when a tool fits", []*event.Content{user("weather for travel in Rome")}, ""},
		{"not twice", []*event.Content{user("write a poem"), called(transferTool), returned(transferTool, `{}`)}, ""},
		{"not after another agent did", []*event.Content{user("write a poem"), user("For context:[root] called tool `transfer_to_agent`")}, ""},
		{"not for nothing", []*event.Content{user("hello agent")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request(tt.contents...)
			req.Tools, req.Instruction = tools, instruction
			got := generate(t, req)
			want := transferTool + `{"agent_name":"` + tt.want + `"}`
			if tt.want == "" && strings.HasPrefix(got, transferTool) || tt.want != "" && got != want {
				t.Errorf("got %s, want a transfer to %q", got, tt.want)
			}
		})
	}
}

func TestExcuse(t *testing.T) {
	t.Parallel()
	req := request(user(" what is the meaning of life? "))
	req.Tools = []model.Declaration{
		{Name: "get_weather", Description: "Returns the weather.\nAnd more."},
		{Name: "ping"},
		{Name: transferTool},
	}
	want := "I am Parley's offline model. I do not think: I only match words to tools, and I found no tool for “what is the meaning of life?”. " +
		"These I can call:\n\n- get_weather: Returns the weather.\n- ping\n\nFor real answers, give the agent a real model."
	if got := generate(t, req); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	want = "I am Parley's offline model. I do not think: I only match words to tools. " +
		"This agent has no tools that I could call. For real answers, give the agent a real model."
	if got := generate(t, &model.Request{}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := generate(t, request(user(strings.Repeat("très ", 1e6)))); len(got) > 5000 {
		t.Errorf("a huge text got an answer of %d bytes", len(got))
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	for _, result := range []string{"It is  sunny.\nAnd warm. ", " ", "one", "a b"} {
		raw, _ := json.Marshal(map[string]string{"report": result, "x": "y"})
		req := request(user("weather in Rome"), called("get_weather"), returned("get_weather", string(raw)))
		req.Stream = true
		var pieces, whole string
		for r, err := range New().Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Partial {
				pieces += r.Content.Text()
			} else {
				whole += r.Content.Text()
			}
		}
		if pieces != whole || whole == "" {
			t.Errorf("the pieces are %q, the whole is %q", pieces, whole)
		}
	}
}

func TestStreamOfACallHasNoPieces(t *testing.T) {
	t.Parallel()
	req := request(user("weather in Rome"))
	req.Stream = true
	if got, want := generate(t, req), `get_weather{"city":"Rome"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGenerateStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := request(user("nothing that matches"))
	req.Stream = true
	var errs []error
	pieces := 0
	for _, err := range New().Generate(ctx, req) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pieces++
		cancel()
	}
	if pieces != 1 || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("got %d pieces and %v, want one piece and then the cancellation", pieces, errs)
	}
	for r, err := range New().Generate(ctx, req) {
		if r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v after the cancellation", r, err)
		}
	}
	for range New().Generate(t.Context(), req) {
		break // must not make it yield again, which would panic
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	req := request(user("weather in Rome"), called("get_weather"), returned("get_weather", `{"report":"It is sunny."}`))
	req.Instruction = "Be kind."
	for r := range New().Generate(t.Context(), req) {
		if got, want := *r.Usage, (event.Usage{Prompt: 5, Candidates: 3, Total: 8}); got.Prompt != want.Prompt || got.Candidates != want.Candidates || got.Total != want.Total {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
