import { defineConfig } from 'vitest/config';

// The tests share one server, with our own UI, or with the stock one in its place, and one browser.
export default defineConfig({
  test: {
    include: [process.env['STOCK'] ? 'e2e/adkweb/*.test.ts' : 'e2e/*.test.ts'],
    // A busy machine takes its time.
    testTimeout: 300_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: Number(process.env['PATIENCE'] ?? 120_000) } },
    maxWorkers: 2,
    // What files have in common is loaded once: tests share the contexts of the browser, which are cleared after each, and have
    // users and sessions of their own.
    isolate: false,
  },
});
