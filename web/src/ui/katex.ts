// Sets formulas. It is loaded when there is one.
import katex from 'katex';
import 'katex/dist/katex.min.css';

// Links, pictures and attributes. They would be set as an error.
const untrusted = /\\(href|url|html\w+|includegraphics)(?![a-zA-Z])/;

/**
 * Sets a formula in an element, with nodes and not with HTML: what a model says is never used as HTML, and styles in
 * attributes would need another security policy. It reports whether that succeeded.
 */
export function set(formula: string, block: boolean, into: HTMLElement): boolean {
  if (untrusted.test(formula)) return false;
  try {
    katex.render(formula, into, { displayMode: block, throwOnError: true, trust: false, strict: 'ignore', maxSize: 10, maxExpand: 200, globalGroup: false });
    return true;
  } catch {
    into.replaceChildren();
    return false;
  }
}
