import { useState, type ReactNode } from 'react';

import type { JsonObject } from '../api/types';
import { valueOf, type FormField } from '../log/schema';
import { Field } from './parts';

/** A form of fields. actions gets a function that reads them, or says what is wrong. */
export function SchemaForm({ fields, actions }: { fields: FormField[]; actions: (read: () => JsonObject | undefined) => ReactNode }) {
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(fields.map((f) => [f.name, f.initial])));
  const [problem, setProblem] = useState('');
  const read = () => {
    const out: JsonObject = {};
    try {
      for (const field of fields) {
        const value = valueOf(field, texts[field.name] ?? '');
        if (value !== undefined) out[field.name] = value;
      }
      setProblem('');
      return out;
    } catch (error) {
      setProblem((error as Error).message);
      return undefined;
    }
  };
  return (
    <div className="space-y-2.5">
      {fields.map((field) => {
        const props = {
          value: texts[field.name] ?? '',
          required: field.required,
          onChange: (e: { target: { value: string } }) => setTexts({ ...texts, [field.name]: e.target.value }),
        };
        return field.kind === 'boolean' ? (
          <label key={field.name} className="flex items-center gap-2">
            <input type="checkbox" checked={texts[field.name] === 'true'} onChange={(e) => setTexts({ ...texts, [field.name]: String(e.target.checked) })} className="size-4 accent-(--accent)" />
            <span>{field.label}</span>
            {field.note && <span className="text-xs text-faint">{field.note}</span>}
          </label>
        ) : (
          <Field key={field.name} label={field.required ? field.label : `${field.label} (optional)`} note={field.note}>
            {field.kind === 'choice' ? (
              <select className="field w-full" {...props}>
                {!field.initial && <option value="">choose</option>}
                {field.choices.map((choice) => (
                  <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>{typeof choice === 'string' ? choice : JSON.stringify(choice)}</option>
                ))}
              </select>
            ) : field.kind === 'long' || field.kind === 'json' ? (
              <textarea rows={3} spellCheck={field.kind === 'long'} className={`field w-full ${field.kind === 'json' ? 'font-mono text-xs' : ''}`} {...props} />
            ) : (
              <input type="text" inputMode={field.kind === 'text' ? undefined : 'decimal'} className="field w-full" {...props} />
            )}
          </Field>
        );
      })}
      {problem && <p role="alert" className="text-sm text-bad">{problem}</p>}
      <div className="flex flex-wrap gap-2 pt-0.5">{actions(read)}</div>
    </div>
  );
}
