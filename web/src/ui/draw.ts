// Has diagrams drawn by the frame of web/diagram, which is loaded with the first one.
import { ready, type Answer, type Probe, type Request } from '../../diagram/protocol';
import { DrawQueue, type Frame } from './drawqueue';

const colors = ['sheet', 'sunk', 'ink', 'soft', 'rule', 'accent', 'onaccent', 'tint', 'busy', 'wait', 'waittint', 'bad', 'badtint', 'good'];
/** How long loading the frame may take, and how long its script may take to answer once it is loaded, in milliseconds. */
const longestLoad = 20_000;
const longestStart = 10_000;

/** All diagrams of the page. */
export const diagrams = new DrawQueue(load);

/** Whether the page is dark. */
export const isDark = () => document.documentElement.dataset['theme'] === 'dark';

/** Asks for a diagram in the colours that the page has now. */
export function requestOf(source: string, dark: boolean): Request {
  const style = getComputedStyle(document.documentElement);
  return { source, dark, colors: Object.fromEntries(colors.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) };
}

/** Adds the frame. It takes no space and is not shown, but has a layout, so that texts can be measured. */
async function load(): Promise<Frame> {
  const made = document.createElement('iframe');
  made.src = '/ui/diagram.html';
  made.sandbox.add('allow-scripts');
  made.title = 'Draws diagrams';
  made.tabIndex = -1;
  made.ariaHidden = 'true';
  made.className = 'pointer-events-none fixed bottom-0 left-0 size-px border-0 opacity-0';
  try {
    await started(made);
    return { isolated: await isIsolated(made), ask: (request) => ask(made, request), remove: () => made.remove() };
  } catch (error) {
    made.remove();
    throw error;
  }
}

/** Waits for the script of the frame. A page with an error is loaded, too, and has none. */
function started(made: HTMLIFrameElement): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = () => end(() => reject(new Error('What draws diagrams could not be loaded.')));
    const hear = (event: MessageEvent) => event.source === made.contentWindow && event.data === ready && end(resolve);
    let timer = setTimeout(fail, longestLoad);
    const end = (then: () => void) => {
      clearTimeout(timer);
      removeEventListener('message', hear);
      then();
    };
    addEventListener('message', hear);
    made.onload = () => {
      clearTimeout(timer);
      timer = setTimeout(fail, longestStart);
    };
    document.body.append(made);
  });
}

/** Sends the frame a message with a port, on which it answers. The frame has no origin that could be named. */
function send(made: HTMLIFrameElement, message: Request | Probe): MessagePort {
  const { port1, port2 } = new MessageChannel();
  made.contentWindow!.postMessage(message, '*', [port2]);
  return port1;
}

function ask(made: HTMLIFrameElement, request: Request): Promise<Answer> {
  return new Promise((resolve) => {
    const port = send(made, request);
    port.onmessage = (event: MessageEvent<Answer>) => {
      port.close();
      resolve(event.data);
    };
  });
}

/** Whether the page continues while the frame is busy. Not all browsers give it a process, and not on all machines. */
async function isIsolated(made: HTMLIFrameElement): Promise<boolean> {
  for (let time = 20; time <= 160; time *= 2) if ((await turnsWhileBusy(made, time)) >= 10) return true; // this process may have to wait for others
  return false;
}

/** How often the page gets its turn while the frame is busy. In one process, what the frame says before and after comes together. */
function turnsWhileBusy(made: HTMLIFrameElement, time: number): Promise<number> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    let turns = 0;
    let counts = false;
    port1.onmessage = () => {
      if (counts) turns++;
      port2.postMessage(0);
    };
    port2.postMessage(0);
    const port = send(made, { busy: time });
    port.onmessage = (event: MessageEvent<boolean>) => {
      counts = event.data;
      if (counts) return;
      for (const one of [port, port1, port2]) one.close();
      resolve(turns);
    };
  });
}
