import { defineConfig } from 'vitest/config';

// The tests share one server: with our own UI, or with the stock one in its place. Two files at a time are as many browsers as a
// small machine can take.
export default defineConfig({
  test: {
    include: [process.env['STOCK'] ? 'e2e/adkweb/*.test.ts' : 'e2e/*.test.ts'],
    // A busy machine takes its time.
    testTimeout: 300_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 120_000 } },
    maxWorkers: 2,
    reporters: ['verbose'],
  },
});
