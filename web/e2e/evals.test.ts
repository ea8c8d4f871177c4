import { text } from 'node:stream/consumers';

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { accessible, look } from './axe';
import { base, call, fresh, open, picture, session, sessionPath, useBrowser } from './kit';

useBrowser();

/** Looks at it on a phone and on a tablet. */
async function small(page: Page, name: string) {
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, `${name}-phone`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth), 'scrolls sideways').toBe(false);
  await accessible(page, ['wcag2a', 'wcag2aa']);
  await page.setViewportSize({ width: 820, height: 1180 });
  await picture(page, `${name}-tablet`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth), 'scrolls sideways on a tablet').toBe(false);
  await page.setViewportSize({ width: 1360, height: 860 });
}

test('a turn is rated, becomes a test, fails, is corrected and compared', async () => {
  const user = fresh('judge');
  const page = await open(await session('city', user, 'talk', 'What is the weather in Oslo?'));
  const bar = page.locator('[data-feedback]');
  await bar.getByRole('button', { name: 'Bad answer' }).click();
  await expect.poll(() => bar.getByRole('button', { name: 'Bad answer' }).getAttribute('aria-pressed')).toBe('true');
  await bar.getByRole('button', { name: 'Note', exact: true }).click();
  await page.getByLabel('Note on this turn').fill('It rains in Oslo.');
  await page.keyboard.press('Enter');
  await bar.getByText('It rains in Oslo.').waitFor();
  expect(await page.locator('[data-row]').count(), 'feedback is no line of the log').toBe(4);
  expect(await call('GET', `${sessionPath('city', user, 'talk')}/feedback`)).toMatchObject([{ author: user, rating: 'down', note: 'It rains in Oslo.' }]);
  await page.reload();
  await bar.getByText('It rains in Oslo.').waitFor();
  await look(page, 'feedback');
  await bar.getByRole('button', { name: 'Bad answer' }).click();
  await expect.poll(() => bar.getByRole('button', { name: 'Bad answer' }).getAttribute('aria-pressed')).toBe('false');

  // Kept in the only set that there is, with the tool call and its result.
  await bar.getByRole('button', { name: 'Save as a test' }).click();
  const name = 'what_is_the_weather_in_oslo';
  await bar.getByRole('link', { name }).click();
  await page.getByLabel('Expected answer').fill('The weather in Oslo is rainy.');
  await page.getByLabel('Arguments of tool call 1').fill('{"city": ');
  await page.getByText('The arguments are a JSON object').waitFor();
  expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
  await page.getByLabel('Arguments of tool call 1').fill('{"city": "Bergen"}');
  await look(page, 'eval-case');
  await small(page, 'eval-case');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The case is saved.').waitFor();
  await page.reload();
  await expect.poll(() => page.getByLabel('Arguments of tool call 1').inputValue()).toBe('{"city":"Bergen"}');

  await page.getByRole('navigation', { name: 'Above' }).getByRole('link', { name: 'smoke' }).click();
  await page.locator(`[data-case=${name}]`).waitFor();
  await page.getByRole('button', { name: 'Run all' }).click();
  await page.getByLabel('Needed score of words').fill('0.7');
  await page.getByText('Use the recorded results of tools').waitFor();
  await page.getByText('Needed score', { exact: true }).first().waitFor();
  await page.getByRole('checkbox', { name: /^Use these metrics from now on/ }).check();
  await look(page, 'eval-run');
  await small(page, 'eval-run');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.locator('[data-evaluation=completed]').waitFor();
  await page.getByText('call 1 is get_weather {"city":"Oslo"}, expected get_weather {"city":"Bergen"}').waitFor();
  await page.getByText('words is 0.4545, less than 0.7').first().waitFor();
  await look(page, 'eval-set');
  await small(page, 'eval-set');
  await page.getByRole('link', { name: 'Show the result' }).click();
  const outcome = page.locator(`[data-outcome-of=${name}]`);
  await outcome.locator('del').filter({ hasText: 'rainy' }).first().waitFor();
  expect(await outcome.locator('tr[data-same=false]').count()).toBe(1);
  await outcome.locator('[data-score=response_match_score]').getByText('0.4545', { exact: true }).waitFor();
  // Words that were removed and added do not run together.
  expect(await outcome.locator('[data-words] del + ins').first().evaluate((ins) => ins.getClientRects()[0]!.left - [...ins.previousElementSibling!.getClientRects()].at(-1)!.right)).toBeGreaterThan(2);
  await page.locator('[data-outcome-of=paris]').waitFor();
  await look(page, 'eval-result');
  await small(page, 'eval-result');

  // The session of the case is there to be looked at.
  await page.getByRole('link', { name: 'Show the session' }).last().click();
  await page.locator('[data-call=get_weather]').waitFor();
  await page.goBack();

  // The expectation is corrected, only this case is run, and the two results are compared.
  await page.getByRole('link', { name, exact: true }).click();
  await page.getByLabel('Arguments of tool call 1').fill('{"city": "Oslo"}');
  await page.getByLabel('Expected answer').fill('The weather in Oslo is sunny with a temperature of 25 degrees Celsius (77 degrees Fahrenheit).');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The case is saved.').waitFor();
  await page.getByRole('navigation', { name: 'Above' }).getByRole('link', { name: 'smoke' }).click();
  await page.getByLabel(`Choose ${name}`).check();
  await page.getByRole('button', { name: 'Run 1 chosen' }).click();
  // The criteria are those of the application now, and not only of this browser.
  await page.locator('[data-criteria]').waitFor();
  expect(await page.getByLabel('Needed score of words').inputValue()).toBe('0.7');
  const criteria = await call<{ evalMetrics: { metricName: string; threshold: number }[]; stored: boolean }>('GET', '/dev/apps/city/eval_criteria');
  expect(criteria).toMatchObject({ stored: true, evalMetrics: [{ metricName: 'response_match_score', threshold: 0.7 }, { metricName: 'tool_trajectory_avg_score', threshold: 1 }] });
  await page.getByText('Use the recorded results of tools').click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('1 of 1 case, 0 failed').waitFor();
  await expect.poll(() => page.locator('[data-result]').count()).toBe(2);
  for (const box of await page.getByLabel(/^Compare the result/).all()) await box.check();
  await page.getByRole('button', { name: 'Compare two results' }).click();
  const compared = page.locator(`[data-compared=${name}]`);
  await compared.getByText('0 → 1').waitFor();
  // The scores are higher because the case was corrected, and not the agent.
  const expectation = compared.locator('[data-expectation]');
  await expectation.getByText('another answer and other tool calls are expected').waitFor();
  await expectation.locator('del').filter({ hasText: 'rainy' }).first().waitFor();
  expect(await expectation.locator('tr[data-same=false]').textContent()).toMatch(/Bergen.*Oslo/);
  await look(page, 'eval-compare');
  await small(page, 'eval-compare');

  await page.keyboard.press('g');
  await page.keyboard.press('e');
  await page.getByRole('link', { name: 'smoke', exact: true }).nth(1).waitFor();
  await look(page, 'evals');
  await small(page, 'evals');
});

