package model_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/internal/testkit/modelserver"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/anthropic"
	"github.com/parley-run/parley/model/gemini"
	"github.com/parley-run/parley/model/openai"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // where an SDK writes what it also returns
	leak.Main(m)
}

const key = "key-0123456789-secret"

// adapter makes the adapter to a dialect.
func adapter(t *testing.T, d modelserver.Dialect, client *http.Client) model.Model {
	t.Helper()
	var m model.Model
	var err error
	switch d.Name() {
	case "gemini":
		m, err = gemini.New("gemini-x", &gemini.Options{APIKey: key, BaseURL: "http://model.test", HTTPClient: client})
	case "openai":
		m, err = openai.New("gpt-x", &openai.Options{APIKey: key, BaseURL: "http://model.test/v1", HTTPClient: client})
	case "anthropic":
		m, err = anthropic.New("claude-x", &anthropic.Options{APIKey: key, BaseURL: "http://model.test", HTTPClient: client})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// everywhere runs a test for every dialect, with streaming and without, on a
// clock of its own.
func everywhere(t *testing.T, test func(t *testing.T, d modelserver.Dialect, stream bool)) {
	t.Helper()
	for _, d := range modelserver.Dialects {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", d.Name(), stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, d, stream) })
			})
		}
	}
}

func user(parts ...*event.Part) *event.Content {
	return &event.Content{Role: event.RoleUser, Parts: parts}
}

func said(parts ...*event.Part) *event.Content {
	return &event.Content{Role: event.RoleModel, Parts: parts}
}

func call(id, name, args string) *event.Part {
	return &event.Part{FunctionCall: &event.FunctionCall{ID: id, Name: name, Args: []byte(args)}}
}

func result(id, name, doc string) *event.Part {
	return &event.Part{FunctionResponse: &event.FunctionResponse{ID: id, Name: name, Response: []byte(doc)}}
}

func text(t string) *event.Part { return &event.Part{Text: t} }

func thought(t string) *event.Part { return &event.Part{Text: t, Thought: true} }

// outcome is what comes of a call, as far as all adapters must agree on it.
type outcome struct {
	Pieces   []string
	Response *model.Response
	Err      string
}

// generate drains a call. Signatures differ by provider, and are left out; that
// they go back is another test.
func generate(t *testing.T, m model.Model, req *model.Request) (out outcome, whole *model.Response) {
	t.Helper()
	for resp, err := range m.Generate(t.Context(), req) {
		switch {
		case err != nil:
			out.Err = err.Error()
		case resp.Partial:
			for _, p := range resp.Content.Parts {
				if p.Thought {
					out.Pieces = append(out.Pieces, "thought: "+p.Text)
				} else {
					out.Pieces = append(out.Pieces, p.Text)
				}
			}
		case whole != nil:
			t.Error("two complete responses")
		default:
			whole = resp
			seen := *resp
			if resp.Content != nil {
				seen.Content = &event.Content{Role: resp.Content.Role}
				for _, p := range resp.Content.Parts {
					part := *p
					part.ThoughtSignature = nil
					seen.Content.Parts = append(seen.Content.Parts, &part)
				}
			}
			out.Response = &seen
		}
	}
	return out, whole
}

