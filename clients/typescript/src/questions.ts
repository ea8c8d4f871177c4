import type { Event, FunctionCall, MessagePart } from './types.js';

interface Asked {
  /** The call that waits for an answer. */
  call: FunctionCall;
}

/** A tool needs a login of the user. */
export interface CredentialQuestion extends Asked {
  kind: 'credential';
  /** The page where the user logs in. `redirectUri` is where the user returns to, if the agent does not set it. */
  loginUrl(redirectUri?: string): string;
  /** The answer: the whole address that the user returned to, and the redirect address of the login. */
  answer(callbackUrl: string, redirectUri: string): MessagePart;
}

/** A tool asks for a confirmation. */
export interface ConfirmationQuestion extends Asked {
  kind: 'confirmation';
  hint: string;
  /** The call to confirm. */
  original: FunctionCall;
  /** What the tool suggests, if it needs more than yes or no. */
  payload: unknown;
  answer(confirmed: boolean, payload?: unknown): MessagePart;
}

/** The model asks for input. */
export interface InputQuestion extends Asked {
  kind: 'input';
  message: string;
  /** The JSON Schema of the answer, if it has one. */
  schema: unknown;
  answer(value: unknown): MessagePart;
}

/** The model asks the user to choose. */
export interface ChoiceQuestion extends Asked {
  kind: 'choice';
  options: unknown[];
  answer(choice: unknown): MessagePart;
}

/** A long-running tool of the application waits for its result. */
export interface ResultQuestion extends Asked {
  kind: 'result';
  /** The answer; `willContinue` announces another one. */
  answer(response: unknown, willContinue?: boolean): MessagePart;
}

export type Question = CredentialQuestion | ConfirmationQuestion | InputQuestion | ChoiceQuestion | ResultQuestion;

/** The questions in these events that no event among them answers. */
export function questionsIn(events: Iterable<Event>): Question[] {
  const open = new Map<string, Question>();
  for (const event of events) {
    for (const part of event.content?.parts ?? []) {
      const { functionCall: call, functionResponse: response } = part;
      if (call?.id && !event.partial && event.longRunningToolIds?.includes(call.id)) open.set(call.id, question(call));
      if (response?.id && event.author === 'user' && !response.willContinue) open.delete(response.id);
    }
  }
  return [...open.values()];
}

type Args = Record<string, any>;

function question(call: FunctionCall): Question {
  const args: Args = call.args ?? {};
  const reply = (response: unknown, willContinue = false): MessagePart => ({
    functionResponse: { id: call.id!, name: call.name, response, ...(willContinue ? { willContinue } : {}) },
  });
  switch (call.name) {
    case 'svc_request_credential':
    case 'adk_request_credential':
      return credential(call, args, reply);
    case 'adk_request_confirmation':
      return {
        kind: 'confirmation',
        call,
        hint: args.toolConfirmation?.hint ?? '',
        payload: args.toolConfirmation?.payload,
        original: args.originalFunctionCall,
        answer: (confirmed, payload) => reply(payload === undefined ? { confirmed } : { confirmed, payload }),
      };
    case 'adk_request_input':
      return { kind: 'input', call, message: args.message ?? '', schema: args.responseSchema, answer: (value) => reply(wrapped(value)) };
    case 'get_user_choice':
      return { kind: 'choice', call, options: args.options ?? [], answer: (choice) => reply(wrapped(choice)) };
    default:
      return { kind: 'result', call, answer: (response, willContinue) => reply(wrapped(response), willContinue) };
  }
}

function credential(call: FunctionCall, args: Args, reply: (response: unknown) => MessagePart): CredentialQuestion {
  const { authConfig } = args;
  const asked = authConfig?.exchangedAuthCredential?.oauth2 ?? {};
  return {
    kind: 'credential',
    call,
    loginUrl(redirectUri) {
      const url = new URL(asked.authUri);
      // If it has one, the agent's author has set it.
      if (redirectUri && !url.searchParams.has('redirect_uri')) url.searchParams.set('redirect_uri', redirectUri);
      return url.href;
    },
    answer: (callbackUrl, redirectUri) =>
      reply({
        ...authConfig,
        exchangedAuthCredential: {
          ...authConfig.exchangedAuthCredential,
          oauth2: { ...asked, authResponseUri: callbackUrl, redirectUri },
        },
      }),
  };
}

/** A response must be an object. */
const wrapped = (value: unknown) => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { result: value });
