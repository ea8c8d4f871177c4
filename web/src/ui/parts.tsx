import { useRef, useState, type ButtonHTMLAttributes, type ReactNode } from 'react';

import { curl, type Call, type Calls } from '../api/calls';
import { ConnectionError, ParleyError } from '../api/client';
import { sinceTime } from '../api/clock';
import { isSignedIn, useRefusal, type Needed } from '../caller';
import { useCommands, useRequest, type Asks } from '../commands';
import { day, exactMoment } from '../log/dates';
import { Icon, type IconName } from './icons';
import { say } from './toast';

type Tone = 'plain' | 'primary' | 'quiet' | 'danger';

const tones: Record<Tone, string> = {
  plain: 'border border-rule bg-sheet hover:border-ink',
  primary: 'border border-accent bg-accent text-onaccent hover:opacity-90',
  quiet: 'border border-transparent text-soft hover:bg-sunk hover:text-ink',
  danger: 'border border-rule bg-sheet text-bad hover:border-bad',
};

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  tone?: Tone;
  icon?: IconName;
  /** Only the icon is shown; the text is its name. */
  bare?: boolean;
  /** It is a command of the palette, too: by its name, or by this one. */
  command?: boolean | string | undefined;
  /** The item of a list that it is about; it is a command with the name of the item. */
  item?: string;
}

/** Makes what can be pressed a command, if it has a label. */
function usePressed<T extends HTMLElement>(label: string | undefined, searched = false) {
  const place = useRef<T>(null);
  useCommands(label ? [{ label, searched, act: () => place.current?.click() }] : []);
  return place;
}

const labelOf = (command: boolean | string | undefined, name: string | undefined) => (command === true ? name : command || undefined);

export function Button({ tone = 'plain', icon, bare, className = '', children, title, command, item, ...rest }: ButtonProps) {
  const name = typeof children === 'string' ? children : title;
  const place = usePressed<HTMLButtonElement>(rest.disabled ? undefined : item === undefined ? labelOf(command, name) : `${name}: ${item}`, item !== undefined);
  return (
    <button
      ref={place}
      type="button"
      title={title ?? (bare ? name : undefined)}
      {...(bare && name ? { 'aria-label': name } : {})}
      className={`inline-flex h-7 items-center justify-center gap-1.5 rounded-md text-sm font-medium whitespace-nowrap disabled:opacity-45 max-md:h-9 ${bare ? 'w-7 max-md:w-9' : 'px-2.5'} ${tones[tone]} ${className}`}
      {...rest}
    >
      {icon && <Icon name={icon} />}
      {!bare && children}
    </button>
  );
}

/** Copies a request, as a command. */
export function copyCurl(call: Asks) {
  let what: Calls;
  try {
    what = typeof call === 'function' ? call() : call;
  } catch (error) {
    return say((error as Error).message, 'bad');
  }
  void copy(curl(what, window.location.origin, isSignedIn()), 'The command is on the clipboard.');
}

/**
 * A button that asks the server for something. The menu of the screen has the same
 * as a command. Everything that changes something is one of these, or an item of a
 * menu with a call.
 */
export function Action({ call, ...button }: ButtonProps & { call: Asks }) {
  const name = typeof button.children === 'string' ? button.children : (button.title ?? '');
  const place = useRef<HTMLSpanElement>(null);
  useRequest(name, call, place);
  return (
    <span ref={place} className="inline-flex" data-action={name}>
      <Refusable asks={call} {...button} />
    </span>
  );
}

/** A button that leads to a change, such as one that opens a form. Callers whose role does not allow it cannot press it. */
export function Refusable({ asks = 'run', ...button }: ButtonProps & { asks?: Asks | Needed }) {
  const why = useRefusal()(asks);
  return <Button {...button} {...(why ? { disabled: true, title: why, 'aria-description': why } : {})} />;
}

/** A request that has no button, such as the one that a screen was read with. */
export function Shown({ call, label = 'This page' }: { call: Asks; label?: string }) {
  const place = useRef<HTMLSpanElement>(null);
  useRequest(label, call, place);
  return <span ref={place} className="absolute" />;
}

/** A link that saves what the server answers to a request as a file. */
export function Download({ call, name = '', command, children }: { call: Call; name?: string | undefined; command?: string; children: string }) {
  const place = usePressed<HTMLAnchorElement>(command);
  return (
    <span className="inline-flex" data-action={children}>
      <a ref={place} href={call.path} download={name} className="inline-flex h-7 items-center gap-1.5 rounded-md border border-rule bg-sheet px-2.5 text-sm font-medium hover:border-ink max-md:h-9"><Icon name="down" />{children}</a>
      <Shown call={call} label={children} />
    </span>
  );
}

