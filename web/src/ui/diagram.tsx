import { useEffect, useState, useSyncExternalStore } from 'react';

import { CodeBlock } from './code';
import { diagrams, isDark, requestOf } from './draw';
import type { Result } from './drawqueue';
import { Button, CopyText } from './parts';
import { Scroll, ScrollText } from './scroll';

/** The diagrams of which users have chosen to see the source, the latest last. A row of the log that is scrolled away forgets what it shows. */
const asSources = new Set<string>();
const mostSources = 100;

function keepAsSource(source: string, is: boolean) {
  asSources.delete(source);
  if (is) asSources.add(source);
  if (asSources.size > mostSources) asSources.delete(asSources.values().next().value!);
}

/** A diagram that Mermaid draws. Until it is drawn, and if it cannot be, its source is shown. */
export function Diagram({ source }: { source: string }) {
  const dark = useSyncExternalStore(onTheme, isDark, () => false);
  const automatic = useSyncExternalStore(diagrams.watch, diagrams.isAutomatic, () => true);
  const [latest, setLatest] = useState<{ source: string; dark: boolean; attempt: number; result: Result }>();
  const [attempt, setAttempt] = useState(0);
  const [asSource, setAsSource] = useState(() => asSources.has(source));
  const own = latest?.source === source ? latest : undefined;
  // What is known is drawn at once: otherwise rows of the log would change their heights whenever they are scrolled to.
  const now = diagrams.known(source, dark) ?? (own?.dark === dark ? own.result : undefined);
  // Until the diagram is drawn for another theme, the picture for the former one is better than none.
  const result = now ?? diagrams.known(source, !dark) ?? own?.result;
  const wanted = !now?.picture && !now?.last && (automatic || attempt > 0);
  useEffect(() => {
    if (!wanted) return;
    return diagrams.want(requestOf(source, dark), attempt > 0, (result) => setLatest({ source, dark, attempt, result }));
  }, [source, dark, wanted, attempt]);
  if (!result?.picture) {
    const busy = attempt > 0 && attempt !== latest?.attempt;
    const ask = result ? !result.last : !automatic;
    return (
      <div data-diagram={result ? 'broken' : 'source'}>
        <CodeBlock code={source} language="mermaid" live />
        {result && <p role="status" className="-mt-1 mb-2 max-h-40 overflow-auto whitespace-pre-wrap font-mono text-xs text-bad">{`The diagram cannot be drawn. ${result.error}`}</p>}
        {ask && <Button className="mb-2" disabled={busy} onClick={() => setAttempt(attempt + 1)}>{busy ? 'Drawing…' : result ? 'Try again' : 'Draw the diagram'}</Button>}
      </div>
    );
  }
  const { picture } = result;
  const name = picture.title || `Diagram: ${kinds[picture.kind] ?? picture.kind}`;
  return (
    <figure className="code" data-diagram="drawn">
      <figcaption>
        <span className="label flex-1">mermaid</span>
        <Button tone="quiet" icon={asSource ? 'before' : 'file'} bare onClick={() => (keepAsSource(source, !asSource), setAsSource(!asSource))}>{asSource ? 'Show the diagram' : 'Show the source'}</Button>
        <CopyText text={source} label="Copy the source" />
      </figcaption>
      {asSource ? (
        <ScrollText label="Source of the diagram"><code>{source}</code></ScrollText>
      ) : (
        <Scroll label={name} inner="p-3">
          {/* A picture runs no scripts and loads nothing. It is made a little smaller to fit; more would make its texts hard to read, so it scrolls. */}
          <img
            src={picture.address} alt={name} width={picture.width} height={picture.height} decoding="sync"
            className="mx-auto block h-auto" style={{ maxWidth: `max(100%, ${Math.round(picture.width * smallestOf(picture.kind))}px)` }}
          />
        </Scroll>
      )}
    </figure>
  );
}

/** How much smaller a picture may be: texts have 14 pixels, and 17 in a pie chart. */
const smallestOf = (kind: string) => (kind === 'pie' ? 0.7 : 0.85);

/** What Mermaid's kinds of diagrams are called. */
const kinds: Record<string, string> = {
  'flowchart-v2': 'flowchart', class: 'classes', classDiagram: 'classes', state: 'states', stateDiagram: 'states', er: 'entities', gitGraph: 'Git history',
  xychart: 'chart', pie: 'pie chart', gantt: 'Gantt chart', quadrantChart: 'quadrants', mindmap: 'mind map', journey: 'user journey',
};

function onTheme(changed: () => void) {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => observer.disconnect();
}
