import { existsSync } from 'node:fs'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { createReferenceEngine } from '../../src/evm/engines/reference/referenceEngine.ts'
import { KNOWN_FAILURES } from './knownFailures.ts'
import { runStateTest } from './runStateTest.ts'
import { readStateTestCases, stateTestFiles } from './stateTestCases.ts'

/**
 * Runs every state test below a directory: `node test/conformance/runStateTests.ts [directory] [fork …] [--match text]`.
 * Prints the counts and each failure that is not a known one; exits with 1 when there is one.
 */
const DEFAULT_DIRECTORY = new URL('../../../shared/fixtures/state-tests', import.meta.url).pathname
const WORKERS = 2

interface Job {
  readonly directory: string
  readonly forks: readonly string[]
  readonly files: readonly string[]
}

interface CaseResult {
  readonly id: string
  readonly failure: string | undefined
  readonly milliseconds: number
}

async function runJob({ directory, forks, files }: Job): Promise<void> {
  const engine = createReferenceEngine()
  for (const file of files) {
    const results: CaseResult[] = []
    for (const testCase of readStateTestCases(directory, file, forks)) {
      const start = performance.now()
      let failure: string | undefined
      try {
        failure = await runStateTest(testCase, engine)
      } catch (error) {
        failure = `threw ${error instanceof Error ? error.stack : String(error)}`
      }
      results.push({ id: testCase.id, failure, milliseconds: performance.now() - start })
    }
    parentPort!.postMessage(results)
  }
}

async function main(): Promise<void> {
  const words = process.argv.slice(2)
  const matchAt = words.indexOf('--match')
  const match = matchAt < 0 ? '' : words.splice(matchAt, 2)[1]!
  const [directory = DEFAULT_DIRECTORY, ...forks] = words
  if (!existsSync(directory)) {
    console.log(`state tests skipped: ${directory} is not there`)
    return
  }
  const files = stateTestFiles(directory).filter((file) => file.includes(match))
  const results = await runInWorkers(directory, forks.length > 0 ? forks : ['Cancun'], files)
  report(results)
}

async function runInWorkers(
  directory: string,
  forks: readonly string[],
  files: readonly string[],
): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  let filesDone = 0
  const jobs = Array.from({ length: WORKERS }, (_, index) => files.filter((__, at) => at % WORKERS === index))
  await Promise.all(
    jobs.map(
      (part) =>
        new Promise<void>((resolve, reject) => {
          const job: Job = { directory, forks, files: part }
          const worker = new Worker(new URL(import.meta.url), { workerData: job })
          worker.on('message', (batch: CaseResult[]) => {
            results.push(...batch)
            for (const { id, failure } of batch) if (isNew({ id, failure })) console.log(`FAIL ${id}: ${failure}`)
            if (++filesDone % 250 === 0) console.log(`${filesDone} of ${files.length} files, ${results.length} cases`)
          })
          worker.on('error', reject)
          worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))))
        }),
    ),
  )
  return results
}

function isNew({ id, failure }: Pick<CaseResult, 'id' | 'failure'>): boolean {
  return failure !== undefined && !(id in KNOWN_FAILURES)
}

function report(results: readonly CaseResult[]): void {
  const failed = results.filter(({ failure }) => failure !== undefined)
  const unknown = failed.filter(isNew)
  const slowest = [...results].sort((a, b) => b.milliseconds - a.milliseconds).slice(0, 10)
  console.log('slowest:')
  for (const { id, milliseconds } of slowest) console.log(`  ${(milliseconds / 1000).toFixed(1)} s ${id}`)
  const passed = results.length - failed.length
  console.log(
    `${passed} of ${results.length} passed, ${failed.length - unknown.length} known failures, ${unknown.length} new`,
  )
  process.exitCode = unknown.length === 0 ? 0 : 1
}

if (parentPort === null) await main()
else await runJob(workerData as Job)
