import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';

import type { Json } from '../api/types';
import { foldable, hasText, linesOf, pathText, valueAt, type Line } from '../log/jsonlines';
import { Icon } from './icons';
import { Long } from './more';
import { Button, copy } from './parts';

/** From how many lines on parts are folded at first, and only those in view are drawn. */
const many = 200;
/** From how many lines on there is a bar for searching and folding. */
const some = 16;
/** How much of a text is shown at first. */
const longText = 500;

/** What is folded in values by their names, for as long as a list of them is shown. */
export type JsonFolds = Map<string, ReadonlySet<string>>;

/**
 * JSON that can be folded and searched. Arrow keys move in it, and fold; p copies the path of a line, and v its value.
 * What is folded is kept under the name that kept has.
 */
export function JsonView({ value: given, label = 'JSON', kept }: { value: unknown; label?: string; kept?: { in: JsonFolds; as: string } | undefined }) {
  const value = useMemo(() => (given === undefined ? null : (JSON.parse(JSON.stringify(given)) as Json)), [given]);
  const whole = useMemo(() => linesOf(value, new Set()).length, [value]);
  const [folded, fold] = useState<ReadonlySet<string>>(() => kept?.in.get(kept.as) ?? (whole > many ? foldable(value, 4, 50) : new Set()));
  const setFolded = (next: ReadonlySet<string>) => (kept?.in.set(kept.as, next), fold(next));
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const lines = useMemo(() => linesOf(value, search ? new Set() : folded), [value, folded, search]);
  const found = useMemo(() => (search ? lines.flatMap((line, i) => (hasText(line, search.toLowerCase()) ? [i] : [])) : []), [lines, search]);
  const [current, setCurrent] = useState(-1);
  const go = (to: number) => {
    if (found.length === 0) return;
    const next = (to + found.length) % found.length;
    setAt(next);
    setCurrent(found[next]!);
  };
  useEffect(() => {
    setAt(0);
    setCurrent(found[0] ?? -1);
  }, [search]);
  const toggle = (id: string) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setFolded(next);
    setSearch('');
  };
  if (given === undefined) return <p className="json text-faint">undefined</p>;
  const tree = { value, lines, current, setCurrent, toggle, label, marked: search.toLowerCase() };
  return (
    <div data-json>
      {whole > some && (
        <div className="mb-1 flex items-center gap-1">
          <input
            type="search"
            aria-label={`Search in ${label}`}
            placeholder="Search"
            value={search}
            onChange={(e) => setSearch(e.target.value)}
            onKeyDown={(e) => e.key === 'Enter' && (e.preventDefault(), go(at + (e.shiftKey ? -1 : 1)))}
            className="field h-6 w-28 flex-1 px-1.5 py-0 text-xs max-md:h-8"
          />
          <span role="status" className="min-w-9 text-center font-mono text-2xs text-faint">{search && `${found.length && at + 1}/${found.length}`}</span>
          <Button tone="quiet" className="h-6 px-1.5 text-xs" onClick={() => (setSearch(''), setFolded(folded.size > 0 ? new Set() : foldable(value, 1)))}>{folded.size > 0 ? 'Unfold' : 'Fold'}</Button>
          <Button tone="quiet" icon="copy" bare className="h-6 w-6" title={`Copy ${label}`} onClick={() => void copy(JSON.stringify(value, null, 2))}>{`Copy ${label}`}</Button>
        </div>
      )}
      {lines.length > many ? <LongTree {...tree} /> : <Tree {...tree} />}
    </div>
  );
}

interface TreeProps {
  value: Json;
  lines: Line[];
  current: number;
  setCurrent: (line: number) => void;
  toggle: (id: string) => void;
  label: string;
  /** A text in lower case that is marked. */
  marked: string;
}

function useKeys({ value, lines, current, setCurrent, toggle }: TreeProps) {
  return (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target !== e.currentTarget) return;
    const line = lines[current];
    const moves: { [key: string]: number } = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: lines.length - 1 };
    if (e.key in moves) setCurrent(Math.max(0, Math.min(lines.length - 1, moves[e.key]!)));
    else if (!line) return;
    else if ((e.key === 'ArrowLeft' && line.kind === 'begin') || (e.key === 'ArrowRight' && line.kind === 'folded') || (e.key === 'Enter' && line.count > 0 && line.kind !== 'end')) toggle(line.id);
    else if (e.key === 'p') void copy(pathText(line.path), `${pathText(line.path)} is on the clipboard.`);
    else if (e.key === 'v') void copy(JSON.stringify(valueAt(value, line.path), null, 2), 'The value is on the clipboard.');
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
}

