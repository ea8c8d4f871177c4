import { useQuery } from '@tanstack/react-query';
import { useRef, useState, type ReactNode } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Event, Json, JsonObject, Key } from '../api/types';
import { useCaller } from '../caller';
import { modelCallOf, piecesOf, type FilledPlace, type Piece, type Span } from '../log/spans';
import { seconds } from '../log/timeline';
import { Fold, useFolds, type Folds } from '../ui/fold';
import { JsonView, type JsonFolds } from '../ui/json';
import { Author, Button, CopyText, Shown } from '../ui/parts';
import { Virtual, type Measured } from '../ui/virtual';

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
  const folds = useFolds();
  const [inJson] = useState((): JsonFolds => new Map());
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
  const show = (piece: Piece, measured: Measured, content: ReactNode) => <PieceView measured={measured} piece={piece} number={piece.event ? numberOf(piece.event) : 0} select={select}>{content}</PieceView>;
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
      <Section title="instruction" of={call.instruction}>{(p, m) => show(p, m, typeof p.value === 'string' ? <Instruction text={p.value} values={p.values ?? []} id={p.path} folds={folds} /> : <JsonView value={p.value} kept={{ in: inJson, as: `${event.id} ${p.path}` }} />)}</Section>
      <Section title="conversation" of={call.contents}>{(p, m) => show(p, m, <Said content={p.value} id={`${event.id} ${p.path}`} folds={inJson} />)}</Section>
      <Section title="tools" of={call.tools}>{(p, m) => show(p, m, <Declared tool={p.value} id={p.path} folds={folds} />)}</Section>
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

/** From how many pieces on there is a button that shows the last one, which is what the model answers. */
const many = 20;

function Section({ title, of, children }: { title: string; of: Piece[]; children: (piece: Piece, measured: Measured) => ReactNode }) {
  const list = useRef<HTMLOListElement>(null);
  const toItem = useRef<(index: number) => void>(null);
  if (of.length === 0) return null;
  const last = () => {
    toItem.current?.(of.length - 1);
    list.current?.querySelector(`:scope > [data-index="${of.length - 1}"]`)?.scrollIntoView({ block: 'nearest' }); // of a short list
  };
  return (
    <section className="mb-2.5">
      <div className="mb-1 flex items-center gap-2">
        <h2 className="label flex-1">{title}{of.length > 1 && `, ${of.length} parts`}</h2>
        {of.length > many && <Button tone="quiet" className="h-6 px-1.5 text-xs" onClick={last}>Show the last part</Button>}
      </div>
      <ol ref={list}>
        <Virtual as="li" items={of} keyOf={(piece) => piece.path} height={72} toItem={toItem} draw={children} />
      </ol>
    </section>
  );
}

function PieceView({ measured, piece, number, select, children }: { measured: Measured; piece: Piece; number: number; select: (event: string) => void; children: ReactNode }) {
  return (
    <li {...measured} className="pb-1.5" data-piece={piece.path}>
      <div className="rounded-md bg-sunk px-3 py-1.5">
        <p className="mb-0.5 flex items-baseline gap-2 text-xs text-faint">
          <span className="min-w-0 flex-1">{piece.origin || 'of unknown origin'}</span>
          {number > 0 && <button type="button" onClick={() => select(piece.event!)} className="touch shrink-0 font-mono text-2xs text-accent underline">event {number}</button>}
        </p>
        {children}
      </div>
    </li>
  );
}

function Words({ text }: { text: string }) {
  return <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>;
}

/** An instruction, with what came from the state marked, or the template that it was made of. */
function Instruction({ text, values, id, folds }: { text: string; values: FilledPlace[]; id: string; folds: Folds }) {
  const [template, show] = useState(folds.get(id) ?? false);
  const setTemplate = (is: boolean) => (folds.set(id, is), show(is));
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
function Said({ content, id, folds }: { content: Json; id: string; folds: JsonFolds }) {
  const { role, parts } = content as { role?: string; parts?: JsonObject[] };
  return (
    <>
      {role && <span className="label">{role}</span>}
      {(parts ?? []).map((part, i) => (typeof part['text'] === 'string' && Object.keys(part).length === 1 ? <Words key={i} text={part['text']} /> : <JsonView key={i} value={part} label="a part" kept={{ in: folds, as: `${id} ${i}` }} />))}
    </>
  );
}

function Declared({ tool, id, folds }: { tool: Json; id: string; folds: Folds }) {
  const functions = (tool as { functionDeclarations?: { name: string; description?: string; parameters?: Json }[] }).functionDeclarations;
  if (!functions) return <JsonView value={tool} />;
  return (
    <Virtual items={functions} keyOf={(f) => f.name} height={20} draw={(f, measured) => (
      <div {...measured}>
        <Fold id={`${id} ${f.name}`} folds={folds} className="" summary={<summary><code className="font-mono text-xs font-semibold">{f.name}</code> <span className="text-soft">{f.description}</span></summary>}>
          <JsonView value={f.parameters ?? {}} />
        </Fold>
      </div>
    )} />
  );
}
