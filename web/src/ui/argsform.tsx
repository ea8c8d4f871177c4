import { useId, useState, type ReactNode } from 'react';

import type { Json, JsonObject } from '../api/types';
import { initialOf, isDraftObject, isFixed, shapeOf, Unreadable, variantOf, type Draft, type Shape } from '../log/args';
import { Button } from './parts';

interface Props {
  name: string;
  schema: JsonObject;
  root: JsonObject;
  required: boolean;
  value: Draft;
  change: (value: Draft) => void;
  depth?: number;
}

/** The fields of an object, each with the form that its schema asks for. */
export function ArgsForm({ schema, value, change }: { schema: JsonObject; value: Draft; change: (value: Draft) => void }) {
  const shape = shapeOf(schema, schema);
  if (shape.kind !== 'object' || shape.members.length === 0) return <p className="text-soft">It has no arguments.</p>;
  return <Members shape={shape} root={schema} value={value} change={change} depth={0} />;
}

function Members({ shape, root, value, change, depth }: { shape: Shape & { kind: 'object' }; root: JsonObject; value: Draft; change: (value: Draft) => void; depth: number }) {
  const now = isDraftObject(value) ? value : {};
  return (
    <div className="space-y-3">
      {shape.members.filter((m) => !(m.required && isFixed(shapeOf(m.schema, root, depth + 1)))).map((m) => (
        <Argument key={m.name} name={m.name} schema={m.schema} root={root} required={m.required} value={now[m.name]} depth={depth + 1} change={(one) => change({ ...now, [m.name]: one })} />
      ))}
    </div>
  );
}

function Argument(props: Props) {
  const { name, root, required, value, change, depth = 0 } = props;
  const shape = shapeOf(props.schema, root, depth);
  const id = useId();
  const note = typeof shape.schema['description'] === 'string' ? shape.schema['description'] : '';
  const add = () => change(initialOf(props.schema, root, true, depth) ?? (shape.kind === 'list' ? [] : {}));
  if (shape.kind === 'object' || shape.kind === 'list' || shape.kind === 'variants') {
    return (
      <fieldset className="min-w-0 rounded-md border border-line px-3 pt-1 pb-3" data-argument={name}>
        <legend className="px-1"><Name name={name} required={required} /></legend>
        {note && <p className="mb-2 text-xs text-faint">{note}</p>}
        {value === undefined ? (
          <Button icon="plus" onClick={add}>{`Add ${name}`}</Button>
        ) : (
          <>
            {shape.kind === 'object' && <Members shape={shape} root={root} value={value} change={change} depth={depth} />}
            {shape.kind === 'list' && <Items {...props} shape={shape} />}
            {shape.kind === 'variants' && <Variants {...props} shape={shape} />}
            {!required && <Button tone="quiet" icon="trash" className="mt-2" onClick={() => change(undefined)}>{`Remove ${name}`}</Button>}
          </>
        )}
      </fieldset>
    );
  }
  return (
    <div data-argument={name}>
      <label htmlFor={id} className="mb-0.5 block"><Name name={name} required={required} /></label>
      <Control id={id} shape={shape} required={required} value={value} change={change} />
      {note && <p className="mt-0.5 text-xs text-faint">{note}</p>}
    </div>
  );
}

function Name({ name, required }: { name: string; required: boolean }): ReactNode {
  return <span className="font-mono text-xs font-semibold">{name}{!required && <span className="font-sans font-normal text-faint"> optional</span>}</span>;
}

function Items({ name, root, value, change, depth = 0, shape }: Props & { shape: Shape & { kind: 'list' } }) {
  const items = Array.isArray(value) ? value : [];
  return (
    <div className="space-y-2">
      {items.map((one, i) => (
        <div key={i} className="flex items-start gap-2">
          <div className="min-w-0 flex-1"><Argument name={`${name} ${i + 1}`} schema={shape.item} root={root} required value={one} depth={depth + 1} change={(next) => change(items.map((v, n) => (n === i ? next : v)))} /></div>
          <Button tone="quiet" icon="close" bare className="mt-5" onClick={() => change(items.filter((_, n) => n !== i))}>{`Remove ${name} ${i + 1}`}</Button>
        </div>
      ))}
      <Button icon="plus" onClick={() => change([...items, initialOf(shape.item, root, true, depth + 1)])}>{`Add to ${name}`}</Button>
    </div>
  );
}

