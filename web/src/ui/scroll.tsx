import { useLayoutEffect, useRef, useState, type CSSProperties, type ReactNode, type RefObject } from 'react';

/** On which sides of a box there is more than can be seen. */
export type More = '' | 'start' | 'end' | 'both';

export function moreOf(box: Pick<HTMLElement, 'scrollWidth' | 'clientWidth' | 'scrollLeft'>): More {
  const hidden = box.scrollWidth - box.clientWidth;
  if (hidden <= 1) return ''; // sizes are rounded
  if (box.scrollLeft <= 1) return 'end';
  return box.scrollLeft >= hidden - 1 ? 'start' : 'both';
}

/** Above and below which edge of a box there is more than can be seen. */
export const tallOf = (box: Pick<HTMLElement, 'scrollHeight' | 'clientHeight' | 'scrollTop'>): More => moreOf({ scrollWidth: box.scrollHeight, clientWidth: box.clientHeight, scrollLeft: box.scrollTop });

/** Watches a box that scrolls sideways, or with tallOf up and down. When what is in it is exchanged, so is content. */
export function useMore(box: RefObject<HTMLElement | null>, content?: unknown, of: (box: HTMLElement) => More = moreOf): More {
  const [more, setMore] = useState<More>('');
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const look = () => setMore(of(el));
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

/** How large the scroll bars of a box are, as styles. They do not fade with what they scroll. */
export const barsOf = (box: HTMLElement | null) => ({ '--bar-right': `${box ? box.offsetWidth - box.clientWidth : 0}px`, '--bar-below': `${box ? box.offsetHeight - box.clientHeight : 0}px` }) as CSSProperties;

/** A text that scrolls both ways when it does not fit, and shows it at its edges. */
export function ScrollText({ label, children }: { label: string; children: ReactNode }) {
  const box = useRef<HTMLPreElement>(null);
  const [more, tall] = [useMore(box, children), useMore(box, children, tallOf)];
  return (
    <div className="more" data-more={more} data-tall={tall} style={barsOf(box.current)}>
      <pre ref={box} tabIndex={0} aria-label={label}>{children}</pre>
    </div>
  );
}

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
