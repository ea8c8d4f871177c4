import * as Radix from '@radix-ui/react-tabs';
import type { ReactNode } from 'react';

export interface Tab {
  id: string;
  label: ReactNode;
  content: ReactNode;
}

export function Tabs({ tabs, value, onChange, label }: { tabs: Tab[]; value: string; onChange: (id: string) => void; label: string }) {
  return (
    <Radix.Root value={value} onValueChange={onChange} className="flex min-h-0 flex-1 flex-col">
      <Radix.List aria-label={label} className="flex shrink-0 gap-4 overflow-x-auto border-b px-4">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="-mb-px h-9 border-b-2 border-transparent text-sm whitespace-nowrap text-soft hover:text-ink data-[state=active]:border-accent data-[state=active]:font-semibold data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="min-h-0 flex-1 overflow-y-auto px-4 py-3" tabIndex={0}>
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
