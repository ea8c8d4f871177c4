import type { ReactNode } from 'react';

import { Scroll } from './scroll';

export interface Column {
  name: string;
  /** From when on there is room for it. */
  from?: 'sm' | 'md';
  /** It has numbers, at its right edge. */
  end?: boolean;
  /** It has a box to mark the row before its text. */
  marks?: boolean;
}

const room = { sm: 'max-sm:hidden', md: 'max-md:hidden' };

/** A list of things with columns, the last of which is for what can be done to them. rows is how many there are, as some may not be in the document. */
export function Table({ columns, rows, children }: { columns: Column[]; rows?: number; children: ReactNode }) {
  return (
    <Scroll label="Table" className="rounded-lg border border-line bg-sheet">
      <table className="w-full border-collapse" {...(rows === undefined ? {} : { 'aria-rowcount': rows + 1 })}>
        <thead>
          <tr className="label text-left">
            {columns.map((column, i) => (
              <th key={column.name} className={`py-1.5 font-normal ${column.marks ? 'pr-4 pl-9' : i === 0 ? 'px-4' : 'px-2'} ${column.end ? 'text-right' : ''} ${column.from ? room[column.from] : ''}`}>{column.name}</th>
            ))}
            <th className="w-10"><span className="sr-only">Actions</span></th>
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scroll>
  );
}
