package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

const confirmation = "adk_request_confirmation"

// question is a request for a confirmation.
type question struct{ id, tool, call string }

// endanger makes the model call tools that must be confirmed, and returns what
// the user is asked, in order.
func (s *talk) endanger(t *testing.T, text string) []question {
	t.Helper()
	return questions(t, s.say(t, text))
}

func questions(t *testing.T, events []Event) []question {
	t.Helper()
	var found []question
	for _, e := range events {
		for _, p := range e.Content.Parts {
			if p.FunctionCall == nil || p.FunctionCall.Name != confirmation {
				continue
			}
			original, _ := p.FunctionCall.Args["originalFunctionCall"].(object)
			found = append(found, question{p.FunctionCall.ID, fmt.Sprint(original["name"], original["args"]), fmt.Sprint(original["id"])})
		}
	}
	if len(found) == 0 {
		t.Fatalf("nothing was asked: %q", brief(events))
	}
	return found
}

func confirm(id string, response any) object {
	return object{"functionResponse": FunctionResponse{ID: id, Name: confirmation, Response: response}}
}

// deleted is how often a table was deleted.
func (s *talk) deleted(t *testing.T, table string) any {
	t.Helper()
	return s.get(t).State["deleted_"+table]
}

func TestC46_ConfirmationRequest(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := s.say(t, "danger users")
	wantBrief(t, got, "weather_agent: delete_table?", "weather_agent: "+confirmation+"?", "weather_agent: delete_table!")
	call, request := got[0].call(t), got[1].call(t)
	if diff := cmp.Diff([]string{request.ID}, got[1].LongRunningToolIDs); diff != "" {
		t.Errorf("longRunningToolIds (-want +got):\n%s", diff)
	}
	want := object{
		"originalFunctionCall": object{"name": "delete_table", "args": object{"table": "users"}, "id": call.ID},
		"toolConfirmation":     object{"hint": "Please approve or reject the call of delete_table.", "confirmed": false},
	}
	if diff := cmp.Diff(want, request.Args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object{"error": "This tool call requires confirmation, please approve or reject."}, got[2].Content.Parts[0].FunctionResponse.Response); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if s.deleted(t, "users") != nil {
		t.Error("the tool was executed")
	}
}