func ask(stream bool, contents ...*event.Content) *model.Request {
	req := &model.Request{Stream: stream, Instruction: "Be kind.", Tools: []model.Declaration{
		{Name: "f", Description: "does f", Parameters: []byte(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}, {Name: "g"},
	}}
	if contents == nil {
		contents = []*event.Content{user(text("Hello"))}
	}
	req.SetContents(contents)
	return req
}

// answers are what a model may say, and the response that has to come of it,
// over every adapter.
var answers = []struct {
	name   string
	reply  modelserver.Reply
	pieces []string
	want   model.Response
}{
	{
		"a text",
		modelserver.Reply{Text: []string{"Hi ", "there, 👋 Grüezi", "\n\n", "data: x"}},
		[]string{"Hi ", "there, 👋 Grüezi", "\n\n", "data: x"},
		model.Response{Content: said(text("Hi there, 👋 Grüezi\n\ndata: x")), FinishReason: "STOP"},
	},
	{
		"a thought and what it cost",
		modelserver.Reply{Thought: "Hm.", Text: []string{"Yes."}, Usage: modelserver.Usage{Prompt: 100, Cached: 60, Thoughts: 5, Answer: 2}},
		[]string{"thought: Hm.", "Yes."},
		model.Response{
			Content: said(thought("Hm."), text("Yes.")), FinishReason: "STOP",
			Usage: &event.Usage{Prompt: 100, CachedContent: 60, Thoughts: 5, Candidates: 2, Total: 107},
		},
	},
	{
		"a call",
		modelserver.Reply{Calls: []modelserver.Call{{ID: "c1", Name: "f", Args: `{"x":1}`}}},
		nil,
		model.Response{Content: said(call("c1", "f", `{"x":1}`)), FinishReason: "STOP"},
	},
	{
		"calls beside each other, after a thought and a text",
		modelserver.Reply{
			Thought: "Both.", Text: []string{"Let me see."},
			Calls: []modelserver.Call{{ID: "c1", Name: "f", Args: `{"x":1}`}, {ID: "c2", Name: "f", Args: `{"x":2}`}, {ID: "c3", Name: "g", Args: `{}`}},
		},
		[]string{"thought: Both.", "Let me see."},
		model.Response{
			Content:      said(thought("Both."), text("Let me see."), call("c1", "f", `{"x":1}`), call("c2", "f", `{"x":2}`), call("c3", "g", `{}`)),
			FinishReason: "STOP",
		},
	},
	{
		"cut short",
		modelserver.Reply{Text: []string{"Once upon"}, Finish: "MAX_TOKENS"},
		[]string{"Once upon"},
		model.Response{Content: said(text("Once upon")), FinishReason: "MAX_TOKENS"},
	},
	{
		"cut short before the first word",
		modelserver.Reply{Finish: "MAX_TOKENS"},
		nil,
		model.Response{FinishReason: "MAX_TOKENS", ErrorCode: "MAX_TOKENS", ErrorMessage: "The model stopped without an answer."},
	},
	{
		"cut short in a thought",
		modelserver.Reply{Thought: "Hm.", Finish: "MAX_TOKENS"},
		[]string{"thought: Hm."},
		model.Response{Content: said(thought("Hm.")), FinishReason: "MAX_TOKENS", ErrorCode: "MAX_TOKENS", ErrorMessage: "The model stopped without an answer."},
	},
	{"nothing but a thought", modelserver.Reply{Thought: "Hm."}, []string{"thought: Hm."}, model.Response{Content: said(thought("Hm.")), FinishReason: "STOP"}},
	{
		"cut short after a call",
		modelserver.Reply{Calls: []modelserver.Call{{ID: "c1", Name: "g"}, {ID: "c2", Name: "f", Args: `{"x":1}`}}, Finish: "MAX_TOKENS"},
		nil,
		model.Response{Content: said(call("c1", "g", `{}`), call("c2", "f", `{"x":1}`)), FinishReason: "MAX_TOKENS"},
	},
	{
		"cut short before the arguments of a call",
		modelserver.Reply{
			Text: []string{"Let me see."}, Calls: []modelserver.Call{{ID: "c1", Name: "f", Args: `{"x":1}`}, {ID: "c2", Name: "g"}}, Finish: "MAX_TOKENS",
		},
		[]string{"Let me see."},
		model.Response{Content: said(text("Let me see.")), FinishReason: "MAX_TOKENS", ErrorCode: "MAX_TOKENS", ErrorMessage: "The model was cut off in its call of g."},
	},
	{
		"refused",
		modelserver.Reply{Finish: "SAFETY"},
		nil,
		model.Response{FinishReason: "SAFETY", ErrorCode: "SAFETY", ErrorMessage: "The model stopped without an answer."},
	},
	{"nothing to say", modelserver.Reply{}, nil, model.Response{FinishReason: "STOP"}},
}

func TestAnswers(t *testing.T) {
	for _, tt := range answers {
		t.Run(tt.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, d modelserver.Dialect, stream bool) {
				t.Helper()
				srv := &modelserver.Server{Dialect: d, Replies: []modelserver.Reply{tt.reply}}
				got, _ := generate(t, adapter(t, d, modelserver.Client(t, srv)), ask(stream))
				want := outcome{Response: &tt.want}
				if stream {
					want.Pieces = tt.pieces
				}
				check(t, want, got)
			})
		})
	}
}

