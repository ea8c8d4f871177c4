import { useEffect, type ReactNode } from 'react';

import { calls } from '../../api/calls';
import type { Key } from '../../api/types';
import { useCommands, type Asks } from '../../commands';
import { Link, navigate, to } from '../../router';
import { Button, Status } from '../../ui/parts';
import { Screen } from '../../ui/screen';

const tabs = [
  { id: '', label: 'Steps' },
  { id: 'replay', label: 'Replay' },
  { id: 'variants', label: 'Variants' },
] as const;

interface Props {
  id: Key;
  run: string;
  tab: (typeof tabs)[number]['id'];
  /** What the session is called, and what was asked. */
  session: string;
  message: string;
  status?: string;
  note?: ReactNode;
  call?: Asks;
  children: ReactNode;
}

/** What the pages of a run have in common. */
export function RunFrame({ id, run, tab, session, message, status, note, call, children }: Props) {
  const compare = () => navigate(to.compare(id.app, id.user, [{ session: id.session, run }]));
  const conversation = `${to.session(id)}?run=${encodeURIComponent(run)}`;
  useEffect(() => {
    document.title = `${tabs.find((t) => t.id === tab)!.label} · ${message || run} · Parley`;
  }, [tab, message, run]);
  useCommands([
    ...tabs.filter((t) => t.id !== tab).map((t) => ({ label: `${t.id === '' ? 'Show the steps' : t.id === 'replay' ? 'Replay…' : 'Try variants…'}`, act: () => navigate(to.run(id, run, t.id)) })),
    { label: 'Compare the run with others…', act: compare },
    { label: 'Show the conversation', act: () => navigate(conversation) },
  ]);
  return (
    <Screen
      wide
      title={<span className="line-clamp-2 [overflow-wrap:anywhere]">{message || run}</span>}
      note={
        <span className="label block [overflow-wrap:anywhere]">
          <Link href={to.app(id.app)} className="hover:underline">{id.app}</Link>{' / '}
          <Link href={to.user(id.app, id.user, 'sessions')} className="hover:underline">{id.user}</Link>{' / '}
          <Link href={conversation} className="hover:underline">{session || id.session}</Link>
          {status && <span className="ml-3 inline-block align-top"><Status value={status} /></span>}
        </span>
      }
      call={call ?? calls.session(id)}
      actions={<><Button onClick={() => navigate(conversation)}>Conversation</Button><Button onClick={compare}>Compare…</Button></>}
    >
      <nav aria-label="The run" className="mb-5 flex gap-5 border-b">
        {tabs.map((t) => (
          <Link key={t.id} href={to.run(id, run, t.id)} aria-current={t.id === tab ? 'page' : undefined} className="-mb-px flex h-9 items-center border-b-2 border-transparent text-soft hover:text-ink aria-[current]:border-accent aria-[current]:font-semibold aria-[current]:text-ink">
            {t.label}
          </Link>
        ))}
      </nav>
      {note && <p className="-mt-2 mb-4 max-w-[68ch] text-pretty text-soft">{note}</p>}
      {children}
    </Screen>
  );
}

/** What was asked, on one line. */
export const messageOf = (text: string | undefined) => (text ?? '').trim().replaceAll(/\s+/g, ' ').slice(0, 160);
