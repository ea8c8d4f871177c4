// What waits for a person: calls that have no final answer yet.
import { partsOf, type Event, type FunctionCall, type FunctionResponse, type Json, type JsonObject } from '../api/types';

export interface Pending {
  kind: 'credential' | 'confirmation' | 'input' | 'choice' | 'answer';
  call: FunctionCall & { id: string; name: string };
  event: Event;
}

const kinds: Record<string, Pending['kind']> = {
  svc_request_credential: 'credential',
  adk_request_credential: 'credential',
  adk_request_confirmation: 'confirmation',
  adk_request_input: 'input',
  get_user_choice: 'choice',
};

/** What a call that waits asks for. */
export const kindOf = (name: string): Pending['kind'] => kinds[name] ?? 'answer';

/** Whether a call is one with which the server itself asks a person. */
export const isRequest = (name: string | undefined) => name !== undefined && name in kinds;

/** What a call with which the server asks a person is for. */
export const askedFor = (name: string) => ({ credential: 'a login', confirmation: 'a confirmation', choice: 'a choice', input: 'an answer', answer: 'an answer' })[kindOf(name)];

/** What a person has said to a question of the server, in a few words. */
export function answered({ name, response = {} }: FunctionResponse): string {
  switch (kinds[name ?? '']) {
    case 'credential':
      return 'answered the login'; // with what the provider said, which is not shown and may be a refusal
    case 'confirmation':
      return response['confirmed'] !== true ? 'rejected it' : response['editedArgs'] ? 'approved it, with other arguments' : 'approved it';
    case 'choice':
      return `chose ${text(response['result']) || JSON.stringify(response['result'] ?? response)}`;
    default:
      return `answered ${Object.entries(response).map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', ')}`;
  }
}

/** Whether a response only says that a person is asked first. */
export function isAsking(event: Event, { id = '', response }: FunctionResponse): 'login' | 'confirmation' | undefined {
  const actions = event.actions as { requestedToolConfirmations?: object; requestedAuthConfigs?: object } | undefined;
  if (id in (actions?.requestedToolConfirmations ?? {})) return 'confirmation';
  if (id in (actions?.requestedAuthConfigs ?? {})) return 'login';
  return text(response?.['error']).startsWith('This tool call requires confirmation') ? 'confirmation' : undefined;
}

/** Whether a response only says that a person did not want the call. */
export const isRejection = ({ response }: FunctionResponse) => text(response?.['error']) === 'This tool call is rejected.';

const isInterim = (r: FunctionResponse) =>
  r.willContinue === true || r.response?.['status'] === 'pending' || r.response?.['pending'] === true;

export function pendingOf(events: Event[]): Pending[] {
  const open = new Map<string, Pending>();
  for (const event of events) {
    const long = new Set(event.longRunningToolIds ?? []);
    for (const part of partsOf(event)) {
      const call = part.functionCall;
      if (call?.id && call.name && long.has(call.id)) {
        open.set(call.id, { kind: kindOf(call.name), call: { ...call, id: call.id, name: call.name }, event });
      }
      const response = part.functionResponse;
      if (response?.id && !isInterim(response)) open.delete(response.id);
    }
  }
  return [...open.values()];
}

/** The part of a message that answers a call. */
export const answerTo = (call: { id: string; name: string }, response: JsonObject) => ({
  functionResponse: { id: call.id, name: call.name, response },
});

// Logins

export interface CredentialRequest {
  config: JsonObject;
  kind: string;
  authUri?: string;
  scopes: { name: string; description: string }[];
  key: string;
}

const object = (value: Json | undefined): JsonObject => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {});
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

export function credentialRequest(call: FunctionCall): CredentialRequest {
  const config = object(call.args?.['authConfig']);
  const scheme = object(config['authScheme']);
  const oauth2 = object(object(config['exchangedAuthCredential'])['oauth2']);
  const flow = object(Object.values(object(scheme['flows']))[0]);
  const declared = object(flow['scopes']);
  const authUri = text(oauth2['authUri']);
  const asked = authUri ? (new URL(authUri).searchParams.get('scope')?.split(' ') ?? []) : [];
  const names = new Set([...asked, ...Object.keys(declared), ...(Array.isArray(scheme['scopes']) ? scheme['scopes'].map(text) : [])]);
  names.delete('');
  return {
    config,
    kind: text(scheme['type']),
    ...(authUri ? { authUri } : {}),
    scopes: [...names].map((name) => ({ name, description: text(declared[name]) })),
    key: text(config['credentialKey']),
  };
}

/** The address to open, so that the user comes back to redirect. */
export function loginAddress(authUri: string, redirect: string): string {
  const url = new URL(authUri);
  url.searchParams.set('redirect_uri', redirect);
  return url.toString();
}

/** The answer to a login, from the address that the user came back with. */
export function loginAnswer(config: JsonObject, authResponseUri: string, redirectUri: string): JsonObject {
  const exchanged = object(config['exchangedAuthCredential']);
  return {
    ...config,
    exchangedAuthCredential: { ...exchanged, oauth2: { ...object(exchanged['oauth2']), authResponseUri, redirectUri } },
  };
}

/** The answer with a key that the user has typed in. */
export function keyAnswer(config: JsonObject, secret: string): JsonObject {
  const scheme = object(config['authScheme']);
  const credential: JsonObject =
    text(scheme['type']) === 'http'
      ? { authType: 'http', http: { scheme: text(scheme['scheme']) || 'bearer', credentials: { token: secret } } }
      : { authType: 'apiKey', apiKey: secret };
  return { ...config, exchangedAuthCredential: credential };
}

// Confirmations and inputs

export function confirmation(call: FunctionCall) {
  const args = call.args ?? {};
  const original = object(args['originalFunctionCall'] ?? args['original_function_call']);
  const asked = object(args['toolConfirmation'] ?? args['tool_confirmation']);
  const payload = asked['payload'];
  return { tool: text(original['name']), args: object(original['args']), hint: text(asked['hint']), ...(payload !== undefined ? { payload } : {}) };
}

/** What a person can choose from. */
export const choicesOf = (call: FunctionCall): Json[] => (Array.isArray(call.args?.['options']) ? call.args['options'] : []);

export function inputRequest(call: FunctionCall) {
  const args = call.args ?? {};
  const schema = args['responseSchema'] ?? args['response_schema'];
  return { message: text(args['message']) || text(args['prompt']), payload: args['payload'], ...(schema ? { schema: object(schema) } : {}) };
}
