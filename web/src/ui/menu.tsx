import * as Radix from '@radix-ui/react-dropdown-menu';
import type { ReactNode } from 'react';

import { Icon, type IconName } from './icons';

export interface Item {
  label: string;
  icon?: IconName;
  act: () => void;
  danger?: boolean;
}

/** A menu. It does not lock the page behind it. */
export function Menu({ trigger, items }: { trigger: ReactNode; items: (Item | 'line')[] }) {
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
