import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Event, Json, JsonObject, Key } from '../api/types';
import { useCaller } from '../caller';
import { modelCallOf, piecesOf, type FilledPlace, type Piece, type Span } from '../log/spans';
import { seconds } from '../log/timeline';
import { JsonView } from '../ui/json';
import { Author, Button, CopyText, Shown } from '../ui/parts';

interface Props {
  id: Key;
  events: Event[];
  event: Event;
  spans: Span[];
  select: (event: string) => void;
}

/** What a model was asked, word for word, where each part of it comes from, and what it said. */
export function ModelRequest({ id, events, event, spans, select }: Props) {
  const developer = useCaller()?.developer ?? false;
  const listed = modelCallOf(spans, event.id);
  const said = useQuery({
    queryKey: ['trace', id, event.id, listed?.open],
    enabled: developer && listed !== undefined,
    retry: false,
    staleTime: Infinity,
    queryFn: ({ signal }) => ask<Record<string, unknown>>(calls.eventTrace(id, event.id), signal),
  });
  const call = modelCallOf(spans, event.id, said.data);
  if (!developer) return <p className="text-soft">What models are asked is for developers to see.</p>;
  if (!call) {
    return (
      <p className="text-soft">
        {event.author === 'user'
          ? 'No model led to this event: a person did.'
          : 'No call of a model is known that led to this event. The server remembers the latest ones, until it is started again.'}
      </p>
    );
  }
  const facts: [string, ReactNode][] = [
    ['model', call.model],
    ['agent', <Author name={call.agent} />],
    ['took', [call.open ? `${seconds(call.took)}, and continues` : seconds(call.took), ...call.pace].join(', ')],
    ['tokens', [call.tokens.input !== undefined && `${call.tokens.input} in`, call.tokens.output !== undefined && `${call.tokens.output} out`, call.tokens.cached !== undefined && `${call.tokens.cached} from the cache`].filter(Boolean).join(', ')],
    ['finish', call.finish],
    ['error', call.error && <span className="text-bad">{call.error}</span>],
  ];
  const numberOf = (id: string) => events.findIndex((e) => e.id === id) + 1;
  const show = (piece: Piece, content: ReactNode) => <PieceView key={piece.path} piece={piece} number={piece.event ? numberOf(piece.event) : 0} select={select}>{content}</PieceView>;
  return (
    <>
      <div className="flex items-start">
        <dl className="mb-3 grid min-w-0 flex-1 grid-cols-[64px_minmax(0,1fr)] gap-y-0.5">
          {facts.filter(([, v]) => v).map(([name, value]) => (
            <div key={name} className="contents"><dt className="label leading-5">{name}</dt><dd className="font-mono text-2xs leading-5 [overflow-wrap:anywhere]">{value}</dd></div>
          ))}
        </dl>
        <CopyText text={JSON.stringify(call.request, null, 2)} label="Copy the request" />
        <Shown call={calls.eventTrace(id, event.id)} label="Trace of the event" />
      </div>
      {!call.request && <p className="mb-3 text-soft">{said.isLoading ? 'Reading…' : 'The request itself was not kept.'}</p>}
      <Section title="instruction" of={call.instruction}>{(p) => show(p, typeof p.value === 'string' ? <Instruction text={p.value} values={p.values ?? []} /> : <JsonView value={p.value} />)}</Section>
      <Section title="conversation" of={call.contents}>{(p) => show(p, <Said content={p.value} />)}</Section>
      <Section title="tools" of={call.tools}>{(p) => show(p, <Declared tool={p.value} />)}</Section>
      {Object.keys(call.settings).length > 0 && <Block title="settings"><JsonView value={call.settings} label="the settings" /></Block>}
      {call.response !== undefined && <Block title="answer"><JsonView value={call.response} label="the answer" /></Block>}
    </>
  );
}

function Block({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="mb-4">
      <h2 className="label mb-1">{title}</h2>
      <div className="rounded-md bg-sunk px-3 py-2">{children}</div>
    </section>
  );
}