// check compares, apart from the usage when none is wanted and the version,
// which is always there.
func check(t *testing.T, want, got outcome) {
	t.Helper()
	if want.Response != nil && got.Response != nil {
		wanted := *want.Response
		wanted.ModelVersion = got.Response.ModelVersion
		if wanted.Usage == nil {
			got.Response.Usage = nil
		}
		want.Response = &wanted
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestChunks sends streams in pieces of all sizes, so that they break at every
// kind of place: within a line end, a name, a number, a character.
func TestChunks(t *testing.T) {
	for _, d := range modelserver.Dialects {
		for _, size := range []int{1, 2, 3, 5, 7, 11, 13, 64, 1 << 20} {
			for _, end := range []string{"\n", "\r\n"} {
				t.Run(fmt.Sprintf("%s/%d/%q", d.Name(), size, end), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						for _, tt := range answers {
							srv := &modelserver.Server{Dialect: d, Replies: []modelserver.Reply{tt.reply}, ChunkSize: size, LineEnd: end}
							got, _ := generate(t, adapter(t, d, modelserver.Client(t, srv)), ask(true))
							check(t, outcome{Response: &tt.want, Pieces: tt.pieces}, got)
						}
					})
				})
			}
		}
	}
}

// TestConversations has what is asked: every provider must understand the same.
func TestConversations(t *testing.T) {
	asked := []string{"user: Hello"}
	tests := []struct {
		name     string
		contents []*event.Content
		want     []string
	}{
		{"a first message", []*event.Content{user(text("Hello"))}, asked},
		{"nothing", []*event.Content{}, []string{"user: Do what the system instruction asks for."}},
		{
			"the model spoke last",
			[]*event.Content{user(text("Hello")), said(text("Hi."))},
			[]string{"user: Hello", "model: Hi.", "user: Go on as instructed. When nothing is left to do, sum up what was done."},
		},
		{
			"calls and results",
			[]*event.Content{
				user(text("Hello")), said(text("Let me see."), call("c1", "f", `{"x":1}`), call("c2", "g", `{}`)),
				user(result("c1", "f", `{"y":1}`), result("c2", "g", `{}`)), said(text("Done.")), user(text("Thanks")),
			},
			[]string{"user: Hello", "model: Let me see.", `call c1 f {"x":1}`, `call c2 g {}`, `result c1 {"y":1}`, `result c2 {}`, "model: Done.", "user: Thanks"},
		},
		{
			"a text beside a result",
			[]*event.Content{user(text("Hello")), said(call("c1", "f", `{}`)), user(result("c1", "f", `{}`)), user(text("And?"))},
			[]string{"user: Hello", `call c1 f {}`, `result c1 {}`, "user: And?"},
		},
		{
			"files",
			[]*event.Content{user(
				text("Look"), &event.Part{InlineData: &event.Blob{MIMEType: "image/png", Data: []byte{1}}},
				&event.Part{InlineData: &event.Blob{MIMEType: "application/pdf", Data: []byte{2}, DisplayName: "a.pdf"}},
				&event.Part{FileData: &event.FileData{MIMEType: "image/jpeg", FileURI: "https://host/a.jpg"}},
			)},
			[]string{"user: Look", "file image/png", "file application/pdf", "link https://host/a.jpg"},
		},
		{
			"thoughts that another provider has signed, and calls",
			[]*event.Content{
				user(text("Hello")),
				said(&event.Part{Text: "one", Thought: true, ThoughtSignature: []byte("anthropic:thinking:other")}, text("Hi.")),
				user(text("Hello")),
				said(&event.Part{Text: "two", Thought: true, ThoughtSignature: []byte("openai:reasoning_content")}, text("Hi.")),
				user(text("Hello")),
			},
			[]string{"user: Hello", "model: Hi.", "user: Hello", "model: Hi.", "user: Hello"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, d modelserver.Dialect, stream bool) {
				t.Helper()
				if d.Name() == "anthropic" && strings.HasPrefix(tt.name, "thoughts") {
					tt.contents = slices.Clone(tt.contents)
					tt.contents[1] = said(text("Hi.")) // the first thought would be its own
				}
				srv := &modelserver.Server{Dialect: d, Replies: []modelserver.Reply{{Text: []string{"ok"}}}}
				got, _ := generate(t, adapter(t, d, modelserver.Client(t, srv)), ask(stream, tt.contents...))
				if got.Response == nil || got.Response.ErrorCode != "" {
					t.Fatalf("got %+v", got)
				}
				saw := srv.Asked()[0]
				if diff := cmp.Diff(tt.want, saw.Turns); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if saw.System != "Be kind." || !slices.Equal(saw.Tools, []string{"f", "g"}) {
					t.Errorf("the system instruction is %q, the tools are %q", saw.System, saw.Tools)
				}
			})
		})
	}
}

