import type { ReactNode } from 'react';

import type { Asks } from '../commands';
import { CurlMenu } from './menu';
import { Shown } from './parts';

/** A screen. call is what it was read with. */
export function Screen({ title, note, actions, call, children, wide, scope }: { call?: Asks; title: ReactNode; note?: ReactNode; actions?: ReactNode; children: ReactNode; wide?: boolean; scope?: ReactNode }) {
  return (
    <div className={`mx-auto w-full px-4 pt-5 pb-16 md:px-8 md:pt-8 ${wide ? 'max-w-[1200px]' : 'max-w-[960px]'}`}>
      {scope && <div className="mb-4 sm:max-w-[340px] xl:hidden">{scope}</div>}
      <header className={`mb-5 flex items-end gap-x-4 gap-y-2 ${actions ? 'flex-wrap' : 'max-sm:items-start'}`}>
        <div className={`min-w-0 flex-1 ${actions ? 'max-sm:basis-full' : ''}`}>
          <h1>{title}</h1>
          {note && <p className="max-w-[68ch] text-pretty text-soft">{note}</p>}
        </div>
        <div className="flex flex-wrap items-center gap-1.5">{call && <Shown call={call} />}{actions}<CurlMenu /></div>
      </header>
      {children}
    </div>
  );
}
