import * as Radix from '@radix-ui/react-dropdown-menu';
import { useState, type ReactNode } from 'react';

import { useRefusal } from '../caller';
import { requestsNow, type Asks } from '../commands';
import { Icon, type IconName } from './icons';
import { Button, copyCurl } from './parts';

export interface Item {
  label: string;
  icon?: IconName;
  act: () => void;
  danger?: boolean;
  /** It leads to a change that the server may refuse. Those with a call need not say so. */
  changes?: boolean;
  /** What it asks the server for; it can be copied, in a menu of its own. */
  call?: Asks;
}

const box = 'z-40 max-h-(--radix-dropdown-menu-content-available-height) min-w-[190px] max-w-[320px] overflow-y-auto rounded-md border border-rule bg-sheet p-1 shadow-xl';
const line = 'flex cursor-pointer items-center gap-2 rounded-sm px-2 py-1 text-sm outline-none data-disabled:cursor-default data-disabled:opacity-45 data-highlighted:bg-tint max-md:py-2';

function Entry({ label, icon, act, danger, call, changes }: Item) {
  const refusal = useRefusal();
  const why = changes ? refusal('run') : call && refusal(call);
  return (
    <Radix.Item onSelect={act} disabled={why !== undefined} title={why} className={`${line} ${danger ? 'text-bad' : ''}`}>
      {icon ? <Icon name={icon} /> : <span className="w-4" />}
      <span className="min-w-0 truncate">{label}</span>
    </Radix.Item>
  );
}

/** A menu: what can be done, and in its place, the same as commands. It does not lock the page behind it. */
export function Menu({ trigger, items }: { trigger: ReactNode; items: Item[] }) {
  const [commands, setCommands] = useState(false);
  const calls = items.filter((i) => i.call);
  const dangerous = items.filter((i) => i.danger);
  return (
    <Radix.Root modal={false} onOpenChange={() => setCommands(false)}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content align="end" sideOffset={4} collisionPadding={8} className={box}>
          {commands ? (
            <Commands of={calls} />
          ) : (
            <>
              {items.filter((i) => !i.danger).map((item) => <Entry key={item.label} {...item} />)}
              {calls.length > 0 && (
                <Radix.Item onSelect={(e) => (e.preventDefault(), setCommands(true))} className={line}>
                  <Icon name="curl" /><span className="flex-1">Copy as curl</span><Icon name="right" size={12} />
                </Radix.Item>
              )}
              {dangerous.length > 0 && <Radix.Separator className="my-1 h-px bg-line" />}
              {dangerous.map((item) => <Entry key={item.label} {...item} />)}
            </>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Requests, each of which can be copied. */
function Commands({ of }: { of: { label: string; icon?: IconName; call?: Asks }[] }) {
  return (
    <div data-commands>
      <Radix.Label className="label px-2 py-1">copy as curl</Radix.Label>
      {of.map(({ label, icon = 'curl', call }) => <Entry key={label} label={label} icon={icon} act={() => copyCurl(call!)} />)}
    </div>
  );
}

/** All that can be seen and asks the server for something, as commands for a terminal. */
export function CurlMenu() {
  const [found, setFound] = useState<ReturnType<typeof requestsNow>>([]);
  const [trigger, setTrigger] = useState<HTMLElement | null>(null);
  const look = (open: boolean) => open && setFound(requestsNow(trigger?.closest('[role=dialog]') ?? null));
  return (
    <Radix.Root modal={false} onOpenChange={look}>
      <Radix.Trigger asChild ref={setTrigger}>
        <Button tone="quiet" icon="curl" bare>Copy as curl</Button>
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content align="end" sideOffset={4} collisionPadding={8} className={box}>
          <Commands of={found} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