function Tree(props: TreeProps) {
  const { lines, current, label } = props;
  const frame = useRef<HTMLDivElement>(null);
  const onKeyDown = useKeys(props);
  useEffect(() => {
    frame.current?.children[current]?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  return (
    <div ref={frame} role="tree" aria-label={label} tabIndex={0} onKeyDown={onKeyDown} className="json">
      {lines.map((line, i) => <LineView key={line.id} {...props} line={line} index={i} />)}
    </div>
  );
}

/** A tree of which only the lines in view are in the document. */
function LongTree(props: TreeProps) {
  const { lines, current, label } = props;
  const frame = useRef<HTMLDivElement>(null);
  const onKeyDown = useKeys(props);
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => frame.current, estimateSize: () => 18, getItemKey: (i) => lines[i]!.id, overscan: 12 });
  useEffect(() => {
    if (current < 0) return;
    virtual.scrollToIndex(current, { align: 'center' });
    frame.current?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  return (
    <div ref={frame} role="tree" aria-label={label} tabIndex={0} onKeyDown={onKeyDown} className="json max-h-[44vh] overflow-y-auto">
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => (
          <div key={item.key} role="presentation" ref={virtual.measureElement} data-index={item.index} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start}px)` }}>
            <LineView {...props} line={lines[item.index]!} index={item.index} />
          </div>
        ))}
      </div>
    </div>
  );
}

function LineView({ line, index, current, setCurrent, toggle, marked }: TreeProps & { line: Line; index: number }) {
  const { kind, brackets, count, name, depth } = line;
  const open = kind === 'begin';
  const canFold = kind === 'begin' || (kind === 'folded' && count > 0);
  const comma = line.last || kind === 'begin' ? '' : ',';
  return (
    <div
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={canFold ? open : undefined}
      aria-selected={index === current}
      onClick={() => (setCurrent(index), canFold && window.getSelection()?.isCollapsed !== false && toggle(line.id))}
      className={`group/line relative rounded-sm pr-6 aria-selected:bg-tint ${canFold ? 'cursor-pointer' : ''} ${marked && hasText(line, marked) ? 'bg-waittint' : ''}`}
      style={{ paddingLeft: 14 + depth * 14, textIndent: 0 }}
    >
      {canFold && <span aria-hidden="true" className={`absolute top-[3px] text-faint ${open ? 'rotate-90' : ''}`} style={{ left: depth * 14 }}><Icon name="right" size={11} /></span>}
      {name !== undefined && <><span className="text-soft">{JSON.stringify(name)}</span>: </>}
      {kind === 'value' && <Value value={line.value!} />}
      {kind === 'begin' && brackets[0]}
      {kind === 'end' && brackets[1]}
      {kind === 'folded' && (count === 0 ? brackets : <>{brackets[0]}<span className="text-faint"> {count} {brackets === '[]' ? (count === 1 ? 'item' : 'items') : count === 1 ? 'member' : 'members'} </span>{brackets[1]}</>)}
      {comma}
      {depth > 0 && kind !== 'end' && (
        <button
          type="button"
          tabIndex={-1}
          aria-label={`Copy the path ${pathText(line.path)}`}
          title={`Copy the path ${pathText(line.path)}`}
          onClick={(e) => (e.stopPropagation(), void copy(pathText(line.path), `${pathText(line.path)} is on the clipboard.`))}
          className="absolute top-0 right-0 hidden h-[18px] px-1 text-faint group-hover/line:block group-aria-selected/line:block hover:text-ink"
        >
          <Icon name="copy" size={12} />
        </button>
      )}
    </div>
  );
}

/** A text, a number, or whatever else has no parts. A long text is shown as a whole when it is asked for. */
function Value({ value }: { value: Json }) {
  return <span className={typeof value === 'string' ? 'text-good' : 'text-busy'}><Long text={JSON.stringify(value)} most={longText} /></span>;
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
