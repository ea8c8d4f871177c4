import { useMemo, useState, type MouseEvent, type ReactNode } from 'react';

import { calls } from '../api/calls';
import { partsOf, type Event, type Json, type JsonObject, type Key, type Part } from '../api/types';
import { TurnBar } from '../evals/turn';
import type { Branches } from '../log/branches';
import { labelsText, metadataKey, metadataOf } from '../log/labels';
import { answered, askedFor, isAsking, isRejection, isRequest, type Pending } from '../log/pending';
import { mostOfPDF, pagesOf, sizeText } from '../log/pdf';
import { isLocal, summary, textOf, type Row } from '../log/rows';
import { abortedCode, seconds } from '../log/timeline';
import { navigate, setQuery, to } from '../router';
import { download } from '../screens/sessionactions';
import { CodeBlock } from '../ui/code';
import { FileCard } from '../ui/filecard';
import { Icon } from '../ui/icons';
import { argsText, brief } from '../ui/json';
import { Markdown } from '../ui/markdown';
import { Action, Author, Button, Refusable, Status } from '../ui/parts';
import { SavedFile } from './files';
import { Picture } from './picture';
import { RequestCard } from './requests';
import type { SessionModel, Snapshot } from './session';

/** The log and what can be done with its rows. */
export interface LogProps {
  model: SessionModel;
  snapshot: Snapshot;
  rows: Row[];
  pending: Pending[];
  selected: string | undefined;
  editing: string | undefined;
  setEditing: (id: string | undefined) => void;
  /** The run that a note is being written on. */
  noting: string | undefined;
  setNoting: (run: string | undefined) => void;
  select: (event: Event) => void;
  inspect: (event: Event) => void;
  fork: (event: Event) => void;
  /** Where branches part, by the index of the event. */
  branches: Map<number, Branches>;
  /** Sends a message in place of the turn of an event, in a new branch. */
  again: (event: Event, parts: Part[]) => void;
}

export function RowView(props: LogProps & { row: Row }) {
  const { row } = props;
  if (row.kind === 'live') {
    return (
      <Frame number="" author={row.author} tone="live" label={`${row.author} is writing`}>
        {row.thought && <Thought text={row.thought} />}
        <div className="caret" data-live aria-live="off"><Markdown text={row.text} live /></div>
      </Frame>
    );
  }
  return <EventRow {...props} row={row} />;
}

interface FrameProps {
  number: ReactNode;
  author: string;
  /** The line above is of the same author. */
  same?: boolean;
  children: ReactNode;
  tone: 'user' | 'agent' | 'live' | 'bad';
  label: string;
  note?: ReactNode;
  selected?: boolean;
  onSelect?: () => void;
  actions?: ReactNode;
}

/** What has a click of its own. */
const inert = 'a, button, input, textarea, select, label, summary, audio, video, [data-pending]';

