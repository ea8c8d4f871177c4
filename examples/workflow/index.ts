// A workflow: code decides who works on a message. Reports of faults are looked
// at by two nodes at the same time, a person approves refunds, and a model
// answers everything else.
import { DEFAULT_ROUTE, JoinNode, LlmAgent, NodeContext, RequestInput, Workflow, node } from '@google/adk';

const classify = node(
  (ctx: NodeContext, text: string) => {
    if (/refund/i.test(text)) ctx.route = 'refund';
    if (/broken|fault/i.test(text)) ctx.route = 'fault';
    return text;
  },
  { name: 'classify' },
);

const urgency = node((_: NodeContext, text: string) => (/smoke|fire/i.test(text) ? 'high' : 'low'), { name: 'urgency' });
const product = node((_: NodeContext, text: string) => /\b(lamp|kettle|radio)\b/i.exec(text)?.[1] ?? 'unknown', { name: 'product' });

const report = node(
  (ctx: NodeContext, found: { urgency: string; product: string }) => {
    const number = Number(ctx.state.get('reports') ?? 0) + 1;
    ctx.state.set('reports', number);
    return `Report ${number}: product ${found.product}, urgency ${found.urgency}.`;
  },
  { name: 'report' },
);

// It runs again when the question is answered.
const refund = node(
  (ctx: NodeContext, text: string) => {
    const amount = Number(/\d+/.exec(text)?.[0] ?? 0);
    const answer = amount > 50 ? ctx.resumeInputs.approval : 'yes';
    if (answer === undefined) return new RequestInput({ interruptId: 'approval', message: `May ${amount} euros be paid back?` });
    return answer === 'yes' ? `${amount} euros are on their way back.` : 'The refund is not approved.';
  },
  { name: 'refund', rerunOnResume: true },
);

const reply = new LlmAgent({
  name: 'reply',
  model: 'gemini-2.5-flash',
  instruction: 'You are the help desk of a shop for lamps, kettles and radios. Answer in one sentence.',
});

export const rootAgent = new Workflow({
  name: 'help_desk',
  description: 'Works on messages of customers.',
  edges: [
    ['START', classify, { fault: [urgency, product], refund, [DEFAULT_ROUTE]: reply }],
    [[urgency, product], new JoinNode({ name: 'found' }), report],
  ],
});
