// Diagrams in answers. What a model says is hostile until it is proven otherwise.
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { call, clipboard, fresh, open, picture, sessionPath, useBrowser } from './kit';
import { accessible } from './axe';

useBrowser();

const fence = (source: string) => `\`\`\`mermaid\n${source}\n\`\`\``;

const flow = `flowchart LR
  A[Question arrives] --> B{Is it about<br/>the weather?}
  B -->|yes| C[(Forecasts)]
  B -- "no, it isn't" --> D([Say so & stop])
  C --> E[[Answer]]
  subgraph Tools
    C
  end
  style D fill:#f9f,stroke:#333
  E --> F[Log it]`;

const kinds: Record<string, string> = {
  flow,
  sequence: `sequenceDiagram
  accTitle: How a message is answered
  participant U as User
  participant S as Server
  U->>+S: message
  Note over U,S: one run at a time
  loop each tool
    S->>S: call
  end
  alt it works
    S-->>-U: answer
  else it fails
    S-->>U: error
  end`,
  class: `classDiagram
  class Store { +get(id) Session\n +append(event) }
  Store <|-- SQLite
  Store <|-- Postgres : pgx
  Postgres "1" *-- "many" Connection`,
  state: `stateDiagram-v2
  [*] --> queued
  queued --> running : claim
  running --> completed
  running --> waiting : question
  waiting --> running : answer
  completed --> [*]
  note right of waiting : until someone answers`,
  er: `erDiagram
  USER ||--o{ SESSION : has
  SESSION ||--|{ EVENT : contains
  EVENT { int seq\n string author }`,
  gantt: `gantt
  title Release
  dateFormat YYYY-MM-DD
  section Build
  Compile :done, a1, 2026-01-05, 10d
  Test :active, after a1, 8d
  section Ship
  Publish :crit, 2026-01-26, 4d`,
  pie: `pie showData title Tokens
  "input" : 62
  "output" : 25
  "cached" : 13`,
  mindmap: `mindmap
  root((Agents))
    Tools
      Search
      Mail
    Models
      Local
      Remote`,
  git: `gitGraph
  commit
  branch develop
  commit
  checkout main
  merge develop`,
  timeline: `timeline
  title History
  2024 : First : Second
  2025 : Third`,
  journey: `journey
  title A day
  section Morning
    Wake up: 3: Me
    Coffee: 5: Me, Cat`,
  quadrant: `quadrantChart
  title Reach
  x-axis Low --> High
  y-axis Poor --> Good
  A: [0.3, 0.6]
  B: [0.7, 0.2]`,
  xy: `xychart-beta
  title "Sales"
  x-axis [jan, feb, mar]
  y-axis "Revenue" 0 --> 100
  bar [50, 60, 75]
  line [50, 60, 75]`,
};

async function show(texts: string[], options: Parameters<typeof open>[1] = {}, before?: (page: Page) => unknown): Promise<Page> {
  const path = sessionPath('city', fresh('ada'), 's');
  const events = [['user', 'Draw it.'], ...texts.map((text) => ['weather_agent', text])].map(([author, said]) => ({ author, invocationId: 'e-1', content: { role: author === 'user' ? 'user' : 'model', parts: [{ text: said }] } }));
  await call('POST', path.replace(/\/s$/, ''), { sessionId: 's', events });
  const page = await open('/ui/', options);
  await before?.(page);
  await page.goto(page.url().replace(/\/ui.*$/, `/ui${path}`));
  await page.locator('[data-diagram]').first().waitFor();
  return page;
}

/** The texts of the first diagram, as the picture has them. */
const textOf = async (page: Page) => decodeURIComponent((await page.locator('[data-diagram=drawn] img').first().getAttribute('src'))!).replace(/<[^>]*>/g, '');

