// What a person is asked for, as forms. The answer is a message.
import { useEffect, useRef, useState, type ReactNode } from 'react';

import type { Call } from '../api/calls';
import type { Json, JsonObject, Part } from '../api/types';
import { useRefusal } from '../caller';
import { answerTo, choicesOf, confirmation, credentialRequest, inputRequest, keyAnswer, loginAddress, loginAnswer, type Pending } from '../log/pending';
import { fieldOf, fieldsOf, isObjectSchema } from '../log/schema';
import { openLogin, redirectAddress } from '../login';
import { JsonView } from '../ui/json';
import { Action, Button, Field } from '../ui/parts';
import { SchemaForm } from '../ui/schemaform';

interface Props {
  pending: Pending;
  /** Sends an answer. */
  answer: (part: Part) => Promise<boolean>;
  /** The request that an answer makes. */
  call: (part: Part) => Call;
}

export function RequestCard(props: Props) {
  const forms = { credential: LoginForm, confirmation: ConfirmationForm, input: InputForm, choice: ChoiceForm, answer: AnswerForm };
  const Form = forms[props.pending.kind];
  const refused = useRefusal()('run');
  return (
    <fieldset disabled={refused !== undefined} className="rounded-md border border-wait/50 bg-waittint/60 px-3.5 py-3" data-pending={props.pending.kind}>
      <Form {...props} />
      {refused && <p className="mt-2 text-soft">{refused}</p>}
    </fieldset>
  );
}

function Heading({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="mb-2">
      <p className="font-semibold">{title}</p>
      {children && <div className="text-soft">{children}</div>}
    </div>
  );
}

/** Keeps buttons from being pressed twice. */
function useAnswer({ pending, answer }: Props) {
  const [busy, setBusy] = useState(false);
  const send = async (response: JsonObject) => {
    setBusy(true);
    if (!(await answer(answerTo(pending.call, response) as Part))) setBusy(false);
  };
  return { busy, send };
}

function LoginForm(props: Props) {
  const { busy, send } = useAnswer(props);
  const asked = credentialRequest(props.pending.call);
  const [phase, setPhase] = useState<'idle' | 'open' | 'closed'>('idle');
  const [problem, setProblem] = useState('');
  const [secret, setSecret] = useState('');
  const gone = useRef(new AbortController());
  useEffect(() => {
    gone.current = new AbortController();
    return () => gone.current.abort();
  }, []);
  const redirect = redirectAddress();
  const login = async () => {
    setProblem('');
    setPhase('open');
    try {
      const back = await openLogin(loginAddress(asked.authUri!, redirect), gone.current.signal);
      setPhase(back ? 'idle' : 'closed');
      if (back) await send(loginAnswer(asked.config, back, redirect));
    } catch (error) {
      setPhase('idle');
      setProblem((error as Error).message);
    }
  };
  const host = asked.authUri ? new URL(asked.authUri).host : '';
  return (
    <>
      <Heading title={host ? `Log in at ${host}` : 'A key is needed'}>
        {props.pending.event.author} needs it to continue. {host && <>The provider sends you back to <code className="font-mono text-2xs">{redirect}</code>, which must be registered there.</>}
      </Heading>
      {asked.scopes.length > 0 && (
        <dl className="mb-2.5">
          <dt className="label">it asks for</dt>
          <dd>
            <ul className="flex flex-wrap gap-1">
              {asked.scopes.map((scope) => (
                <li key={scope.name} title={scope.description} className="rounded-sm bg-sheet px-1.5 font-mono text-2xs leading-5">{scope.name}{scope.description && <span className="text-faint"> {scope.description}</span>}</li>
              ))}
            </ul>
          </dd>
        </dl>
      )}
      {host ? (
        <div className="flex flex-wrap items-center gap-2">
          <Action tone="primary" icon="logins" call={() => props.call(answerTo(props.pending.call, loginAnswer(asked.config, `${redirect}?code=…&state=…`, redirect)) as Part)} onClick={() => void login()} disabled={busy || phase === 'open'}>
            {busy ? 'Going on…' : phase === 'open' ? 'Waiting for the provider…' : 'Log in'}
          </Action>
          {phase === 'open' && <Button onClick={() => (gone.current.abort(), (gone.current = new AbortController()), setPhase('closed'))}>Cancel</Button>}
          {phase === 'closed' && <span className="text-soft">The window was closed before the login was complete.</span>}
        </div>
      ) : (
        <form className="flex items-end gap-2" onSubmit={(e) => (e.preventDefault(), void send(keyAnswer(asked.config, secret)))}>
          <Field label={asked.kind === 'http' ? 'token' : 'key'}><input type="password" autoComplete="off" required className="field w-64" value={secret} onChange={(e) => setSecret(e.target.value)} /></Field>
          <Action tone="primary" type="submit" call={() => props.call(answerTo(props.pending.call, keyAnswer(asked.config, '…')) as Part)} disabled={busy}>Submit</Action>
        </form>
      )}
      {problem && <p role="alert" className="mt-2 text-bad">{problem}</p>}
    </>
  );
}

function parse(text: string, problem: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new Error(problem);
  }
}

function parseObject(text: string, problem: string): JsonObject {
  const value = parse(text, problem);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(problem);
  return value;
}

