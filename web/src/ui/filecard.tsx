import type { ReactNode } from 'react';

import { Icon } from './icons';

/** A file that cannot be shown: what it is called, what is known of it, and what can be done with it. */
export function FileCard({ name, about, note, children }: { name: string; about: string; note?: string; children?: ReactNode }) {
  return (
    <div data-file-card className="flex flex-wrap items-center gap-x-4 gap-y-3 rounded-lg border border-line bg-sheet px-4 py-3">
      <span className="text-accent"><Icon name="file" size={28} /></span>
      <div className="min-w-0 flex-1 basis-32">
        <p className="font-semibold [overflow-wrap:anywhere]">{name}</p>
        <p className="text-soft">{about}</p>
        {note && <p className="mt-0.5 text-xs text-faint">{note}</p>}
      </div>
      {children}
    </div>
  );
}
