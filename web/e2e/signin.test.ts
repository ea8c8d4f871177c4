import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { clipboard, copyAction, key, keys, oidc, open, palette, picture, useBrowser } from './kit';

useBrowser();

const expected = /status of 40[134]/; // the browser tells of what the server refuses

/** Signs in at the issuer, which asks for a name and consent. */
async function signInAtIssuer(page: Page, user: string) {
  await page.getByRole('link', { name: /^Sign in at 127/ }).click();
  await page.getByLabel('User name').fill(user);
  await page.getByRole('button', { name: 'Allow' }).click();
}

test('a user signs in at the issuer, talks, and signs out', async () => {
  const page = await open(`${oidc}/ui/apps/weather/users/ann/sessions?q=trip`, { expected });
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await picture(page, 'signin-oidc-light');
  await signInAtIssuer(page, 'ann');
  // Back to where they were.
  await page.waitForURL(`${oidc}/ui/apps/weather/users/ann/sessions?q=trip`);
  await page.getByText('No matches in what was said.').waitFor();
  const user = page.getByLabel('user', { exact: true }).first();
  await expect.poll(() => user.inputValue()).toBe('ann');
  expect(await user.getAttribute('readonly')).not.toBeNull();
  // No script can read who they are.
  expect(await page.evaluate(() => document.cookie)).toBe('');
  await page.getByRole('button', { name: 'New session', exact: true }).first().click();
  await page.getByLabel('Message').fill('weather in Oslo');
  await page.keyboard.press('Enter');
  await page.getByText('It is sunny in Oslo.').first().waitFor();
  await copyAction(page.locator('main'), 'Send');
  expect(await clipboard(page)).toContain('-H "Authorization: Bearer $PARLEY_TOKEN"');
  await page.getByRole('link', { name: 'Inbox' }).click();
  await page.getByText('Nothing is waiting').waitFor();
  await page.getByRole('link', { name: /^Apps/ }).click();
  await page.getByText('Only developers see its agents and tools.').first().waitFor();
  await picture(page, 'signed-in-light');
  const kept = () => page.evaluate(() => [localStorage.getItem('parley.scope'), localStorage.getItem('parley.users')]);
  expect(await kept()).toEqual([expect.stringContaining('ann'), expect.stringContaining('ann')]);
  await page.getByRole('button', { name: /^Sign out/ }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await expect.poll(kept).toEqual([null, null]);
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await kept()).toEqual([null, null]);
});

test('a sign-in that ends leads to another one, and back', async () => {
  const page = await open(`${oidc}/`, { expected });
  await signInAtIssuer(page, 'root');
  await page.getByRole('button', { name: 'New session', exact: true }).first().click();
  await page.getByLabel('Message').waitFor();
  const where = page.url();
  await page.getByLabel('Message').fill('Hello');
  await page.context().clearCookies(); // from now on, what the page asks for by itself also leads to the sign-in
  await page.keyboard.press('Enter');
  await page.getByText('Your sign-in has ended').waitFor();
  await signInAtIssuer(page, 'root');
  await page.getByLabel('Message').waitFor();
  expect(page.url()).toBe(where);
  // Who may act for others chooses the user.
  expect(await page.getByLabel('user', { exact: true }).first().getAttribute('readonly')).toBeNull();
});

test('a user who says no is not signed in', async () => {
  const page = await open(`${oidc}/`, { expected });
  await page.getByRole('link', { name: /^Sign in at 127/ }).click();
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  await page.getByRole('link', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

test('a user signs in with a key, with a keyboard alone', async () => {
  const page = await open(`${keys}/ui/apps/weather/users/bob/runs`, { expected });
  await page.getByLabel('API key').waitFor();
  await page.keyboard.type('parley_wrong_key');
  await page.keyboard.press('Enter');
  await page.getByText('does not accept this API key').waitFor();
  await picture(page, 'signin-wrong-key-light');
  await page.keyboard.press('Control+a');
  await page.keyboard.type(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Runs' }).waitFor(); // other tests have runs of bob
  expect(page.url()).toBe(`${keys}/ui/apps/weather/users/bob/runs`);
  await page.keyboard.press('n');
  await page.getByLabel('Message').waitFor();
  const last = page.getByText('Copy what was done last as curl');
  await palette(page);
  await last.waitFor();
  await page.keyboard.type('sign out');
  await page.keyboard.press('Enter');
  await page.getByLabel('API key').waitFor();
  // The next user does not see what the previous one did.
  await page.keyboard.type(key);
  await page.keyboard.press('Enter');
  await page.getByLabel('Message').waitFor();
  await palette(page);
  await page.getByText('Show the keyboard shortcuts').waitFor();
  await expect.poll(() => last.count()).toBe(0);
});
