import { defineConfig } from 'vitest/config';

// The tests share one server. Two files at a time are as many browsers as a
// small machine can take.
export default defineConfig({
  test: {
    include: ['e2e/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    reporters: ['verbose'],
  },
});
