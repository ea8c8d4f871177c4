// Every request that the UI makes, as a value: it can be sent, and it can be
// copied as a command.
import type { JsonObject, Key, Part, ReplayPlan } from './types';

export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  body?: unknown;
  /** The content type of a body that is not JSON. */
  type?: string;
  /** The name of the file that the body is, for the command. */
  file?: string;
  /** The answer is a stream. */
  stream?: boolean;
}

const enc = encodeURIComponent;

/** The names that come before a path, encoded. */
export const usersPath = (app: string, user: string) => `/apps/${enc(app)}/users/${enc(user)}`;
export const sessionPath = (key: Key) => `${usersPath(key.app, key.user)}/sessions/${enc(key.session)}`;

export interface SessionFilter {
  /** In the id, the title, or the last text. */
  text?: string;
  labels?: string[];
  pageSize?: number;
}

/** The path of an artifact. Its name may have slashes, which stay. */
const artifactPath = (key: Key, name: string) => `${sessionPath(key)}/artifacts/${encodePath(name)}`;
export const encodePath = (name: string) => name.split('/').map(enc).join('/');

export interface UsageFilter {
  app?: string | undefined;
  user?: string | undefined;
  from: string; // days
  to: string;
  groupBy?: 'day' | 'app' | 'user' | 'session';
}

/** How many runs of a session are read with it. */
export const runsAtOnce = 100;

