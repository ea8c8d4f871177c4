// The page of a link to a moment of a session. It reads that, and asks the server for nothing else.
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';

import { ask, ParleyError } from './api/client';
import type { Event, Part } from './api/types';
import { moment } from './log/dates';
import { seconds } from './log/timeline';
import { toggleTheme } from './theme';
import { Icon, Mark, ThemeIcon } from './ui/icons';
import { Empty, Loading, Problem } from './ui/parts';
import { Virtual } from './ui/virtual';
import { isPicture } from './workbench/files';
import { Frame, PartView } from './workbench/rowview';

interface File {
  name: string;
  mimeType?: string;
  path?: string;
}

interface SharedEvent {
  turn: number;
  author: string;
  timestamp: number;
  parts: (Part & { file?: File })[];
  errorCode?: string;
  errorMessage?: string;
}

interface Shared {
  appName: string;
  title: string;
  includeTools: boolean;
  shareTime: number;
  expireTime: number;
  events: SharedEvent[];
}

const clock = (time: number) => new Date(time * 1000).toLocaleTimeString(undefined, { hour12: false });

export default function SharedScreen() {
  const here = window.location.pathname.replace(/\/$/, '');
  const shared = useQuery({ queryKey: ['shared', here], staleTime: Infinity, queryFn: ({ signal }) => ask<Shared>({ method: 'GET', path: `${here}/conversation` }, signal) });
  const title = shared.data ? shared.data.title || 'A conversation' : '';
  useEffect(() => {
    if (title) document.title = `${title} · Parley`;
  }, [title]);
  return (
    <div className="flex h-full flex-col">
      <header className="flex shrink-0 items-center gap-3 border-b bg-sheet px-4 py-2 md:px-6">
        <span className="text-accent"><Mark /></span>
        <div className="min-w-0 flex-1">
          {shared.data && <p className="label truncate">{shared.data.appName}</p>}
          <h1 className="truncate">{title || 'A shared conversation'}</h1>
        </div>
        <button type="button" aria-label="Switch between light and dark" title="Switch between light and dark" onClick={toggleTheme} className="flex size-7 shrink-0 items-center justify-center rounded-md text-soft hover:bg-sunk hover:text-ink max-md:size-9"><ThemeIcon /></button>
      </header>
      <main id="main" className="min-h-0 flex-1 overflow-y-auto" tabIndex={-1}>
        {shared.isPending && <div className="p-8"><Loading what="the conversation" /></div>}
        {shared.error && (
          <div className="mx-auto max-w-[640px] p-4 md:p-8">
            {shared.error instanceof ParleyError && shared.error.status === 404 ? (
              <Empty title="There is nothing here">The link has expired, or was revoked.</Empty>
            ) : (
              <Problem error={shared.error} what="The conversation could not be read" retry={() => void shared.refetch()} />
            )}
          </div>
        )}
        {shared.data && <Conversation of={shared.data} base={here} />}
      </main>
    </div>
  );
}

function Conversation({ of, base }: { of: Shared; base: string }) {
  const starts = new Map([...of.events].reverse().map((e) => [e.turn, e.timestamp]));
  return (
    <div className="mx-auto max-w-[980px] pb-8">
      <p data-about className="px-4 py-3 text-soft md:px-6">
        A conversation as it was on <time dateTime={new Date(of.shareTime * 1000).toISOString()}>{moment(of.shareTime)}</time>. {of.includeTools ? 'Tool calls are shown.' : 'Tool calls are not shown.'} The link works until {moment(of.expireTime)}.
      </p>
      <ol aria-label="Events">
        <Virtual as="li" items={of.events} keyOf={(_, i) => String(i)} height={44} draw={(event, measured) => {
          const i = measured['data-index'];
          const before = of.events[i - 1];
          const first = event.turn !== before?.turn;
          const start = starts.get(event.turn)!;
          return (
            <li {...measured} data-row className="flow-root">
              {first && i > 0 && <div className="ml-[40px] h-4 border-l border-l-rule md:ml-[60px]" aria-hidden="true" />}
              <Frame
                number={i + 1}
                author={event.author}
                same={!first && before?.author === event.author}
                tone={event.errorCode ? 'bad' : event.author === 'user' ? 'user' : 'agent'}
                label={`${event.author}, event ${i + 1}`}
                note={first ? clock(event.timestamp) : `+${event.timestamp - start < 0.001 ? '0 ms' : seconds(event.timestamp - start)}`}
              >
                {event.parts.map((part, j) => (part.file ? <FileView key={j} file={part.file} base={base} /> : <PartView key={j} part={part} event={{ author: event.author } as Event} hide={[]} />))}
                {event.errorCode && <p className="text-bad"><b className="font-mono text-xs">{event.errorCode}</b> {event.errorMessage}</p>}
              </Frame>
            </li>
          );
        }} />
      </ol>
    </div>
  );
}

/** A file that was sent or saved. */
function FileView({ file, base }: { file: File; base: string }) {
  if (!file.path) return <p className="truncate font-mono text-2xs leading-5 text-faint">file {file.name}</p>;
  const address = `${base}/${file.path}`;
  if (isPicture(file.mimeType ?? '')) return <img src={address} alt={file.name} className="my-1 max-h-72 min-h-8 min-w-8 max-w-full rounded-md border border-line bg-sheet" />;
  return (
    <a href={address} download={file.name.split('/').at(-1)} className="my-1 inline-flex max-w-full items-center gap-2 rounded-md border border-line bg-sheet px-2.5 py-1 hover:border-rule max-md:min-h-9">
      <Icon name="file" /> <span className="min-w-0 truncate">{file.name}</span>
    </a>
  );
}