function Variants({ name, root, required, value, change, depth = 0, shape }: Props & { shape: Shape & { kind: 'variants' } }) {
  const [chosen, setChosen] = useState(() => variantOf(shape, root, value));
  const one = shape.variants[chosen]!;
  const inner = shapeOf(one.schema, root, depth + 1);
  const choose = (i: number) => {
    setChosen(i);
    change(initialOf(shape.variants[i]!.schema, root, true, depth + 1) ?? '');
  };
  return (
    <div className="space-y-3">
      <select aria-label={`Kind of ${name}`} className="field w-full" value={chosen} onChange={(e) => choose(Number(e.target.value))}>
        {shape.variants.map((v, i) => <option key={i} value={i}>{v.label}</option>)}
      </select>
      {inner.kind === 'object'
        ? <Members shape={inner} root={root} value={value} change={change} depth={depth + 1} />
        : <Argument key={chosen} name={one.label} schema={one.schema} root={root} required={required} value={value} depth={depth + 1} change={change} />}
    </div>
  );
}

function Control({ id, shape, required, value, change }: { id: string; shape: Shape; required: boolean; value: Draft; change: (value: Draft) => void }) {
  switch (shape.kind) {
    case 'choice': {
      const at = shape.choices.findIndex((c) => JSON.stringify(c) === JSON.stringify(value));
      return (
        <select id={id} className="field w-full" value={at} onChange={(e) => change(Number(e.target.value) < 0 ? undefined : shape.choices[Number(e.target.value)])}>
          {(at < 0 || !required) && <option value={-1}>{required ? 'choose' : 'not given'}</option>}
          {shape.choices.map((c, i) => <option key={i} value={i}>{typeof c === 'string' ? c : JSON.stringify(c)}</option>)}
        </select>
      );
    }
    case 'boolean':
      return (
        <select id={id} className="field w-full" value={value === undefined ? '' : String(value)} onChange={(e) => change(e.target.value === '' ? undefined : e.target.value === 'true')}>
          {!required && <option value="">not given</option>}
          <option value="false">false</option>
          <option value="true">true</option>
        </select>
      );
    case 'number':
    case 'integer':
      return <Typed id={id} value={value} change={change} readText={(text) => number(text, shape.kind === 'integer')} />;
    case 'text':
    case 'long':
      return shape.kind === 'text'
        ? <input id={id} className="field w-full" value={String(value ?? '')} placeholder={example(shape.schema)} onChange={(e) => change(textOf(e.target.value, required))} />
        : <textarea id={id} rows={4} className="field w-full" value={String(value ?? '')} onChange={(e) => change(textOf(e.target.value, required))} />;
    default:
      return <Typed id={id} long value={value} change={change} readText={json} />;
  }
}

/** An empty text is none, unless one is required: then it is what was typed. */
const textOf = (text: string, required: boolean): Draft => (text === '' && !required ? undefined : text);

function example(schema: JsonObject): string | undefined {
  const list = schema['examples'];
  const one = Array.isArray(list) ? list[0] : schema['example'];
  return typeof one === 'string' ? one : undefined;
}

function number(text: string, whole: boolean): Draft {
  const n = Number(text);
  return Number.isFinite(n) && (!whole || Number.isInteger(n)) ? n : new Unreadable(text, whole ? 'a whole number' : 'a number');
}

function json(text: string): Draft {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return new Unreadable(text, 'JSON');
  }
}

/** A value that is typed as text, also while it is not complete. */
function Typed({ id, value, change, readText, long }: { id: string; value: Draft; change: (value: Draft) => void; readText: (text: string) => Draft; long?: boolean }) {
  const [text, setText] = useState(value === undefined ? '' : value instanceof Unreadable ? value.text : JSON.stringify(value, null, long ? 2 : 0));
  const type = (next: string) => {
    setText(next);
    change(next.trim() === '' ? undefined : readText(next));
  };
  const bad = value instanceof Unreadable;
  const props = { id, value: text, spellCheck: false, 'aria-invalid': bad, 'aria-describedby': bad ? `${id}-bad` : undefined, onChange: (e: { target: { value: string } }) => type(e.target.value) };
  return (
    <>
      {long ? <textarea rows={4} className="field w-full font-mono text-xs" {...props} /> : <input inputMode="decimal" className="field w-full" {...props} />}
      {bad && <p id={`${id}-bad`} className="mt-0.5 text-xs text-bad">{`This is not ${value.kind}.`}</p>}
    </>
  );
}
