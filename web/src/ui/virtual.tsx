import { useVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState, type ReactNode } from 'react';

/** Up to how many items are all in the document, where the browser can search in them. */
const few = 50;

/** What an item puts on its element, so that its height is known. */
export interface Measured {
  'data-index': number;
  ref: (element: HTMLElement | null) => void;
}

interface Props<T> {
  items: T[];
  keyOf: (item: T, index: number) => string;
  /** The height of an item, roughly, in pixels. */
  height: number;
  draw: (item: T, measured: Measured) => ReactNode;
  /** The items are rows of a table. */
  rows?: boolean;
}

/** A list of any length in the area of a screen that scrolls. Of long ones, only what can be seen is in the document. */
export function Virtual<T>({ items, keyOf, height, draw, rows = false }: Props<T>) {
  const long = items.length > few;
  const start = useRef<HTMLElement>(null);
  const [margin, setMargin] = useState(0);
  const scroller = () => document.getElementById('main');
  const virtual = useVirtualizer({
    count: items.length, enabled: long, getScrollElement: scroller, estimateSize: () => height, getItemKey: (i) => keyOf(items[i]!, i), overscan: 4, scrollMargin: margin,
  });
  useLayoutEffect(() => {
    const main = scroller();
    // What is above it may have changed.
    if (long && main && start.current) setMargin(Math.round(start.current.getBoundingClientRect().top - main.getBoundingClientRect().top + main.scrollTop));
  });
  if (!long) return items.map((item, i) => draw(item, { 'data-index': i, ref: () => undefined }));
  const shown = virtual.getVirtualItems();
  const before = (shown[0]?.start ?? margin) - margin;
  const after = virtual.getTotalSize() - ((shown.at(-1)?.end ?? margin) - margin);
  const Space = rows ? 'tr' : 'div';
  return (
    <>
      <Space ref={start as never} aria-hidden="true" style={{ height: before }} />
      {shown.map((item) => draw(items[item.index]!, { 'data-index': item.index, ref: virtual.measureElement }))}
      <Space aria-hidden="true" style={{ height: Math.max(0, after) }} />
    </>
  );
}
