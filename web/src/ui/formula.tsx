import { useLayoutEffect, useRef, useState } from 'react';

import { formulaOf, longestFormula } from './mathtext';

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
  const tall = block ? 'block overflow-x-auto overflow-y-hidden py-1' : '';
  return (
    <span data-formula={state}>
      <span ref={place} className={state === 'set' ? tall : 'hidden'} {...(block && state === 'set' ? { role: 'region', 'aria-label': 'Formula', tabIndex: 0 } : {})} />
      {state === 'source' && <code className={block ? 'block' : ''}>{formula}</code>}
    </span>
  );
}
