import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { accessible, all, look as lookAtDesktop } from './axe';
import { base, call, fresh, open, palette, picture, pull, session, sessionPath, useBrowser } from './kit';

useBrowser();

const user = 'ray';

/** A session in which the clerk has sold tea, and the run. */
async function sold(message = 'tea', app = 'clerk'): Promise<{ id: string; path: string; run: string }> {
  const id = fresh('s');
  const path = await session(app, user, id, message);
  const [run] = await call<{ id: string }[]>('GET', `${sessionPath(app, user, id)}/runs`);
  return { id, path, run: run!.id };
}

/** Looks at a screen, also as it is on a tablet and on a phone. */
async function look(page: Page, name: string) {
  await lookAtDesktop(page, name);
  const size = page.viewportSize()!;
  for (const [device, width, height] of [['tablet', 820, 1100], ['phone', 390, 844]] as const) {
    await page.setViewportSize({ width, height });
    await picture(page, `${name}-${device}`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth), 'scrolls sideways').toBe(false);
  }
  await accessible(page, all);
  await page.setViewportSize(size);
}

const forks = (id: string) => call<{ id: string; forkedFrom?: { replayOf?: string } }[]>('GET', `/apps/clerk/users/${user}/sessions?branchesOf=${id}`);

test('an exact replay of the same code is the same, and leads back', async () => {
  const { id, path, run } = await sold();
  const page = await open(path);
  await page.getByRole('button', { name: 'Actions for the run' }).click();
  await page.getByRole('menuitem', { name: 'Replay…' }).click();
  await expect.poll(() => page.url()).toBe(`${base}${path}/runs/${run}/replay`);
  await page.getByText('No model and no tool is called, and no token is spent.').waitFor();
  await expect.poll(() => page.locator('[data-answer=recorded]').count()).toBe(5);
  await look(page, 'replay-plan');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.locator('[data-report=same]').waitFor();
  await page.getByText('No model and no tool was called.').waitFor();
  // The replay is marked as one, and leads back.
  await page.getByRole('link', { name: 'Open the replay' }).click();
  await page.locator(`[data-branch-of="${id}"]`).getByText('replay of').waitFor();
  await page.getByLabel('Timeline').waitFor();
  await page.getByRole('button', { name: 'Actions for the run' }).click();
  expect(await page.getByRole('menuitem', { name: 'Replay…' }).count()).toBe(0);
  await page.getByRole('menuitem', { name: 'Compare with the original' }).click();
  await page.getByText('All steps are the same').waitFor();
  await page.goBack();
  await page.locator(`[data-branch-of="${id}"]`).getByRole('link').click();
  await expect.poll(() => new URL(page.url()).pathname).toBe(path);
  // The run leads to its replays.
  await page.goto(`${base}${path}/runs/${run}/replay`);
  await page.locator('[data-replays]').getByRole('link', { name: 'Open' }).waitFor();
  await page.locator('[data-replays]').getByText(/^Replay 1, /).waitFor();
  expect((await forks(id)).filter((s) => s.forkedFrom?.replayOf === run)).toHaveLength(1);
});

test('the first step that differs is marked', async () => {
  const gate = fresh('gate');
  const { path, run } = await sold(`tea, gate ${gate}`);
  await pull(`open/${gate}`); // the instruction is another one now
  const page = await open(`${path}/runs/${run}/replay`);
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('The replay differs, first at step 1.').waitFor();
  const first = page.locator('[data-first]');
  expect(await first.count()).toBe(1);
  await first.locator('del', { hasText: 'polite' }).waitFor();
  await first.locator('ins', { hasText: 'brief' }).waitFor();
  await page.locator('[data-report]').scrollIntoViewIfNeeded();
  await look(page, 'replay-differs');
  // A report is not kept, but the replay is.
  await page.reload();
  await page.getByRole('link', { name: 'compare it with the run' }).click();
  await page.getByText('All steps are the same').waitFor(); // what came of it is
});

