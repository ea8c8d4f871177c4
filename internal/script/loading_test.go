package script

import (
	"strings"
	"testing"
	"time"
)

// An application that is never ready must not make others wait, least of all the
// others.
func TestLoadingThatDoesNotEnd(t *testing.T) {
	const head = "import { AgentTool, LlmAgent, SequentialAgent } from '@google/adk';\n"
	const agent = "export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted' });\n"
	limits := generous
	limits.Load = 10 * time.Second
	cases := map[string]struct{ code, want string }{
		"module":    {head + agent + "await new Promise(() => {});", "the module waits for something that never happens"},
		"after":     {head + agent + "await new Promise((go) => setTimeout(go, 10)); await new Promise(() => {});", "the module waits for something that never happens"},
		"export":    {"export const rootAgent = new Promise(() => {});", "the module waits for something that never happens"},
		"tool":      {head + "export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [new Promise(() => {}) as any] });", "the module waits for something that never happens"},
		"interval":  {head + agent + "setInterval(() => {}, 1000); await new Promise(() => {});", "took more than 10s"},
		"itself":    {head + agent + "rootAgent.tools.push(new AgentTool({ agent: rootAgent }));", `The agent "root" uses itself through the tool "root"`},
		"through":   {head + "const b = new LlmAgent({ name: 'b', model: 'scripted' });\nexport const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [new AgentTool({ agent: b })] });\nb.tools.push(new AgentTool({ agent: rootAgent }));", `The agent "root" uses itself through the tool "b"`},
		"below":     {head + "const b = new LlmAgent({ name: 'b', model: 'scripted' });\nexport const rootAgent = new SequentialAgent({ name: 'root', subAgents: [b] });\nb.tools.push(new AgentTool({ agent: rootAgent }));", `The agent "root" uses itself through the sub-agent "b"`},
		"sub-agent": {head + agent + "rootAgent.subAgents.push(rootAgent);", `The agent "root" uses itself through the sub-agent "root"`},
		"good":      {head + "const b = new LlmAgent({ name: 'b', model: 'scripted' });\nconst c = new LlmAgent({ name: 'c', model: 'scripted', tools: [new AgentTool({ agent: b })] });\nawait new Promise((go) => setTimeout(go, 300));\nexport const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [new AgentTool({ agent: b }), new AgentTool({ agent: c })] });", ""},
	}
	files := map[string]string{}
	for name, one := range cases {
		files[name+"/index.ts"] = one.code
	}
	apps := loadApps(t, write(t, files), func(o *Options) { o.Limits = &limits })
	for name, one := range cases {
		_, _, err := apps.Agent(name)
		if one.want == "" && err != nil || one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%s: %v, want %q", name, err, one.want)
		}
	}
}
