// Panes whose size people choose. The browser remembers it.
import { useState, type KeyboardEvent, type PointerEvent } from 'react';

interface Bounds {
  initial: number;
  min: number;
  max: number;
}

/** A size in pixels, or in percent, that stays between visits. */
export function useSize(name: string, { initial, min, max }: Bounds) {
  const key = `parley.size.${name}`;
  const clamp = (size: number) => Math.round(Math.max(min, Math.min(max, size)));
  const [size, setSize] = useState(() => clamp(Number(localStorage.getItem(key)) || initial));
  const change = (next: number) => {
    setSize(clamp(next));
    localStorage.setItem(key, String(clamp(next)));
  };
  return { size, change, reset: () => change(initial), min, max };
}

interface Props {
  label: string;
  /** Of the line between the panes. */
  orientation: 'vertical' | 'horizontal';
  of: ReturnType<typeof useSize>;
  /** The size that a place of the pointer stands for. */
  at: (e: PointerEvent) => number;
  /** How much an arrow key changes, towards the end of the screen. */
  step: number;
  className?: string;
}

/** The line between two panes: it is dragged, moved with arrow keys, and put back with a double click. */
export function Handle({ label, orientation, of, at, step, className = '' }: Props) {
  const upright = orientation === 'vertical';
  const [back, on] = upright ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown'];
  const onKeyDown = (e: KeyboardEvent) => {
    const change = e.key === back ? -step : e.key === on ? step : 0;
    if (change === 0) return;
    e.preventDefault();
    of.change(of.size + change);
  };
  return (
    <div
      role="separator"
      aria-label={label}
      aria-orientation={orientation}
      aria-valuenow={of.size}
      aria-valuemin={of.min}
      aria-valuemax={of.max}
      tabIndex={0}
      title={`${label}: drag, or use the arrow keys`}
      onKeyDown={onKeyDown}
      onDoubleClick={of.reset}
      onPointerDown={(e) => (e.preventDefault(), e.currentTarget.setPointerCapture(e.pointerId))}
      onPointerMove={(e) => e.currentTarget.hasPointerCapture(e.pointerId) && of.change(at(e))}
      className={`group/handle absolute z-10 touch-none ${upright ? 'inset-y-0 -left-1 w-2 cursor-col-resize' : 'inset-x-0 -bottom-1 h-2 cursor-row-resize'} ${className}`}
    >
      <span aria-hidden="true" className={`absolute bg-accent opacity-0 group-hover/handle:opacity-100 group-focus-visible/handle:opacity-100 group-active/handle:opacity-100 ${upright ? 'inset-y-0 left-[3px] w-0.5' : 'inset-x-0 top-[3px] h-0.5'}`} />
    </div>
  );
}
