import { useQuery as useData } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';

import { calls, type Call } from '../api/calls';
import { ask, attempt } from '../api/client';
import type { Json, JsonObject } from '../api/types';
import { expand, exampleBody, operationsOf, type Operation } from '../log/openapi';
import { setQuery, useQuery } from '../router';
import { useScope } from '../scope';
import { JsonView } from '../ui/json';
import { Markdown } from '../ui/markdown';
import { CurlMenu } from '../ui/menu';
import { Long } from '../ui/more';
import { Action, Button, Field, Loading, Problem, Shown, copyCurl } from '../ui/parts';
import { Virtual } from '../ui/virtual';

/** The document that describes the server, and a way to try it. */
export default function ApiScreen() {
  const doc = useData({ queryKey: ['openapi'], staleTime: Infinity, queryFn: ({ signal }) => ask<JsonObject>(calls.document(), signal) });
  const wanted = useQuery().get('operation');
  const [search, setSearch] = useState('');
  const operations = useMemo(() => (doc.data ? operationsOf(doc.data) : []), [doc.data]);
  const chosen = operations.find((o) => o.id === wanted);
  const words = search.toLowerCase();
  const rows = useMemo(() => rowsOf(operations.filter((o) => `${o.method} ${o.path} ${o.summary}`.toLowerCase().includes(words))), [operations, words]);
  const list = useRef<HTMLElement>(null);
  const toItem = useRef<(index: number) => void>(null);
  // Shows the operation that an address names in the list, which is long. One that was clicked is in view.
  useEffect(() => {
    const item = list.current?.querySelector('[aria-current=true]');
    if (item) item.scrollIntoView({ block: 'nearest' });
    else if (chosen && rows.includes(chosen)) toItem.current?.(rows.indexOf(chosen));
  }, [chosen]);
  if (doc.isPending) return <div className="p-8"><Loading what="the document" /></div>;
  if (doc.error) return <div className="p-8"><Problem error={doc.error} what="The document could not be read" retry={() => void doc.refetch()} /></div>;
  return (
    <div className="flex h-full max-md:flex-col">
      <aside ref={list} data-scrolls className={`shrink-0 overflow-y-auto border-r md:w-[330px] ${chosen ? 'max-md:hidden' : ''}`}>
        <div className="px-3 py-4">
          <div className="mb-3 flex items-center gap-2 px-1">
            <h1 className="flex-1">API</h1>
            <Shown call={calls.document()} />
            <CurlMenu />
          </div>
          <input data-search type="search" aria-label="Search operations" placeholder="Search operations   /" className="field mb-3 w-full" value={search} onChange={(e) => setSearch(e.target.value)} />
          {rows.length === 0 && <p className="px-1 text-soft">No matches</p>}
          <ul>
            <Virtual as="li" items={rows} keyOf={(row) => (typeof row === 'string' ? `tag ${row}` : row.id)} height={46} toItem={toItem} draw={(row, measured) => (typeof row === 'string' ? (
              <li {...measured}><h2 className={`label px-1 ${measured['data-index'] > 0 ? 'pt-3' : ''}`}>{row}</h2></li>
            ) : (
              <li {...measured}>
                <button type="button" aria-current={row.id === wanted} onClick={() => setQuery({ operation: row.id })} className="w-full rounded-md px-1.5 py-1 text-left hover:bg-sunk max-md:min-h-9 aria-[current=true]:bg-tint">
                  <span className="block truncate">{row.summary}</span>
                  <span className="block truncate font-mono text-2xs text-faint"><Method name={row.method} /> {row.path}</span>
                </button>
              </li>
            ))} />
          </ul>
        </div>
      </aside>
      <div className={`min-w-0 flex-1 overflow-y-auto ${chosen ? '' : 'max-md:hidden'}`} tabIndex={0} role="region" aria-label="Operation">
        <div className="mx-auto max-w-[760px] px-4 py-6 md:px-8">
          {chosen ? (
            <OperationView key={chosen.id} operation={chosen} doc={doc.data} back={() => setQuery({ operation: undefined })} />
          ) : (
            <Markdown text={String((doc.data['info'] as JsonObject)['description'] ?? '')} />
          )}
        </div>
      </div>
    </div>
  );
}

/** Operations, each tag before those that have it. */
const rowsOf = (operations: Operation[]): (Operation | string)[] => [...new Set(operations.map((o) => o.tag))].flatMap((tag) => [tag, ...operations.filter((o) => o.tag === tag)]);

const methodTone: Record<string, string> = { GET: 'text-busy', POST: 'text-good', PATCH: 'text-wait', DELETE: 'text-bad' };

function Method({ name }: { name: string }) {
  return <b className={`font-mono font-semibold ${methodTone[name] ?? ''}`}>{name}</b>;
}