export const calls = {
  caller: (): Call => ({ method: 'GET', path: '/dev-ui/caller' }),
  signIn: (token: string): Call => ({ method: 'POST', path: '/dev-ui/signin', body: { token } }),
  signOut: (): Call => ({ method: 'POST', path: '/dev-ui/signout' }),

  health: (): Call => ({ method: 'GET', path: '/health' }),
  version: (): Call => ({ method: 'GET', path: '/version' }),
  document: (): Call => ({ method: 'GET', path: '/openapi.json' }),
  apps: (): Call => ({ method: 'GET', path: '/list-apps?detailed=true' }),
  faces: (): Call => ({ method: 'GET', path: '/faces' }),
  usage: ({ app, user, from, to, groupBy }: UsageFilter): Call => {
    const query = new URLSearchParams({ from, to, ...(app && { appName: app }), ...(user && { userId: user }), ...(groupBy && { groupBy }) });
    return { method: 'GET', path: `/usage?${query}` };
  },
  prices: (): Call => ({ method: 'GET', path: '/prices' }),
  appInfo: (app: string): Call => ({ method: 'GET', path: `/apps/${enc(app)}/app-info` }),

  sessions(app: string, user: string, filter: SessionFilter = {}): Call {
    const query = new URLSearchParams({ pageSize: String(filter.pageSize ?? 50) });
    if (filter.text) query.set('q', filter.text);
    for (const label of filter.labels ?? []) query.append('label', label);
    return { method: 'GET', path: `/dev${usersPath(app, user)}/sessions?${query}` };
  },
  search: (app: string, user: string, text: string, pageSize = 20): Call => ({ method: 'GET', path: `${usersPath(app, user)}/search?${new URLSearchParams({ q: text, pageSize: String(pageSize) })}` }),
  createSession: (app: string, user: string, state: JsonObject = {}): Call => ({
    method: 'POST',
    path: `${usersPath(app, user)}/sessions`,
    body: { state },
  }),
  session: (key: Key): Call => ({ method: 'GET', path: sessionPath(key) }),
  patchState: (key: Key, stateDelta: JsonObject): Call => ({ method: 'PATCH', path: sessionPath(key), body: { stateDelta } }),
  deleteSession: (key: Key): Call => ({ method: 'DELETE', path: sessionPath(key) }),
  fork: (key: Key, atEventId?: string): Call => ({
    method: 'POST',
    path: `${sessionPath(key)}/fork`,
    body: atEventId ? { atEventId } : {},
  }),
  /** Makes a branch that ends before a run. */
  branch: (key: Key, invocation: string, session: string): Call => ({
    method: 'POST',
    path: `${sessionPath(key)}/fork`,
    body: { beforeInvocationId: invocation, sessionId: session },
  }),
  branches: (key: Key, root: string): Call => ({
    method: 'GET',
    path: `${usersPath(key.app, key.user)}/sessions?${new URLSearchParams({ branchesOf: root })}`,
  }),
  export: (key: Key): Call => ({ method: 'GET', path: `${sessionPath(key)}/export` }),
  import: (key: Key, lines: string | Blob, file: string): Call => ({
    method: 'POST',
    path: `${sessionPath(key)}/import`,
    body: lines,
    type: 'application/jsonl',
    file,
  }),

  shares: (key: Key): Call => ({ method: 'GET', path: `${sessionPath(key)}/shares` }),
  createShare: (key: Key, body: { expiresIn: number; includeTools: boolean; atEventId?: string }): Call => ({ method: 'POST', path: `${sessionPath(key)}/shares`, body }),
  revokeShare: (key: Key, share: string): Call => ({ method: 'DELETE', path: `${sessionPath(key)}/shares/${enc(share)}` }),

  artifacts: (key: Key): Call => ({ method: 'GET', path: `${sessionPath(key)}/artifacts` }),
  artifactVersions: (key: Key, name: string): Call => ({ method: 'GET', path: `${artifactPath(key, name)}/versions/metadata` }),
  artifactVersion: (key: Key, name: string, version: number): Call => ({ method: 'GET', path: `${artifactPath(key, name)}/versions/${version}/metadata` }),
  artifact: (key: Key, name: string, version: number): Call => ({ method: 'GET', path: `${artifactPath(key, name)}/versions/${version}?alt=media` }),
  putArtifact: (key: Key, name: string, content: Blob | undefined, file: string, type: string): Call => ({
    method: 'PUT',
    path: artifactPath(key, name),
    body: content ?? '',
    type: type || 'application/octet-stream',
    file,
  }),
  deleteArtifact: (key: Key, name: string): Call => ({ method: 'DELETE', path: artifactPath(key, name) }),

  runs: (key: Key, pageSize = runsAtOnce): Call => ({ method: 'GET', path: `${sessionPath(key)}/runs?pageSize=${pageSize}` }),
  startRun: (key: Key, parts: Part[], stateDelta?: JsonObject): Call => ({
    method: 'POST',
    path: `${sessionPath(key)}/runs`,
    body: { streaming: true, newMessage: { role: 'user', parts }, ...(stateDelta ? { stateDelta } : {}) },
  }),
  cancelRun: (key: Key, run: string): Call => ({ method: 'POST', path: `${sessionPath(key)}/runs/${enc(run)}/cancel` }),
  followRun: (key: Key, run: string, after?: string): Call => ({
    method: 'GET',
    path: `${sessionPath(key)}/runs/${enc(run)}/events${after ? `?after=${enc(after)}` : ''}`,
    stream: true,
  }),
  /** The runs of all sessions of a user, or of all users. */
  allRuns: (app: string, user: string | undefined, statuses: readonly string[] = [], pageSize = 100): Call => ({
    method: 'GET',
    path: `/dev${user === undefined ? `/apps/${enc(app)}` : usersPath(app, user)}/runs?${new URLSearchParams([...statuses.map((s) => ['status', s]), ['pageSize', String(pageSize)]])}`,
  }),

  recording: (key: Key, run: string): Call => ({ method: 'GET', path: `/dev${sessionPath(key)}/runs/${enc(run)}/recording` }),
  replay: (key: Key, run: string, plan: ReplayPlan): Call => ({ method: 'POST', path: `/dev${sessionPath(key)}/runs/${enc(run)}/replay`, body: plan }),

  sessionTrace: (key: Key): Call => ({ method: 'GET', path: `/dev/apps/${enc(key.app)}/debug/trace/session/${enc(key.session)}?content=false&user=${enc(key.user)}` }),
  eventTrace: (key: Key, event: string): Call => ({ method: 'GET', path: `/dev/apps/${enc(key.app)}/debug/trace/${enc(event)}?user=${enc(key.user)}&session=${enc(key.session)}` }),

  triggers: (app: string): Call => ({ method: 'GET', path: `/apps/${enc(app)}/triggers` }),
  createTrigger: (app: string, body: unknown): Call => ({ method: 'POST', path: `/apps/${enc(app)}/triggers`, body }),
  patchTrigger: (app: string, name: string, body: unknown): Call => ({ method: 'PATCH', path: `/apps/${enc(app)}/triggers/${enc(name)}`, body }),
  deleteTrigger: (app: string, name: string): Call => ({ method: 'DELETE', path: `/apps/${enc(app)}/triggers/${enc(name)}` }),
  deliveries: (app: string, name: string): Call => ({ method: 'GET', path: `/apps/${enc(app)}/triggers/${enc(name)}/deliveries` }),
  webhooks: (app: string): Call => ({ method: 'GET', path: `/apps/${enc(app)}/webhooks` }),
  createWebhook: (app: string, body: unknown): Call => ({ method: 'POST', path: `/apps/${enc(app)}/webhooks`, body }),
  patchWebhook: (app: string, id: string, body: unknown): Call => ({ method: 'PATCH', path: `/apps/${enc(app)}/webhooks/${enc(id)}`, body }),
  deleteWebhook: (app: string, id: string): Call => ({ method: 'DELETE', path: `/apps/${enc(app)}/webhooks/${enc(id)}` }),
  rotateWebhook: (app: string, id: string): Call => ({ method: 'POST', path: `/apps/${enc(app)}/webhooks/${enc(id)}/rotate` }),
  testWebhook: (app: string, id: string): Call => ({ method: 'POST', path: `/apps/${enc(app)}/webhooks/${enc(id)}/test` }),
  webhookDeliveries: (app: string, id: string): Call => ({ method: 'GET', path: `/apps/${enc(app)}/webhooks/${enc(id)}/deliveries` }),
  failedDeliveries: (app: string, page = ''): Call => ({ method: 'GET', path: `/apps/${enc(app)}/failed-deliveries${page && `?pageToken=${enc(page)}`}` }),
  replayFailed: (app: string, delivery: string): Call => ({ method: 'POST', path: `/apps/${enc(app)}/failed-deliveries/${enc(delivery)}/replay` }),
  replayDelivery: (app: string, id: string, delivery: string): Call => ({ method: 'POST', path: `/apps/${enc(app)}/webhooks/${enc(id)}/deliveries/${enc(delivery)}/replay` }),

  inbox(filter: Record<string, string> = {}): Call {
    const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value)).toString();
    return { method: 'GET', path: `/inbox?pageSize=100${query && `&${query}`}` };
  },
  answerEntry: (id: string, response: unknown): Call => ({ method: 'POST', path: `/inbox/${enc(id)}/answer`, body: { response } }),
  assignEntry: (id: string, assignee: string | null): Call => ({ method: 'POST', path: `/inbox/${enc(id)}/assign`, body: { assignee } }),
  linkEntry: (id: string): Call => ({ method: 'POST', path: `/inbox/${enc(id)}/link`, body: {} }),

  schedules: (app: string, user: string): Call => ({ method: 'GET', path: `${usersPath(app, user)}/schedules` }),
  createSchedule: (app: string, user: string, body: unknown): Call => ({ method: 'POST', path: `${usersPath(app, user)}/schedules`, body }),
  patchSchedule: (app: string, user: string, id: string, body: unknown): Call => ({ method: 'PATCH', path: `${usersPath(app, user)}/schedules/${enc(id)}`, body }),
  deleteSchedule: (app: string, user: string, id: string): Call => ({ method: 'DELETE', path: `${usersPath(app, user)}/schedules/${enc(id)}` }),
  runSchedule: (app: string, user: string, id: string): Call => ({ method: 'POST', path: `${usersPath(app, user)}/schedules/${enc(id)}/run` }),
  firings: (app: string, user: string, id: string): Call => ({ method: 'GET', path: `${usersPath(app, user)}/schedules/${enc(id)}/firings` }),

  tools: (app: string, user: string): Call => ({ method: 'GET', path: `/dev${usersPath(app, user)}/tools` }),
  callTool: (app: string, user: string, body: { agent: string; tool: string; args: JsonObject; sessionId?: string }): Call => ({ method: 'POST', path: `/dev${usersPath(app, user)}/tools/call`, body }),

  memory: (app: string, user: string, text = ''): Call => ({ method: 'GET', path: `${usersPath(app, user)}/memory?${new URLSearchParams({ pageSize: '50', ...(text && { q: text }) })}` }),
  editMemory: (app: string, user: string, id: string, text: string): Call => ({ method: 'PATCH', path: `${usersPath(app, user)}/memory/${enc(id)}`, body: { text } }),
  deleteMemory: (app: string, user: string, id: string): Call => ({ method: 'DELETE', path: `${usersPath(app, user)}/memory/${enc(id)}` }),
  forget: (app: string, user: string): Call => ({ method: 'DELETE', path: `${usersPath(app, user)}/memory` }),

  credentials: (app: string, user: string): Call => ({ method: 'GET', path: `${usersPath(app, user)}/credentials` }),
  revoke(app: string, user: string, name: string, session?: string): Call {
    const query = new URLSearchParams({ name, sessionId: session ?? '' });
    return { method: 'DELETE', path: `${usersPath(app, user)}/credentials?${query}` };
  },
};

/** What an action does: one call, or several that follow one another. */
export type Calls = Call | Call[];

/** Calls as a command for a terminal. A user who is signed in has to bring a token there. */
export function curl(what: Calls, origin: string, signedIn = false): string {
  return [what].flat().map((call) => command(call, origin, signedIn)).join(' && ');
}

function command(call: Call, origin: string, signedIn: boolean): string {
  const words = ['curl'];
  if (call.stream) words.push('-N');
  if (call.method !== 'GET') words.push('-X', call.method);
  words.push(quote(origin + call.path));
  if (signedIn) words.push('-H', '"Authorization: Bearer $PARLEY_TOKEN"');
  if (call.body !== undefined) {
    words.push('-H', quote(`Content-Type: ${call.type ?? 'application/json'}`));
    const body = call.file !== undefined ? `@${call.file}` : typeof call.body === 'string' ? call.body : JSON.stringify(call.body);
    words.push(call.type ? '--data-binary' : '-d', quote(body));
  }
  return words.join(' ');
}

/** A word of a command. */
export const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
