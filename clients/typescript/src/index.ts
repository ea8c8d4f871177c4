export { Parley } from './client.js';
export type { CallOptions, FeedbackFilter, FollowOptions, NewSession, RunOptions, SearchOptions, SessionFilter, StreamOptions } from './client.js';
export { ConnectionError, ParleyError, RunError } from './errors.js';
export type { Problem } from './errors.js';
export type { Options, Request } from './http.js';
export { questionsIn } from './questions.js';
export type { ChoiceQuestion, ConfirmationQuestion, CredentialQuestion, InputQuestion, Question, ResultQuestion } from './questions.js';
export { textOf } from './types.js';
export type {
  ArtifactVersion, Concurrency, Content, Event, Feedback, FoundEvent, FunctionCall, FunctionResponse, GivenFeedback, ListedSession, Message, MessagePart, OnDisconnect, Part, Run, Session,
  Schemas, SessionRef, State,
} from './types.js';
