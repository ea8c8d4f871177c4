// What the tests of the UI have in common: a browser, the server, and a look at
// the console.
import { mkdirSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core';
import { afterEach, beforeAll, expect } from 'vitest';

export const base = process.env['BASE']!;
/** The same server, where it can be lost. */
export const fragile = process.env['FRAGILE']!;
/** Servers that want to know who calls: at an issuer, or by a key, which is bob's. */
export const oidc = process.env['OIDC']!;
export const keys = process.env['KEYS']!;
export const key = process.env['KEY']!;
/** A server for everyone. */
export const everyone = process.env['PUBLIC']!;
/** Keys of callers who may read what all users have, and of those who may also give feedback. */
export const reader = process.env['READER']!;
export const reviewer = process.env['REVIEWER']!;
/** What tests pull, and a receiver of webhooks: see e2e_test.go. */
export const control = process.env['CONTROL']!;
/** The addresses of all servers that serve our pages. */
const own = [base, fragile, oidc, keys, everyone].filter(Boolean);
const size = { width: 1360, height: 860 };
const pictures = 'screenshots';
/** Whether pictures of the screens are wanted. To draw them takes as long as the tests do. */
const draw = process.env['PICTURES'] === '1';

/** How long something may take, in milliseconds: a busy machine takes its time. */
export const patience = Number(process.env['PATIENCE'] ?? 120_000);

/** Opens the palette with the keyboard. Keys that are pressed before its box has the focus go elsewhere. */
export async function palette(page: Page) {
  await page.keyboard.press('Control+k');
  const box = page.getByPlaceholder('Go to, or do…');
  await box.waitFor();
  await expect.poll(() => box.evaluate((el) => el === document.activeElement)).toBe(true);
}

/** Copies an item of a menu that is open, as a command. */
export async function copyItem(page: Page, item: string) {
  await page.getByRole('menuitem', { name: 'Copy as curl' }).click();
  await page.locator('[data-commands]').getByRole('menuitem', { name: item, exact: true }).click();
}

/** Copies what a button in a place does, as a command. */
export async function copyAction(place: Locator, action: string) {
  await place.getByRole('button', { name: 'Copy as curl', exact: true }).first().click();
  await place.page().getByRole('menuitem', { name: action, exact: true }).click();
}

/** Scrolls the screen as far as it goes. The heights of what was not yet seen are estimates, so it may go further then. */
export const toEnd = (page: Page) => page.locator('#main').evaluate((el) => void (el.scrollTop = el.scrollHeight));

/** What was copied last. */
export const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

let browser: Browser | undefined;

/**
 * A context of the browser. A test has one for each page that it opens, and the next tests have the same ones again,
 * without what was stored: a new one would load and compile all scripts once more, which takes as long as the tests do.
 */
interface Slot {
  context: BrowserContext;
  /** A page of the server that stays open, because the process with the scripts ends with its last page. */
  keeper: Page;
}

const slots: Slot[] = [];
let used = 0; // by this test
let complaints: string[] = [];

/** Connects to the browser of all tests, and looks for errors on the console after each test. */
export function useBrowser() {
  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true });
    if (!browser?.isConnected()) browser = await chromium.connect(process.env['BROWSER']!);
  });
  afterEach(async ({ task }) => {
    const now = slots.slice(0, used);
    used = 0;
    const pages = now.flatMap((slot) => slot.context.pages().filter((page) => page !== slot.keeper));
    if (task.result?.state === 'fail') await Promise.all(pages.map((page, i) => page.screenshot({ path: `${pictures}/failed/${task.id}-${i}.png` }).catch(() => undefined)));
    await Promise.all(pages.map((page) => page.close()));
    await Promise.all(now.map(clear));
    const said = complaints;
    complaints = [];
    expect(said, 'errors on the console').toEqual([]);
  });
}

/** Returns a context that this test does not have yet. */
async function take(): Promise<BrowserContext> {
  const slot = slots[used++];
  if (slot) return slot.context;
  const context = await browser!.newContext({ viewport: size, reducedMotion: 'reduce', locale: 'en-GB' });
  context.setDefaultTimeout(patience); // also of the keeper, and of pages that others open
  // A browser has one clipboard, and tests run at the same time.
  await context.addInitScript(() => {
    let copied = '';
    const own = { writeText: async (text: string) => void (copied = text), readText: async () => copied };
    Object.defineProperty(navigator, 'clipboard', { value: own });
  });
  const keeper = await context.newPage();
  await keeper.goto(`${base}/version`);
  slots.push({ context, keeper });
  return context;
}

/** Deletes what pages have stored. */
async function clear({ context, keeper }: Slot) {
  await context.clearCookies();
  const session = await context.newCDPSession(keeper);
  for (const origin of own) await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await session.detach();
}

/** Notes the errors of a page, and of those that it opens, but for expected ones. */
function watch(page: Page, expected?: RegExp) {
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    const where = message.location().url;
    if (!own.some((origin) => where.startsWith(origin)) && !/Content Security Policy/.test(message.text())) return; // the page of the provider is not ours
    if (!expected?.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('popup', (popup) => watch(popup, expected));
}

interface Options {
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
  /** Errors that the test makes on purpose. */
  expected?: RegExp;
  /** Addresses that are not to be asked. */
  block?: RegExp;
}

export async function open(path: string, options: Options = {}): Promise<Page> {
  const page = await (await take()).newPage();
  watch(page, options.expected);
  if (options.width ?? options.height) await page.setViewportSize({ ...size, ...options });
  if (options.theme === 'dark') await page.emulateMedia({ colorScheme: 'dark' });
  if (options.block) await page.route(options.block, (route) => route.abort());
  await page.goto(path.startsWith('http') ? path : base + path);
  return page;
}

export async function picture(page: Page, name: string) {
  if (!draw) return;
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: `${pictures}/${name}.png` });
}

export const pull = (string: string, body = '') => fetch(`${control}/${string}`, { method: 'POST', body });

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(base + path, {
    method,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body), headers: { 'Content-Type': typeof body === 'string' ? 'application/jsonl' : 'application/json' } }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

let count = 0;
/** A name that no other test has. */
export const fresh = (name: string) => `${name}-${process.pid}-${++count}`;

export const sessionPath = (app: string, user: string, session: string) => `/apps/${app}/users/${user}/sessions/${session}`;

/** Makes a session and says things in it. */
export async function session(app: string, user: string, id: string, ...messages: string[]): Promise<string> {
  const path = sessionPath(app, user, id);
  await call('POST', path, { state: { unit: 'celsius' } });
  for (const text of messages) await call('POST', '/run', { appName: app, userId: user, sessionId: id, newMessage: { parts: [{ text }] } });
  return `/ui${path}`;
}
