import type { ReactNode } from 'react';

import type { Json } from '../api/types';

/** JSON with a little colour. */
export function JsonView({ value, max = 20000 }: { value: unknown; max?: number }) {
  const text = JSON.stringify(value, null, 2) ?? 'undefined';
  const shown = text.length > max ? text.slice(0, max) : text;
  return (
    <pre className="json">
      {colour(shown)}
      {text.length > max && <span className="text-faint">{`\n… ${text.length - max} more characters`}</span>}
    </pre>
  );
}

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function colour(text: string): ReactNode[] {
  const out: ReactNode[] = [];
  let at = 0;
  for (const found of text.matchAll(token)) {
    if (found.index > at) out.push(text.slice(at, found.index));
    const kind = found[2] ? 'text-soft' : found[1] ? 'text-good' : 'text-busy';
    out.push(<span key={found.index} className={kind}>{found[0]}</span>);
    at = found.index + found[0].length;
  }
  out.push(text.slice(at));
  return out;
}

/** A value on one line. */
export function brief(value: Json | undefined, max = 80): string {
  const text = value === undefined ? '' : JSON.stringify(value);
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}

/** Arguments as in a call: city: "Oslo", days: 3. */
export function argsText(args: { [key: string]: Json } | undefined, max = 90, each = 60): string {
  const text = Object.entries(args ?? {})
    .map(([k, v]) => `${k}: ${brief(v, each)}`)
    .join(', ');
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
