import * as Radix from '@radix-ui/react-tabs';
import { useRef, type ReactNode } from 'react';

import { useMore } from './scroll';

export interface Tab {
  id: string;
  label: ReactNode;
  content: ReactNode;
}

/** Tabs of which the panels are elsewhere. */
export function TabList<T extends string>({ tabs, value, onChange, label, className, each }: { tabs: readonly [id: T, label: string][]; value: T; onChange: (id: T) => void; label: string; className: string; each: string }) {
  return (
    <Radix.Root value={value} onValueChange={(id) => onChange(id as T)} className="shrink-0">
      <Radix.List aria-label={label} className={className}>
        {tabs.map(([id, name]) => (
          <Radix.Trigger key={id} value={id} aria-controls={undefined} className={`h-9 border-b-2 border-transparent text-soft aria-selected:border-accent aria-selected:font-semibold aria-selected:text-ink ${each}`}>
            {name}
          </Radix.Trigger>
        ))}
      </Radix.List>
    </Radix.Root>
  );
}

export function Tabs({ tabs, value, onChange, label }: { tabs: Tab[]; value: string; onChange: (id: string) => void; label: string }) {
  const list = useRef<HTMLDivElement>(null);
  const more = useMore(list, tabs.length);
  return (
    <Radix.Root value={value} onValueChange={onChange} className="flex min-h-0 flex-1 flex-col">
      <div className="more shrink-0" data-more={more}>
        <Radix.List ref={list} aria-label={label} className="flex gap-4 overflow-x-auto border-b px-4 max-sm:gap-2.5">
          {tabs.map((tab) => (
            <Radix.Trigger
              key={tab.id}
              value={tab.id}
              className="-mb-px h-9 shrink-0 border-b-2 border-transparent text-sm whitespace-nowrap text-soft hover:text-ink data-[state=active]:border-accent data-[state=active]:font-semibold data-[state=active]:text-ink"
            >
              {tab.label}
            </Radix.Trigger>
          ))}
        </Radix.List>
      </div>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} data-scrolls className="min-h-0 flex-1 overflow-y-auto px-4 py-3" tabIndex={0}>
          <div>{tab.content}</div>
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
