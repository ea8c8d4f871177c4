import { expect, test } from 'vitest';

import { accessible, all } from './axe';
import { fresh, key, keys, open, palette, picture, reader, reviewer, useBrowser } from './kit';

useBrowser();

const expected = /status of 40[134]/; // the browser tells of what the server refuses

/** Asks the server that wants to know who calls. */
async function ask(token: string, method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(keys + path, { method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

/** A conversation of bob. */
async function conversation(): Promise<string> {
  const sessionId = fresh('talk');
  const path = `/apps/weather/users/bob/sessions/${sessionId}`;
  await ask(key, 'POST', path, { state: { unit: 'celsius' } });
  const ran = await ask(key, 'POST', '/run', { appName: 'weather', userId: 'bob', sessionId, newMessage: { parts: [{ text: 'weather in Oslo' }] } });
  expect(ran.ok).toBe(true);
  return path;
}

test.each([
  ['desktop', 1360, 860], ['phone', 390, 844],
] as const)('a reader and a reviewer look at a conversation, on a %s', async (size, width, height) => {
  const path = await conversation();
  for (const [role, token] of [['read-only', reader], ['reviewer', reviewer]] as const) {
    const page = await open(`${keys}/ui${path}`, { width, height, expected });
    await page.getByLabel('API key').fill(token);
    await page.keyboard.press('Enter');
    await page.getByText('It is sunny in Oslo.').first().waitFor();
    const why = role === 'reviewer' ? 'You are a reviewer' : 'You can read, but not change anything.';
    await page.locator('[data-refused]').getByText(why).waitFor();
    expect(await page.getByLabel('Message').count()).toBe(0);
    if (size === 'desktop') expect(await page.getByRole('button', { name: /^Sign out/ }).innerText()).toContain(role);

    // Thumbs are for reviewers. What a button would be refused is on the button.
    const good = page.getByRole('button', { name: 'Good answer' });
    expect(await good.isDisabled()).toBe(role !== 'reviewer');
    if (role === 'reviewer') {
      await good.click();
      await expect.poll(() => good.getAttribute('aria-pressed')).toBe('true');
      expect(await (await ask(key, 'GET', `${path}/feedback`)).json()).toMatchObject([{ author: 'rita', rating: 'up' }]);
    } else {
      expect(await good.getAttribute('title')).toContain(why);
    }
    await page.getByRole('button', { name: 'Session actions' }).click();
    for (const [item, is] of [['Title and labels', true], ['Fork', true], ['Delete', true], ['Export', false]] as const) {
      expect(await page.getByRole('menuitem', { name: item }).getAttribute('aria-disabled'), item).toBe(is ? 'true' : null);
    }
    for (const theme of ['light', 'dark']) {
      await page.evaluate((theme) => (document.documentElement.dataset['theme'] = theme), theme);
      await picture(page, `${role}-${size}-${theme}`);
    }
    await page.keyboard.press('Escape');
    await accessible(page, all);

    // Shortcuts do nothing that would be refused, and the palette has no such commands.
    await page.keyboard.press('n');
    await page.getByRole('status').getByText(why).waitFor();
    await palette(page);
    await page.getByText('Show the keyboard shortcuts').waitFor();
    for (const command of ['Write a message', 'Fork the session', 'Delete the session', 'New session in weather']) expect(await page.getByText(command, { exact: true }).count(), command).toBe(0);
    await page.getByText('Export the session').waitFor();
    await page.getByText(`Sign out, ${role === 'reviewer' ? 'rita, reviewer' : role}`).waitFor();
    await page.keyboard.press('Escape');
    for (const screen of ['sessions', 'schedules', 'waiting', 'logins', 'runs']) {
      await page.goto(`${keys}/ui/apps/weather/users/bob/${screen}`);
      await page.locator('main h1').waitFor();
      for (const button of await page.locator('main').getByRole('button', { name: /^(New|Import|Upload|Delete|Run now)/ }).all()) {
        expect(await button.isDisabled(), await button.innerText()).toBe(true);
      }
    }
  }
});
