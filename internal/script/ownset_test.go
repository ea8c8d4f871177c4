package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
)

// Sessions that take turns do not get each other's tools, however often they are
// asked for.
func TestOwnToolsetOfManySessions(t *testing.T) {
	t.Parallel()
	const sessions = 120 // more than a toolset remembers
	h, err := load(t, says{flash: strings.Repeat("call whose{}\n", sessions) + strings.Repeat("Well.\n", 2*sessions)}, `
import { BaseToolset, FunctionTool, LlmAgent } from '@google/adk';

let waiting: (() => void)[] = [];
class Mine extends BaseToolset {
  async getTools(context: any) {
    const { sessionId } = context;
    // Calls are answered when all have come, so that all sessions are in progress.
    const execute = () => new Promise((resolve) => {
      waiting.push(() => resolve('that of ' + sessionId));
      if (waiting.length === 120) waiting.forEach((answer) => answer());
    });
    return [new FunctionTool({ name: 'whose', description: 'Whose it is.', execute })];
  }
}
export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash', tools: [new Mine()] });
`)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, sessions)
	for i := range sessions {
		go func() {
			id, answer := fmt.Sprint("s", i), ""
			for ev, err := range h.srv.Stream(t.Context(), parley.Request{App: h.app, User: "u", Session: id, Message: event.Text(event.RoleUser, "Whose?")}) {
				if err != nil {
					answer = err.Error()
					break
				}
				for _, r := range ev.FunctionResponses() {
					answer += string(r.Response)
				}
			}
			got <- strings.ReplaceAll(answer, id+`"`, `me"`)
		}()
	}
	for range sessions {
		if answer := <-got; answer != `{"result":"that of me"}` {
			t.Errorf("the tool returned %s", answer)
		}
	}
}

// Engines know nothing of what others were told.
func TestOwnToolsetWithSeveralEngines(t *testing.T) {
	t.Parallel()
	for _, c := range talks {
		if c.dir == "own_toolset" {
			c.engines = 3
			c.run(t)
			return
		}
	}
	t.Error("there is no such talk")
}

// A toolset that fails keeps no application from being loaded, and ends the run
// with its error.
func TestOwnToolsetsThatFail(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"{ getTools: async () => { throw new Error('no network'); } }":                                                   "the tools of agent a: no network",
		"{ getTools: () => [undefined] }":                                                                                `The agent "a" has undefined among its tools`,
		"{ getTools: () => [new adk.AgentTool({ agent: new adk.LlmAgent({ name: 'b', model: 'gemini-2.5-flash' }) })] }": `AgentTool of "b", which it did not have when the application was loaded: list the AgentTool in the tools of "a"`,
		"{ getTools: () => [1, 2].map(() => new adk.FunctionTool({ name: 'f', description: 'f', execute: () => 1 })) }":  "two are called f",
		"{ getTools: () => [new adk.FunctionTool({ name: 'f', description: 'f', effect: 'odd', execute: () => 1 })] }":   "the tool f: ",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			h, err := load(t, says{flash: "Hi."}, "import * as adk from '@google/adk';\nexport const rootAgent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', tools: ["+set+"] });")
			if err != nil {
				t.Fatal(err)
			}
			var failed error
			for _, failed = range h.send(t.Context(), event.Text(event.RoleUser, "Hello"), false) {
			}
			if failed == nil || !strings.Contains(failed.Error(), want) {
				t.Errorf("error %v, want %q", failed, want)
			}
		})
	}
}
