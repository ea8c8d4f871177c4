package script

import "testing"

// What runs once leaves nothing behind, however it ends.
func TestEphemeralSessionsEnd(t *testing.T) {
	t.Parallel()
	apps := loadApps(t, write(t, map[string]string{"index.ts": `import { BaseAgent, InMemoryRunner, createEvent } from '@google/adk';
class Echo extends BaseAgent {
  async *runAsyncImpl(ctx: any) {
    const text = ctx.userContent.parts[0].text;
    if (text === 'fail') throw new Error('as asked');
    for (const one of ['one', 'two']) yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: one }] } });
  }
}
const runner = new InMemoryRunner({ agent: new Echo({ name: 'echo' }) });
const once = (text: string) => runner.runEphemeral({ userId: 'ann', newMessage: { role: 'user', parts: [{ text }] } });
` + appOf("", `fine: async () => {
	let heard = 0;
	for await (const _ of once('all')) heard++;
	for await (const _ of once('the first')) { heard++; break; }
	try { for await (const _ of once('fail')); } catch { heard += 10; }
	const { sessions } = await runner.sessionService.listSessions({ appName: runner.appName, userId: 'ann' });
	return [heard, sessions.length].join();
}`)}))
	if got := result(t, rootOf(t, apps, "app"), "fine"); got != `{"result":"13,0"}` {
		t.Errorf("heard, and sessions left: %s", got)
	}
}