test('another model, another instruction and another result', async () => {
  const { path, run } = await sold();
  const page = await open(`${path}/runs/${run}/replay`);
  await page.getByRole('radio', { name: /^Another model/ }).check();
  await page.getByText('Name the model that is to be asked.').waitFor();
  expect(await page.getByRole('button', { name: 'Replay', exact: true }).isDisabled()).toBe(true);
  await page.getByLabel('model', { exact: true }).fill('poet');
  await expect.poll(() => page.locator('[data-answer=live]').count()).toBe(3);
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('Called: 3 models, 0 tools.').waitFor();
  await page.locator('[data-first] ins', { hasText: 'steaming' }).waitFor();

  await page.getByRole('radio', { name: /^Another instruction/ }).check();
  await expect.poll(() => page.getByRole('textbox', { name: 'instruction', exact: true }).inputValue()).toContain('Be polite');
  await page.getByRole('textbox', { name: 'instruction', exact: true }).fill('Answer in a rhyme.');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.locator('[data-first] ins', { hasText: 'Tea for thee' }).waitFor();

  await page.getByRole('radio', { name: /^Another tool result/ }).check();
  await page.getByRole('radio', { name: 'Call 2, look_up' }).check();
  await page.getByLabel(/^result of call 2/).fill('{"price": 9');
  await page.getByText('The result is not JSON').waitFor();
  await page.getByLabel(/^result of call 2/).fill('{"price": 9}');
  await page.locator('[data-answer=replaced]').waitFor();
  await look(page, 'replay-result');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('Called: 2 models, 0 tools.').waitFor();
  await page.locator('[data-differs=true]').getByText('your result').waitFor();

  await page.getByRole('radio', { name: /^Live from a step on/ }).check();
  await page.getByRole('radio', { name: 'Call 5' }).check();
  await expect.poll(() => page.locator('[data-answer=live]').count()).toBe(1);
});

test('tools are called only after a warning with their effects', async () => {
  const { id, path, run } = await sold();
  const page = await open(`${path}/runs/${run}/replay?mode=model`);
  await page.getByLabel('model', { exact: true }).fill('poet');
  await page.getByRole('checkbox', { name: /^Call tools again/ }).check();
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Call tools again?' });
  await dialog.getByText('must not run twice').waitFor();
  await dialog.getByText('only reads or computes').waitFor();
  await look(page, 'replay-warning');
  await page.keyboard.press('Escape');
  expect((await forks(id)).length).toBe(1); // nothing was repeated
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await dialog.getByRole('button', { name: 'Call them', exact: true }).click();
  await page.getByText('Called: 3 models, 2 tools.').waitFor();
});

test('calls are chosen one by one, and tools from a step on', async () => {
  const { id, path, run } = await sold();
  const page = await open(`${path}/runs/${run}/replay?mode=calls`);
  await page.getByText('Choose the calls that are made again.').waitFor();
  await page.getByRole('checkbox', { name: 'Make call 2 again, look_up' }).check();
  await expect.poll(() => page.locator('[data-answer=live]').count()).toBe(1);
  await page.getByText('No model is called. Tools are called.').waitFor();
  await look(page, 'replay-calls');
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByRole('dialog', { name: 'Call tools again?' }).getByRole('button', { name: 'Call them', exact: true }).click();
  await page.getByText('Called: 0 models, 1 tools.').waitFor();
  // From a later call on, the tool before it is not called.
  await page.getByRole('radio', { name: /^Live from a step on/ }).check();
  await page.getByRole('radio', { name: 'Call 4' }).check();
  await page.getByRole('checkbox', { name: /^Call tools again from there on/ }).check();
  await expect.poll(() => page.locator('[data-answer=live]').count()).toBe(2);
  await page.locator('[data-repeats]').waitFor();
  expect(await page.locator('[data-repeats]').count()).toBe(1);
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByRole('dialog', { name: 'Call tools again?' }).getByRole('button', { name: 'Call them', exact: true }).click();
  await page.getByText('Called: 1 models, 1 tools.').waitFor();
  await page.getByText('may have been done twice').waitFor();
  expect((await forks(id)).filter((s) => s.forkedFrom?.replayOf === run)).toHaveLength(2);
});

