// Links to a moment of a session: makes, lists and revokes them.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Key, Share } from '../api/types';
import { moment } from '../log/dates';
import { Dialog } from '../ui/dialog';
import { Action, CopyText, Field, Loading, Problem } from '../ui/parts';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';

interface Props {
  open: boolean;
  onClose: () => void;
  id: Key;
  /** The event that is chosen, if one is. */
  at?: { id: string; number: number } | undefined;
}

const lives: [string, number][] = [['an hour', 3600], ['a day', 86_400], ['a week', 7 * 86_400], ['30 days', 30 * 86_400], ['a year', 365 * 86_400]];

export function ShareDialog({ open, onClose, id, at }: Props) {
  return (
    <Dialog open={open} onClose={onClose} title="Share the conversation" note="A link shows the conversation as it is now to everyone who has it, without signing in. What is said later is not shown, nor is the state." width="max-w-[560px]">
      {open && <Shares id={id} at={at} />}
    </Dialog>
  );
}

function Shares({ id, at }: Pick<Props, 'id' | 'at'>) {
  const client = useQueryClient();
  const key = ['shares', id];
  const [life, setLife] = useState(7 * 86_400);
  const [tools, setTools] = useState(false);
  const [here, setHere] = useState(false);
  const [made, setMade] = useState<Share>();
  const list = useQuery({ queryKey: key, queryFn: ({ signal }) => ask<Share[]>(calls.shares(id), signal) });
  const links = [...(list.data ?? [])].sort((a, b) => Number(b.id === made?.id) - Number(a.id === made?.id) || b.createTime - a.createTime);
  const failed = (error: Error) => say(error.message, 'bad');
  const call = calls.createShare(id, { expiresIn: life, includeTools: tools, ...(here && at ? { atEventId: at.id } : {}) });
  const create = () => void ask<Share>(call).then((share) => (setMade(share), client.invalidateQueries({ queryKey: key }))).catch(failed);
  const revoke = (share: Share) =>
    void ask(calls.revokeShare(id, share.id))
      .then(() => (say('The link is revoked.'), made?.id === share.id && setMade(undefined), client.invalidateQueries({ queryKey: key })))
      .catch(failed);
  return (
    <>
      <div className="space-y-3">
        <Field label="The link works for">
          <select className="field w-full" value={life} onChange={(e) => setLife(Number(e.target.value))}>
            {lives.map(([name, value]) => <option key={value} value={value}>{name}</option>)}
          </select>
        </Field>
        <Check checked={tools} set={setTools} label="Include tools" note="Their calls and results, thoughts, and the files that they have saved" />
        {at && <Check checked={here} set={setHere} label={`Only up to event ${at.number}`} note="The event that is selected" />}
        <div className="flex justify-end"><Action tone="primary" call={call} onClick={create}>Create a link</Action></div>
      </div>
      {made?.url && (
        <div data-made className="mt-3 rounded-md border border-good/50 bg-paper px-3 py-2">
          <p className="mb-1 font-semibold">The link is not shown again. Copy it now.</p>
          <div className="flex items-center gap-2">
            <input readOnly aria-label="Link" value={made.url} onFocus={(e) => e.target.select()} className="field min-w-0 flex-1 font-mono text-xs" />
            <CopyText text={made.url} label="Copy the link" />
          </div>
        </div>
      )}
      <section className="mt-4 border-t pt-3">
        <h2 className="label mb-1">Valid links</h2>
        {list.isPending && <Loading what="the links" />}
        {list.error && <Problem error={list.error} what="The links could not be listed" retry={() => void list.refetch()} />}
        {list.data?.length === 0 && <p className="text-soft">There are none.</p>}
        <ul>
          <Virtual as="li" items={links} keyOf={(share) => share.id} height={51} draw={(share, measured) => (
            <li {...measured} data-share={share.id} className="flex items-center gap-3 border-t py-1.5 data-[index=0]:border-t-0">
              <p className="min-w-0 flex-1">
                made {moment(share.createTime)}, {share.includeTools ? 'with tools' : 'without tools'}{share.id === made?.id && <b className="font-semibold">, just now</b>}
                <span className="block text-xs text-faint">until {moment(share.expireTime)}</span>
              </p>
              <Action tone="danger" call={calls.revokeShare(id, share.id)} onClick={() => revoke(share)}>Revoke</Action>
            </li>
          )} />
        </ul>
      </section>
    </>
  );
}

function Check({ checked, set, label, note }: { checked: boolean; set: (is: boolean) => void; label: string; note: string }) {
  return (
    <label className="flex items-start gap-2">
      <input type="checkbox" checked={checked} onChange={(e) => set(e.target.checked)} className="mt-1 size-3.5 shrink-0 accent-(--accent)" />
      <span>{label}<span className="block text-xs text-faint">{note}</span></span>
    </label>
  );
}
