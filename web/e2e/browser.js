// The browser of all tests. It prints its address, and ends when its input does,
// which is when the program that has started it ends.
import { chromium } from 'playwright-core';

const server = await chromium.launchServer({
  executablePath: process.env['CHROMIUM'],
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
console.log(server.wsEndpoint());
process.stdin.on('end', () => server.close().then(() => process.exit(0))).resume();
