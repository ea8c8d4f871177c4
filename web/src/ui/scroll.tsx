import { useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from 'react';

/** On which sides of a box there is more than can be seen. */
export type More = '' | 'start' | 'end' | 'both';

export function moreOf(box: Pick<HTMLElement, 'scrollWidth' | 'clientWidth' | 'scrollLeft'>): More {
  const hidden = box.scrollWidth - box.clientWidth;
  if (hidden <= 1) return ''; // sizes are rounded
  if (box.scrollLeft <= 1) return 'end';
  return box.scrollLeft >= hidden - 1 ? 'start' : 'both';
}

/** Watches a box that scrolls sideways. When what is in it is exchanged, so is content. */
export function useMore(box: RefObject<HTMLElement | null>, content?: unknown): More {
  const [more, setMore] = useState<More>('');
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const look = () => setMore(moreOf(el));
    look();
    const sizes = new ResizeObserver(look);
    for (const one of [el, ...el.children]) sizes.observe(one);
    el.addEventListener('scroll', look, { passive: true });
    return () => (sizes.disconnect(), el.removeEventListener('scroll', look));
  }, [box, content]);
  return more;
}

/** What a box needs so that it can be scrolled with the keyboard. One that does not scroll is no stop of the tab key. */
export const scrollable = (more: More, label: string) => (more ? { role: 'group', 'aria-label': label, tabIndex: 0 } : {});

/** A box that scrolls sideways when its content is too wide, and shows it at its edges. */
export function Scroll({ label, className = '', inner = '', children }: { label: string; className?: string; inner?: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const more = useMore(box);
  return (
    <div className={`more overflow-hidden ${className}`} data-more={more}>
      <div ref={box} className={`overflow-x-auto ${inner}`} {...scrollable(more, label)}>{children}</div>
    </div>
  );
}