export async function copy(text: string, said = 'Copied.') {
  try {
    await navigator.clipboard.writeText(text);
    say(said);
  } catch {
    say('The browser does not let the page use the clipboard.', 'bad');
  }
}

export function CopyText({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false);
  return (
    <Button tone="quiet" icon={done ? 'check' : 'copy'} bare title={label} onClick={() => void copy(text).then(() => (setDone(true), setTimeout(() => setDone(false), 1200)))}>
      {label}
    </Button>
  );
}

export function Kbd({ children }: { children: ReactNode }) {
  return <kbd className="whitespace-nowrap rounded-sm border border-line bg-sunk px-1 font-mono text-[10.5px] leading-4 text-faint">{children}</kbd>;
}

const statusTone: Record<string, string> = {
  running: 'text-busy', queued: 'text-faint', waiting: 'text-wait', failed: 'text-bad', cancelled: 'text-faint', completed: 'text-good',
};

export function Status({ value }: { value: string }) {
  return (
    <span className={`inline-flex items-center gap-1.5 align-top font-mono text-2xs leading-5 ${statusTone[value] ?? 'text-soft'}`}>
      <span className={`size-1.5 rounded-full bg-current ${value === 'running' ? 'pulse' : ''}`} aria-hidden="true" />
      {value}
    </span>
  );
}

/** The name of an agent, in a colour of its own. */
export function Author({ name }: { name: string }) {
  return <span className="font-mono text-2xs font-semibold" style={{ color: authorColour(name) }}>{name}</span>;
}

/** Which agent has which of the colours. */
const taken = new Map<string, number>();
const hues = 12;

/** Colours that are apart from one another, and dark or light enough for text. Agents that are seen together differ, up to twelve. */
export function authorColour(name: string): string {
  if (name === 'user') return 'var(--soft)';
  if (!taken.has(name)) {
    let hash = 0x811c9dc5;
    for (const c of name) hash = Math.imul(hash ^ c.charCodeAt(0), 0x01000193) >>> 0;
    let slot = (hash ^ (hash >>> 15)) % hues;
    // Steps of five visit all twelve, and neighbours differ.
    for (let i = 0; i < hues && [...taken.values()].includes(slot); i++) slot = (slot + 5) % hues;
    taken.set(name, slot);
  }
  const hue = taken.get(name)! * (360 / hues) + 15;
  return `light-dark(oklch(44% 0.11 ${hue}), oklch(80% 0.1 ${hue}))`;
}

/** Nothing is there, and what to do about it. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="rounded-lg border border-dashed border-rule px-6 py-10 text-center">
      <p className="text-base font-semibold">{title}</p>
      {children && <div className="mx-auto mt-1 max-w-[56ch] text-balance text-soft">{children}</div>}
      {action && <div className="mt-4 flex justify-center gap-2">{action}</div>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div role="status" className="space-y-2 py-4">
      <span className="sr-only">Loading {what}</span>
      {[72, 92, 56].map((width) => (
        <div key={width} className="pulse h-4 rounded-sm bg-sunk" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

export function Problem({ error, what, retry }: { error: Error; what: string; retry?: () => void }) {
  const lost = error instanceof ConnectionError;
  const id = error instanceof ParleyError ? error.requestId : '';
  return (
    <div role="alert" className="rounded-lg border border-bad/40 bg-badtint px-5 py-4">
      <p className="font-semibold text-bad">{what}</p>
      <p className="mt-0.5 text-soft">{lost ? 'The server cannot be reached. Start it again; this page continues by itself.' : error.message}</p>
      <div className="mt-3 flex flex-wrap items-center gap-3">
        {retry && <Button icon="retry" onClick={retry}>Try again</Button>}
        {id && <span className="label">request {id}, which is also in the log of the server</span>}
      </div>
    </div>
  );
}

export function Field({ label, children, note }: { label: string; children: ReactNode; note?: ReactNode }) {
  return (
    <div>
      <label className="block">
        <span className="label mb-0.5 block">{label}</span>
        {children}
      </label>
      {note && <div className="mt-0.5 text-xs text-faint">{note}</div>}
    </div>
  );
}

/** How long ago, or when, in few letters. */
export function when(time: number): string {
  const ago = sinceTime(time);
  if (ago < 60) return 'just now';
  if (ago < 3600) return `${Math.floor(ago / 60)} min ago`;
  if (ago < 86400) return `${Math.floor(ago / 3600)} h ago`;
  return day(time);
}

export function When({ time }: { time: number }) {
  return (
    <time dateTime={new Date(time * 1000).toISOString()} title={exactMoment(time)} className="whitespace-nowrap text-faint">
      {when(time)}
    </time>
  );
}
