import { isValidElement, memo, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import gfm from 'remark-gfm';

import { CodeBlock } from './code';

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
  pre: ({ children }) => <CodeBlock {...codeOf(children)} live={live} />,
  table: ({ children }) => (
    <div role="region" aria-label="Table" tabIndex={0} className="overflow-x-auto">
      <table>{children}</table>
    </div>
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
      <ReactMarkdown remarkPlugins={[gfm]} components={live ? growing : complete}>
        {text}
      </ReactMarkdown>
    </div>
  );
});
