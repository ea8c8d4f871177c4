import type { ReactNode } from 'react';

import type { Asks } from '../commands';
import { CurlMenu } from './menu';
import { Shown } from './parts';

/** A screen. call is what it was read with. */
export function Screen({ title, note, actions, call, children, wide, scope }: { call?: Asks; title: ReactNode; note?: ReactNode; actions?: ReactNode; children: ReactNode; wide?: boolean; scope?: ReactNode }) {
  return (
    <div className={`mx-auto w-full px-4 pt-5 pb-16 md:px-8 md:pt-8 ${wide ? 'max-w-[1200px]' : 'max-w-[960px]'}`}>
      {scope && <div className="mb-4 sm:max-w-[340px] xl:hidden">{scope}</div>}
      {/* On a phone, what can be done is below the title, and the menu of commands always beside it. */}
      <header className="mb-5 flex items-end gap-x-4 gap-y-2 max-sm:flex-wrap max-sm:items-start">
        <div className="min-w-0 flex-1">
          <h1>{title}</h1>
          {note && <p className="max-w-[68ch] text-pretty text-soft">{note}</p>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-1.5 max-sm:order-last max-sm:basis-full sm:-mr-2.5">{actions}</div>}
        <div className="flex max-sm:-mt-1.5 max-sm:-mr-2.5 max-sm:[header:has(h1>nav)_&]:mt-0">{call && <Shown call={call} />}<CurlMenu /></div>
      </header>
      {children}
    </div>
  );
}
