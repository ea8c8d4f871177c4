import { Dialog } from './ui/dialog';
import { Kbd } from './ui/parts';

const groups: [string, [string, string][]][] = [
  ['Everywhere', [
    ['Ctrl K', 'commands'], ['?', 'this list'], ['/', 'search'], ['g a', 'applications'], ['g s', 'sessions'], ['g i', 'inbox'],
    ['g r', 'runs'], ['g t', 'schedules'], ['g h', 'triggers'], ['g k', 'webhooks'], ['g o', 'tools'], ['g m', 'memory'], ['g l', 'logins'], ['g f', 'feedback'], ['g e', 'evaluation'], ['g u', 'usage'], ['g p', 'API'], ['n', 'new session'],
  ]],
  ['Workbench', [
    ['c', 'write a message'], ['Enter', 'send the message'], ['Shift Enter', 'new line'], ['/', 'find in the conversation'], ['Esc', 'leave the message'], ['j  k', 'next and previous event'],
    ['End', 'last event'], ['s', 'stop the run'], ['f', 'fork from the event'], ['e', 'edit the message and send it again'],
  ]],
];

export default function Shortcuts({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard" quiet width="max-w-[560px]">
      <div className="grid gap-6 sm:grid-cols-2">
        {groups.map(([title, keys]) => (
          <section key={title}>
            <h2 className="label mb-1.5">{title}</h2>
            <dl className="grid grid-cols-[92px_1fr] gap-y-1">
              {keys.map(([key, what]) => (
                <div key={key} className="contents">
                  <dt className="flex items-start gap-1">{key.split('  ').map((k) => <Kbd key={k}>{k}</Kbd>)}</dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