test('sets are made and deleted, and an evaluation is cancelled', async () => {
  const page = await open('/ui/apps/story/evals', { expected: /404/ });
  await page.getByText('There are no evaluation sets yet').waitFor();
  await look(page, 'evals-empty');
  await page.getByRole('button', { name: 'New set' }).first().click();
  await page.getByLabel('Name').fill('drafts');
  await page.keyboard.press('Enter');
  await page.getByText('This set has no cases yet').waitFor();

  // What runs can be seen after a reload, and cancelled.
  let status = 'running';
  await page.route('**/dev/apps/story/evaluation', (route) => {
    if (route.request().method() === 'DELETE') status = 'cancelled';
    return route.fulfill({ json: { status, evalSetId: 'drafts', startTime: 1, total: 3, current: 'two', cases: [{ evalId: 'one', finalEvalStatus: 2, why: 'MISSING_API_KEY: set a key', sessionId: 's-1', userId: 'ann' }] } });
  });
  await page.reload();
  await page.getByText('1 of 3 cases, 1 failed; two is running').waitFor();
  await page.getByText('MISSING_API_KEY').waitFor();
  // The case can be looked at while the others run.
  expect(await page.getByRole('link', { name: 'Show the session' }).getAttribute('href')).toBe('/ui/apps/story/users/ann/sessions/s-1');
  await look(page, 'eval-running');
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.locator('[data-evaluation=cancelled]').waitFor();

  await page.getByRole('button', { name: 'Delete the set' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('There are no evaluation sets yet').waitFor();
  await page.goto(page.url() + '/none');
  await page.getByText('The evaluation set could not be read').waitFor();
});

test('variants of a set are in a table, with unknown costs, and cancelled', async () => {
  const page = await open('/ui/apps/city/evals/smoke');
  await page.locator('[data-case=paris]').waitFor();
  await page.getByRole('button', { name: 'Variants', exact: true }).click();
  await page.getByLabel('models, one per line').fill('gpt-5\ncaster\nrefuses');
  await page.getByLabel('temperatures, separated by commas').fill('warm');
  await page.getByText('is not a temperature').waitFor();
  await page.getByLabel('temperatures, separated by commas').fill('0, 0.9');
  await look(page, 'eval-variants-form');
  // With the keyboard.
  await page.getByRole('button', { name: 'Try 6 variants…' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/^Run \d+ cases? of smoke with 6 variants$/).waitFor();
  await page.getByLabel('Needed score of words').fill('0.7');
  await page.keyboard.press('Enter');
  await page.locator('[data-evaluation=completed]').waitFor();
  // By name: caster, gpt-5, refuses.
  const row = (n: number) => page.locator(`[data-variant="${n}"]`);
  await expect.poll(() => page.locator('[data-variant]').count()).toBe(6);
  await row(1).getByText('caster · temperature 0', { exact: true }).waitFor();
  expect(await row(1).textContent()).toContain('unknown');
  expect(await row(3).textContent()).toMatch(/gpt-5.*\$0\.0/);
  expect(await row(5).textContent()).toMatch(/refuses.*failed/);
  await look(page, 'eval-variants');
  await small(page, 'eval-variants');
  // On a phone, what is wider scrolls, and shows that it does.
  await page.setViewportSize({ width: 390, height: 844 });
  const wide = page.getByRole('group', { name: 'Cases with each variant' });
  await expect.poll(() => wide.locator('..').getAttribute('data-more')).toBe('end');
  await wide.focus();
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => wide.locator('..').getAttribute('data-more')).toBe('both');
  await page.setViewportSize({ width: 1360, height: 860 });
  // A cell leads to the session of the case, and a row to its result.
  await page.locator('section').getByRole('row').filter({ hasText: 'paris' }).getByRole('link').nth(2).click();
  await page.locator('[data-call=get_weather]').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Show the result of variant 5' }).click();
  await page.getByRole('alert').filter({ hasText: 'I do not sell.' }).first().waitFor();
  await page.getByText('refuses · temperature 0').waitFor();
  await page.locator('[data-outcome-of=paris]').getByText('no answer, expected:').first().waitFor();
  expect(await page.locator('[data-outcome-of=paris] del').count()).toBe(0);
  expect(await page.locator('[data-outcome-of=paris] td').filter({ hasText: 'none' }).first().getAttribute('class')).not.toContain('bg-tint');
  // It can be saved as the command writes it, for CI systems and for programs.
  const result = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!);
  const save = async (name: string) => {
    const saved = page.waitForEvent('download');
    await page.getByRole('link', { name, exact: true }).click();
    const file = await saved;
    return [file.suggestedFilename(), await text(await file.createReadStream())] as const;
  };
  const [junitName, junit] = await save('JUnit');
  expect(junitName).toBe(`${result}.xml`);
  expect(junit).toMatch(/<testsuites tests="\d+" failures="[1-9]\d*">/);
  expect(junit).toContain('<testcase classname="smoke (refuses, temperature 0)" name="paris"');
  expect(junit).toContain('I do not sell.');
  expect(junit).toContain(`value="${base}/ui/apps/city/users/`);
  const [jsonName, json] = await save('JSON');
  expect(jsonName).toBe(`${result}.json`);
  expect(JSON.parse(json)).toMatchObject({ passed: 0, sets: [{ id: 'smoke', result, variant: { model: 'refuses', temperature: 0 } }] });
  await look(page, 'eval-variant-result');
  await small(page, 'eval-variant-result');
  await page.goBack();
  // Later variants can be cancelled; those before them are still there.
  await page.getByLabel('models, one per line').fill('gated\ncaster');
  await page.getByLabel('temperatures, separated by commas').fill('');
  await page.getByRole('button', { name: 'Add an instruction' }).click();
  await page.getByLabel('Instruction 1 for weather_agent').fill('Answer in a rhyme.');
  await page.getByRole('button', { name: 'Try 4 variants…' }).click();
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await expect.poll(() => page.locator('[data-variant]').getByText('running').count()).toBe(2);
  await page.reload();
  await expect.poll(() => page.locator('[data-variant]').getByText('running').count()).toBe(2);
  await page.getByRole('link', { name: 'Show the result of variant 1' }).waitFor();
  await look(page, 'eval-variants-running');
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await expect.poll(() => page.locator('[data-variant]').getByText('cancelled').count()).toBe(2);
  await page.getByLabel('variants of').selectOption({ index: 1 });
  await expect.poll(() => page.locator('[data-variant]').count()).toBe(6);
  await page.getByRole('navigation', { name: 'Above' }).getByRole('link', { name: 'smoke' }).click();
  await page.getByRole('link', { name: 'gpt-5 · temperature 0.9' }).first().waitFor();
  // Variants are not in the lines, which says so. What has not passed or has no score looks like nothing good.
  const variants = await page.locator('[data-result]').filter({ hasText: /caster|gpt-5|refuses/ }).count();
  if ((await page.getByRole('img', { name: /^Scores of/ }).count()) > 0) await page.locator(`[data-left-out="${variants}"]`).getByText(`${variants} results of variants are only in the list, not in the lines.`).waitFor();
  const refuses = page.locator('[data-result]').filter({ hasText: 'refuses' }).first();
  expect(await refuses.locator('[data-passed="0"]').getAttribute('class')).not.toContain('text-good');
  expect(await refuses.locator('[data-score]').allTextContents()).toEqual(['none', 'none']);
  await look(page, 'eval-set-variants');
});

test('each metric has a model that judges', async () => {
  const page = await open('/ui/apps/city/evals/smoke');
  let asked: { evalMetrics: { metricName: string; criterion?: { judgeModelOptions?: unknown } }[] } | undefined;
  await page.route('**/run_eval', (route) => {
    asked = route.request().postDataJSON() as typeof asked;
    return route.fulfill({ status: 202, json: { status: 'completed', evalSetId: 'smoke', startTime: 1, total: 0, cases: [] } });
  });
  await page.locator('[data-case=paris]').waitFor();
  await page.getByRole('button', { name: 'Run all' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Use the recorded results of tools').waitFor();
  expect(await dialog.locator('[data-judge]').count()).toBe(0);
  await dialog.getByRole('checkbox', { name: /^meaning/ }).check();
  await dialog.getByRole('checkbox', { name: /^rubrics/ }).check();
  await dialog.getByLabel('model that judges meaning').fill('poet');
  await dialog.getByLabel('Opinions about meaning').fill('1');
  await dialog.getByLabel('model that judges rubrics').fill('critic');
  await dialog.getByLabel('Rubrics, one on each line').fill('It is short.');
  // Words in small print are apart.
  expect(await dialog.locator('.text-xs:not(.font-mono)').first().evaluate((el) => parseFloat(getComputedStyle(el).wordSpacing))).toBeGreaterThan(1);
  await look(page, 'eval-judges');
  await small(page, 'eval-judges');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  const judges = Object.fromEntries(asked!.evalMetrics.map((m) => [m.metricName, m.criterion?.judgeModelOptions]));
  expect(judges).toMatchObject({ final_response_match_v2: { judgeModel: 'poet', numSamples: 1 }, rubric_based_final_response_quality_v1: { judgeModel: 'critic', numSamples: 3 } });
});

function signal(): [Promise<void>, () => void] {
  let send!: () => void;
  return [new Promise((resolve) => (send = resolve)), send];
}

test('a case is written by hand, edited and deleted', async () => {
  const page = await open('/ui/apps/story/evals', { expected: /409/ });
  await page.getByRole('button', { name: 'New set' }).first().click();
  await page.getByLabel('Name').fill('written');
  await page.keyboard.press('Enter');
  await page.getByText('This set has no cases yet').waitFor();
  await page.getByRole('button', { name: 'Write a case' }).click();
  const save = page.getByRole('button', { name: 'Save', exact: true });
  await expect.poll(() => save.isDisabled()).toBe(true);
  await page.getByText('In every turn, the user says something.').waitFor();
  // With the keyboard: the name has the focus, then user, state and message follow.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('{"tone": ');
  await page.getByText('The state is a JSON object').waitFor();
  await page.keyboard.type('"calm"}');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Hello, who are you?');
  expect(await page.getByLabel('Name of the case').getAttribute('placeholder')).toBe('hello_who_are_you');
  await page.getByLabel('Expected answer').fill('I tell stories.');
  await page.getByRole('button', { name: 'Add a tool call' }).click();
  await page.getByLabel('Name of tool call 1').fill('look_up');
  await page.getByLabel('Arguments of tool call 1').fill('{"topic": "me"}');
  await page.getByRole('button', { name: 'Add a turn' }).click();
  await expect.poll(() => save.isDisabled()).toBe(true);
  await page.locator('[data-turn="2"]').getByLabel('The user says').fill('Thanks.');
  await look(page, 'eval-new-case');
  await small(page, 'eval-new-case');
  await save.click();
  await page.getByText('The case is saved.').waitFor();
  await expect.poll(() => new URL(page.url()).pathname).toBe('/ui/apps/story/evals/written/hello_who_are_you');
  const stored = await call<{ evalCases: { conversation: { intermediateData: unknown; finalResponse: unknown }[]; sessionInput: unknown }[] }>('GET', '/dev/apps/story/eval_sets/written');
  expect(stored.evalCases[0]).toMatchObject({
    evalId: 'hello_who_are_you',
    conversation: [{ intermediateData: { toolUses: [{ name: 'look_up', args: { topic: 'me' } }] }, finalResponse: { parts: [{ text: 'I tell stories.' }] } }, { userContent: { parts: [{ text: 'Thanks.' }] } }],
    sessionInput: { appName: 'story', userId: 'user', state: { tone: 'calm' } },
  });
  await page.getByRole('button', { name: 'Remove turn 2' }).click();
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('ann');
  await save.click();
  await expect.poll(async () => (await call<{ evalCases: unknown[] }>('GET', '/dev/apps/story/eval_sets/written')).evalCases).toMatchObject([{ conversation: [{}], sessionInput: { userId: 'ann' } }]);
  // What is read again, here after saving, with a change by another client, replaces no edits.
  const [asked, wasAsked] = signal();
  const [edited, wasEdited] = signal();
  await page.route('**/dev/apps/story/eval_sets/written', async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch();
    const set = (await response.json()) as { evalCases: { sessionInput: { userId: string } }[] };
    set.evalCases[0]!.sessionInput.userId = 'eve';
    wasAsked();
    await edited;
    return route.fulfill({ response, json: set });
  });
  const answer = page.getByLabel('Expected answer');
  const user = page.getByRole('textbox', { name: 'User', exact: true });
  await answer.fill('I tell long stories.');
  await save.click();
  await asked;
  await answer.fill('I tell short stories.');
  wasEdited();
  await page.getByText('The case was changed elsewhere while you edited it').waitFor();
  expect(await answer.inputValue()).toBe('I tell short stories.');
  expect(await user.inputValue()).toBe('ann');
  await look(page, 'eval-case-changed');
  await page.getByRole('button', { name: 'Discard your edits' }).click();
  await expect.poll(() => user.inputValue()).toBe('eve');
  expect(await answer.inputValue()).toBe('I tell long stories.');
  await page.unroute('**/dev/apps/story/eval_sets/written');
  await page.goto(new URL('/ui/apps/story/newcase/written', page.url()).href);
  await page.getByLabel('Name of the case').fill('hello_who_are_you');
  await page.getByText('The set has a case with this name.').waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'Delete the case' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('This set has no cases yet').waitFor();
  await page.getByRole('button', { name: 'Delete the set' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('There are no evaluation sets yet').waitFor();
});

test('a set and a result with 1,000 cases show what can be seen of them', async () => {
  const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
  const scroll = (top: number) => page.locator('#main').evaluate((el, top) => void (el.scrollTop = top), top);
  const content = (role: string, text: string) => ({ role, parts: [{ text }] });
  const turn = (i: number, answer: string) => ({
    invocationId: `e-${i}`, userContent: content('user', `Question ${i}?`), finalResponse: content('model', `${answer} ${'and so on '.repeat(60)}${i}`), creationTimestamp: 1, intermediateData: { toolUses: [] },
  });
  const names = Array.from({ length: 1000 }, (_, i) => `case_${i}`);
  const results = (id: string, status: (i: number) => number) => ({
    evalSetResultId: id, evalSetId: 'many', creationTimestamp: id === 'a' ? 1 : 2,
    evalCaseResults: names.map((evalId, i) => ({
      evalSetId: 'many', evalId, finalEvalStatus: status(i), sessionId: `s${i}`, userId: 'u', overallEvalMetricResults: [],
      evalMetricResultPerInvocation: [{ expectedInvocation: turn(i, 'This'), actualInvocation: turn(i, 'That'), evalMetricResults: [] }],
    })),
  });
  const page = await open('/ui/');
  await page.route('**/eval_sets/many', (route) => route.fulfill({ json: { evalSetId: 'many', evalCases: names.map((evalId, i) => ({ evalId, conversation: [turn(i, 'This')], creationTimestamp: 1 })) } }));
  await page.route('**/eval_results/a', (route) => route.fulfill({ json: results('a', () => 2) }));
  await page.route('**/eval_results/b', (route) => route.fulfill({ json: results('b', (i) => (i % 2 ? 1 : 2)) }));
  const origin = new URL(page.url()).origin;

  await page.goto(`${origin}/ui/apps/city/evals/many`);
  await page.locator('[data-case=case_0]').waitFor();
  expect(await nodes()).toBeLessThan(2500);
  await page.getByLabel('Choose case_0', { exact: true }).check();
  await scroll(1e6);
  await page.locator('[data-case=case_999]').waitFor();
  expect(await page.locator('[data-case=case_0]').count()).toBe(0);
  expect(await nodes()).toBeLessThan(2500);
  await page.getByRole('button', { name: 'Run 1 chosen' }).waitFor();

  await page.goto(`${origin}/ui/apps/city/results/a`);
  await page.locator('[data-outcome-of=case_0] del').first().waitFor();
  expect(await nodes()).toBeLessThan(2500);
  await page.locator('[data-outcome-of=case_0] summary').click();
  await expect.poll(() => page.locator('[data-outcome-of=case_0] [data-words]').count()).toBe(0); // what is folded is not compared
  await scroll(1e6);
  await page.locator('[data-outcome-of=case_999]').waitFor();
  await scroll(0);
  await page.locator('[data-outcome-of=case_0]').waitFor();
  expect(await page.locator('[data-outcome-of=case_0] [data-words]').count()).toBe(0);
  await page.locator('[data-outcome-of=case_1] [data-words]').waitFor();
  await page.getByText('1,000 failed').waitFor();
  await look(page, 'eval-result-large');

  await page.goto(`${origin}/ui/apps/city/results/a?with=b`);
  await page.locator('[data-compared=case_0] [data-words]').waitFor();
  expect(await nodes()).toBeLessThan(2500);
});

test('a session and a run are kept as tests from their menus', async () => {
  const user = fresh('keeper');
  const page = await open(await session('city', user, 'talk', 'What is the weather in Oslo?'));
  const cases = async () => {
    const sets = await call<string[]>('GET', '/dev/apps/city/eval_sets');
    return (await Promise.all(sets.map((set) => call<{ evalCases: unknown[] }>('GET', `/dev/apps/city/eval_sets/${set}`)))).reduce((sum, set) => sum + set.evalCases.length, 0);
  };
  const keep = async (menu: string) => {
    const before = await cases();
    await page.getByRole('button', { name: menu, exact: true }).click();
    const several = (await call<string[]>('GET', '/dev/apps/city/eval_sets')).length > 1;
    await page.getByRole('menuitem', { name: 'Save as a test', exact: true }).click();
    if (several) await page.getByRole('dialog', { name: 'Save as a test' }).getByRole('listitem').first().getByRole('button').click();
    await expect.poll(cases).toBe(before + 1);
  };
  await page.locator('[data-feedback]').waitFor();
  await keep('Session actions');
  await keep('Actions for the run');
  await page.goto(`${base}/ui/apps/city/users/${user}/sessions`);
  await keep('Actions for What is the weather in Oslo?');
});