func TestC47_Confirmed(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]any{
		"object":      object{"confirmed": true},
		"payload":     object{"confirmed": true, "payload": object{"by": "me"}},
		"text":        `{"confirmed": true}`,
		"text inside": object{"response": `{"confirmed": true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, "weather")
			asked := s.endanger(t, "danger users")[0]
			wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello") // chat continues in the meantime
			got := s.say(t, confirm(asked.id, response))
			wantBrief(t, got, "weather_agent: delete_table!", `weather_agent: delete_table returned {"deleted":"users"}`)
			if id := got[0].Content.Parts[0].FunctionResponse.ID; id != asked.call {
				t.Errorf("the answer is to %s, the call was %s", id, asked.call)
			}
			if got := s.deleted(t, "users"); got != 1.0 {
				t.Errorf("deleted %v times", got)
			}
		})
	}
}

func TestC48_Rejected(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := s.say(t, confirm(s.endanger(t, "danger users")[0].id, object{"confirmed": false}))
	wantBrief(t, got, "weather_agent: delete_table!", `weather_agent: delete_table returned {"error":"This tool call is rejected."}`)
	if s.deleted(t, "users") != nil {
		t.Error("the tool was executed")
	}
	wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
}

// The documentation of clients has everything in snake_case.
func TestConfirmationSnakeCase(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	id := s.endanger(t, "danger users")[0].id
	got := s.run(t, object{
		"app_name": s.App, "user_id": s.User, "session_id": s.ID,
		"new_message": object{"role": "user", "parts": []any{object{"function_response": object{"id": id, "name": confirmation, "response": object{"confirmed": true}}}}},
	}, testkit.Odd)
	wantBrief(t, got, "weather_agent: delete_table!", `weather_agent: delete_table returned {"deleted":"users"}`)
}

func TestConfirmationsOfOneTurn(t *testing.T) {
	t.Parallel()
	t.Run("one by one", func(t *testing.T) {
		t.Parallel()
		s := begin(t, "weather")
		asked := s.endanger(t, "dangers")
		s.say(t, confirm(asked[1].id, object{"confirmed": true}))
		if one, two := s.deleted(t, "one"), s.deleted(t, "two"); one != nil || two != 1.0 {
			t.Errorf("deleted %v and %v times", one, two)
		}
		s.say(t, confirm(asked[0].id, object{"confirmed": true}))
		if one, two := s.deleted(t, "one"), s.deleted(t, "two"); one != 1.0 || two != 1.0 {
			t.Errorf("deleted %v and %v times", one, two)
		}
	})
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		s := begin(t, "weather")
		asked := s.endanger(t, "dangers")
		got := s.say(t, confirm(asked[0].id, object{"confirmed": false}), confirm(asked[1].id, object{"confirmed": true}))
		wantBrief(t, got, "weather_agent: delete_table! delete_table!",
			`weather_agent: delete_table returned {"error":"This tool call is rejected."} delete_table returned {"deleted":"two"}`)
	})
}

func TestConfirmationRefused(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	asked := s.endanger(t, "danger users")[0]
	other := s.another(t)
	others := other.endanger(t, "danger users")[0]
	before := len(s.get(t).Events)
	for name, tt := range map[string]struct {
		answer any
		status int
		names  string
	}{
		"unknown id":      {confirm("adk-77", object{"confirmed": true}), http.StatusUnprocessableEntity, "adk-77"},
		"other session":   {confirm(others.id, object{"confirmed": true}), http.StatusUnprocessableEntity, others.id},
		"wrong name":      {object{"functionResponse": FunctionResponse{ID: asked.id, Name: "delete_table", Response: object{"confirmed": true}}}, http.StatusUnprocessableEntity, asked.id},
		"no decision":     {confirm(asked.id, object{}), http.StatusUnprocessableEntity, asked.id},
		"not a bool":      {confirm(asked.id, object{"confirmed": "yes"}), http.StatusUnprocessableEntity, asked.id},
		"a text":          {confirm(asked.id, "yes"), http.StatusUnprocessableEntity, asked.id},
		"the tool itself": {object{"functionResponse": FunctionResponse{ID: asked.call, Name: "delete_table", Response: object{"deleted": "users"}}}, http.StatusUnprocessableEntity, asked.call},
	} {
		for _, path := range []string{"/run", "/run_sse"} {
			f := refusal(t, s.Do(t, http.MethodPost, path, s.request(tt.answer)), tt.status)
			if !strings.Contains(f.Error, tt.names) {
				t.Errorf("%s: error %q does not name %s", name, f.Error, tt.names)
			}
		}
	}
	if got := s.get(t).Events; len(got) != before {
		t.Errorf("refused answers left %q", brief(got[before:]))
	}
	s.say(t, confirm(asked.id, object{"confirmed": true}))
	f := refusal(t, s.Do(t, http.MethodPost, "/run", s.request(confirm(asked.id, object{"confirmed": true}))), http.StatusConflict)
	if !strings.Contains(f.Error, asked.id) || s.deleted(t, "users") != 1.0 {
		t.Errorf("error %q, deleted %v times", f.Error, s.deleted(t, "users"))
	}
}

// Of many approvals that come at once, one counts.
func TestConfirmedTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	id := s.endanger(t, "danger users")[0].id
	var wg sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		wg.Go(func() {
			statuses[i] = s.Do(t, http.MethodPost, "/run", s.request(confirm(id, object{"confirmed": true}))).Status
		})
	}
	wg.Wait()
	ok := 0
	for _, status := range statuses {
		if status == http.StatusOK {
			ok++
		}
	}
	if got := s.deleted(t, "users"); ok != 1 || got != 1.0 {
		t.Errorf("statuses %v, deleted %v times", statuses, got)
	}
}

// A workflow waits in the agent that asked, and continues from there.
func TestConfirmationInWorkflow(t *testing.T) {
	t.Parallel()
	s := begin(t, "relay")
	got := s.say(t, "danger users")
	wantBrief(t, got, "reporter: delete_table?", "reporter: "+confirmation+"?", "reporter: delete_table!")
	wantBrief(t, s.say(t, confirm(questions(t, got)[0].id, object{"confirmed": true})),
		"reporter: delete_table!", `reporter: delete_table returned {"deleted":"users"}`, "reviewer: I approve.")
}

func TestInput(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := s.say(t, "ask")
	wantBrief(t, got, "weather_agent: adk_request_input?", "weather_agent: adk_request_input!")
	call := got[0].call(t)
	if call.Args["message"] != "How many?" || len(got[0].LongRunningToolIDs) != 1 {
		t.Errorf("the question is %v", call.Args)
	}
	before := len(s.get(t).Events)
	answer := func(response any) object {
		return object{"functionResponse": FunctionResponse{ID: call.ID, Name: call.Name, Response: response}}
	}
	for name, response := range map[string]any{"text": "many", "empty": object{}, "too large": object{"n": 10}, "wrapped": object{"result": object{"n": "x"}}} {
		f := refusal(t, s.Do(t, http.MethodPost, "/run", s.request(answer(response))), http.StatusUnprocessableEntity)
		if !strings.Contains(f.Error, call.ID) || !strings.Contains(f.Error, "does not fit") {
			t.Errorf("%s: error %q", name, f.Error)
		}
	}
	if got := s.get(t).Events; len(got) != before {
		t.Errorf("refused answers left %q", brief(got[before:]))
	}
	wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
	wantBrief(t, s.say(t, answer(object{"n": 4})), `weather_agent: adk_request_input returned {"n":4}`)
	refusal(t, s.Do(t, http.MethodPost, "/run", s.request(answer(object{"n": 4}))), http.StatusConflict)
}

func TestChoice(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := s.say(t, "choose")
	wantBrief(t, got, "weather_agent: get_user_choice?", "weather_agent: get_user_choice!")
	wantBrief(t, s.say(t, object{"functionResponse": FunctionResponse{ID: got[0].call(t).ID, Name: "get_user_choice", Response: object{"choice": "blue"}}}),
		`weather_agent: get_user_choice returned {"choice":"blue"}`)
}

// Questions outlive the process that asked them, even one that is killed.
func TestQuestionsSurviveRestarts(t *testing.T) {
	t.Parallel()
	if !inProcess {
		t.Skip("needs servers of its own")
	}
	db := "sqlite:" + filepath.Join(t.TempDir(), "sessions.db")
	s := &talk{nil, "weather", "u", "s1"}
	on := func(live func()) {
		t.Helper()
		base, kill := child(t, db)
		s.Client = testkit.NewClient(t, base)
		live()
		kill()
	}
	var danger question
	var long, input string
	on(func() {
		s.create(t, nil)
		danger = s.endanger(t, "danger users")[0]
		long = s.ask(t)
		input = s.say(t, "ask")[0].call(t).ID
	})
	on(func() {
		wantBrief(t, s.say(t, approve(long, object{"status": "pending", "step": 1})), `weather_agent: ask_approval returned {"status":"pending","step":1}`)
		wantBrief(t, s.say(t, confirm(danger.id, object{"confirmed": true})), "weather_agent: delete_table!", `weather_agent: delete_table returned {"deleted":"users"}`)
	})
	on(func() {
		refusal(t, s.Do(t, http.MethodPost, "/run", s.request(confirm(danger.id, object{"confirmed": true}))), http.StatusConflict)
		wantBrief(t, s.say(t, approve(long, object{"done": true})), `weather_agent: ask_approval returned {"done":true}`)
		refusal(t, s.Do(t, http.MethodPost, "/run", s.request(approve(long, object{"done": true}))), http.StatusConflict)
		answer := object{"functionResponse": FunctionResponse{ID: input, Name: "adk_request_input", Response: object{"n": 2}}}
		wantBrief(t, s.say(t, answer), `weather_agent: adk_request_input returned {"n":2}`)
		if got := s.deleted(t, "users"); got != 1.0 {
			t.Errorf("deleted %v times", got)
		}
	})
}

// childDB says that this process is a server for another one, and where its
// sessions are.
const childDB = "PARLEY_CONFORMANCE_DB"

// child starts a server in a process of its own, to be killed.
func child(t *testing.T, db string) (base string, kill func()) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childDB+"="+db)
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe() // its end is the end of the child, whatever becomes of the test
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = stdin.Close()
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	port, ok := strings.CutPrefix(strings.TrimSpace(line), "API server started on port ")
	if err != nil || !ok {
		t.Fatalf("the child says %q: %v", line, err)
	}
	return "http://127.0.0.1:" + port, kill
}

// beChild is the child's main.
func beChild(db string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	srv, err := parley.Open(context.Background(), parley.Config{Agents: testkit.NewFixture().Apps(), Sessions: parley.SessionConfig{URL: db}, Log: slog.New(slog.DiscardHandler), Stdout: os.Stdout})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return srv.Serve(ctx, listener)
}
