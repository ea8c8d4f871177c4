package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// shop is an application with tools of several kinds, whose model must not be asked.
func shop(t *testing.T, sets ...tool.Toolset) apps {
	t.Helper()
	type order struct {
		Item string `json:"item"`
	}
	buy := tool.Must(tool.New(tool.Declaration{Name: "buy", Description: "Buys."}, func(ctx *tool.Context, in order) (any, error) {
		return map[string]string{"bought": in.Item, "for": ctx.User}, ctx.State.Set("last", in.Item)
	}))
	look := tool.Must(tool.New(tool.Declaration{Name: "look", Effect: tool.Pure}, func(*tool.Context, struct{}) (string, error) { return "", errors.New("too dark") }))
	wrap := tool.Must(tool.New(tool.Declaration{Name: "wrap"}, func(*tool.Context, struct{}) (string, error) { return "wrapped", nil }))
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "clerk", Model: scripted.New(scripted.Fail(errors.New("the model is asked"))),
		Tools: []tool.Tool{tool.Confirm(buy, nil), look}, Toolsets: append(sets, list{wrap}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return apps{"weather": root}
}

// list is a toolset, which fails if it is nil.
type list []tool.Tool

func (l list) String() string { return "gifts" }

func (l list) Tools(*tool.Context) ([]tool.Tool, error) {
	if l == nil {
		return nil, errors.New("closed today")
	}
	return l, nil
}

func TestListTools(t *testing.T) {
	t.Parallel()
	srv := serve(t, shop(t, list(nil)), withUI)
	rec := do(t, srv, "GET", "/dev/apps/weather/users/u/tools", "")
	wantStatus(t, rec, http.StatusOK)
	var got []struct {
		Agent    string
		Problems []string
		Tools    []struct {
			Name, Effect, Toolset string
			AsksFirst             bool
			Parameters            json.RawMessage
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || len(got) != 1 || len(got[0].Tools) != 3 {
		t.Fatalf("%v: %s", err, rec.Body)
	}
	tools := got[0].Tools
	if got[0].Agent != "clerk" || tools[0].Name != "buy" || tools[0].Effect != "once" || !tools[0].AsksFirst || !strings.Contains(string(tools[0].Parameters), `"item"`) {
		t.Errorf("a tool: %s", rec.Body)
	}
	if tools[1].Effect != "pure" || tools[1].AsksFirst || tools[2].Name != "wrap" || tools[2].Toolset != "toolset gifts" {
		t.Errorf("the others: %s", rec.Body)
	}
	if len(got[0].Problems) != 1 || got[0].Problems[0] != "toolset gifts cannot list its tools: closed today" {
		t.Errorf("a toolset that fails: %q", got[0].Problems)
	}
	wantStatus(t, do(t, serve(t, shop(t)), "GET", "/dev/apps/weather/users/u/tools", ""), http.StatusNotFound) // without a UI
}

// called is a run that calls a tool.
type called struct{ ID, SessionID string }

const toolCall = "/dev/apps/weather/users/u/tools/call"

func TestCallTool(t *testing.T) {
	t.Parallel()
	srv := serve(t, shop(t), withUI)
	call := func(body string) (called, string) {
		t.Helper()
		rec := do(t, srv, "POST", toolCall, body)
		wantStatus(t, rec, http.StatusAccepted)
		var run called
		if err := json.Unmarshal(rec.Body.Bytes(), &run); err != nil {
			t.Fatal(err)
		}
		return run, eventsOf(t, srv, run)
	}
	// The call of a tool that asks waits, and goes on when it is answered, without a model.
	run, log := call(`{"agent":"clerk","tool":"buy","args":{"item":"cake"}}`)
	question := between(t, log, `"id":"`, `","name":"adk_request_confirmation"`)
	rec := do(t, srv, "POST", "/run", `{"appName":"weather","userId":"u","sessionId":"`+run.SessionID+`","newMessage":{"parts":[{"functionResponse":{"id":"`+question+`","name":"adk_request_confirmation","response":{"confirmed":true}}}]}}`)
	wantStatus(t, rec, http.StatusOK)
	if body := rec.Body.String(); !strings.Contains(body, `{"bought":"cake","for":"u"}`) || !strings.Contains(body, `"stateDelta":{"last":"cake"}`) {
		t.Errorf("after the approval: %s", body)
	}
	// Its session is not listed.
	if rec := do(t, srv, "GET", "/apps/weather/users/u/sessions", ""); rec.Body.String() != "[]" {
		t.Errorf("sessions: %s", rec.Body)
	}
	if _, log := call(`{"agent":"clerk","tool":"look"}`); !strings.Contains(log, "too dark") {
		t.Errorf("a failure: %s", log)
	}
	if _, log := call(`{"agent":"clerk","tool":"wrap"}`); !strings.Contains(log, `{"result":"wrapped"}`) {
		t.Errorf("a tool of a toolset: %s", log)
	}
	if _, log := call(`{"agent":"clerk","tool":"none"}`); !strings.Contains(log, "There is no tool none") {
		t.Errorf("no such tool: %s", log)
	}
	// In a session that exists, the conversation has the call.
	wantStatus(t, do(t, srv, "POST", session1, `{"seen":1}`), http.StatusOK)
	if run, _ := call(`{"agent":"clerk","tool":"look","sessionId":"s1","state":{"more":2}}`); run.SessionID != "s1" {
		t.Errorf("the session is %s", run.SessionID)
	}
	if rec := do(t, srv, "GET", session1, ""); !strings.Contains(rec.Body.String(), `"more":2`) || !strings.Contains(rec.Body.String(), "Call of the tool look") {
		t.Errorf("the session: %s", rec.Body)
	}
	for body, want := range map[string]int{
		`{"agent":"none","tool":"look"}`:                      422,
		`{"agent":"clerk"}`:                                   422,
		`{"agent":"clerk","tool":"adk_request_confirmation"}`: 422,
		`{"agent":"clerk","tool":"look","args":[]}`:           422,
		`{"agent":"clerk","tool":"look","sessionId":"none"}`:  404,
		`{"agent":"clerk","tool":"look","state":{"a":null}}`:  422,
		``: 422,
	} {
		wantStatus(t, do(t, srv, "POST", toolCall, body), want)
	}
}

// eventsOf returns the events of a run that has ended.
func eventsOf(t *testing.T, srv http.Handler, run called) string {
	t.Helper()
	path := "/apps/weather/users/u/sessions/" + run.SessionID + "/runs/" + run.ID + "/events"
	rec := do(t, srv, "GET", path, "", "Accept: text/event-stream")
	wantStatus(t, rec, http.StatusOK)
	return rec.Body.String()
}

// between returns the text before end, from the last start before it.
func between(t *testing.T, text, start, end string) string {
	t.Helper()
	i := strings.Index(text, end)
	if i < 0 {
		t.Fatalf("no %s in %s", end, text)
	}
	return text[strings.LastIndex(text[:i], start)+len(start) : i]
}

func TestMemoryRoutes(t *testing.T) {
	t.Parallel()
	srv := serve(t, weather())
	const memory = "/apps/weather/users/u/memory"
	wantStatus(t, do(t, srv, "POST", session1, ""), http.StatusOK)
	wantStatus(t, do(t, srv, "POST", "/run", message("I live in Oslo")), http.StatusOK)
	wantStatus(t, do(t, srv, "PATCH", memory, `{"sessionId":"s1"}`), http.StatusOK)
	type row struct {
		ID, SessionID, EventID, Author string
		Content                        struct{ Parts []struct{ Text string } }
	}
	list := func(query string) (rows []row) {
		t.Helper()
		rec := do(t, srv, "GET", memory+query, "")
		wantStatus(t, rec, http.StatusOK)
		if err := json.Unmarshal(rec.Body.Bytes(), &rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	all := list("")
	if len(all) != 2 || all[1].Author != "user" || all[1].SessionID != "s1" || all[1].Content.Parts[0].Text != "I live in Oslo" {
		t.Fatalf("remembered is %+v", all)
	}
	mine := all[1].ID
	wantStatus(t, do(t, srv, "PATCH", memory+"/"+mine, `{"text":"I live in Rome"}`), http.StatusOK)
	wantStatus(t, do(t, srv, "PATCH", memory, `{"sessionId":"s1"}`), http.StatusOK)
	if got := list("?q=LIVE+rome"); len(got) != 1 || got[0].ID != mine {
		t.Errorf("after the change: %+v", got)
	}
	if got := list("?q=oslo+live"); len(got) != 1 || got[0].Author == "user" {
		t.Errorf("the old text: %+v", got)
	}
	if rec := do(t, srv, "GET", memory+"?pageSize=1", ""); !strings.Contains(rec.Header().Get("Link"), `rel="next"`) {
		t.Errorf("Link: %q", rec.Header().Get("Link"))
	}
	wantStatus(t, do(t, srv, "DELETE", memory+"/"+mine, ""), http.StatusOK)
	wantStatus(t, do(t, srv, "DELETE", memory+"/"+mine, ""), http.StatusNotFound)
	wantStatus(t, do(t, srv, "PATCH", memory, `{"sessionId":"s1"}`), http.StatusOK)
	if got := list(""); len(got) != 1 {
		t.Errorf("after it was deleted: %+v", got)
	}
	for path, want := range map[string]int{memory + "/x": 404, "/apps/weather/users/other/memory/" + all[0].ID: 404} {
		wantStatus(t, do(t, srv, "PATCH", path, `{"text":"x"}`), want)
	}
	for _, body := range []string{`{}`, `{"text":" "}`, `{"text":1}`} {
		wantStatus(t, do(t, srv, "PATCH", memory+"/"+all[0].ID, body), http.StatusUnprocessableEntity)
	}
	wantStatus(t, do(t, srv, "GET", memory+"?pageToken=x", ""), http.StatusBadRequest)
	wantStatus(t, do(t, srv, "GET", memory+"?q=%00", ""), http.StatusUnprocessableEntity)
}
