import { useEffect, useRef, useState, type ClipboardEvent, type RefObject } from 'react';

import type { Part } from '../api/types';
import { useRefusal } from '../caller';
import { useCommands } from '../commands';
import { useOn } from '../screens/newsession';
import { focusComposer } from '../shortcuts';
import { Icon } from '../ui/icons';
import { Action, Button, Kbd } from '../ui/parts';
import { say } from '../ui/toast';
import { Notices } from './notices';
import type { SessionModel, Snapshot } from './session';

const maxFile = 20 << 20; // the server takes 32 MiB, and base64 makes a third more of it

interface Props {
  model: SessionModel;
  snapshot: Snapshot;
  empty: boolean;
}

/** Where messages are written, by callers who may. */
export function Composer(props: Props) {
  const refused = useRefusal()('run');
  if (!refused) return <Writing {...props} />;
  return (
    <div className="shrink-0 border-t bg-paper pt-2">
      <Notices {...props} />
      <p data-refused className="flex items-center gap-2 px-4 pb-3 text-soft md:px-6"><Icon name="alert" />{refused}</p>
    </div>
  );
}

function Writing({ model, snapshot, empty }: Props) {
  const [text, setText] = useState('');
  const [files, setFiles] = useState<File[]>([]);
  const box = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  useOn(focusComposer, () => box.current?.focus());
  useCommands([{ label: 'Attach files', changes: true, act: () => picker.current?.click() }]);
  useEffect(() => {
    if (empty && window.matchMedia('(min-width: 1024px)').matches) box.current?.focus();
  }, []); // when the screen opens, and not when a turn is undone
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    el.style.height = 'auto';
    el.style.height = `${Math.min(el.scrollHeight, 220)}px`;
  }, [text]);

  const take = (list: Iterable<File>) => {
    for (const file of list) {
      if (file.size > maxFile) say(`${file.name} is too large: 20 MB is the most.`, 'bad');
      else setFiles((have) => [...have, file]);
    }
  };
  const over = useFileDrops(box, take);
  const [sending, setSending] = useState(false);
  const send = async () => {
    if (sending || model.sending || (!text.trim() && files.length === 0)) return;
    setSending(true);
    setText('');
    setFiles([]);
    if (!(await deliver(text, files))) {
      // It was not sent. It comes before what was written in the meantime.
      setText((now) => (now ? `${text}\n${now}` : text));
      setFiles((now) => [...files, ...now]);
    }
    setSending(false);
  };
  const deliver = async (text: string, files: File[]) => {
    const parts: Part[] = text.trim() ? [{ text: text.trim() }] : [];
    try {
      for (const file of files) parts.push({ inlineData: { mimeType: file.type || 'application/octet-stream', data: await base64(file), displayName: file.name } });
    } catch (error) {
      say(`A file could not be read: ${(error as Error).message}`, 'bad');
      return false;
    }
    return model.send(parts);
  };
  return (
    <div className="shrink-0 border-t bg-paper pt-2">
      <Notices model={model} snapshot={snapshot} />
      <div
        className={`mx-4 mb-3 rounded-lg border bg-sheet focus-within:border-accent md:mx-6 ${over ? 'border-accent bg-tint' : 'border-rule'}`}
      >
        {files.length > 0 && (
          <ul aria-label="Files to send" className="flex flex-wrap gap-1.5 px-3 pt-2.5">
            {files.map((file, i) => (
              <li key={`${file.name}${i}`} className="flex max-w-full items-center gap-1 rounded-md border border-line bg-paper py-px pr-px pl-2 text-xs">
                <Icon name="file" size={13} /> <span className="truncate" title={file.name}>{file.name}</span>
                <Button tone="quiet" icon="close" bare title={`Remove ${file.name}`} onClick={() => setFiles(files.filter((f) => f !== file))}>{`Remove ${file.name}`}</Button>
              </li>
            ))}
          </ul>
        )}
        <textarea
          ref={box}
          rows={1}
          aria-label="Message"
          placeholder={snapshot.active ? 'Write the next message; it will be queued' : 'Write a message'}
          value={text}
          onChange={(e) => setText(e.target.value)}
          onPaste={(e: ClipboardEvent) => e.clipboardData.files.length > 0 && (e.preventDefault(), take(e.clipboardData.files))}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) {
              e.preventDefault();
              void send();
            } else if (e.key === 'Escape') {
              e.stopPropagation();
              box.current?.blur();
            }
          }}
          className="block max-h-[220px] w-full resize-none bg-transparent px-3.5 pt-2.5 pb-1 text-base outline-none"
        />
        <div className="flex items-center gap-1 px-2 pb-2">
          <input ref={picker} type="file" multiple className="hidden" tabIndex={-1} aria-hidden="true" onChange={(e) => (take(e.target.files ?? []), (e.target.value = ''))} />
          <Button tone="quiet" icon="clip" bare onClick={() => picker.current?.click()}>Attach files</Button>
          <span className="flex-1" />
          <span className="mr-1 text-xs text-faint max-md:hidden"><Kbd>Enter</Kbd> sends</span>
          <Action tone="primary" icon="send" call={() => model.startCall([{ text: text || '…' }])} onClick={() => void send()} disabled={sending || (!text.trim() && files.length === 0)}>Send</Action>
        </div>
      </div>
    </div>
  );
}

/** Takes files that are dropped anywhere on the conversation around an element. It returns whether some are dragged over it. */
function useFileDrops(inside: RefObject<HTMLElement | null>, take: (files: Iterable<File>) => void): boolean {
  const [over, setOver] = useState(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const area = inside.current?.closest<HTMLElement>('[data-conversation]');
    if (!area) return;
    const ended = new AbortController();
    const on = (name: 'dragover' | 'dragleave' | 'drop', act: (e: DragEvent) => void) =>
      area.addEventListener(name, (e) => e.dataTransfer?.types.includes('Files') && act(e), { signal: ended.signal });
    on('dragover', (e) => (e.preventDefault(), setOver(true)));
    on('dragleave', (e) => !area.contains(e.relatedTarget as Node | null) && setOver(false));
    on('drop', (e) => (e.preventDefault(), setOver(false), latest.current(e.dataTransfer!.files)));
    return () => ended.abort();
  }, []);
  return over;
}

async function base64(file: File): Promise<string> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error as Error);
    reader.readAsDataURL(file);
  });
  return url.slice(url.indexOf(',') + 1);
}