function OperationView({ operation, doc, back }: { operation: Operation; doc: JsonObject; back: () => void }) {
  const scope = useScope();
  const [values, setValues] = useState<Record<string, string>>({});
  const [body, setBody] = useState('');
  const [result, setResult] = useState<{ status: number; took: number; text: string; headers: [string, string][] }>();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    setValues({ app: scope.app ?? '', user: scope.user });
    const example = exampleBody(operation, doc);
    setBody(example === undefined ? '' : typeof example === 'string' ? example : JSON.stringify(fill(example, scope.app ?? '', scope.user), null, 2));
  }, [operation, doc]);

  const call = (): Call => {
    const type = operation.bodyType && operation.bodyType !== 'application/json' ? { type: operation.bodyType } : {};
    return {
      method: operation.method as Call['method'],
      path: expand(operation, values),
      ...(operation.bodyType && body ? { body: type.type ? body : (JSON.parse(body) as Json), ...type } : {}),
    };
  };
  const submit = async () => {
    setProblem('');
    const missing = shown.find((p) => p.required && !values[p.name]);
    if (missing) return setProblem(`${missing.name} is needed.`);
    setBusy(true);
    const began = performance.now();
    try {
      const response = await attempt(call());
      const text = await response.text();
      setResult({ status: response.status, took: performance.now() - began, text, headers: [...response.headers] });
    } catch (error) {
      setProblem(error instanceof SyntaxError ? 'The body is not JSON.' : (error as Error).message);
    }
    setBusy(false);
  };
  const asked = () => { try { return call(); } catch { return { method: operation.method as Call['method'], path: expand(operation, values), body }; } };
  const shown = operation.parameters.filter((p) => p.in !== 'header');
  const field = (name: string) => ({ className: 'field w-full font-mono text-xs', value: values[name] ?? '', onChange: (e: { target: { value: string } }) => setValues({ ...values, [name]: e.target.value }) });
  return (
    <article>
      <Button tone="quiet" className="mb-2 -ml-2.5 md:hidden" onClick={back}>All operations</Button>
      <h2 className="text-lg font-semibold">{operation.summary}</h2>
      <p className="mb-3 font-mono text-xs break-all"><Method name={operation.method} /> {operation.path}</p>
      {operation.description && <Markdown text={operation.description} />}
      <form className="mt-5 space-y-3 rounded-lg border border-line bg-sheet p-4" onSubmit={(e) => (e.preventDefault(), void submit())}>
        <h3 className="label">try it, on this server</h3>
        {shown.length > 0 && <div className="grid gap-3 sm:grid-cols-2">
          {shown.map((p) => (
            <Field key={p.name} label={p.required ? p.name : `${p.name} (optional)`} note={<Small text={p.description} />}><input {...field(p.name)} /></Field>
          ))}
        </div>}
        {operation.bodyType && (
          <Field label={`body, ${operation.bodyType}`}>
            <textarea rows={Math.min(14, Math.max(4, body.split('\n').length))} spellCheck={false} className="field field-sizing-content max-h-[min(60vh,480px)] min-h-[82px] w-full font-mono text-xs" value={body} onChange={(e) => setBody(e.target.value)} />
          </Field>
        )}
        {problem && <p role="alert" className="text-bad">{problem}</p>}
        <div className="flex items-center gap-2">
          <Action command="Send the request" tone="primary" type="submit" disabled={busy} call={asked}>{busy ? 'Waiting…' : 'Send'}</Action>
          <Button tone="quiet" icon="curl" onClick={() => copyCurl(asked)}>Copy as curl</Button>
          {operation.method !== 'GET' && <span className="text-xs text-faint">This changes what is on the server.</span>}
        </div>
      </form>
      {result && (
        <section aria-label="Answer" className="mt-4">
          <p className="mb-1 font-mono text-xs"><b className={result.status < 300 ? 'text-good' : 'text-bad'}>{result.status}</b> <span className="text-faint">{Math.round(result.took)} ms</span></p>
          <div className="overflow-x-auto rounded-md bg-sunk p-3"><Answer text={result.text} /></div>
        </section>
      )}
      <section className="mt-6">
        <h3 className="label mb-1">answers</h3>
        <dl className="grid grid-cols-[44px_1fr] gap-y-1">
          {operation.responses.map((r) => (
            <div key={r.status} className="contents"><dt className="font-mono text-xs">{r.status}</dt><dd className="min-w-0 text-soft"><Small text={r.description} /></dd></div>
          ))}
        </dl>
      </section>
    </article>
  );
}

/** A sentence or two of the document, which may have code in them. */
const Small = ({ text }: { text: string }) => (text ? <div className="small"><Markdown text={text} /></div> : null);

function Answer({ text }: { text: string }) {
  try {
    return <JsonView value={JSON.parse(text)} label="the response" />;
  } catch {
    return <pre className="json"><Long text={text} most={20_000} /></pre>;
  }
}

/** The example of the document, about the application at hand. */
function fill(example: Json, app: string, user: string): Json {
  if (typeof example !== 'object' || example === null || Array.isArray(example)) return example;
  const out: JsonObject = { ...example };
  if ('appName' in out) out['appName'] = app;
  if ('userId' in out) out['userId'] = user;
  return out;
}