/** A line of the ledger: its number in the margin, who, what, and when. All of it is one target; the number is the one for keyboards. */
export function Frame({ number, author, same, children, tone, label, note, selected, onSelect, actions }: FrameProps) {
  const click = (e: MouseEvent) => {
    const selecting = window.getSelection()?.isCollapsed === false;
    if (!selecting && !(e.target as Element).closest(inert)) onSelect?.();
  };
  return (
    <article
      onClick={onSelect && click}
      aria-label={label}
      aria-current={selected || undefined}
      data-tone={tone}
      className={`group relative grid grid-cols-[40px_minmax(0,1fr)] aria-[current]:bg-tint md:grid-cols-[60px_minmax(0,1fr)] ${onSelect ? 'cursor-pointer not-aria-[current]:hover:bg-sunk/60' : ''} ${tone === 'user' ? 'bg-sheet' : ''}`}
    >
      <button
        type="button"
        disabled={!onSelect}
        onClick={onSelect}
        aria-label={onSelect ? `${String(number)}, inspect: ${label}` : undefined}
        className={`flex items-start justify-end pr-2.5 font-mono text-2xs leading-5 text-faint group-aria-[current]:font-semibold group-aria-[current]:text-accent hover:text-ink md:pr-4 ${same ? 'pt-0.5' : 'pt-2'}`}
      >
        {number}
      </button>
      <div className={`min-w-0 border-l pr-4 pl-3.5 md:pr-6 md:pl-4 ${same ? 'pt-0.5 pb-0.5' : 'pt-2 pb-0.5'} ${tone === 'user' ? '-ml-px border-l-2 border-l-accent pb-2' : tone === 'bad' ? '-ml-px border-l-2 border-l-bad' : 'border-l-rule'}`}>
        {!same && <p className="h-5 leading-5"><Author name={author} /></p>}
        {/* On a phone, it is as wide as there is room below the line that has the time. */}
        <div className={`${same ? '' : 'max-md:pr-0'} ${tone === 'user' ? 'pr-24' : 'pr-14'}`}>{children}</div>
      </div>
      <div className={`absolute right-4 flex h-5 items-center md:right-6 ${same ? 'top-0.5' : 'top-2'}`}>
        <span className={`font-mono text-[10.5px] text-faint ${actions ? 'group-focus-within:hidden group-hover:hidden group-aria-[current]:hidden' : ''}`}>{note}</span>
        {actions && <span className="hidden items-center rounded-md bg-paper group-focus-within:flex group-hover:flex group-aria-[current]:flex group-aria-[current]:bg-transparent max-md:bg-transparent">{actions}</span>}
      </div>
    </article>
  );
}

function EventRow(props: LogProps & { row: Row & { kind: 'event' } }) {
  const { model, snapshot, row, pending, selected, editing, setEditing, noting, setNoting, inspect, fork, branches, again } = props;
  const { event } = row;
  const run = snapshot.runs.find((r) => r.id === event.invocationId);
  const isMessage = event.author === 'user' && partsOf(event).some((p) => p.text !== undefined || p.inlineData);
  const asked = pending.filter((p) => p.event.id === event.id);
  const busy = Boolean(snapshot.active);
  const aborted = event.errorCode === abortedCode;
  const answer = async (part: Part) => {
    const sent = await model.send([part]);
    if (sent && selected === event.id) setQuery({ event: undefined, run: undefined }); // the run that goes on is of interest now
    return sent;
  };
  const empty = row.sameAuthor && aborted && partsOf(event).length === 0; // but for the line that says that the run was stopped
  const last = snapshot.events[row.index + 1]?.invocationId !== event.invocationId;
  const first = last ? snapshot.events.find((e) => e.invocationId === event.invocationId && e.author === 'user') : undefined;
  return (
    <>
      {row.first && row.index > 0 && <div className="ml-[40px] h-4 border-l border-l-rule md:ml-[60px]" aria-hidden="true" />}
      <Frame
        number={row.queued ? '' : row.index + 1}
        author={event.author}
        tone={event.errorCode && !aborted ? 'bad' : event.author === 'user' ? 'user' : 'agent'}
        label={`${event.author} ${summary(event)}`}
        same={row.sameAuthor}
        note={row.queued ? <Status value="queued" /> : row.first ? clock(event.timestamp) : `+${row.offset < 0.001 ? '0 ms' : seconds(row.offset)}`}
        selected={selected === event.id}
        {...(row.queued ? {} : { onSelect: () => inspect(event) })}
        actions={row.queued ? undefined : (
          <>
            {isMessage && !isLocal(event) && (
              <>
                {textOf(event) && <Refusable tone="quiet" icon="edit" bare title="Edit and send again (e)" disabled={busy} onClick={() => setEditing(event.id)}>Edit and send again</Refusable>}
                <Action tone="quiet" icon="retry" bare title="Send it again, in a new branch" call={() => model.againCalls(event.invocationId, partsOf(event))} disabled={busy} onClick={() => again(event, partsOf(event))}>Retry</Action>
              </>
            )}
            {!isLocal(event) && <Action tone="quiet" icon="fork" bare title="Fork from here (f)" call={calls.fork(model.key, event.id)} onClick={() => fork(event)}>Fork from here</Action>}
          </>
        )}
      >
        {editing === event.id ? (
          <EditMessage event={event} model={model} close={() => setEditing(undefined)} send={(parts) => (setEditing(undefined), again(event, parts))} />
        ) : (
          <Parts event={event} id={model.key} hide={asked.map((p) => p.call.id)} stopped={last && run?.status === 'cancelled'} />
        )}
        {asked.map((one) => (
          <div key={one.call.id} data-event={event.id} className="mt-1 max-w-[620px]">
            <RequestCard pending={one} answer={answer} call={(part) => model.startCall([part])} />
          </div>
        ))}
        {row.queued && <Action tone="quiet" icon="close" call={calls.cancelRun(model.key, event.invocationId)} onClick={() => void model.withdraw(event.invocationId)} className="-ml-2.5">Withdraw</Action>}
        {last && run && (run.status === 'failed' || run.status === 'cancelled') && (
          <p className={`flex flex-wrap items-center gap-2 text-sm ${empty && run.status === 'cancelled' ? '-mt-1 max-md:-mt-2' : 'mt-1'} ${run.status === 'failed' ? 'text-bad' : 'text-faint'}`}>
            <Status value={run.status} />
            <span className="min-w-0">{run.status === 'cancelled' ? 'This run was stopped.' : run.error?.reported ? 'This turn has no answer.' : run.error?.message}</span>
            {first && <Action tone="quiet" icon="retry" call={() => model.againCalls(event.invocationId, partsOf(first))} disabled={busy} onClick={() => again(event, partsOf(first))}>Retry</Action>}
          </p>
        )}
        {last && event.author !== 'user' && !busy && run?.status !== 'waiting' && !model.evaluated && <TurnBar model={model} events={snapshot.events} run={event.invocationId} writing={noting === event.invocationId} setWriting={(is) => setNoting(is ? event.invocationId : undefined)} />}
        {branches.has(row.index) && <BranchSwitch id={model.key} branches={branches.get(row.index)!} />}
      </Frame>
    </>
  );
}

