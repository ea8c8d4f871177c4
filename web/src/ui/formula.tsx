import { useLayoutEffect, useRef, useState } from 'react';

import { formulaOf, longestFormula } from './mathtext';
import { scrollable, useMore } from './scroll';

type Set = typeof import('./katex').set;

let loaded: Set | undefined;

/** A formula. What cannot be set is shown as it was written. */
export function Formula({ value }: { value: string }) {
  const { formula, block } = formulaOf(value);
  const place = useRef<HTMLSpanElement>(null);
  const [state, setState] = useState<'source' | 'set'>('source');
  const [wide, setWide] = useState(false);
  const [set, setSet] = useState<Set | undefined>(() => loaded);
  useLayoutEffect(() => {
    let gone = false;
    if (!set) {
      void import('./katex').then((module) => {
        loaded = module.set;
        if (!gone) setSet(() => module.set);
      });
      return () => void (gone = true);
    }
    setState(formula.length <= longestFormula && set(formula, block, place.current!) ? 'set' : 'source');
    return undefined;
  }, [set, formula, block]);
  const shown = state === 'set';
  useLayoutEffect(() => {
    setWide(false);
    if (block || !shown) return undefined;
    const el = place.current!;
    const look = () => setWide(isWide(el));
    look();
    // The screen may be turned, and fonts come later than the formula.
    const sizes = new ResizeObserver(look);
    for (const one of [el.closest('.prose'), ...el.querySelectorAll('.base')]) if (one) sizes.observe(one);
    return () => sizes.disconnect();
  }, [shown, formula, block, set]);
  const more = useMore(place, `${state} ${wide}`);
  const boxed = block || wide;
  return (
    <span data-formula={state} className={boxed && shown ? 'more block' : ''} data-more={boxed ? more : ''}>
      <span ref={place} className={!shown ? 'hidden' : boxed ? 'block overflow-x-auto overflow-y-hidden py-1' : ''} {...(boxed ? scrollable(more, 'Formula') : {})} />
      {!shown && <code className={block ? 'block' : ''}>{formula}</code>}
    </span>
  );
}

/** Whether a part of a formula that cannot be broken is wider than the text. Such a formula in a line has a line of its own. */
function isWide(place: HTMLElement): boolean {
  const width = place.closest('.prose')?.clientWidth ?? Infinity;
  return [...place.querySelectorAll('.base')].some((part) => part.getBoundingClientRect().width > width);
}
