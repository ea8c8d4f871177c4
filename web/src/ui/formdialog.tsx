import { useEffect, useRef, useState, type ReactNode } from 'react';

import type { Call } from '../api/calls';
import { ask } from '../api/client';
import { readState } from '../log/state';
import { Dialog, Footer } from './dialog';
import { Action, Button, Field } from './parts';
import { say } from './toast';

interface FormDialogProps<T> {
  open: boolean;
  onClose: () => void;
  title: string;
  note?: ReactNode;
  call: Call;
  /** Whether the form has all that the request needs. */
  complete: boolean;
  label: string;
  /** Takes the answer. The dialog closes by itself. */
  done: (made: T) => void;
  children: ReactNode;
}

/** A form that is sent with one request. The dialog stays, with what was typed and why, if the request is refused. */
export function FormDialog<T>({ open, onClose, title, note, ...form }: FormDialogProps<T>) {
  return (
    <Dialog open={open} onClose={onClose} title={title} note={note} width="max-w-[560px]">
      {open && <Form onClose={onClose} {...form} />}
    </Dialog>
  );
}

function Form<T>({ call, complete, label, done, onClose, children }: Omit<FormDialogProps<T>, 'open' | 'title' | 'note'>) {
  const [problem, setProblem] = useState('');
  const [busy, once] = useOnce();
  const here = useRef(false);
  useEffect(() => {
    here.current = true;
    return () => void (here.current = false);
  }, []);
  const send = async () => {
    try {
      const made = await ask<T>(call);
      if (here.current) onClose(); // another one may be open by now
      done(made);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form noValidate onChange={() => setProblem('')} onSubmit={(e) => (e.preventDefault(), complete && once(send))}>
      {children}
      {problem && <p role="alert" className="mt-3 text-bad [overflow-wrap:anywhere]">{problem}</p>}
      <Footer>
        <Button onClick={onClose}>Cancel</Button>
        <Action tone="primary" type="submit" disabled={busy || !complete} call={call}>{label}</Action>
      </Footer>
    </form>
  );
}

/** Keys of a state that change, as JSON. */
export function StateField({ text, change }: { text: string; change: (text: string) => void }) {
  return (
    <Field label="State that changes" note={readState(text) === undefined ? <span className="text-bad">It must be a JSON object.</span> : undefined}>
      <textarea value={text} onChange={(e) => change(e.target.value)} rows={2} spellCheck={false} placeholder='{"unit": "celsius"}' className="w-full rounded-md border border-rule bg-sheet px-2 py-1.5 font-mono text-xs" />
    </Field>
  );
}

/**
 * Does each thing once at a time. The same is ignored until it has ended: a held or doubled Enter asks for it once more, and
 * each request would have its own effect, such as a secret that is shown only once.
 */
function useOnce(): [busy: boolean, once: (work: () => Promise<unknown>, what?: string) => void] {
  const running = useRef(new Set<string>()); // a state has its value only after the next rendering
  const [busy, setBusy] = useState(false);
  const once = (work: () => Promise<unknown>, what = '') => {
    if (running.current.has(what)) return;
    running.current.add(what);
    setBusy(true);
    void work().finally(() => {
      running.current.delete(what);
      setBusy(running.current.size > 0);
    });
  };
  return [busy, once];
}

/** Sends requests that have no form, each once at a time. */
export function useSend<T>(took: (made: T, call: Call, done: string) => Promise<unknown>): (call: Call, done?: string) => void {
  const [, once] = useOnce();
  return (call, done = '') =>
    once(
      () =>
        ask<T>(call)
          .then((made) => took(made, call, done))
          .catch((error: Error) => say(error.message, 'bad')),
      JSON.stringify(call),
    );
}