/** Leads from one branch of the conversation to the others. */
function BranchSwitch({ id, branches: { sessions, current, after } }: { id: Key; branches: Branches }) {
  const go = (place: number) => navigate(to.session({ ...id, session: sessions[place]! }));
  return (
    <div role="group" aria-label={`Branch ${current + 1} of ${sessions.length}`} data-branches className="mt-1 -ml-1.5 flex items-center text-faint">
      <Button tone="quiet" icon="left" bare disabled={current === 0} onClick={() => go(current - 1)}>Previous branch</Button>
      <span className="min-w-8 text-center font-mono text-2xs text-soft" aria-hidden="true">{current + 1}/{sessions.length}</span>
      <Button tone="quiet" icon="right" bare disabled={current === sessions.length - 1} onClick={() => go(current + 1)}>Next branch</Button>
      <Button tone="quiet" title="Compare the branches side by side" onClick={() => navigate(to.compare(id.app, id.user, sessions.slice(0, 6).map((session) => ({ session, run: `@${after}` }))))}>Compare</Button>
    </div>
  );
}

const clock = (time: number) => new Date(time * 1000).toLocaleTimeString(undefined, { hour12: false });

function EditMessage({ event, model, close, send }: { event: Event; model: SessionModel; close: () => void; send: (parts: Part[]) => void }) {
  const [text, setText] = useState(textOf(event));
  const parts = () => [{ text: text.trim() }, ...partsOf(event).filter((p) => p.text === undefined)];
  const submit = () => text.trim() && send(parts());
  return (
    <div className="max-w-[680px] py-1">
      <textarea
        autoFocus
        aria-label="Edited message"
        rows={Math.min(10, text.split('\n').length + 1)}
        className="field w-full text-base"
        value={text}
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) e.preventDefault(), submit();
          if (e.key === 'Escape') e.stopPropagation(), close();
        }}
      />
      <div className="mt-1 flex flex-wrap items-center gap-2">
        <Action tone="primary" call={() => model.againCalls(event.invocationId, parts())} onClick={submit}>Send again</Action>
        <Button onClick={close}>Cancel</Button>
        <span className="text-xs text-faint">This makes a new branch. The present one stays as it is.</span>
      </div>
    </div>
  );
}

