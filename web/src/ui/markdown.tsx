import { memo } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import gfm from 'remark-gfm';

const components: Components = {
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
};

/** Markdown without HTML in it. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={[gfm]} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
});
