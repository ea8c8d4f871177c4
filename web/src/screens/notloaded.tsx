import type { ReactNode } from 'react';

import { Icon } from '../ui/icons';
import { Kbd } from '../ui/parts';

/** What to do about an application that cannot be loaded. */
export const fixIt = <>Fix the file and save it. A server with <Kbd>--reload_agents</Kbd> loads it by itself; others have to be started again.</>;

/** Why code cannot be loaded, with file and line. */
export function NotLoaded({ title, why, children }: { title: string; why: string; children: ReactNode }) {
  return (
    <section role="alert" className="overflow-hidden rounded-lg border border-bad/50 bg-sheet">
      <p className="flex items-center gap-1.5 bg-badtint px-4 py-2 font-semibold text-bad"><Icon name="alert" size={14} /> {title}</p>
      <pre className="json px-4 py-3">{why}</pre>
      <p className="border-t px-4 py-2 text-soft">{children}</p>
    </section>
  );
}
