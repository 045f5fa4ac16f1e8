import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createTestEngine } from '../testEngines.ts'
import { KNOWN_FAILURES } from './knownFailures.ts'
import { runStateTest } from './runStateTest.ts'
import { readStateTestCases, type StateTestCase, stateTestFiles } from './stateTestCases.ts'

const PUBLIC_TESTS = new URL('../../../shared/fixtures/state-tests', import.meta.url).pathname
const OWN_VECTORS = new URL('./vectors', import.meta.url).pathname

/** Files whose cases take seconds each: the full run has them. */
const SLOW = ['VMTests/vmPerformance', 'stTimeConsuming', 'stQuadraticComplexityTest', 'stStaticCall/static_Call50000']

/**
 * State tests on one engine, by its name.
 * @param every one of so many public tests is run; `npm run test:state-full` runs all
 */
export async function stateTestSuites(engineName: string, every: number): Promise<void> {
  const engine = await createTestEngine(engineName)

  const failuresOf = async (cases: readonly StateTestCase[]): Promise<string[]> => {
    const failures: string[] = []
    for (const testCase of cases) {
      const failure = await runStateTest(testCase, engine)
      if (failure !== undefined && !(testCase.id in KNOWN_FAILURES)) failures.push(`${testCase.id}: ${failure}`)
    }
    return failures
  }

  describe.skipIf(!existsSync(PUBLIC_TESTS))(
    `public state tests on ${engineName} (skipped where ../shared/fixtures is absent)`,
    () => {
      const files = existsSync(PUBLIC_TESTS) ? stateTestFiles(PUBLIC_TESTS) : []
      const suites = Map.groupBy(
        files.filter((file) => !SLOW.some((slow) => file.includes(slow))),
        (file) => file.split('/').slice(0, -1).join('/'),
      )
      it.each([...suites])('%s', async (_suite, suiteFiles) => {
        const cases = suiteFiles.flatMap((file) => readStateTestCases(PUBLIC_TESTS, file, ['Cancun']))
        expect(await failuresOf(cases.filter((_, index) => index % every === 0))).toEqual([])
      })
    },
  )

  describe(`state tests of later forks on ${engineName}`, () => {
    it.each(stateTestFiles(OWN_VECTORS))('%s', async (file) => {
      const cases = readStateTestCases(OWN_VECTORS, file, ['Cancun', 'Prague', 'Osaka'])
      expect(cases.length).toBeGreaterThan(0)
      expect(await failuresOf(cases)).toEqual([])
    })
  })
}