test('a diagram is drawn in the colours of the page, and its source can be seen and copied', async () => {
  for (const [name, options] of Object.entries({ desktop: {}, dark: { theme: 'dark' as const }, phone: { width: 390, height: 844 }, 'phone-dark': { width: 390, height: 844, theme: 'dark' as const } })) {
    const page = await show([`Like this:\n\n${fence(flow)}\n\nand this:\n\n${fence(kinds['sequence']!)}`], options);
    await expect.poll(() => page.locator('[data-diagram=drawn] img').count()).toBe(2);
    // It is a picture with a name and a size, which the browser can decode.
    expect(await page.locator('[data-diagram] img').evaluateAll((all: HTMLImageElement[]) => all.map((img) => img.alt))).toEqual(['Diagram: flowchart', 'How a message is answered']);
    await page.locator('[data-diagram] img').evaluateAll((all: HTMLImageElement[]) => Promise.all(all.map((img) => img.decode())));
    expect(await page.locator('[data-diagram] img').first().evaluate((img: HTMLImageElement) => img.naturalWidth > 300 && img.naturalHeight > 40)).toBe(true);
    // Its texts can be read: it is hardly smaller than it is drawn, and scrolls.
    expect(await page.locator('[data-diagram] img').first().evaluate((img: HTMLImageElement) => img.clientWidth / Number(img.getAttribute('width')))).toBeGreaterThan(0.84);
    expect(await textOf(page)).toContain("no, it isn't");
    // The diagram chose a pale fill, on which texts of the dark theme could not be read.
    expect(decodeURIComponent((await page.locator('[data-diagram=drawn] img').first().getAttribute('src'))!).includes('fill: rgb(0, 0, 0) !important')).toBe(name.endsWith('dark'));
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await accessible(page, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']);
    await picture(page, `diagrams-${name}`);
    if (name !== 'desktop') continue;
    await page.getByRole('button', { name: 'Copy the source' }).first().click();
    await expect.poll(() => clipboard(page)).toBe(flow);
    await page.getByRole('button', { name: 'Show the source' }).first().click();
    expect(await page.getByLabel('Source of the diagram').innerText()).toBe(flow);
    await page.getByRole('button', { name: 'Show the diagram' }).click();
    // Another theme, another picture.
    const light = await page.locator('[data-diagram] img').first().getAttribute('src');
    await page.evaluate(() => void (document.documentElement.dataset['theme'] = 'dark'));
    await expect.poll(() => page.locator('[data-diagram=drawn] img').first().getAttribute('src')).not.toBe(light);
  }
});

test('all kinds of diagrams are drawn', async () => {
  for (const theme of ['light', 'dark'] as const) {
    const page = await show(Object.values(kinds).map(fence), { theme, height: 8000 });
    await expect.poll(() => page.locator('[data-diagram=drawn] img').count()).toBe(Object.keys(kinds).length);
    await page.locator('[data-diagram] img').evaluateAll((all: HTMLImageElement[]) => Promise.all(all.map((img) => img.decode())));
    await picture(page, `diagrams-kinds-${theme}`);
  }
});

test('the page loads what draws only for a diagram', async () => {
  const asked: string[] = [];
  const page = await show(['```js\n1\n```', fence(flow)], {}, (p) => p.on('request', (request) => asked.push(new URL(request.url()).pathname)));
  await page.locator('[data-diagram=drawn]').waitFor();
  expect(asked.filter((path) => path === '/ui/diagram.html')).toHaveLength(1);
});

test('a broken diagram shows its source and what is wrong', async () => {
  const page = await show([[`flowchart LR\n  A --> `, `nonsense\n  A --> B`, `flowchart LR\n${'x'.repeat(20_001)}`, flow].map(fence).join('\n\n')]);
  await page.locator('[data-diagram=drawn]').waitFor();
  await expect.poll(() => page.locator('[data-diagram=broken]').count()).toBe(3);
  expect(await page.locator('[data-diagram=broken] [role=status]').allInnerTexts()).toEqual([
    expect.stringContaining('Parse error on line'), expect.stringContaining('No diagram type detected'), expect.stringContaining('longer than 20,000 characters'),
  ]);
  expect(await page.locator('[data-diagram=broken] pre').first().innerText()).toContain('A -->');
  await picture(page, 'diagrams-broken');
});

const hostile: Record<string, string> = {
  script: `flowchart LR\n  A["<script>parent.owned=1</script>"] --> B["<img src=x onerror='parent.owned=1'>"]`,
  link: `flowchart LR\n  A --> B\n  click A "javascript:parent.owned=1" _self\n  click B href "https://evil.example/"`,
  call: `flowchart LR\n  A --> B\n  click A call alert("1")`,
  init: `%%{init: {"securityLevel": "loose", "htmlLabels": true, "maxTextSize": 99999999, "flowchart": {"htmlLabels": true}, "themeCSS": "* { background: url(https://evil.example/a) }", "fontFamily": "x; } @import url(https://evil.example/b)"}}%%\nflowchart LR\n  A["<iframe src='https://evil.example/c'></iframe>"] --> B`,
  front: `---\nconfig:\n  securityLevel: loose\n  themeCSS: "@import 'https://evil.example/d'"\n  theme: dark\n---\nflowchart LR\n  A --> B`,
  proto: `%%{init: {"__proto__": {"owned": 1}, "constructor": {"prototype": {"owned": 1}}}}%%\nflowchart LR\n  A --> B`,
  css: `flowchart LR\n  classDef a fill:url(https://evil.example/e),background-image:url(https://evil.example/f)\n  A:::a --> B\n  style B fill:url("https://evil.example/g")`,
  links: `sequenceDiagram\n  participant A\n  links A: {"x": "javascript:parent.owned=1", "y": "https://evil.example/"}\n  A->>A: <b onmouseover=alert(1)>x</b>`,
};

test('hostile diagrams do nothing, under the policy of the page', async () => {
  const asked: string[] = [];
  // The sanitizer parses handlers in order to remove them, which browsers report. They report nothing else.
  const page = await show(Object.values(hostile).map(fence), { height: 3000, expected: /^Executing inline event handler violates/ }, (p) => p.on('request', (request) => asked.push(request.url())));
  const all = Object.keys(hostile).length;
  await expect.poll(() => page.locator('[data-diagram=drawn], [data-diagram=broken]').count()).toBe(all);
  // What is drawn is a picture, which has no scripts to run and no links to follow.
  await page.locator('[data-diagram] img').evaluateAll((imgs: HTMLImageElement[]) => Promise.all(imgs.map((img) => img.decode())));
  expect(await page.locator('[data-diagram] :is(a, script, iframe, svg svg)').count()).toBe(0);
  expect(await page.evaluate(() => 'owned' in window || 'owned' in {})).toBe(false);
  expect(asked.filter((url) => /evil|\/x$/.test(url))).toEqual([]);
  expect(page.url()).not.toContain('evil');
  await picture(page, 'diagrams-hostile');
});

test('pictures from elsewhere are not loaded', async () => {
  const asked: string[] = [];
  const page = await show([`${fence('flowchart LR\n  A@{ img: "https://evil.example/a.png", label: "x" } --> B')}\n\n${fence(flow)}`], { expected: /evil\.example|source image cannot be decoded/ }, (p) => {
    p.on('requestfailed', (request) => asked.push(`${request.url()} ${request.failure()?.errorText}`));
    p.on('requestfinished', (request) => asked.push(request.url()));
  });
  await expect.poll(() => page.locator('[data-diagram=drawn], [data-diagram=broken]').count()).toBe(2);
  expect(asked.filter((url) => url.includes('evil') && !url.endsWith(' csp'))).toEqual([]);
});

test('a diagram with too much in it is not drawn, and the next one is', async () => {
  const many = `flowchart LR\n${Array.from({ length: 500 }, (_, i) => `  a${i} --> b${i % 7}`).join('\n')}`;
  const page = await show([`${fence(many)}\n\n${fence(flow)}`]);
  await page.locator('[data-diagram=drawn]').waitFor();
  expect(await page.locator('[data-diagram=broken] [role=status]').innerText()).toContain('The diagram cannot be drawn.');
});

/** A frame that says that it is ready, and is as busy as it is asked to be. What it does with a diagram is code. */
const frame = (draws: string, busy = 'for (const end = performance.now() + data.busy; performance.now() < end; );') => ({
  contentType: 'text/html',
  body: `<!doctype html><script>
    addEventListener('message', ({ data, ports: [port] }) => {
      if (!('busy' in data)) { ${draws} }
      port.postMessage(true);
      ${busy}
      port.postMessage(false);
    });
    parent.postMessage('diagrams: ready', '*');
  </script>`,
});
const buttons = (page: Page) => page.getByRole('button', { name: 'Draw the diagram' });

test('a diagram that is drawn without end stops neither the page nor others, which are then drawn when they are asked for', async () => {
  let frames = 0;
  const page = await show([`${fence('flowchart LR\n  slow')}\n\n${fence(flow)}`], {}, async (p) => {
    await p.addInitScript(() => {
      const late: (() => void)[] = [];
      const set = window.setTimeout.bind(window) as (run: () => void, time?: number) => number;
      Object.assign(window, { late, setTimeout: (run: () => void, time?: number) => (time === 30_000 ? late.push(run) : set(run, time)) });
    });
    await p.route('**/ui/diagram.html', (route) => (++frames === 1 ? route.fulfill(frame('for (;;);')) : route.continue()));
  });
  await page.waitForFunction(() => (window as never as { late: unknown[] }).late.length === 1);
  await page.getByLabel('Message').fill('Does it take long?'); // while it loops
  await page.evaluate(() => (window as never as { late: (() => void)[] }).late[0]!());
  await expect.poll(() => page.locator('[data-diagram=broken] [role=status]').allInnerTexts()).toEqual(['The diagram cannot be drawn. It took longer than 30 seconds.']);
  await page.locator('[data-diagram=broken] pre').getByText('slow').waitFor();
  expect(await page.locator('[data-diagram=drawn]').count()).toBe(0);
  await buttons(page).click();
  await page.locator('[data-diagram=drawn] img').waitFor();
  expect(frames).toBe(2);
  await page.getByRole('button', { name: 'Try again' }).click(); // the frame can draw it now
  await expect.poll(() => page.locator('[data-diagram=drawn] img').count()).toBe(2);
  await expect.poll(() => page.locator('iframe').count()).toBe(1);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('region', { name: 'Events' }).getByText('Does it take long?').first().waitFor();
});

test('where the page would have to wait for the frame, diagrams are drawn when they are asked for', async () => {
  const picture = `{ svg: '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"/>', width: 80, height: 40, kind: 'flowchart-v2', title: '' }`;
  const page = await show([`${fence(flow)}\n\n${fence(kinds['pie']!)}`], {}, (p) => p.route('**/ui/diagram.html', (route) => route.fulfill(frame(`return port.postMessage(${picture})`, ''))));
  await expect.poll(() => buttons(page).count()).toBe(2);
  expect(await page.locator('[data-diagram=drawn]').count()).toBe(0);
  await accessible(page, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']);
  await buttons(page).first().click();
  await page.locator('[data-diagram=drawn] img').waitFor();
  expect(await buttons(page).count()).toBe(1);
});

test('what could not be loaded is loaded again', async () => {
  let fails = true;
  let asked = 0;
  const page = await show([fence(flow)], { expected: /503/ }, async (p) => {
    await p.clock.install();
    await p.route('**/ui/diagram.html', (route) => (asked++, fails ? route.fulfill({ status: 503, contentType: 'text/html', body: 'The server restarts.' }) : route.continue()));
  });
  await expect.poll(() => asked).toBeGreaterThan(0); // it may be before the page is shown
  await expect.poll(async () => (await page.clock.fastForward(20_000), page.locator('[data-diagram=broken] [role=status]').allInnerTexts())).toEqual(['The diagram cannot be drawn. What draws diagrams could not be loaded.']);
  fails = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('[data-diagram=drawn] img').waitFor();
  await expect.poll(() => page.locator('iframe').count()).toBe(1);
});

test('dates that are far apart are refused, and the next diagram is drawn', async () => {
  const far = `gantt\n  dateFormat YYYY-MM-DD\n  excludes 2026-12-25\n${Array.from({ length: 40 }, (_, i) => `  Task ${i} :t${i}, 1000-01-01, 3000000d`).join('\n')}`;
  const page = await show([`${fence(far)}\n\n${fence(kinds['gantt']!.replace('section Build', 'excludes weekends\n  section Build'))}`]);
  await page.locator('[data-diagram=drawn] img').waitFor();
  expect(await page.locator('[data-diagram=broken] [role=status]').innerText()).toBe('The diagram cannot be drawn. Its dates are too far apart.');
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
});

test('a diagram that is scrolled to again is there at once, as the user has chosen', async () => {
  const lines = Array.from({ length: 60 }, (_, i) => `Line ${i}`);
  const page = await show([...lines, fence(flow), fence(kinds['pie']!)]);
  const log = page.getByRole('region', { name: 'Events' });
  const scroll = (top: number) => log.evaluate((el, top) => void (el.scrollTop = top), top);
  await expect.poll(() => page.locator('[data-diagram=drawn] img').count()).toBe(2);
  await page.getByRole('img', { name: 'Diagram: pie chart' }).waitFor();
  await page.getByRole('img', { name: 'Diagram: flowchart' }).waitFor();
  await page.locator('[data-diagram=drawn]').first().getByRole('button', { name: 'Show the source' }).click();
  await scroll(0);
  await expect.poll(() => page.locator('[data-diagram]').count()).toBe(0);
  // Every state of the rows is looked at, from the moment on at which they are there.
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    new MutationObserver(() => document.querySelectorAll('[data-diagram]').forEach((one) => seen.push(one.getAttribute('data-diagram')!))).observe(document.body, { childList: true, subtree: true });
  });
  await scroll(1e6);
  await page.locator('[data-diagram] img').waitFor();
  await page.getByLabel('Source of the diagram').waitFor();
  expect(new Set(await page.evaluate(() => (window as never as { seen: string[] }).seen))).toEqual(new Set(['drawn']));
});

test('the page that draws has no origin, and refuses what is not its own script', async () => {
  const page = await open('/ui/diagram.html', { expected: /Content Security Policy/ });
  expect(await page.evaluate(() => origin)).toBe('null');
  expect(await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.owned = 1';
    document.body.append(script);
    return 'owned' in window;
  })).toBe(false);
  expect(await page.evaluate(() => fetch('/ui/theme.js').then(() => 'loaded', () => 'refused'))).toBe('refused');
});
