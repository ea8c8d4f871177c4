/** One frame of a stream of Server-Sent Events. */
export interface Frame {
  event: string;
  id: string | undefined;
  data: string;
}

/** Takes a stream of Server-Sent Events apart, in whatever pieces it comes. */
export class FrameParser {
  private rest = '';
  private event = '';
  private id: string | undefined;
  private data: string[] = [];

  /** The frames that are complete with this piece. */
  *feed(piece: string): Generator<Frame> {
    this.rest += piece;
    for (;;) {
      const end = /\r\n|\n|\r(?=[^])/.exec(this.rest); // a last \r may be half of an end
      if (!end) return;
      const line = this.rest.slice(0, end.index);
      this.rest = this.rest.slice(end.index + end[0].length);
      if (line) this.field(line);
      else {
        const { event, id, data } = this;
        [this.event, this.id, this.data] = ['', undefined, []];
        if (data.length > 0) yield { event, id, data: data.join('\n') };
      }
    }
  }

  private field(line: string) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.data.push(value);
    else if (name === 'event') this.event = value;
    else if (name === 'id') this.id = value;
    // Comments, which keep the connection alive, have no name.
  }
}

/**
 * The frames of a response, until it ends. It fails when the connection breaks,
 * and when nothing has come for `silence` milliseconds: the server sends a sign
 * of life every 15 seconds, so the connection is dead then.
 */
export async function* frames(response: Response, silence: number): AsyncGenerator<Frame> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new FrameParser();
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read(), silence);
      if (done) return;
      yield* parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {}); // whoever does not read on has no use for the connection
  }
}

async function inTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