test('a run that was not recorded, and ones that cannot be replayed', async () => {
  const { path, run } = await sold();
  const page = await open('/', { expected: /500/ });
  await page.route('**/recording', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), fromLog: true } });
  });
  await page.goto(`${base}${path}/runs/${run}/replay`);
  await page.locator('[data-not-recorded]').getByText('--record 1').waitFor();
  expect(await page.locator('[data-answer=recorded]').getByText('from the log', { exact: true }).count()).toBe(5);
  await look(page, 'replay-unrecorded');
  await page.goto(`${base}${path}/runs/nothing/replay`);
  await page.getByText('There is no such run in this session').waitFor();
  const made = await call<{ id: string }>('POST', `${path.slice('/ui'.length)}/fork`, {});
  await page.goto(`${base}/ui${sessionPath('clerk', user, made.id)}/runs/${run}/replay`);
  await page.getByText('This run was copied').waitFor();
  await page.getByRole('button', { name: 'Replay the original' }).click();
  await page.locator('[data-calls]').waitFor();
  await page.unroute('**/recording');
  await page.route('**/recording', (route) => route.fulfill({ status: 500, json: { error: 'no disk' } }));
  await page.reload();
  await page.getByText('The run could not be read').waitFor();
});

test('runs beside each other, with what differs by word', async () => {
  const a = await sold();
  const b = await sold('tea, please');
  await call('POST', `/dev${a.path.slice('/ui'.length)}/runs/${a.run}/replay`, { liveModels: true, model: 'poet', temperature: 0.5 });
  const page = await open(`/ui/apps/clerk/users/${user}/runs`);
  await page.getByRole('checkbox', { name: `Mark the run ${a.run}` }).check();
  expect(await page.getByRole('button', { name: 'Compare', exact: true }).isDisabled()).toBe(true);
  await page.getByRole('checkbox', { name: `Mark the run ${b.run}` }).check();
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.locator('[data-compare="2"]').waitFor();
  await page.locator('ins', { hasText: 'please' }).waitFor();
  await page.getByText('1 step differs').waitFor();
  // A replay is added from the list.
  await page.getByRole('button', { name: 'Add a run' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /replay/ }).first().click();
  await page.locator('[data-compare="3"]').waitFor();
  await page.locator('ins', { hasText: 'It is 0.5 degrees.' }).waitFor();
  await page.locator('[data-fact=tokens]').first().waitFor();
  expect(await page.locator('[data-fact=cost]').allInnerTexts()).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/^unknown: [\d,]+ tokens without a price$/)));
  await look(page, 'compare');
  // With the keyboard, from one difference to the next.
  await page.locator('h1').click();
  await page.keyboard.press('j');
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-differs'));
  expect(await focused()).toBe('true');
  await page.getByRole('checkbox', { name: 'Only what differs' }).check();
  expect(await page.locator('[data-differs=false]').count()).toBe(0);
  await page.getByRole('button', { name: 'Leave B out' }).click();
  await page.locator('[data-compare="2"]').waitFor();
  await page.reload(); // it has an address
  await page.locator('[data-compare="2"]').waitFor();
});

test('branches are compared where they part; nothing chosen yet, and what is gone', async () => {
  const a = await sold();
  await call('POST', `${a.path.slice('/ui'.length)}/fork`, { beforeInvocationId: a.run, sessionId: `${a.id}-b` });
  await call('POST', '/run', { appName: 'clerk', userId: user, sessionId: `${a.id}-b`, newMessage: { parts: [{ text: 'green tea' }] } });
  const page = await open(a.path, { expected: /404/ });
  await page.locator('[data-branches]').getByRole('button', { name: 'Compare' }).click();
  await page.locator('[data-compare="2"]').waitFor();
  await page.locator('ins', { hasText: 'green' }).waitFor();
  await page.goto(`${base}/ui/apps/clerk/users/${user}/compare`);
  await page.getByText('Choose the runs to compare').waitFor();
  await look(page, 'compare-empty');
  await page.goto(`${base}/ui/apps/clerk/users/${user}/compare?run=${a.id}/${a.run}&run=${a.id}/none&run=gone/none`);
  await page.getByText('has no such run').waitFor();
  await page.getByText('The session gone could not be read').waitFor();
  await page.getByRole('button', { name: 'Leave it out' }).click();
  await page.getByText('has no such run').waitFor({ state: 'detached' });
});

