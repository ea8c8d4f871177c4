import type { Schemas } from '@parley-run/client';

export type Session = Schemas['Session'];
export type Event = Schemas['Event'];
export type Run = Schemas['Run'];
export type App = Schemas['AppSummary'];
export type Overview = Schemas['SessionOverview'];
export type FoundEvent = Schemas['FoundEvent'];
export type Face = Schemas['FaceList']['faces'][number];
export type AppInfo = Schemas['AppInfo'];
export type AgentInfo = Schemas['AgentInfo'];
export type Recording = Schemas['Recording'];
export type RecordedStep = Schemas['RecordedStep'];
export type ReplayPlan = Schemas['ReplayPlan'];
export type ReplayReport = Schemas['ReplayReport'];
export type ArtifactVersion = Schemas['ArtifactVersion'];
export type Share = Schemas['Share'];
// Who uses the UI, and how they could sign in: the UI's own, not of the contract.
export interface About {
  signIn: 'none' | 'key' | 'token'; // what a user may type in
  issuer?: string; // where users can sign in
  caller: {
    user?: string;
    anyUser: boolean;
    developer: boolean;
    scopes: string[]; // what the caller may do
    author?: string; // who feedback of the caller is by, if not by the user at hand
    expires?: number; // in seconds since 1970
    signedIn: boolean; // by a cookie
  } | null;
}
export type StoredCredential = Schemas['StoredCredential'];

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** A part as it is in practice: one of its members is there. */
export interface Part {
  text?: string;
  thought?: boolean;
  functionCall?: FunctionCall;
  functionResponse?: FunctionResponse;
  inlineData?: { mimeType?: string; data?: string; displayName?: string };
  fileData?: { mimeType?: string; fileUri?: string; displayName?: string };
  executableCode?: { code?: string; language?: string };
  codeExecutionResult?: { outcome?: string; output?: string };
  [other: string]: unknown;
}

export interface FunctionCall {
  id?: string;
  name?: string;
  args?: JsonObject;
}

export interface FunctionResponse {
  id?: string;
  name?: string;
  response?: JsonObject;
  willContinue?: boolean;
}

/** Which session, of which user, in which application. */
export interface Key {
  app: string;
  user: string;
  session: string;
}

export const partsOf = (event: Event): Part[] => (event.content?.parts ?? []) as Part[];
