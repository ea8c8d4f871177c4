import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of an answer: after so many bytes of its body it is cut off, ended as if that was all, or hangs. */
export type Fate = { after: number; then: 'cut' | 'end' | 'hang' } | undefined;

/** A proxy in front of the server, which treats answers badly. */
export class Proxy {
  /** The requests that came, in order. */
  readonly seen: http.IncomingMessage[] = [];
  /** How many of them have had a part of an answer. */
  answered = 0;
  private constructor(
    readonly url: string,
    private readonly server: http.Server,
  ) {}

  /** `fate` says what becomes of the answer to the nth request. */
  static async start(base: string, fate: (n: number, request: http.IncomingMessage) => Fate): Promise<Proxy> {
    const server = http.createServer((request, answer) => {
      const n = proxy.seen.push(request) - 1;
      const { method, headers, url } = request;
      const onward = http.request(new URL(url!, base), { method, headers: { ...headers, host: new URL(base).host }, agent: false }, (response) => {
        const end = fate(n, request);
        let left = end?.after ?? Number.POSITIVE_INFINITY;
        if (left > 0) {
          answer.writeHead(response.statusCode!, response.headers);
          answer.flushHeaders();
        }
        const pass = (chunk: Buffer) => {
          if (left < 0) return;
          const part = chunk.subarray(0, Math.min(left, chunk.length));
          left -= part.length;
          if (part.length > 0) answer.write(part, done);
          else done();
        };
        const done = () => {
          if (!end || left > 0) return;
          left = -1;
          if (end.then === 'cut') answer.destroy();
          if (end.then === 'end') answer.end();
        };
        if (left === 0) done();
        response.once('data', () => proxy.answered++);
        response.on('data', pass);
        response.on('end', () => left > 0 && answer.end());
        response.on('error', () => answer.destroy());
        answer.on('close', () => onward.destroy());
      });
      onward.on('error', () => answer.destroy());
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new Proxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server);
    return proxy;
  }

  /** Cuts all connections. */
  break() {
    this.server.closeAllConnections();
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
