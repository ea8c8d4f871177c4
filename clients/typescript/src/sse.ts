import { createParser, type EventSourceMessage } from 'eventsource-parser';

/**
 * The frames of a response, until it ends. It fails when the connection breaks,
 * and when nothing has arrived for `silence` milliseconds: the server sends a
 * comment every 15 seconds, so the connection is dead then. `onData` is called
 * for everything that arrives, including comments.
 */
export async function* frames(response: Response, silence: number, onData?: () => void): AsyncGenerator<EventSourceMessage> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let complete: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (frame) => complete.push(frame) });
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), silence);
      if (done) return;
      onData?.();
      parser.feed(decoder.decode(value, { stream: true }));
      const ready = complete;
      complete = [];
      yield* ready;
    }
  } finally {
    reader.cancel().catch(() => {}); // the caller may stop before the end
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing arrived for ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
