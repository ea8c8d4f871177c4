import { isValidElement, memo, type ReactNode } from 'react';
import ReactMarkdown, { type Components, type Options } from 'react-markdown';
import gfm from 'remark-gfm';
import math from 'remark-math';

import { CodeBlock } from './code';
import { Diagram } from './diagram';
import { Formula } from './formula';
import { withMath } from './mathtext';
import { Scroll } from './scroll';

const componentsFor = (live: boolean): Components => ({
  // What a model says may lead anywhere: never in this window, never with our address.
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  // Pictures from elsewhere would tell others who reads this.
  img: ({ src, alt }) => (
    <a href={typeof src === 'string' ? src : undefined} target="_blank" rel="noreferrer noopener">
      {alt || 'picture'}
    </a>
  ),
  pre: ({ children }) => {
    const { code, language } = codeOf(children);
    return language === 'mermaid' && !live ? <Diagram source={code} /> : <CodeBlock code={code} language={language} live={live} />;
  },
  code: ({ className, children }) => (/\bmath-inline\b/.test(className ?? '') ? <Formula value={String(children ?? '')} /> : <code className={className}>{children}</code>),
  table: ({ children }) => (
    <Scroll label="Table">
      <table>{children}</table>
    </Scroll>
  ),
  // The box of a task.
  input: ({ checked }) => (
    <>
      <span aria-hidden="true" className={checked ? 'text-good' : 'text-faint'}>{checked ? '☑' : '☐'}</span>
      <span className="sr-only">{checked ? 'done:' : 'to do:'}</span>
    </>
  ),
});

const complete = componentsFor(false);
const growing = componentsFor(true);

const plugins: Options['remarkPlugins'] = [gfm, [math, { singleDollarTextMath: false }]];

/** The code in a block, and its language. */
function codeOf(children: ReactNode): { code: string; language: string } {
  if (!isValidElement<{ className?: string; children?: ReactNode }>(children)) return { code: String(children ?? ''), language: '' };
  const { className = '', children: text } = children.props;
  return { code: String(text ?? '').replace(/\n$/, ''), language: /language-([\w+#-]+)/.exec(className)?.[1]?.toLowerCase() ?? '' };
}

/** Markdown without HTML in it. live says that more of it comes. */
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={plugins} components={live ? growing : complete}>
        {withMath(text)}
      </ReactMarkdown>
    </div>
  );
});
