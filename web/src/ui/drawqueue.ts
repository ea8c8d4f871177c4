// Which diagrams are drawn, when, and what is kept of them. The frame that draws is in draw.ts.
import type { Answer, Request } from '../../diagram/protocol';

/** A frame that is ready to draw. */
export interface Frame {
  /** Whether it can be busy without the page being busy. */
  isolated: boolean;
  ask(request: Request): Promise<Answer>;
  remove(): void;
}

/** A diagram as the page shows it. */
export interface Picture {
  /** The address of the picture, which contains it. */
  address: string;
  width: number;
  height: number;
  kind: string;
  title: string;
}

/** What has become of a diagram. Unless the error is the last, it may be drawn another time. */
export type Result = { picture: Picture; error?: never } | { picture?: never; error: string; last: boolean; late?: boolean };

type Listener = (result: Result) => void;

const longestSource = 20_000;
const longestTime = 30_000;
/** How many characters of pictures and sources are kept. */
const mostKept = 20_000_000;

const key = (source: string, dark: boolean) => `${dark} ${source}`;

export class DrawQueue {
  private readonly kept = new Map<string, { result: Result; size: number }>();
  private size = 0;
  /** The diagrams that are to be drawn, in their order, with the components that want them. One of them may be in work. */
  private readonly wanted = new Map<string, { request: Request; asked: boolean; who: Set<Listener> }>();
  private frame: Promise<Frame> | undefined;
  private working = false;
  private automatic = true;
  private readonly watchers = new Set<() => void>();

  /** load makes a frame, or fails with the reason. */
  constructor(private readonly load: () => Promise<Frame>) {}

  /** Whether diagrams are drawn by themselves. They are not once one took too long, or where drawing stops the page. */
  readonly isAutomatic = () => this.automatic;

  readonly watch = (changed: () => void) => {
    this.watchers.add(changed);
    return () => void this.watchers.delete(changed);
  };

  /** What is known of a diagram. */
  known(source: string, dark: boolean): Result | undefined {
    return this.kept.get(key(source, dark))?.result;
  }

  /** Has a diagram drawn, one after the other. What is returned ends the wish. asked says that a user has asked for it. */
  want(request: Request, asked: boolean, listener: Listener): () => void {
    const { source, dark } = request;
    const name = key(source, dark);
    const known = this.known(source, dark);
    if (known) listener(known);
    if (known || (!asked && !this.automatic)) return () => undefined;
    const one = this.wanted.get(name) ?? { request, asked: false, who: new Set() };
    one.asked ||= asked;
    one.who.add(listener);
    this.wanted.set(name, one);
    if (!this.working) void this.work();
    return () => {
      one.who.delete(listener);
      if (one.who.size === 0 && this.wanted.get(name) === one) this.wanted.delete(name);
    };
  }

  private async work() {
    this.working = true;
    for (let next; (next = this.wanted.entries().next().value); ) {
      const [name, one] = next;
      const result = await this.draw(one.request, () => this.wanted.get(name) === one);
      if (!result) continue; // it is not wanted any more
      if (this.wanted.get(name) === one) this.wanted.delete(name);
      if (result.picture || result.last) this.keep(name, result);
      for (const listener of one.who) listener(result);
      if (result.error && result.late) this.onlyAsked(); // after they know why
    }
    this.working = false;
  }

  private async draw(request: Request, isWanted: () => boolean): Promise<Result | undefined> {
    if (request.source.length > longestSource) return { error: `It is longer than ${longestSource.toLocaleString('en')} characters.`, last: true };
    let frame: Frame;
    try {
      frame = await (this.frame ??= this.load());
    } catch (error) {
      this.frame = undefined;
      return { error: (error as Error).message, last: false };
    }
    if (!frame.isolated) this.onlyAsked();
    if (!isWanted()) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), longestTime);
    });
    const answer = await Promise.race([frame.ask(request), late]);
    clearTimeout(timer!);
    if (!answer) {
      frame.remove();
      this.frame = undefined;
      return { error: `It took longer than ${longestTime / 1000} seconds.`, last: false, late: true };
    }
    if ('error' in answer) return { error: answer.error, last: true };
    const { svg, ...rest } = answer;
    return { picture: { ...rest, address: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` } };
  }

  /** From now on, draws only what users ask for. */
  private onlyAsked() {
    if (!this.automatic) return;
    this.automatic = false;
    for (const [name, one] of this.wanted) if (!one.asked) this.wanted.delete(name);
    for (const changed of this.watchers) changed();
  }

  private keep(name: string, result: Result) {
    const size = name.length + (result.picture?.address.length ?? 0);
    this.kept.set(name, { result, size });
    this.size += size;
    for (const [oldest, one] of this.kept) {
      if (this.size <= mostKept || oldest === name) break;
      this.kept.delete(oldest);
      this.size -= one.size;
    }
  }
}
