import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestEngine } from '../testEngines.ts'
import { type StateTestBlocks, startStateTestBlocks } from './stateTestBlocks.ts'
import { readStateTestCases, stateTestFiles, testsOf } from './stateTestCases.ts'

/** One of so many files is run; `npm run test:state-full -- --execution-threads 4` runs all. */
const SOURCES = [
  {
    directory: new URL('../../../shared/fixtures/state-tests', import.meta.url).pathname,
    forks: ['Cancun'],
    every: 100,
  },
  { directory: new URL('./vectors', import.meta.url).pathname, forks: ['Prague', 'Osaka'], every: 8 },
]

describe('blocks of state tests that several threads execute (public ones skipped where ../shared/fixtures is absent)', () => {
  let blocks: StateTestBlocks
  beforeAll(async () => {
    blocks = await startStateTestBlocks(4, await createTestEngine('wasm'))
  })
  afterAll(() => blocks.close())

  it.each(SOURCES.filter(({ directory }) => existsSync(directory)))(
    'are the same as in order: $directory',
    async ({ directory, forks, every }) => {
      const files = stateTestFiles(directory).filter((_, index) => index % every === 0)
      for (const file of files) {
        const [cases] = testsOf(readStateTestCases(directory, file, forks))
        if (cases !== undefined) expect([file, await blocks.compare(cases)]).toEqual([file, undefined])
      }
      expect(blocks.counts.adopted).toBeGreaterThan(0)
    },
  )
})
