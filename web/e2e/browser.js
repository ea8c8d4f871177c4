// The browser of all tests. It prints its address, and ends when its input does,
// which is when the program that has started it ends.
import { chromium } from 'playwright-core';

const server = await chromium.launchServer({
  executablePath: process.env['CHROMIUM'],
  timeout: 0, // a busy machine takes its time
  // One process for all pages of a context: what one of them has compiled, the next one has. Frames without an origin have
  // processes of their own, as in Chrome on a desktop.
  args: ['--process-per-site', '--site-per-process', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
console.log(server.wsEndpoint());
process.stdin.on('end', () => server.close().then(() => process.exit(0))).resume();
