package event_test

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/event"
)

func ExampleEvent() {
	ev := &event.Event{
		ID: "k3u5x7qa2b4c6d8e", InvocationID: "e-1", Author: "weather", Timestamp: 1763300000,
		Content: event.Text(event.RoleModel, "It is sunny."),
		Actions: event.Actions{StateDelta: map[string]json.RawMessage{"city": json.RawMessage(`"Lisbon"`)}},
	}
	doc, err := json.Marshal(ev)
	fmt.Println(string(doc), err)
	// Output: {"id":"k3u5x7qa2b4c6d8e","invocationId":"e-1","author":"weather","timestamp":1763300000,"content":{"role":"model","parts":[{"text":"It is sunny."}]},"actions":{"stateDelta":{"city":"Lisbon"},"artifactDelta":{},"requestedAuthConfigs":{}},"partial":false} <nil>
}

func ExampleEvent_UnmarshalJSON() {
	var ev event.Event
	err := json.Unmarshal([]byte(`{"author":"weather","invocation_id":"e-1","content":{"role":"model","parts":[
		{"function_call":{"id":"c-1","name":"get_weather","args":{"city":"Lisbon"}}}]}}`), &ev)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, call := range ev.FunctionCalls() {
		fmt.Println(ev.InvocationID, call.Name, string(call.Args))
	}
	// Output: e-1 get_weather {"city":"Lisbon"}
}

func ExampleText() {
	message := event.Text(event.RoleUser, "What is the weather in Lisbon?")
	fmt.Println(message.Role, message.Text())
	// Output: user What is the weather in Lisbon?
}
