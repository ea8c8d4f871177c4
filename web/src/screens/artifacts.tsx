import { useQuery as useData, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';

import { calls } from '../api/calls';
import { ask, ParleyError, send } from '../api/client';
import type { ArtifactVersion, Key } from '../api/types';
import { mostOfPDF, pagesOf, sizeText } from '../log/pdf';
import { Link, navigate, to, useQuery } from '../router';
import { Dialog, Footer } from '../ui/dialog';
import { FileCard } from '../ui/filecard';
import { Icon } from '../ui/icons';
import { JsonView } from '../ui/json';
import { Markdown } from '../ui/markdown';
import { Action, Button, Download, Empty, Field, Loading, Problem, Refusable, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';
import { isPicture, isSound, isVideo, Player, typeOf } from '../workbench/files';
import { useTitles } from './titles';

const shared = 'user:';

/** The files of a session, and those that all sessions of its user share. */
export default function ArtifactsScreen({ id, name }: { id: Key; name: string }) {
  const names = useData({ queryKey: ['artifacts', id], queryFn: ({ signal }) => ask<string[]>(calls.artifacts(id), signal) });
  const titles = useTitles(id.app, id.user);
  const [adding, setAdding] = useState(false);
  const groups: [string, string[]][] = [
    ['this session', (names.data ?? []).filter((n) => !n.startsWith(shared))],
    ['all sessions of the user', (names.data ?? []).filter((n) => n.startsWith(shared))],
  ];
  return (
    <Screen
      wide
      title="Artifacts"
      note={<>Files of <Link href={to.session(id)} className="font-semibold text-ink underline">{titles.get(id.session) || id.session}</Link> and files that all sessions of <b className="font-semibold text-ink">{id.user}</b> with <b className="font-semibold text-ink">{id.app}</b> share. Each change is kept as a version.</>}
      call={calls.artifacts(id)}
      actions={
        <>
          <Button command="Show the conversation" onClick={() => navigate(to.session(id))}>Conversation</Button>
          <Refusable command="Upload a file" tone="primary" icon="up" onClick={() => setAdding(true)}>Upload</Refusable>
        </>
      }
    >
      {names.isPending && <Loading what="the artifacts" />}
      {names.error && <Problem error={names.error} what="The artifacts could not be listed" retry={() => void names.refetch()} />}
      {names.data?.length === 0 && (
        <Empty title="No files yet" action={<Refusable icon="up" onClick={() => setAdding(true)}>Upload a file</Refusable>}>
          Tools save files here, and agents and people find them again by their names.
        </Empty>
      )}
      {names.data && names.data.length > 0 && (
        <div className="grid gap-5 lg:grid-cols-[260px_minmax(0,1fr)]">
          <nav aria-label="Files" className={name ? 'max-lg:hidden' : ''}>
            {groups.map(([title, list]) => list.length > 0 && (
              <section key={title} className="mb-4">
                <h2 className="label mb-0.5">{title}</h2>
                <ul>
                  <Virtual as="li" items={list} keyOf={(one) => one} height={32} draw={(one, measured) => (
                    <li {...measured}>
                      <Link href={to.artifact(id, one)} aria-current={one === name ? 'page' : undefined} className="flex min-h-8 items-center gap-2 rounded-md px-2 hover:bg-sunk aria-[current]:bg-tint aria-[current]:font-semibold max-lg:min-h-10">
                        <Icon name="file" size={14} />
                        <span className="min-w-0 truncate">{one.startsWith(shared) ? one.slice(shared.length) : one}</span>
                      </Link>
                    </li>
                  )} />
                </ul>
              </section>
            ))}
          </nav>
          {name ? <File key={name} id={id} name={name} /> : <p className="text-soft max-lg:hidden">Choose a file to see what is in it.</p>}
        </div>
      )}
      <Dialog open={adding} onClose={() => setAdding(false)} title="Upload a file" note="If there is one with that name, it gets another version.">
        <Upload id={id} name={name} done={() => setAdding(false)} />
      </Dialog>
    </Screen>
  );
}

function File({ id, name }: { id: Key; name: string }) {
  const client = useQueryClient();
  const wanted = useQuery().get('version');
  const [deleting, setDeleting] = useState(false);
  const versions = useData({
    queryKey: ['artifact-versions', id, name],
    queryFn: ({ signal }) => ask<ArtifactVersion[]>(calls.artifactVersions(id, name), signal),
  });
  const back = <Button icon="left" className="mb-2 lg:hidden" onClick={() => navigate(to.artifact(id))}>All files</Button>;
  if (versions.isPending) return <Loading what="the file" />;
  if (versions.error) return <Problem error={versions.error} what="The file could not be read" retry={() => void versions.refetch()} />;
  const list = [...versions.data].sort((a, b) => b.version - a.version);
  const chosen = wanted === null ? list[0] : list.find((v) => String(v.version) === wanted);
  if (!chosen) {
    return <div>{back}<Empty title={list.length === 0 ? 'File not found' : 'Version not found'} action={<Button onClick={() => navigate(to.artifact(id, list.length === 0 ? '' : name))}>{list.length === 0 ? 'Show all files' : 'Show the newest'}</Button>}><code className="font-mono text-xs">{name}</code></Empty></div>;
  }
  const call = calls.artifact(id, name, chosen.version);
  const remove = () =>
    void ask(calls.deleteArtifact(id, name))
      .then(() => {
        say('The file is deleted.');
        client.removeQueries({ queryKey: ['artifact-versions', id, name] });
        void client.invalidateQueries({ queryKey: ['artifacts', id] });
        navigate(to.artifact(id));
      })
      .catch((error: Error) => say(error.message, 'bad'));
  return (
    <article aria-label={name} className="min-w-0">
      {back}
      <header className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 max-sm:basis-full">
          <h2 className="truncate text-lg font-semibold" title={name}>{name.startsWith(shared) ? name.slice(shared.length) : name}</h2>
          <p className="text-soft"><span className="font-mono text-2xs">{chosen.mimeType || 'unknown type'}</span> · saved <When time={chosen.createTime} /></p>
        </div>
        <label className="flex items-center gap-1.5">
          <span className="label">version</span>
          <select className="field" value={chosen.version} onChange={(e) => navigate(to.artifact(id, name, Number(e.target.value)), { replace: true })}>
            {list.map((v) => <option key={v.version} value={v.version}>{v.version}{v === list[0] && list.length > 1 ? ', newest' : ''}</option>)}
          </select>
        </label>
        <Download command="Download the file" call={call} name={name.split('/').at(-1)}>Download</Download>
        <Refusable command="Delete the file" tone="danger" icon="trash" onClick={() => setDeleting(true)}>Delete</Refusable>
      </header>
      <Preview key={chosen.version} id={id} name={name} version={chosen} />
      {Object.keys(chosen.customMetadata).length > 0 && (
        <section className="mt-4">
          <h3 className="label mb-1">metadata</h3>
          <div className="rounded-md bg-sunk p-3"><JsonView value={chosen.customMetadata} /></div>
        </section>
      )}
      <Dialog open={deleting} onClose={() => setDeleting(false)} title="Delete the file?" note={<>{list.length === 1 ? 'The only version' : `All ${list.length} versions`} of {name} {list.length === 1 ? 'is' : 'are'} deleted. This cannot be undone.</>}>
        <Footer>
          <Button onClick={() => setDeleting(false)}>Cancel</Button>
          <Action tone="danger" icon="trash" call={calls.deleteArtifact(id, name)} onClick={remove}>Delete</Action>
        </Footer>
      </Dialog>
    </article>
  );
}

const mostText = 256 << 10;
const isText = (mimeType: string) => /^text\/|[/+](json|xml|yaml|x-yaml|javascript|typescript|x-ndjson|jsonl|toml|csv)\b/.test(mimeType);

const isMarkdown = (type: string, name: string) => /^text\/(x-)?markdown$/.test(type) || (type === 'text/plain' && /\.(md|markdown)$/i.test(name));

/** What is in a version, if it can be shown: what a file says of itself must not do anything here. */
function Preview({ id, name, version }: { id: Key; name: string; version: ArtifactVersion }) {
  const call = calls.artifact(id, name, version.version);
  const frame = 'overflow-auto rounded-lg border border-line bg-sheet';
  const type = typeOf(version);
  const [asSource, setAsSource] = useState(false);
  const text = useData({
    queryKey: ['artifact-text', id, name, version.version],
    enabled: isText(type),
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      let response: Response;
      try {
        response = await send(call, signal, { Range: `bytes=0-${mostText - 1}` });
      } catch (error) {
        if (error instanceof ParleyError && error.status === 416) return { text: '', more: 0 }; // it is empty
        throw error;
      }
      const size = Number(/\/(\d+)$/.exec(response.headers.get('Content-Range') ?? '')?.[1] ?? 0);
      return { text: await response.text(), more: Math.max(0, size - mostText) };
    },
  });
  if (isPicture(type)) return <div className={`${frame} p-3`}><img src={call.path} alt={name} className="max-h-[70vh] max-w-full" /></div>;
  if (isSound(type) || isVideo(type)) return <div className={`${frame} p-3`}><Player mimeType={type} address={call.path} name={name} /></div>;
  if (!isText(type)) return <Card id={id} name={name} version={version} type={type} />;
  if (text.isPending) return <Loading what="the text" />;
  if (text.error) return <Problem error={text.error} what="The file could not be read" retry={() => void text.refetch()} />;
  const markdown = isMarkdown(type, name) && text.data.text !== '';
  return (
    <>
      {markdown && <div className="mb-1.5 flex justify-end"><Button tone="quiet" aria-pressed={asSource} onClick={() => setAsSource(!asSource)}>{asSource ? 'Show the preview' : 'Show the source'}</Button></div>}
      <div className={`${frame} max-h-[70vh] px-4 py-3`} tabIndex={0} role="region" aria-label={`Content of ${name}`}>
        {text.data.text === '' ? <p className="text-soft">The file is empty.</p> : markdown && !asSource ? <Markdown text={text.data.text} /> : <Text type={type} text={text.data.text} />}
        {text.data.more > 0 && <p className="mt-2 text-soft">… and {Math.ceil(text.data.more / 1024)} KB more. Download it to see all.</p>}
      </div>
    </>
  );
}

/** A file without a preview. A browser shows a PDF in a viewer of its own, which runs scripts of the file and follows its links, and which Chrome does not start in a sandbox. */
function Card({ id, name, version, type }: { id: Key; name: string; version: ArtifactVersion; type: string }) {
  const pdf = type === 'application/pdf';
  const about = useData({
    queryKey: ['artifact-about', id, name, version.version],
    staleTime: Infinity,
    retry: false,
    queryFn: async ({ signal }) => {
      try {
        const response = await send(calls.artifact(id, name, version.version), signal, { Range: `bytes=0-${pdf ? mostOfPDF - 1 : 0}` });
        const beginning = new TextDecoder('latin1').decode(await response.arrayBuffer());
        const size = Number(/\/(\d+)$/.exec(response.headers.get('Content-Range') ?? '')?.[1] ?? beginning.length);
        return sizeText(size, pdf ? pagesOf(beginning, size) : undefined);
      } catch (error) {
        if (error instanceof ParleyError && error.status === 416) return sizeText(0); // it is empty
        throw error;
      }
    },
  });
  return (
    <FileCard
      name={name.split('/').at(-1)!}
      about={[pdf ? 'PDF document' : type || 'unknown type', about.data].filter(Boolean).join(', ')}
      note={pdf ? 'Download the PDF to read it. It is not shown here, because the viewer of the browser runs scripts of PDFs.' : 'Files of this type cannot be shown here. Download it to open it.'}
    />
  );
}

function Text({ type, text }: { type: string; text: string }) {
  if (type.endsWith('json')) {
    try {
      return <JsonView value={JSON.parse(text)} label="the file" />;
    } catch {
      // It says that it is JSON, and is not, or not all of it is here.
    }
  }
  return <pre className="json">{text}</pre>;
}

function Upload({ id, name: current, done }: { id: Key; name: string; done: () => void }) {
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<globalThis.File>();
  const [name, setName] = useState(current.startsWith(shared) ? current.slice(shared.length) : current);
  const [forAll, setForAll] = useState(current.startsWith(shared));
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const full = (forAll ? shared : '') + name.trim();
  const call = () => calls.putArtifact(id, full || 'name', file, file?.name ?? 'file', file?.type ?? '');
  const submit = async () => {
    if (!file) return setProblem('Choose a file.');
    if (!name.trim()) return setProblem('The file needs a name.');
    setBusy(true);
    try {
      const saved = await ask<ArtifactVersion>(call());
      say(`Saved as version ${saved.version}.`);
      void client.invalidateQueries({ queryKey: ['artifacts', id] });
      void client.invalidateQueries({ queryKey: ['artifact-versions', id, full] });
      done();
      navigate(to.artifact(id, full));
    } catch (error) {
      setBusy(false);
      setProblem(error instanceof ParleyError && error.status === 404 ? 'The session is not there any more.' : (error as Error).message);
    }
  };
  return (
    <form className="space-y-3" onSubmit={(e) => (e.preventDefault(), void submit())}>
      <div className="flex items-center gap-3">
        <input
          ref={input} type="file" className="hidden" tabIndex={-1} aria-hidden="true"
          onChange={(e) => {
            const one = e.target.files?.[0];
            if (!one) return;
            setFile(one);
            setProblem('');
            if (!name.trim()) setName(one.name);
          }}
        />
        <Button icon="file" onClick={() => input.current?.click()}>Choose a file</Button>
        <span className="min-w-0 truncate text-soft">{file ? `${file.name}, ${Math.ceil(file.size / 1024)} KB` : 'None is chosen.'}</span>
      </div>
      <Field label="name" note="It may have slashes."><input className="field w-full font-mono" value={name} onChange={(e) => setName(e.target.value)} /></Field>
      <label className="flex items-center gap-2">
        <input type="checkbox" checked={forAll} onChange={(e) => setForAll(e.target.checked)} className="size-4 accent-(--accent)" />
        <span>For all sessions of {id.user}</span>
      </label>
      {problem && <p role="alert" className="text-bad">{problem}</p>}
      <Footer>
        <Action tone="primary" icon="up" type="submit" call={call} disabled={busy}>Upload</Action>
      </Footer>
    </form>
  );
}
