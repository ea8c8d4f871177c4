import { useSyncExternalStore } from 'react';

interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
}

let toasts: Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();
const set = (next: Toast[]) => {
  toasts = next;
  for (const listener of listeners) listener();
};

/** Tells what has happened, for a moment. */
export function say(text: string, tone: Toast['tone'] = 'plain') {
  const id = ++last;
  set([...toasts.slice(-2), { id, text, tone }]);
  setTimeout(() => set(toasts.filter((t) => t.id !== id)), tone === 'bad' ? 8000 : 3000);
}

export function Toasts() {
  const list = useSyncExternalStore((listener) => (listeners.add(listener), () => void listeners.delete(listener)), () => toasts);
  return (
    <div role="status" aria-live="polite" className="toasts" data-toasts>
      {list.map((t) => (
        <div key={t.id} className={`max-w-full rounded-md px-3 py-1.5 text-sm shadow-lg ${t.tone === 'bad' ? 'bg-bad text-sheet' : 'bg-ink text-paper'}`}>
          {t.text}
        </div>
      ))}
    </div>
  );
}
