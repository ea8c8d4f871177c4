import { useVirtualizer } from '@tanstack/react-virtual';
import { Fragment, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState, type ReactNode, type Ref } from 'react';

/** Up to how many items are all in the document, where the browser can search in them. */
const few = 50;

/** What an item puts on its element, so that its height is known, and its place in the list where only a part of it is in the document. */
export interface Measured {
  'data-index': number;
  ref: (element: HTMLElement | null) => void;
  'aria-rowindex'?: number;
  'aria-posinset'?: number;
  'aria-setsize'?: number;
}

interface Props<T> {
  items: readonly T[];
  keyOf: (item: T, index: number) => string;
  /** The height of an item, roughly, in pixels. */
  height: number;
  draw: (item: T, measured: Measured) => ReactNode;
  /** The elements of the items. The distance between two is a part of one of them: margins are not measured. */
  as?: 'div' | 'li' | 'tr';
  /** Scrolls to an item, which is then in the document. */
  toItem?: Ref<(index: number) => void>;
}

/**
 * A list of any length in an area that scrolls: in the screen, or in an element with data-scrolls.
 * Of long ones, only what can be seen is in the document.
 */
export function Virtual<T>({ items, keyOf, height, draw, as: Space = 'div', toItem }: Props<T>) {
  const long = items.length > few;
  const start = useRef<HTMLElement>(null);
  const [margin, setMargin] = useState(0);
  const area = () => start.current?.closest<HTMLElement>('[data-scrolls], #main') ?? null;
  const virtual = useVirtualizer({
    count: items.length, enabled: long, getScrollElement: area, estimateSize: () => height, getItemKey: (i) => keyOf(items[i]!, i), overscan: 4, scrollMargin: margin,
  });
  const place = () => {
    const scrolls = area();
    if (long && scrolls && start.current) setMargin(Math.round(start.current.getBoundingClientRect().top - scrolls.getBoundingClientRect().top + scrolls.scrollTop));
  };
  // What is above it may have changed, with this list or without it.
  useLayoutEffect(place);
  useEffect(() => {
    const content = area()?.firstElementChild;
    if (!long || !content) return;
    const sizes = new ResizeObserver(place);
    sizes.observe(content);
    return () => sizes.disconnect();
  }, [long]);
  useImperativeHandle(toItem, () => (index: number) => long && virtual.scrollToIndex(index, { align: 'center' }), [long, virtual]);
  if (!long) return items.map((item, i) => <Fragment key={keyOf(item, i)}>{draw(item, { 'data-index': i, ref: () => undefined })}</Fragment>);
  const shown = virtual.getVirtualItems();
  const before = (shown[0]?.start ?? margin) - margin;
  const after = virtual.getTotalSize() - ((shown.at(-1)?.end ?? margin) - margin);
  // The first row of a table has the names of the columns.
  const placeOf = (i: number) => (Space === 'tr' ? { 'aria-rowindex': i + 2 } : Space === 'li' ? { 'aria-posinset': i + 1, 'aria-setsize': items.length } : {});
  return (
    <>
      <Space ref={start as never} aria-hidden="true" style={{ height: before }} />
      {shown.map((item) => <Fragment key={item.key}>{draw(items[item.index]!, { 'data-index': item.index, ref: virtual.measureElement, ...placeOf(item.index) })}</Fragment>)}
      <Space aria-hidden="true" style={{ height: Math.max(0, after) }} />
    </>
  );
}
