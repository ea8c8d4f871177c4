// What can be done to a session as a whole, in lists and on the workbench.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls } from '../api/calls';
import { ask, send } from '../api/client';
import type { JsonObject, Key, Session } from '../api/types';
import { labelsText, metadataKey, metadataOf, parseLabels } from '../log/labels';
import { navigate, to } from '../router';
import { Dialog, Footer } from '../ui/dialog';
import type { Item } from '../ui/menu';
import { Action, Button, Field } from '../ui/parts';
import { say } from '../ui/toast';

/** What an item of the menu of a session opens. */
export type SessionDialog = 'edit' | 'delete' | 'share';

/** The menu of a session. */
export const sessionItems = (id: Key, actions: ReturnType<typeof useSessionActions>, open: (what: SessionDialog) => void): Item[] => [
  { label: 'Title and labels', icon: 'edit', changes: true, act: () => open('edit') },
  { label: 'Artifacts', icon: 'file', act: () => navigate(to.artifact(id)) },
  { label: 'Fork', icon: 'fork', act: actions.fork, call: calls.fork(id) },
  { label: 'Share…', icon: 'out', changes: true, act: () => open('share') },
  { label: 'Export', icon: 'down', act: actions.export, call: calls.export(id) },
  { label: 'Delete', icon: 'trash', danger: true, act: () => open('delete'), call: calls.deleteSession(id) },
];

export function DeleteDialog({ open, onClose, id, title, remove }: { open: boolean; onClose: () => void; id: Key; title: string; remove: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Delete the session?" note={<>{title} is deleted with its history and its files, and its runs end. This cannot be undone. Branches that were made of it stay.</>}>
      <Footer>
        <Button onClick={onClose}>Cancel</Button>
        <Action tone="danger" icon="trash" call={calls.deleteSession(id)} onClick={remove}>Delete</Action>
      </Footer>
    </Dialog>
  );
}

/** What can be done to a session as a whole. */
export function useSessionActions(id: Key) {
  const client = useQueryClient();
  const refresh = () => void client.invalidateQueries({ queryKey: ['sessions', id.app, id.user] });
  const failed = (error: Error) => say(error.message, 'bad');
  return {
    refresh,
    fork: () =>
      void ask<Session>(calls.fork(id))
        .then((made) => {
          say('This is the fork.');
          refresh();
          navigate(to.session({ ...id, session: made.id }));
        })
        .catch(failed),
    export: () =>
      void send(calls.export(id))
        .then((response) => response.blob())
        .then((blob) => download(blob, `${id.session}.jsonl`))
        .catch(failed),
    remove: (then?: () => void) =>
      void ask(calls.deleteSession(id))
        .then(() => {
          say('The session is deleted.');
          refresh();
          then?.();
        })
        .catch(failed),
  };
}

export function download(blob: Blob, name: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function EditDialog({ open, onClose, id, state, onSaved }: { open: boolean; onClose: () => void; id: Key; state: JsonObject; onSaved?: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Title and labels" note="They are kept in the state of the session, and sessions can be searched by them.">
      <EditForm id={id} state={state} done={() => (onClose(), onSaved?.())} />
    </Dialog>
  );
}

function EditForm({ id, state, done }: { id: Key; state: JsonObject; done: () => void }) {
  const meta = metadataOf(state);
  const [name, setName] = useState(meta.displayName ?? '');
  const [labels, setLabels] = useState(labelsText(meta.labels));
  const actions = useSessionActions(id);
  const call = () => calls.patchState(id, { [metadataKey]: { ...(state[metadataKey] as JsonObject | undefined), displayName: name, labels: parseLabels(labels) } });
  return (
    <form
      className="space-y-3"
      onSubmit={(e) => {
        e.preventDefault();
        ask(call()).then(() => (actions.refresh(), done()), (error: Error) => say(error.message, 'bad'));
      }}
    >
      <Field label="title"><input className="field w-full" value={name} onChange={(e) => setName(e.target.value)} /></Field>
      <Field label="labels" note="name:value, with commas between them"><input className="field w-full font-mono" value={labels} onChange={(e) => setLabels(e.target.value)} /></Field>
      <Footer>
        <Action tone="primary" type="submit" call={call}>Save</Action>
      </Footer>
    </form>
  );
}