function Thought({ text }: { text: string }) {
  return (
    <details className="my-0.5 text-soft">
      <summary className="label">thought</summary>
      <p className="whitespace-pre-wrap italic">{text}</p>
    </details>
  );
}

/** What is in an event. Of a run that was stopped, the line below says so. */
function Parts({ event, id, hide, stopped }: { event: Event; id: Key; hide: string[]; stopped: boolean }) {
  const parts = partsOf(event);
  const delta = Object.entries(event.actions?.stateDelta ?? {}).filter(([key]) => key !== metadataKey);
  const titled = metadataOf((event.actions?.stateDelta ?? {}) as JsonObject);
  const files = Object.entries(event.actions?.artifactDelta ?? {});
  const actions = event.actions as { transferToAgent?: string; escalate?: boolean } | undefined;
  return (
    <>
      {parts.map((part, i) => (
        <PartView key={i} part={part} event={event} hide={hide} />
      ))}
      {event.interrupted && <p className="label" data-interrupted>interrupted</p>}
      {event.errorCode && !(stopped && event.errorCode === abortedCode) && (
        <p className={event.errorCode === abortedCode ? 'text-faint' : 'text-bad'}><b className="font-mono text-xs">{event.errorCode}</b> {event.errorMessage}</p>
      )}
      {actions?.transferToAgent && <Note>hands over to <Author name={actions.transferToAgent} /></Note>}
      {actions?.escalate && <Note>ends the loop</Note>}
      {files.map(([name, version]) => <SavedFile key={name} id={id} name={name} version={Number(version)} />)}
      {(titled.displayName || titled.labels) && !textOf(event) && <Note>named the session {brief(titled.displayName ?? '')} {labelsText(titled.labels)}</Note>}
      {delta.map(([key, value]) => (
        <Note key={key}><span className="text-soft">{key}</span> {value === null ? 'is deleted' : <>= {brief(value as Json, 70)}</>}</Note>
      ))}
    </>
  );
}

function Note({ children }: { children: ReactNode }) {
  return <p className="truncate font-mono text-2xs leading-5 text-faint">{children}</p>;
}

export function PartView({ part, event, hide }: { part: Part; event: Event; hide: string[] }) {
  const { author } = event;
  if (part.thought) return <Thought text={part.text ?? ''} />;
  if (part.text !== undefined) return author === 'user' ? <p className="text-base whitespace-pre-wrap [overflow-wrap:anywhere]">{part.text}</p> : <Markdown text={part.text} />;
  if (part.functionCall) {
    const { id, name, args } = part.functionCall;
    if (id && hide.includes(id)) return null;
    if (isRequest(name)) return <Note>asked for {askedFor(name!)}</Note>;
    return (
      <p className="truncate font-mono text-xs leading-5" data-call={name}>
        <span className="text-busy">→ </span><b className="font-semibold">{name}</b><span className="text-soft">({argsText(args)})</span>
      </p>
    );
  }
  if (part.functionResponse) {
    const { name, response } = part.functionResponse;
    if (author === 'user' && isRequest(name)) return <p data-answered={name}>{answered(part.functionResponse)}</p>;
    const asking = isAsking(event, part.functionResponse);
    if (asking) return <Note><span className="text-wait">… </span><b className="font-semibold">{name}</b> waits for a {asking}</Note>;
    const bad = (response?.['status'] === 'error' || response?.['error'] !== undefined) && !isRejection(part.functionResponse);
    return (
      <p className="line-clamp-3 font-mono text-xs leading-5 [overflow-wrap:anywhere]" data-response={name}>
        <span className={bad ? 'text-bad' : 'text-good'}>← </span><b className="font-semibold">{name}</b> <span className={bad ? 'text-bad' : 'text-soft'}>{argsText(response, 600, 300)}</span>
      </p>
    );
  }
  if (part.inlineData) return <Blob {...part.inlineData} />;
  if (part.fileData) return <Note>file {part.fileData.displayName ?? part.fileData.fileUri} {part.fileData.mimeType}</Note>;
  if (part.executableCode) return <CodeBlock code={(part.executableCode.code ?? '').replace(/\n$/, '')} language={languageOf(part.executableCode.language)} />;
  if (part.codeExecutionResult) return <CodeResult {...part.codeExecutionResult} />;
  return <Note>{brief(part as Json, 120)}</Note>;
}

