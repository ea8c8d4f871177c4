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
  const more = useMore(place, state);
  const shown = state === 'set';
  return (
    <span data-formula={state} className={block && shown ? 'more block' : ''} data-more={block ? more : ''}>
      <span ref={place} className={!shown ? 'hidden' : block ? 'block overflow-x-auto overflow-y-hidden py-1' : ''} {...(block ? scrollable(more, 'Formula') : {})} />
      {!shown && <code className={block ? 'block' : ''}>{formula}</code>}
    </span>
  );
}
