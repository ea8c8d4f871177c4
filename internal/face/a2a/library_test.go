package a2a_test

import (
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// The official library for Go has a conversation over each binding, in each version.
func TestLibrary(t *testing.T) {
	t.Parallel()
	web := serve(t, parley.Config{Agents: testkit.NewFixture().Apps()})
	for _, one := range []struct {
		version a2a.ProtocolVersion
		binding a2a.TransportProtocol
	}{
		{a2a.Version, a2a.TransportProtocolJSONRPC},
		{a2a.Version, a2a.TransportProtocolHTTPJSON},
		{a2av0.Version, a2a.TransportProtocolJSONRPC},
		{a2av0.Version, a2a.TransportProtocolHTTPJSON},
	} {
		binding := string(one.version) + " " + string(one.binding)
		endpoint := a2a.NewAgentInterface(web.URL+"/a2a/weather", one.binding)
		endpoint.ProtocolVersion = one.version
		client, err := a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{endpoint},
			a2aclient.WithCompatTransport(a2av0.Version, a2a.TransportProtocolJSONRPC, a2av0.NewJSONRPCTransportFactory(a2av0.JSONRPCTransportConfig{})),
			a2av0.WithRESTTransport(a2av0.RESTTransportConfig{}))
		if err != nil {
			t.Fatal(err)
		}
		sent, err := client.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))})
		if err != nil {
			t.Fatal(binding, err)
		}
		task, ok := sent.(*a2a.Task)
		if !ok || task.Status.State != a2a.TaskStateCompleted || task.Artifacts[0].Parts[0].Text() != "You said: hello" {
			t.Errorf("%s: %+v", binding, sent)
		}
		var last a2a.Event
		message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("weather in Oslo"))
		for ev, err := range client.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: message}) {
			if err != nil {
				t.Fatal(binding, err)
			}
			last = ev
		}
		if update, ok := last.(*a2a.TaskStatusUpdateEvent); !ok || update.Status.State != a2a.TaskStateCompleted {
			t.Errorf("%s: %+v", binding, last)
		}
		made, err := client.CreateTaskPushConfig(t.Context(), &a2a.PushConfig{
			TaskID: task.ID, URL: "https://8.8.8.8/hook", Token: "t", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "c"},
		})
		if err != nil || made.ID == "" {
			t.Fatal(binding, made, err)
		}
		got, err := client.GetTaskPushConfig(t.Context(), &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: made.ID})
		if err != nil || got.URL != made.URL || got.Token != "t" || got.Auth.Scheme != "Bearer" || got.Auth.Credentials != "" {
			t.Error(binding, got, err)
		}
		list, err := client.ListTaskPushConfigs(t.Context(), &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
		if err != nil || len(list) != 1 || list[0].ID != made.ID {
			t.Error(binding, list, err)
		}
		if err := client.DeleteTaskPushConfig(t.Context(), &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: made.ID}); err != nil {
			t.Error(binding, err)
		}
		if _, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "none"}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: %v", binding, err)
		}
	}
}