test('variants in a table, with progress, and cancelled', async () => {
  const { id, path, run } = await sold();
  const page = await open(`${path}/runs/${run}/variants`);
  await page.getByLabel('models, one per line').fill('house\npoet\nrefuses');
  await page.getByLabel('temperatures, separated by commas').fill('0, 0.9');
  await page.getByRole('button', { name: 'Try 6 variants' }).click();
  await expect.poll(() => page.locator('[data-variant]').getByText('completed').filter({ visible: true }).count()).toBe(5); // and the run itself
  await page.locator('[data-variant="4"]').getByText('It is 0.9 degrees.').waitFor();
  await page.locator('[data-variant="5"]').getByText('failed').filter({ visible: true }).waitFor();
  await page.getByRole('button', { name: 'Try 6 variants' }).waitFor(); // it is over
  await look(page, 'variants');
  // On a phone, what has no column is below the name, which has most of the width.
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.locator('[data-variant="1"] td').first().evaluate((cell) => cell.clientWidth)).toBeGreaterThan(250);
  await page.locator('[data-variant="1"]').getByText('completed').filter({ visible: true }).waitFor();
  await page.setViewportSize({ width: 1360, height: 860 });
  expect((await forks(id)).filter((s) => s.forkedFrom?.replayOf === run)).toHaveLength(6);
  await page.getByRole('checkbox', { name: 'Mark variant 1' }).check();
  await page.getByRole('checkbox', { name: 'Mark variant 4' }).check();
  await page.getByRole('button', { name: 'Compare 2 with the run' }).click();
  await page.locator('[data-compare="3"]').waitFor();
  // What has no answer yet is cancelled; the address has kept what was tried.
  await page.goto(`${base}${path}/runs/${run}/variants?models=gated%0Ahouse`);
  await page.getByRole('button', { name: 'Add an instruction' }).click();
  await page.getByLabel('Instruction 1 for clerk').fill('Answer in a rhyme.');
  await page.getByRole('button', { name: 'Try 4 variants' }).click();
  await page.locator('[data-variant="4"]').getByText('completed').filter({ visible: true }).waitFor();
  await page.locator('[data-variant="4"]').getByText('Tea for thee').waitFor();
  await page.getByText('2 of 4').waitFor();
  await look(page, 'variants-running');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect.poll(() => page.locator('[data-variant]').getByText('cancelled').filter({ visible: true }).count()).toBe(2);
  await page.getByLabel('temperatures, separated by commas').fill('warm');
  await page.getByText('is not a temperature').waitFor();
});

test('a turn in a few lines, with details on demand', async () => {
  const { path, run } = await sold();
  const page = await open(path);
  await page.getByRole('button', { name: 'Actions for the run' }).waitFor();
  await palette(page);
  await page.getByPlaceholder('Go to, or do…').fill('steps of the run');
  await page.getByRole('option', { name: 'Show the steps of the run' }).waitFor();
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toBe(`${base}${path}/runs/${run}`);
  await expect.poll(() => page.locator('[data-step]').count()).toBe(4);
  await expect.poll(() => page.locator('[data-totals]').textContent()).toContain('4 steps246 tokens');
  await page.locator('[data-step=call]').first().focus();
  await page.keyboard.press('Enter');
  await page.locator('[data-details]').getByText('"price"').waitFor();
  await look(page, 'steps');
  await page.getByRole('button', { name: 'show the event' }).click();
  await page.getByRole('tab', { name: 'Actions' }).waitFor();
});

test('the steps of a workflow, beside its graph, while it runs', async () => {
  const gate = fresh('gate');
  const id = fresh('s');
  const path = await session('press', user, id);
  const { id: run } = await call<{ id: string }>('POST', `${sessionPath('press', user, id)}/runs`, { newMessage: { role: 'user', parts: [{ text: `print, gate ${gate}` }] } });
  const page = await open(`${path}/runs/${run}`);
  await expect.poll(() => page.locator('[data-node=plan]').getAttribute('data-status')).toBe('active');
  await pull(`open/${gate}-plan`);
  await pull(`open/${gate}-publish`);
  await expect.poll(() => page.locator('[data-node=archive]').getAttribute('data-status')).toBe('done');
  await look(page, 'steps-workflow');
});