/** How many pieces are shown at once: the last ones are what the model answers. */
const shownAtOnce = 20;

function Section({ title, of, children }: { title: string; of: Piece[]; children: (piece: Piece) => ReactNode }) {
  const [shown, setShown] = useState(shownAtOnce);
  if (of.length === 0) return null;
  const hidden = Math.max(0, of.length - shown);
  return (
    <section className="mb-4">
      <h2 className="label mb-1">{title}{of.length > 1 && `, ${of.length} parts`}</h2>
      {hidden > 0 && <Button tone="quiet" icon="up" className="mb-1" onClick={() => setShown(shown + 5 * shownAtOnce)}>{`Show ${Math.min(hidden, 5 * shownAtOnce)} of ${hidden} earlier parts`}</Button>}
      <ol className="space-y-1.5">{of.slice(hidden).map(children)}</ol>
    </section>
  );
}

function PieceView({ piece, number, select, children }: { piece: Piece; number: number; select: (event: string) => void; children: ReactNode }) {
  return (
    <li className="rounded-md bg-sunk px-3 py-1.5" data-piece={piece.path}>
      <p className="mb-0.5 flex items-baseline gap-2 text-xs text-faint">
        <span className="min-w-0 flex-1">{piece.origin || 'of unknown origin'}</span>
        {number > 0 && <button type="button" onClick={() => select(piece.event!)} className="touch shrink-0 font-mono text-2xs text-accent underline">event {number}</button>}
      </p>
      {children}
    </li>
  );
}

function Words({ text }: { text: string }) {
  return <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>;
}

/** An instruction, with what came from the state marked, or the template that it was made of. */
function Instruction({ text, values }: { text: string; values: FilledPlace[] }) {
  const [template, setTemplate] = useState(false);
  if (values.length === 0) return <Words text={text} />;
  const keys = [...new Map(values.map((v) => [`${v.key} ${v.source}`, v])).values()];
  return (
    <>
      <p className="whitespace-pre-wrap [overflow-wrap:anywhere]" data-instruction={template ? 'template' : 'filled'}>
        {piecesOf(text, values).map((piece, i) =>
          typeof piece === 'string' ? piece : (
            <mark key={i} data-key={piece.place.key} title={`${piece.place.key}, ${piece.place.source}`} className={`rounded-xs bg-tint text-ink ${template ? 'font-mono text-xs' : ''}`}>
              {template ? piece.place.written : piece.text || <span className="text-faint italic">empty</span>}
            </mark>
          ),
        )}
      </p>
      <div className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line pt-1.5 text-xs text-soft">
        {keys.map((v) => <span key={`${v.key} ${v.source}`}><code className="rounded-xs bg-tint px-1 font-mono text-2xs text-ink">{v.key}</code> {v.source}</span>)}
        <span className="flex-1" />
        <Button tone="quiet" className="h-6 px-1.5 text-xs" aria-pressed={template} onClick={() => setTemplate(!template)}>{template ? 'Show the text' : 'Show the template'}</Button>
      </div>
    </>
  );
}

/** A message: text as text, everything else as it is. */
function Said({ content }: { content: Json }) {
  const { role, parts } = content as { role?: string; parts?: JsonObject[] };
  return (
    <>
      {role && <span className="label">{role}</span>}
      {(parts ?? []).map((part, i) => (typeof part['text'] === 'string' && Object.keys(part).length === 1 ? <Words key={i} text={part['text']} /> : <JsonView key={i} value={part} label="a part" />))}
    </>
  );
}

function Declared({ tool }: { tool: Json }) {
  const functions = (tool as { functionDeclarations?: { name: string; description?: string; parameters?: Json }[] }).functionDeclarations;
  if (!functions) return <JsonView value={tool} />;
  return functions.map((f) => (
    <details key={f.name}>
      <summary><code className="font-mono text-xs font-semibold">{f.name}</code> <span className="text-soft">{f.description}</span></summary>
      <JsonView value={f.parameters ?? {}} />
    </details>
  ));
}