// TestThoughtsAreSentBack makes a turn with a call: what the model thought before
// the call must come back to it as it was, signature and all.
func TestThoughtsAreSentBack(t *testing.T) {
	everywhere(t, func(t *testing.T, d modelserver.Dialect, stream bool) {
		t.Helper()
		srv := &modelserver.Server{Dialect: d, Replies: []modelserver.Reply{
			{Thought: "Call f.", Calls: []modelserver.Call{{ID: "c1", Name: "f", Args: `{"x":1}`}}}, {Text: []string{"Done."}},
		}}
		m := adapter(t, d, modelserver.Client(t, srv))
		_, first := generate(t, m, ask(stream))
		// By way of the log, which has it in JSON.
		doc, err := (&event.Event{Content: first.Content}).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		stored := &event.Event{}
		if err := stored.UnmarshalJSON(doc); err != nil {
			t.Fatal(err)
		}
		got, _ := generate(t, m, ask(stream, user(text("Hello")), stored.Content, user(result("c1", "f", `{"y":2}`))))
		if got.Response == nil || got.Response.ErrorCode != "" {
			t.Fatalf("got %+v", got)
		}
		signature := map[string]string{"gemini": ` "c2lnbmVk"`, "openai": "", "anthropic": ` "signed"`}[d.Name()]
		want := []string{"user: Hello", "thought: Call f. signed" + signature, `call c1 f {"x":1}`, `result c1 {"y":2}`}
		if diff := cmp.Diff(want, srv.Asked()[1].Turns); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestFailures has every way in which a provider fails, how often it is asked,
// and for how long.
func TestFailures(t *testing.T) {
	ok := modelserver.Reply{Text: []string{"ok"}}
	good := &model.Response{Content: said(text("ok")), FinishReason: "STOP"}
	refuse := func(status int, message, after string) modelserver.Reply {
		return modelserver.Reply{Status: status, Message: message, RetryAfter: after}
	}
	refused := func(code, message string) *model.Response {
		return &model.Response{ErrorCode: code, ErrorMessage: message}
	}
	tests := []struct {
		name        string
		replies     []modelserver.Reply
		onlyStream  bool
		want        *model.Response
		err         string
		asked       int
		least, most time.Duration
	}{
		{name: "401", replies: []modelserver.Reply{refuse(401, "Who? "+key, "")}, want: refused("UNAUTHENTICATED", "Who? [redacted]"), asked: 1},
		{name: "403", replies: []modelserver.Reply{refuse(403, "No.", "")}, want: refused("PERMISSION_DENIED", "No."), asked: 1},
		{name: "404", replies: []modelserver.Reply{refuse(404, "No such model.", "")}, want: refused("NOT_FOUND", "No such model."), asked: 1},
		{name: "400", replies: []modelserver.Reply{refuse(400, "The context is too long.", "")}, want: refused("INVALID_ARGUMENT", "The context is too long."), asked: 1},
		{name: "413", replies: []modelserver.Reply{refuse(413, "Too large.", "")}, want: refused("INVALID_ARGUMENT", "Too large."), asked: 1},
		{name: "429 for a while", replies: []modelserver.Reply{refuse(429, "Slower.", "20"), ok}, want: good, asked: 2, least: 20 * time.Second, most: 20 * time.Second},
		{name: "429 for long", replies: []modelserver.Reply{refuse(429, "Tomorrow.", "86400")}, want: refused("RESOURCE_EXHAUSTED", "Tomorrow."), asked: 1},
		{name: "408, 409, 500", replies: []modelserver.Reply{refuse(408, "", ""), refuse(409, "", ""), refuse(500, "", ""), ok}, want: good, asked: 4, least: 3500 * time.Millisecond, most: 5250 * time.Millisecond},
		{name: "503 for good", replies: []modelserver.Reply{refuse(503, "Later.", "")}, want: refused("UNAVAILABLE", "Later."), asked: 4, least: 3500 * time.Millisecond, most: 5250 * time.Millisecond},
		{name: "529", replies: []modelserver.Reply{refuse(529, "Overloaded.", ""), ok}, want: good, asked: 2, least: 500 * time.Millisecond, most: 750 * time.Millisecond},
		{name: "529 for good", replies: []modelserver.Reply{refuse(529, "Overloaded.", "")}, want: refused("UNAVAILABLE", "Overloaded."), asked: 4, least: 3500 * time.Millisecond, most: 5250 * time.Millisecond},

		{name: "an error before the first word", onlyStream: true, replies: []modelserver.Reply{{Fault: modelserver.Reports, Message: "Overloaded."}, ok}, want: good, asked: 2, least: 500 * time.Millisecond, most: 750 * time.Millisecond},
		{name: "cut before the first word", replies: []modelserver.Reply{{Text: []string{"lost"}, Fault: modelserver.Cut}, ok}, want: good, asked: 2, least: 500 * time.Millisecond, most: 750 * time.Millisecond},
		{name: "ended in the middle of a call", onlyStream: true, replies: []modelserver.Reply{{Calls: slices.Repeat([]modelserver.Call{{ID: "c1", Name: "f", Args: `{"x":1}`}}, 3), Fault: modelserver.Ends, After: 3}, ok}, want: good, asked: 2, least: 500 * time.Millisecond, most: 750 * time.Millisecond},
		{name: "malformed", replies: []modelserver.Reply{{Text: []string{"lost"}, Fault: modelserver.Malformed}}, err: "sent something that cannot be read", asked: 1},
		{name: "nothing at all", replies: []modelserver.Reply{{Fault: modelserver.Ends}}, want: refused("UNKNOWN_ERROR", "The model gave neither an answer nor a reason."), asked: 1},
		{name: "hanging", replies: []modelserver.Reply{{Fault: modelserver.Hangs}}, err: "did not begin to answer within 5m0s", asked: 1, least: 5 * time.Minute, most: 5 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, d modelserver.Dialect, stream bool) {
				t.Helper()
				if tt.onlyStream && !stream {
					return
				}
				srv := &modelserver.Server{Dialect: d, Replies: tt.replies}
				began := time.Now()
				got, _ := generate(t, adapter(t, d, modelserver.Client(t, srv)), ask(stream))
				took := time.Since(began)
				if n := len(srv.Asked()); n != tt.asked {
					t.Errorf("asked %d times, want %d", n, tt.asked)
				}
				if took < tt.least || took > tt.most {
					t.Errorf("took %v, want %v to %v", took, tt.least, tt.most)
				}
				got.Pieces = nil
				if tt.err != "" {
					if !strings.Contains(got.Err, tt.err) || strings.Contains(got.Err, "model.test") {
						t.Errorf("got %q, want …%s…", got.Err, tt.err)
					}
					return
				}
				check(t, outcome{Response: tt.want}, got)
			})
		})
	}
}

