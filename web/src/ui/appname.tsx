import { useId, useState } from 'react';

/** Up to how many applications there is a list to choose from. The names of more are typed. */
export const mostApps = 50;

interface Props {
  names: string[];
  now: string;
  choose: (app: string) => void;
  className?: string;
  label?: string;
  /** What is written where none is chosen, which no name means then. */
  none?: string;
}

/** The name of an application, of which a part is enough to be offered those that have it. */
export function AppName({ names, now, choose, className, label, none }: Props) {
  const [typed, setTyped] = useState<string>();
  const list = useId();
  const take = () => {
    const name = typed?.trim() ?? now;
    setTyped(undefined);
    if (name !== now && (names.includes(name) || (none !== undefined && !name))) choose(name);
  };
  return (
    <>
      <input
        value={typed ?? now}
        list={list}
        aria-label={label}
        placeholder={none}
        onFocus={(e) => e.target.select()}
        onChange={(e) => setTyped(e.target.value)}
        onBlur={take}
        onKeyDown={(e) => e.key === 'Enter' && take()}
        spellCheck={false}
        className={className}
      />
      <datalist id={list}>
        {names.filter((name) => name.includes(typed ?? '')).slice(0, mostApps).map((name) => <option key={name} value={name} />)}
      </datalist>
    </>
  );
}