/** The language of code that a model wrote, as people write it. */
const languageOf = (language = '') => (language === 'LANGUAGE_UNSPECIFIED' ? '' : language.toLowerCase());

const outcomes: { [outcome: string]: string } = { OUTCOME_OK: 'output', OUTCOME_FAILED: 'failed', OUTCOME_DEADLINE_EXCEEDED: 'took too long' };

/** What executing code has led to. */
function CodeResult({ outcome = '', output = '' }: { outcome?: string; output?: string }) {
  const bad = outcome !== '' && outcome !== 'OUTCOME_OK' && outcome !== 'OUTCOME_UNSPECIFIED';
  return (
    <figure className={`my-1.5 rounded-md border-l-2 bg-sunk px-3 py-1.5 ${bad ? 'border-l-bad' : 'border-l-good'}`} data-outcome={outcome}>
      <figcaption className={`font-mono text-[10.5px] leading-4 ${bad ? 'text-bad' : 'text-faint'}`}>{outcomes[outcome] ?? 'output'}</figcaption>
      {output ? <pre tabIndex={0} aria-label="Output of the code" className="json max-h-80 overflow-auto">{output.replace(/\n$/, '')}</pre> : <p className="text-faint">The code printed nothing.</p>}
    </figure>
  );
}

function Blob({ mimeType = '', data = '', displayName }: { mimeType?: string; data?: string; displayName?: string }) {
  const plain = data.replaceAll('-', '+').replaceAll('_', '/');
  const address = `data:${mimeType};base64,${plain}`;
  const name = displayName || mimeType || 'file';
  if (/^image\/(png|jpe?g|gif|webp|avif)$/.test(mimeType)) return <Picture address={address} name={name} />;
  if (mimeType.startsWith('audio/')) return <audio controls src={address} aria-label={name} className="my-1 h-9" />;
  if (mimeType.startsWith('video/')) return <video controls src={address} aria-label={name} className="my-1 max-h-72 rounded-md" />;
  const save = () => download(new globalThis.Blob([Uint8Array.from(atob(plain), (c) => c.charCodeAt(0))], { type: 'application/octet-stream' }), name);
  const size = Math.floor((plain.replace(/=+$/, '').length * 3) / 4);
  if (mimeType === 'application/pdf') return <PDF name={displayName || 'document.pdf'} plain={plain} size={size} save={save} />;
  return (
    <button type="button" onClick={save} className="my-1 inline-flex items-center gap-2 rounded-md border border-line bg-sheet px-2.5 py-1 hover:border-rule max-md:min-h-9">
      <Icon name="file" /> {name} <span className="label">{sizeText(size)}</span>
    </button>
  );
}

/** A PDF in a message. It is not shown, as its viewer would run the scripts in it. */
function PDF({ name, plain, size, save }: { name: string; plain: string; size: number; save: () => void }) {
  const pages = useMemo(() => {
    try {
      return pagesOf(atob(plain.slice(0, Math.ceil(mostOfPDF / 3) * 4)), size);
    } catch {
      return undefined; // it is not base64
    }
  }, [plain, size]);
  return (
    <div className="my-1 max-w-[520px]">
      <FileCard name={name} about={`PDF document, ${sizeText(size, pages)}`}><Button icon="down" onClick={save}>Download</Button></FileCard>
    </div>
  );
}
