import { defineConfig } from 'vitest/config'
import { PROPERTY_RUNS } from './test/propertyRuns.ts'

/** End-to-end tests that other files would be in the way of: several nodes at a time, full load, the pace of blocks. */
const ALONE = ['test/e2e/network/*.test.ts', 'test/e2e/{load,operator,spec}.test.ts']

/**
 * One project a kind of test, so that each runs alone: `npx vitest run --project unit`. The files of a worker share their imports
 * (`isolate: false`): a file leaves no timers, environment or changed module behind.
 */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          setupFiles: ['test/propertySeed.ts'],
          testTimeout: 120_000 * PROPERTY_RUNS,
          isolate: false,
        },
      },
      {
        test: { name: 'sim', include: ['test/sim/**/*.test.ts'], testTimeout: 900_000 * PROPERTY_RUNS, isolate: false },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          isolate: false,
          testTimeout: 300_000 * PROPERTY_RUNS,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts', 'test/crash/*.test.ts'],
          exclude: ALONE,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'alone',
          include: ALONE,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
