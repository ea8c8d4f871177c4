import { useEffect, useState } from 'react';

import { AppName, mostApps } from './appname';

/** The look of a choice or a field among the filters of a list. */
export const filterClass = 'h-8 min-w-0 rounded-md border border-rule bg-sheet px-2 max-md:h-9';

interface TextFilterProps {
  label: string;
  placeholder: string;
  value: string;
  change: (value: string) => void;
  /** The list has to have a value. */
  required?: boolean;
}

/** A filter that is typed. It takes effect with Enter, and when the focus leaves it. */
export function TextFilter({ label, placeholder, value, change, required = false }: TextFilterProps) {
  const [text, setText] = useState(value);
  useEffect(() => {
    setText(value); // it was changed elsewhere, as by a link or a saved filter
  }, [value]);
  const take = () => {
    const next = text.trim();
    if (required && !next) setText(value);
    else if (next !== value) change(next);
  };
  return (
    <input
      aria-label={label} placeholder={placeholder} spellCheck={false} className={`${filterClass} w-36`}
      value={text} onChange={(e) => setText(e.target.value)} onBlur={take} onKeyDown={(e) => e.key === 'Enter' && take()}
    />
  );
}

/** Chooses the application that a list is about; no name means all. A name that is not among them, as of a saved filter, is shown. */
export function AppFilter({ names, value, change, all, label }: { names: string[]; value: string; change: (app: string) => void; all: string; label?: string }) {
  if (names.length > mostApps) return <AppName names={names} now={value} choose={change} className={`${filterClass} w-44`} none={all} {...(label ? { label } : {})} />;
  return (
    <select aria-label={label} className={filterClass} value={value} onChange={(e) => change(e.target.value)}>
      <option value="">{all}</option>
      {value && !names.includes(value) && <option>{value}</option>}
      {names.map((name) => <option key={name}>{name}</option>)}
    </select>
  );
}

/** Chooses the user that a list is about. */
export const UserFilter = (props: Pick<TextFilterProps, 'value' | 'change' | 'required'>) => <TextFilter label="User" placeholder="all users" {...props} />;
