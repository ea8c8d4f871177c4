import { useQuery } from '@tanstack/react-query';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { AppInfo } from '../api/types';
import { graphOf, toolsOf, type Graph } from '../log/graph';
import { flowsOf } from '../log/workflow';
import { navigate, to } from '../router';
import { useApps, useScope } from '../scope';
import { FlowDrawing } from '../ui/flow';
import { JsonView } from '../ui/json';
import { Author, Button, Loading, Problem, authorColour } from '../ui/parts';
import { Screen } from '../ui/screen';
import { Scroll } from '../ui/scroll';
import { NotLoaded, fixIt } from './notloaded';
import { Connect } from './connect';
import { NewSession } from './newsession';

export default function AppScreen({ app }: { app: string }) {
  const { user } = useScope();
  const summary = useApps().data?.find((a) => a.name === app);
  const info = useQuery({ queryKey: ['app-info', app], queryFn: ({ signal }) => ask<AppInfo>(calls.appInfo(app), signal) });
  return (
    <Screen
      wide
      title={app}
      note={info.data?.description}
      call={calls.appInfo(app)}
      actions={
        <>
          <Button onClick={() => navigate(to.usage(app))}>Usage</Button>
          <Button onClick={() => navigate(to.user(app, user, 'sessions'))}>Sessions</Button>
          {info.error && summary?.error ? <Button onClick={() => void info.refetch()}>Refresh</Button> : <NewSession app={app} user={user} />}
        </>
      }
    >
      {info.isPending && <Loading what="the application" />}
      {summary?.reloadError && <div className="mb-6"><NotLoaded title="The last change could not be loaded" why={summary.reloadError}>The previous version is still running. Fix the file and save it.</NotLoaded></div>}
      {info.error && summary?.error && <NotLoaded title={`${app} cannot be loaded`} why={summary.error}>{fixIt}</NotLoaded>}
      {info.error && !summary?.error && <Problem error={info.error} what={`${app} cannot be shown`} retry={() => void info.refetch()} />}
      {info.data && (
        <>
          <figure aria-label={`The agents of ${app}`} className="mb-6">
            <Scroll label="Graph of the agents" className="rounded-lg border border-line bg-sheet" inner="p-5 max-lg:p-3">
              {flowOf(info.data, info.data.rootAgentName) ?? <Drawing graph={graphOf(info.data)} app={app} />}
            </Scroll>
          </figure>
          <Connect app={app} />
          <div className="space-y-4">
            {Object.entries(info.data.agents)
              .sort(([a], [b]) => (a === info.data.rootAgentName ? -1 : b === info.data.rootAgentName ? 1 : a.localeCompare(b)))
              .map(([name, agent]) => (
                <section key={name} id={name} className="rounded-lg border border-line bg-sheet px-4 py-3">
                  <h2 className="flex flex-wrap items-baseline gap-x-3"><Author name={name} /> <span className="label">{agent.kind}{agent.model ? ` · ${agent.model}` : ''}</span></h2>
                  {agent.description && <p className="text-soft">{agent.description}</p>}
                  {agent.workflow && name !== info.data.rootAgentName && <div className="mt-2 overflow-x-auto">{flowOf(info.data, name)}</div>}
                  {agent.instruction && (
                    <details className="mt-2">
                      <summary className="label">instruction</summary>
                      <p className="mt-1 max-w-[80ch] whitespace-pre-wrap text-soft">{agent.instruction}</p>
                    </details>
                  )}
                  {toolsOf(agent).map((tool) => (
                    <details key={tool.name} className="mt-2 border-t pt-2">
                      <summary><code className="font-mono text-xs font-semibold">{tool.name}</code> <span className="text-soft">{tool.description}</span></summary>
                      <div className="mt-1 rounded-md bg-sunk p-3"><JsonView value={tool.parameters ?? {}} label={`parameters of ${tool.name}`} /></div>
                    </details>
                  ))}
                </section>
              ))}
          </div>
        </>
      )}
    </Screen>
  );
}

/** The nodes of an agent that is a workflow. */
function flowOf(info: AppInfo, name: string) {
  if (!info.agents[name]?.workflow?.nodes.length) return undefined;
  const [flow] = flowsOf({ info: { ...info, rootAgentName: name }, events: [], runs: [], run: undefined, live: false });
  return flow && <FlowDrawing flow={flow} />;
}

function Drawing({ graph, app }: { graph: Graph; app: string }) {
  const pad = 2;
  return (
    <svg
      role="img"
      aria-label={`The agents and tools of ${app}: ${graph.boxes.map((b) => b.label).join(', ')}`}
      width={graph.width + 2 * pad}
      height={graph.height + 2 * pad}
      viewBox={`${-pad} ${-pad} ${graph.width + 2 * pad} ${graph.height + 2 * pad}`}
    >
      {graph.edges.map((edge) => {
        const x1 = edge.from.x + edge.from.width;
        const y1 = edge.from.y + edge.from.height / 2;
        const x2 = edge.to.x;
        const y2 = edge.to.y + edge.to.height / 2;
        const mid = x1 + 24;
        return <path key={`${edge.from.key} ${edge.to.key}`} d={`M${x1} ${y1}H${mid}V${y2}H${x2}`} fill="none" stroke="var(--rule)" strokeWidth="1.2" strokeDasharray={edge.kind === 'tool' ? '2 3' : undefined} />;
      })}
      {graph.boxes.map((box) => (
        <g key={box.key}>
          <title>{box.note}</title>
          <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={box.kind === 'tool' ? 13 : 4} fill={box.kind === 'tool' ? 'var(--sunk)' : 'var(--paper)'} stroke={box.kind === 'tool' ? 'none' : 'var(--rule)'} />
          {box.kind === 'agent' && <rect x={box.x} y={box.y + 6} width={3} height={box.height - 12} style={{ fill: authorColour(box.label) }} />}
          <text x={box.x + 12} y={box.y + (box.kind === 'tool' ? 17 : 21)} fontSize={box.kind === 'tool' ? 11 : 12} fontWeight={box.kind === 'tool' ? 400 : 600} fontFamily="var(--font-mono)" fill="var(--ink)">{cut(box.label, 22)}</text>
          {box.kind === 'agent' && <text x={box.x + 12} y={box.y + 37} fontSize={10.5} fontFamily="var(--font-mono)" fill="var(--faint)">{cut(box.note, 25)}</text>}
        </g>
      ))}
    </svg>
  );
}

const cut = (text: string, max: number) => (text.length > max ? `${text.slice(0, max - 1)}…` : text);
