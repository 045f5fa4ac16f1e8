import { hash } from 'node:crypto'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { PROPERTY_RUNS } from './test/propertyRuns.ts'

/** End-to-end tests that other files would be in the way of: full load. */
const ALONE = ['test/e2e/network/hostilePeer.test.ts', 'test/e2e/load.test.ts']
/** End-to-end tests of several nodes each. */
const NETWORK = ['test/e2e/network/*.test.ts']

/** Files for `npm run test:long` alone, since they take long or simulations cover most of them; `PROPERTY_RUNS=2 vitest run FILE` runs one. */
const IN_LONG_RUN =
  PROPERTY_RUNS > 1
    ? []
    : [
        'test/crash/blockFiles.test.ts',
        'test/crash/catchUp.test.ts',
        'test/crash/prunedNode.test.ts',
        'test/crash/restoreSteps.test.ts',
        'test/e2e/explorer/verifyTools.test.ts',
        'test/e2e/network/fifthValidator.test.ts',
        'test/e2e/network/hostilePeer.test.ts',
        'test/e2e/network/keyRotation.test.ts',
        'test/e2e/network/partitionsAndCopies.test.ts',
        'test/e2e/network/slowLinks.test.ts',
        'test/e2e/network/upgrade.test.ts',
        'test/e2e/snapshots.test.ts',
      ]

const USE_BUNDLE = 'test/useBundle.ts'

/** Workers, threads and commands of the tests share what Node.js has compiled of packages and sources, as nodes do (bin/coind.js). */
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/tests-compiled', import.meta.url))

/** Files that wait for most of their time, or take long for their size: they come first, so that no worker ends long after the others. */
const LONG = [
  'unit/p2p/hostile.test.ts',
  'unit/p2p/peers.test.ts',
  'unit/p2p/gossip.test.ts',
  'unit/p2p/network.test.ts',
  // Walks all of its worker's memory, which is small in the beginning.
  'unit/consensus/gossip.test.ts',
  'sim/scenarios.test.ts',
  'sim/failureScenarios.test.ts',
  'conformance/stateTests.wasm.test.ts',
  'conformance/stateTests.reference.test.ts',
  'crash/kill.test.ts',
  'crash/killInit.test.ts',
  'e2e/clients.test.ts',
  'e2e/exportImport.test.ts',
  'e2e/native/governance.test.ts',
  'e2e/operator.test.ts',
  'e2e/network/validators.test.ts',
  'e2e/network/joining.test.ts',
  'e2e/network/fifthValidator.test.ts',
]

/**
 * By project, since the files of a worker are of one: that with most files comes last, because many short ones keep all workers busy to the
 * end. Within a project {@link LONG} first, then what took longest the last time, or the largest. With `--sequence.shuffle` the files of a
 * project come in an order that follows from the seed, as do the cases of a file.
 */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => (LONG.some((name) => moduleId.endsWith(name)) ? 0 : 1)
    const { shuffle, seed } = this.ctx.config.sequence
    const keyOf = ({ moduleId }: TestSpecification): string =>
      hash('sha256', `${seed} ${relative(this.ctx.config.root, moduleId)}`)
    const sorted = shuffle ? files.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) : await super.sort(files)
    const projects = [...new Set(sorted.map(({ project }) => project))]
    return projects
      .map((project) => sorted.filter((file) => file.project === project))
      .toSorted((a, b) => a.length - b.length)
      .flatMap((own) => (shuffle ? own : own.toSorted((a, b) => rank(a) - rank(b))))
  }
}

/**
 * One project a kind of test, so that each runs alone: `npx vitest run --project unit`. Where tests wait for a node or a timer, more
 * workers than processors (of which there are two at least) keep those busy. With `isolate: false`, the files of a worker share
 * their imports: a file leaves no timers, environment or changed module behind.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          setupFiles: ['test/propertySeed.ts'],
          isolate: false,
          maxWorkers: 4,
          testTimeout: 120_000 * PROPERTY_RUNS,
          hookTimeout: 120_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'sim',
          include: ['test/sim/**/*.test.ts'],
          isolate: false,
          maxWorkers: 4,
          testTimeout: 900_000 * PROPERTY_RUNS,
          hookTimeout: 120_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          isolate: false,
          maxWorkers: 4,
          testTimeout: 300_000 * PROPERTY_RUNS,
          hookTimeout: 120_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'e2e',
          globalSetup: USE_BUNDLE,
          include: ['test/e2e/**/*.test.ts', 'test/crash/*.test.ts'],
          exclude: [...NETWORK, ...ALONE, ...IN_LONG_RUN],
          isolate: false,
          maxWorkers: 4,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // `npm run test:browser`: the explorer's pages in a real browser. Not in `npm test`.
        test: {
          name: 'browser',
          globalSetup: USE_BUNDLE,
          include: ['test/browser/*.test.ts'],
          isolate: false,
          maxWorkers: 1,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'network',
          globalSetup: USE_BUNDLE,
          include: NETWORK,
          exclude: [...ALONE, ...IN_LONG_RUN],
          // With the other end-to-end tests, and first of them: one network waits for most of its time.
          maxWorkers: 4,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'alone',
          globalSetup: USE_BUNDLE,
          include: ALONE,
          exclude: IN_LONG_RUN,
          maxWorkers: 1,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
