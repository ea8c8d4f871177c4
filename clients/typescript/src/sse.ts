/** One frame of a stream of Server-Sent Events. */
export interface Frame {
  event: string;
  id: string | undefined;
  data: string;
}

/** Takes a stream of Server-Sent Events apart, in whatever pieces it comes. */
export class FrameParser {
  private begun: string[] = []; // the pieces of a line that has no end yet
  private half = false; // whether the last piece ended with a \r, which may be half of an end
  private event = '';
  private id: string | undefined;
  private data: string[] = [];

  /** The frames that are complete with this piece. */
  *feed(piece: string): Generator<Frame> {
    if (this.half) piece = `\r${piece}`;
    this.half = piece.endsWith('\r');
    if (this.half) piece = piece.slice(0, -1);
    // Only what is new is searched: an event may have megabytes, in thousands of pieces.
    let from = 0;
    for (const end of piece.matchAll(/\r\n|\n|\r/g)) {
      const line = this.begun.join('') + piece.slice(from, end.index);
      this.begun = [];
      from = end.index + end[0].length;
      if (line) this.field(line);
      else {
        const { event, id, data } = this;
        [this.event, this.id, this.data] = ['', undefined, []];
        if (data.length > 0) yield { event, id, data: data.join('\n') };
      }
    }
    if (from < piece.length) this.begun.push(piece.slice(from));
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
 * of life every 15 seconds, so the connection is dead then. `alive` is called for
 * whatever comes, signs of life as well.
 */
export async function* frames(response: Response, silence: number, alive?: () => void): AsyncGenerator<Frame> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new FrameParser();
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read(), silence);
      if (done) return;
      alive?.();
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
