import { useEffect, useRef, useSyncExternalStore } from 'react';
import { createPortal } from 'react-dom';

interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
  /** How often the same was said while it was shown. */
  count: number;
}

let toasts: Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();
const set = (next: Toast[]) => {
  toasts = next;
  for (const listener of listeners) listener();
};

const subscribe = (listener: () => void) => (listeners.add(listener), () => void listeners.delete(listener));

/** The most messages that are shown at once. */
const most = 3;

/** The messages with another one, as the latest. One that is there already is counted. */
export function withToast(list: Toast[], { id, text, tone }: Omit<Toast, 'count'>): Toast[] {
  const same = list.find((t) => t.text === text && t.tone === tone);
  return [...list.filter((t) => t !== same).slice(1 - most), { id, text, tone, count: (same?.count ?? 0) + 1 }];
}

/** Tells what has happened, for a moment. */
export function say(text: string, tone: Toast['tone'] = 'plain') {
  const id = ++last;
  set(withToast(toasts, { id, text, tone }));
  setTimeout(() => set(toasts.filter((t) => t.id !== id)), tone === 'bad' ? 8000 : 3000);
}

/** Where messages are shown. */
let place: HTMLElement | undefined;
const setPlace = (next: HTMLElement | undefined) => {
  place = next;
  for (const listener of listeners) listener();
};

/** A place for messages on the screen, instead of the one below it. It takes effect while it can be seen. */
export function ToastPlace() {
  const own = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const el = own.current!;
    const drop = () => place === el && setPlace(undefined);
    const sizes = new ResizeObserver(() => (el.getClientRects().length === 0 ? drop() : place !== el && setPlace(el)));
    sizes.observe(el);
    return () => (sizes.disconnect(), void drop());
  }, []);
  return <div ref={own} role="status" aria-live="polite" className="toasts" data-toasts />;
}

export function Toasts() {
  const [list, where] = [useSyncExternalStore(subscribe, () => toasts), useSyncExternalStore(subscribe, () => place)];
  const shown = list.map((t) => (
    <div key={t.id} className={`max-w-full rounded-md px-3 py-1.5 text-sm shadow-lg ${t.tone === 'bad' ? 'bg-bad text-sheet' : 'bg-ink text-paper'}`}>
      {t.text}{t.count > 1 && <span data-count={t.count}> ×{t.count}</span>}
    </div>
  ));
  return (
    <div role="status" aria-live="polite" className="toasts" data-toasts>
      {where ? createPortal(shown, where) : shown}
    </div>
  );
}
