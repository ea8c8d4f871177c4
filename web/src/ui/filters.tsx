import { useEffect, useState } from 'react';

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

/** Chooses the user that a list is about. */
export const UserFilter = (props: Pick<TextFilterProps, 'value' | 'change' | 'required'>) => <TextFilter label="User" placeholder="all users" {...props} />;
