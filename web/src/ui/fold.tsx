import { useState, type ReactNode } from 'react';

/** What users have folded and unfolded, for as long as a list is shown. Its items come and go while it scrolls. */
export type Folds = Map<string, boolean>;
export const useFolds = () => useState(() => new Map<string, boolean>())[0];

/** A part that can be folded. What is in it is there while it is open. summary is the element of that name. */
export function Fold({ id, folds, open: first = false, className, summary, children }: { id: string; folds: Folds; open?: boolean; className: string; summary: ReactNode; children: ReactNode }) {
  const [open, setOpen] = useState(folds.get(id) ?? first);
  return (
    <details
      open={open} className={className}
      onToggle={(e) => {
        setOpen(e.currentTarget.open);
        folds.set(id, e.currentTarget.open);
      }}
    >
      {summary}
      {open && children}
    </details>
  );
}
