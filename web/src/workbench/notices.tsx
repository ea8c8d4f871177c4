import { Icon } from '../ui/icons';
import { Button } from '../ui/parts';
import type { SessionModel, Snapshot } from './session';

/** What has just happened to the session, above the message box. */
export function Notices({ model, snapshot }: { model: SessionModel; snapshot: Snapshot }) {
  const { rejoined, refused } = snapshot;
  if (!rejoined && !refused) return null;
  return (
    <div className="space-y-1.5 px-4 pb-2 md:px-6">
      {rejoined && (
        <p role="status" data-rejoined className="flex items-center gap-2 rounded-md bg-tint px-3 py-1 text-sm">
          <Icon name="retry" />
          <span className="min-w-0 flex-1">
            {rejoined.why === 'open' ? 'A run was in progress: you have joined it' : 'The connection broke: you have joined the run again'} at event {rejoined.at}. Nothing is missing.
          </span>
          <Button tone="quiet" icon="close" bare onClick={model.dismiss}>Dismiss</Button>
        </p>
      )}
      {refused && (
        <p role="alert" className="flex items-center gap-2 rounded-md bg-badtint px-3 py-1 text-sm text-bad">
          <Icon name="alert" />
          <span className="min-w-0 flex-1">{refused}</span>
          <Button tone="quiet" icon="close" bare onClick={model.dismiss}>Dismiss</Button>
        </p>
      )}
    </div>
  );
}