function ConfirmationForm(props: Props) {
  const { busy, send } = useAnswer(props);
  const asked = confirmation(props.pending.call);
  const [payload, setPayload] = useState(asked.payload === undefined ? '' : JSON.stringify(asked.payload, null, 2));
  const given = JSON.stringify(asked.args, null, 2);
  const [args, setArgs] = useState<string>(); // while they are edited
  const [problem, setProblem] = useState('');
  const response = (confirmed: boolean): JsonObject => ({
    confirmed,
    ...(payload ? { payload: parse(payload, 'The payload is not JSON.') } : {}),
    ...(confirmed && args !== undefined && args !== given ? { editedArgs: parseObject(args, 'The arguments are not a JSON object.') } : {}),
  });
  const call = (confirmed: boolean) => props.call(answerTo(props.pending.call, response(confirmed)) as Part);
  const decide = (confirmed: boolean) => {
    try {
      const decision = response(confirmed);
      setProblem('');
      void send(decision);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <>
      <Heading title={asked.hint || `May ${asked.tool || 'this call'} be made?`}>
        {props.pending.event.author} wants to call <code className="font-mono text-xs text-ink">{asked.tool}</code>:
      </Heading>
      {args === undefined ? (
        <div className="mb-2.5 flex items-start gap-2 rounded-md bg-sheet px-3 py-2">
          <div className="min-w-0 flex-1"><JsonView value={asked.args} label="the arguments" /></div>
          <Button tone="quiet" icon="edit" bare onClick={() => setArgs(given)} disabled={busy}>Edit the arguments</Button>
        </div>
      ) : (
        <div className="mb-2.5 flex items-start gap-2">
          <div className="min-w-0 flex-1">
            <Field label="arguments to call it with">
              <textarea autoFocus rows={Math.min(args.split('\n').length + 1, 16)} spellCheck={false} className="field w-full font-mono text-xs" value={args} onChange={(e) => setArgs(e.target.value)} />
            </Field>
          </div>
          <Button tone="quiet" icon="close" bare onClick={() => (setArgs(undefined), setProblem(''))} disabled={busy}>Keep the arguments</Button>
        </div>
      )}
      {asked.payload !== undefined && (
        <Field label="payload, which you may change"><textarea rows={3} spellCheck={false} className="field mb-2.5 w-full font-mono text-xs" value={payload} onChange={(e) => setPayload(e.target.value)} /></Field>
      )}
      {problem && <p role="alert" className="mb-2 text-bad">{problem}</p>}
      <div className="flex flex-wrap gap-2">
        <Action tone="primary" icon="check" call={() => call(true)} disabled={busy} onClick={() => decide(true)}>Approve</Action>
        <Action tone="danger" icon="close" call={() => call(false)} disabled={busy} onClick={() => decide(false)}>Reject</Action>
      </div>
    </>
  );
}

function InputForm(props: Props) {
  const { busy, send } = useAnswer(props);
  const asked = inputRequest(props.pending.call);
  const whole = isObjectSchema(asked.schema);
  const fields = whole
    ? fieldsOf(asked.schema!, (typeof asked.payload === 'object' && asked.payload !== null && !Array.isArray(asked.payload) ? asked.payload : {}) as JsonObject)
    : [fieldOf('result', { title: 'answer', type: 'string', ...asked.schema }, true)];
  return (
    <>
      <Heading title={asked.message || 'An answer is needed'}>{props.pending.event.author} continues with what you say.</Heading>
      <SchemaForm
        fields={fields}
        actions={(read) => (
          <Action tone="primary" call={() => props.call(answerTo(props.pending.call, read() ?? {}) as Part)} disabled={busy} onClick={() => { const value = read(); if (value) void send(value); }}>Submit</Action>
        )}
      />
    </>
  );
}

/** A list of which one is chosen, at once. */
function ChoiceForm(props: Props) {
  const { busy, send } = useAnswer(props);
  const options = choicesOf(props.pending.call);
  if (options.length === 0) return <AnswerForm {...props} />;
  return (
    <>
      <Heading title="Choose one">{props.pending.event.author} continues with your choice.</Heading>
      <div className="flex flex-wrap gap-2">
        {options.map((option, i) => {
          const response = { result: option };
          const name = typeof option === 'string' ? option : JSON.stringify(option);
          return <Action key={i} call={() => props.call(answerTo(props.pending.call, response) as Part)} disabled={busy} onClick={() => void send(response)} className="h-auto min-h-7 py-0.5 text-left whitespace-normal">{name}</Action>;
        })}
      </div>
    </>
  );
}

/** A call of a tool that is answered from outside, whatever it is about. */
function AnswerForm(props: Props) {
  const { busy, send } = useAnswer(props);
  const [text, setText] = useState('{\n  "status": "approved"\n}');
  const [problem, setProblem] = useState('');
  const read = (): JsonObject | undefined => {
    try {
      const value = parseObject(text, 'The response is not a JSON object.');
      setProblem('');
      return value;
    } catch (error) {
      setProblem((error as Error).message);
      return undefined;
    }
  };
  return (
    <>
      <Heading title={`${props.pending.call.name} waits for its response`}>It is a long-running tool: its result comes from outside.</Heading>
      {Object.keys(props.pending.call.args ?? {}).length > 0 && <div className="mb-2.5 rounded-md bg-sheet px-3 py-2"><JsonView value={props.pending.call.args} label="the arguments" /></div>}
      <Field label="response"><textarea rows={3} spellCheck={false} className="field mb-2 w-full font-mono text-xs" value={text} onChange={(e) => setText(e.target.value)} /></Field>
      {problem && <p role="alert" className="mb-2 text-bad">{problem}</p>}
      <Action tone="primary" call={() => props.call(answerTo(props.pending.call, read() ?? {}) as Part)} disabled={busy} onClick={() => { const value = read(); if (value) void send(value); }}>Submit the response</Action>
    </>
  );
}
