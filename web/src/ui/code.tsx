import { useEffect, useState, type ReactNode } from 'react';

import type { Token } from './highlight';
import { CopyText } from './parts';
import { ScrollText } from './scroll';

/** Code with its language and a button that copies it. It is coloured when it is complete. */
export function CodeBlock({ code, language, live = false }: { code: string; language: string; live?: boolean }) {
  const [tokens, setTokens] = useState<Token[]>();
  useEffect(() => {
    let gone = false;
    setTokens(undefined);
    // A long file would take long, and is seldom read here.
    if (language && !live && code.length < 100_000) void import('./highlight').then(({ tokensOf }) => !gone && setTokens(tokensOf(code, language)));
    return () => void (gone = true);
  }, [code, language, live]);
  return (
    <figure className="code" data-code={language}>
      <figcaption><span className="label flex-1">{language || 'text'}</span><CopyText text={code} label="Copy the code" /></figcaption>
      <ScrollText label={language ? `Code in ${language}` : 'Code'}><code>{tokens ? tokens.map(coloured) : code}</code></ScrollText>
    </figure>
  );
}

function coloured(token: Token, key: number): ReactNode {
  if (typeof token === 'string') return token;
  const children = token.children.map(coloured);
  return token.scope ? <span key={key} className={`hl-${token.scope.split('.')[0]}`}>{children}</span> : children;
}
