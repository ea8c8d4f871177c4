import { useMemo } from 'react';

import type { Key, Session } from '../api/types';
import { useCaller } from '../caller';
import { useCommands } from '../commands';
import { useKeepItem } from '../evals/turn';
import { navigate, to } from '../router';
import { Menu, type Item } from '../ui/menu';
import { Button } from '../ui/parts';

interface Props {
  id: Key;
  run: string;
  /** The server has the run itself, and it has ended. */
  ended: boolean;
  /** What the user has said in it. */
  message: string;
  family: Session[];
}

/** What can be done with a run: its steps, replays, comparisons. */
export function RunMenu({ id, run, ended, message, family }: Props) {
  const kept = useKeepItem(id, run, message);
  const developer = useCaller()?.developer ?? false;
  const replays = useMemo(() => family.filter((s) => s.forkedFrom?.replayOf === run && s.forkedFrom.sessionId === id.session), [family, run, id.session]);
  const self = family.find((s) => s.id === id.session)?.forkedFrom;
  const original = self?.replayOf === run ? self.sessionId : undefined;
  const here = { session: id.session, run };
  const items: Item[] = [
    { label: 'Show the steps', icon: 'runs', act: () => navigate(to.run(id, run)) },
    ...(ended && developer ? [
      { label: 'Replay…', icon: 'retry', act: () => navigate(to.run(id, run, 'replay')) } as Item,
      { label: 'Try variants…', icon: 'fork', act: () => navigate(to.run(id, run, 'variants')) } as Item,
    ] : []),
    ...(ended ? kept.items : []),
    ...(original ? [{ label: 'Compare with the original', icon: 'sessions', act: () => navigate(to.compare(id.app, id.user, [{ session: original, run }, here])) } as Item] : []),
    ...(replays.length > 0 ? [{ label: replays.length === 1 ? 'Compare with its replay' : `Compare with its ${Math.min(replays.length, 5)} replays`, icon: 'sessions', act: () => navigate(to.compare(id.app, id.user, [here, ...replays.slice(0, 5).map((s) => ({ session: s.id, run }))])) } as Item] : []),
    { label: 'Compare with others…', icon: 'sessions', act: () => navigate(to.compare(id.app, id.user, [here])) },
  ];
  useCommands(items.map(({ label, act }) => ({ label: label === 'Show the steps' ? 'Show the steps of the run' : label === 'Replay…' ? 'Replay the run…' : label === 'Try variants…' ? 'Try variants of the run…' : label === 'Save as a test' ? 'Save the conversation up to this run as a test' : label, act })));
  return <><Menu trigger={<Button tone="quiet" icon="more" bare className="-mr-2">Actions for the run</Button>} items={items} />{kept.dialog}</>;
}
