package playback

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/replay"
)

// Contents that were recorded as they were sent come from the events of the run that have them, if there are any.
func TestOrigins(t *testing.T) {
	t.Parallel()
	result := func(id, call, name, response string) *event.Event {
		return &event.Event{ID: id, Author: "a", Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
			{FunctionResponse: &event.FunctionResponse{ID: call, Name: name, Response: json.RawMessage(response)}},
		}}}
	}
	of := &original{
		message: &event.Event{ID: "m", Author: event.User, Content: event.Text(event.RoleUser, "Which color?")},
		events:  []*event.Event{result("first", "1", "look", `{"sky":"blue"}`), result("second", "2", "listen", `{"wind":"none"}`)},
	}
	tr := &tracer{of: of, client: []replay.Declaration{{Name: "paint"}}}
	s := &storedStep{Step: replay.Step{Agent: "a", Name: "m", Request: &replay.Request{
		Tools: json.RawMessage(`[{"name":"look"},{"name":"paint"},{"name":"transfer_to_agent"}]`),
		Added: []json.RawMessage{
			[]byte(`{"role":"user","parts":[{"functionResponse":{"id":"x","name":"look","response":{"sky":"blue"}}},{"functionResponse":{"id":"y","name":"listen","response":{"wind":"none"}}}]}`),
			[]byte(`{"role":"user","parts":[{"text":"from a callback"}]}`),
			[]byte(`{"role":"user","parts":[{"text":"Which color?"}]}`),
		},
	}}, Request: &storedRequest{from: []*event.Event{nil, nil, of.message}}}
	request, origins := tr.request(s)
	const wantTools = `"tools":[{"functionDeclarations":[{"name":"look"}]},{"functionDeclarations":[{"name":"paint"}]},{"functionDeclarations":[{"name":"transfer_to_agent"}]}]`
	var doc struct{ Config json.RawMessage }
	if err := json.Unmarshal(request, &doc); err != nil || string(doc.Config) != "{"+wantTools+"}" {
		t.Errorf("the request is %s: %v", request, err)
	}
	const want = `[{"path":"config.tools[0]","origin":"tool that agent a offered"},{"path":"config.tools[1]","origin":"tool of the client"},{"path":"config.tools[2]","origin":"transfer of agent a"},` +
		`{"path":"contents[0]","origin":"results of tools","event":"first"},{"path":"contents[1]","origin":""},{"path":"contents[2]","origin":"message of the user","event":"m"}]`
	if string(origins) != want {
		t.Errorf("the origins are\n%s, want\n%s", origins, want)
	}
}