// TestFailuresInTheMiddle has what goes wrong after the first word: it is never
// asked again, because what was heard was heard.
func TestFailuresInTheMiddle(t *testing.T) {
	for _, d := range modelserver.Dialects {
		after := map[string]int{"gemini": 1, "openai": 1, "anthropic": 4}[d.Name()] // events until the first word is out
		reply := modelserver.Reply{Text: []string{"one ", "two"}, After: after, Message: "Overloaded."}
		tests := []struct {
			fault modelserver.Fault
			want  *model.Response
			err   string
			took  time.Duration
		}{
			{fault: modelserver.Reports, want: &model.Response{ErrorCode: "UNAVAILABLE", ErrorMessage: "Overloaded.", Content: said(text("one ")), Interrupted: true}},
			{fault: modelserver.Cut, err: "failed: unexpected EOF"},
			{fault: modelserver.Malformed, err: "sent something that cannot be read"},
			{fault: modelserver.Hangs, err: "said nothing more for 5m0s", took: 5 * time.Minute},
			{fault: modelserver.Ends, err: "failed: unexpected EOF"},
		}
		for _, tt := range tests {
			t.Run(d.Name()+"/"+string(tt.fault), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					reply := reply
					reply.Fault = tt.fault
					srv := &modelserver.Server{Dialect: d, Replies: []modelserver.Reply{reply}}
					began := time.Now()
					got, _ := generate(t, adapter(t, d, modelserver.Client(t, srv)), ask(true))
					if took := time.Since(began); took != tt.took {
						t.Errorf("took %v", took)
					}
					if len(srv.Asked()) != 1 || !slices.Equal(got.Pieces, []string{"one "}) {
						t.Errorf("asked %d times, heard %q", len(srv.Asked()), got.Pieces)
					}
					if tt.err != "" {
						if !strings.Contains(got.Err, tt.err) {
							t.Errorf("got %q, want …%s…", got.Err, tt.err)
						}
						return
					}
					got.Pieces = nil
					check(t, outcome{Response: tt.want}, got)
				})
			})
		}
	}
}

// TestBrokenCall has a call whose arguments were cut off: it must not be made,
// nor those beside it.
func TestBrokenCall(t *testing.T) {
	everywhere(t, func(t *testing.T, d modelserver.Dialect, stream bool) {
		t.Helper()
		srv := &modelserver.Server{Dialect: d, Replies: []modelserver.Reply{{
			Text: []string{"Let me see."}, Calls: []modelserver.Call{{ID: "c1", Name: "f", Args: `{"x":12345}`}}, Truncated: true,
		}}}
		got, _ := generate(t, adapter(t, d, modelserver.Client(t, srv)), ask(stream))
		r := got.Response
		if r == nil || r.FinishReason != "MALFORMED_FUNCTION_CALL" || len(r.Content.FunctionCalls()) > 0 || r.Content.Text() != "Let me see." {
			t.Errorf("got %+v", got)
		}
	})
}
