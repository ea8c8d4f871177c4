import * as Radix from '@radix-ui/react-dropdown-menu';
import type { ReactNode } from 'react';

import { Icon, type IconName } from './icons';
import { copyCurl, type Asks } from './parts';

export interface Item {
  label: string;
  icon?: IconName;
  act: () => void;
  danger?: boolean;
  /** What it asks the server for; it can be copied, further down. */
  call?: Asks;
}

const asCommands = (items: Item[]): Item[] =>
  items.flatMap(({ label, call }) => (call ? [{ label: `Copy ${label.toLowerCase()} as curl`, icon: 'curl', act: () => copyCurl(call) }] : []));

/** A menu: what can be done, the same as commands, and what cannot be undone. It does not lock the page behind it. */
export function Menu({ trigger, items: all }: { trigger: ReactNode; items: Item[] }) {
  const groups = [all.filter((i) => !i.danger), asCommands(all), all.filter((i) => i.danger)].filter((g) => g.length > 0);
  const items = groups.flatMap((group, i) => (i === 0 ? group : ['line' as const, ...group]));
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content align="end" sideOffset={4} className="z-40 min-w-[190px] rounded-md border border-rule bg-sheet p-1 shadow-xl">
          {items.map((item, i) =>
            item === 'line' ? (
              <Radix.Separator key={i} className="my-1 h-px bg-line" />
            ) : (
              <Radix.Item
                key={item.label}
                onSelect={item.act}
                className={`flex cursor-pointer items-center gap-2 rounded-sm px-2 py-1 text-sm outline-none data-highlighted:bg-tint max-md:py-2 ${item.danger ? 'text-bad' : ''}`}
              >
                {item.icon ? <Icon name={item.icon} /> : <span className="w-4" />}
                {item.label}
              </Radix.Item>
            ),
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
