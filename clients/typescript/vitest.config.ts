import { defineConfig } from 'vitest/config';

// The tests share one server, which clients/typescript_test.go starts.
export default defineConfig({
  test: { include: ['test/**/*.test.ts'], testTimeout: 180_000, hookTimeout: 120_000, expect: { poll: { timeout: 120_000 } }, maxWorkers: 2 },
});
