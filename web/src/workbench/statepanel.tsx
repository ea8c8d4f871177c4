import { useState } from 'react';

import { calls } from '../api/calls';
import type { Json, JsonObject, Key } from '../api/types';
import { useRefusal } from '../caller';
import { useCommands } from '../commands';
import { metadataKey } from '../log/labels';
import { Action, Button, Field } from '../ui/parts';

interface Props {
  id: Key;
  state: JsonObject;
  patch: (delta: JsonObject) => Promise<boolean>;
  /** Brings the panel into view. */
  show: () => void;
}

const scopes: [string, string][] = [['', 'this session'], ['user:', 'all sessions of the user'], ['app:', 'all users']];

/** The state as it is, and ways to change it. */
export function StatePanel({ id, state, patch, show }: Props) {
  const [open, setOpen] = useState<string>();
  const refused = useRefusal()('run');
  // What cannot be seen yet does not take the focus.
  const edit = (key: string) => (show(), void requestAnimationFrame(() => setOpen(key)));
  useCommands([
    { label: 'Add a key to the state', changes: true, act: () => edit('') },
    ...Object.keys(state).filter((key) => key !== metadataKey).map((key) => ({ label: `Edit the state key ${key}`, changes: true, searched: true, act: () => edit(key) })),
  ]);
  const scopeOf = (key: string) => (key.startsWith('user:') ? 'user:' : key.startsWith('app:') ? 'app:' : '');
  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-4 py-3" tabIndex={0} role="region" aria-label="State">
      <p className="mb-3 text-soft">What the session remembers. {refused ?? 'A change is recorded as an event.'}</p>
      <fieldset disabled={refused !== undefined} className="contents">
      {scopes.map(([prefix, title]) => {
        const keys = Object.keys(state).filter((k) => scopeOf(k) === prefix && k !== metadataKey).sort();
        if (keys.length === 0) return null;
        return (
          <section key={prefix} className="mb-4">
            <h2 className="label mb-0.5">{title}</h2>
            <ul>
              {keys.map((key) => (
                <li key={key} className="border-t py-1">
                  {open === key ? (
                    <Editor id={id} name={key} value={state[key]!} patch={patch} close={() => setOpen(undefined)} />
                  ) : (
                    <div className="group flex items-start gap-2">
                      <button type="button" onClick={() => setOpen(key)} title={`Edit ${key}`} className="min-w-0 flex-1 text-left hover:bg-sunk max-md:min-h-9">
                        <span className="sr-only">Edit </span>
                        <span className="block truncate font-mono text-xs font-semibold">{key.slice(prefix.length)}</span>
                        <span className="json line-clamp-4 block text-soft">{JSON.stringify(state[key], null, 1)}</span>
                      </button>
                      <Action tone="quiet" icon="trash" bare call={calls.patchState(id, { [key]: null })} onClick={() => void patch({ [key]: null })}>{`Delete ${key}`}</Action>
                    </div>
                  )}
                </li>
              ))}
            </ul>
          </section>
        );
      })}
      {Object.keys(state).every((k) => k === metadataKey) && <p className="mb-3 text-soft">There is nothing in it yet.</p>}
      {open === '' ? <Editor id={id} patch={patch} close={() => setOpen(undefined)} /> : <Button icon="plus" onClick={() => setOpen('')}>Add a key</Button>}
      </fieldset>
    </div>
  );
}

function Editor({ id, name, value, patch, close }: { id: Key; name?: string; value?: Json; patch: Props['patch']; close: () => void }) {
  const [key, setKey] = useState(name ?? '');
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2));
  const [problem, setProblem] = useState('');
  const delta = (): JsonObject => ({ [key]: parse(text) });
  const save = async () => {
    if (!key.trim()) return setProblem('The key needs a name.');
    try {
      parse(text);
    } catch (error) {
      return setProblem((error as Error).message);
    }
    if (await patch(delta())) close();
    else setProblem('The server has refused the change.');
  };
  return (
    <form className="space-y-2 py-1" onSubmit={(e) => (e.preventDefault(), void save())} onKeyDown={(e) => e.key === 'Escape' && (e.stopPropagation(), close())}>
      {name === undefined && <Field label="key" note="user: and app: share it"><input autoFocus className="field w-full font-mono text-xs" value={key} onChange={(e) => setKey(e.target.value)} /></Field>}
      <Field label={name ? `value of ${name}` : 'value'} note="JSON, or text as it is">
        <textarea autoFocus={name !== undefined} rows={Math.min(10, text.split('\n').length + 1)} spellCheck={false} className="field w-full font-mono text-xs" value={text} onChange={(e) => setText(e.target.value)} />
      </Field>
      {problem && <p role="alert" className="text-bad">{problem}</p>}
      <div className="flex gap-2">
        <Action tone="primary" type="submit" call={() => calls.patchState(id, delta())}>Save</Action>
        <Button onClick={close}>Cancel</Button>
      </div>
    </form>
  );
}

/** What was typed: JSON if it is, else text. It throws for what was probably meant as JSON. */
export function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    if (/^\s*["[{]/.test(text)) throw new Error(`This is not valid JSON: ${(error as Error).message}. To keep it as text, write it in quotes.`);
    return text;
  }
}
