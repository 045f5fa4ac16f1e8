import { existsSync } from 'node:fs'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { createTestEngine, ENGINE_NAMES } from '../testEngines.ts'
import { KNOWN_FAILURES } from './knownFailures.ts'
import { runStateTest } from './runStateTest.ts'
import { startStateTestBlocks } from './stateTestBlocks.ts'
import { readStateTestCases, stateTestFiles, testsOf } from './stateTestCases.ts'

/**
 * Runs every state test below a directory, or all public ones and our own vectors:
 *
 *   node test/conformance/runStateTests.ts [directory] [fork …] [--match text] [--engine name,…] [--execution-threads n]
 *
 * With two or more execution threads it makes blocks of their transactions instead, and compares what several threads execute with an
 * execution in order. Engines are those of `createTestEngine`; `both` are wasm and reference, `all` (unless told) every one with the wasm engine's forced
 * loops. Prints the counts and each failure that is not a known one; exits with 1 when there is one.
 */
const SOURCES = [
  { directory: new URL('../../../shared/fixtures/state-tests', import.meta.url).pathname, forks: ['Cancun'] },
  { directory: new URL('./vectors', import.meta.url).pathname, forks: ['Cancun', 'Prague', 'Osaka'] },
]
const WORKERS = 2

interface Job {
  readonly engineName: string
  readonly directory: string
  readonly forks: readonly string[]
  readonly files: readonly string[]
}

interface CaseResult {
  readonly engineName: string
  readonly id: string
  readonly failure: string | undefined
  readonly milliseconds: number
}

async function runJob({ engineName, directory, forks, files }: Job): Promise<void> {
  const engine = await createTestEngine(engineName)
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
      results.push({ engineName, id: testCase.id, failure, milliseconds: performance.now() - start })
    }
    parentPort!.postMessage(results)
  }
}

async function main(): Promise<void> {
  const words = process.argv.slice(2)
  const option = (name: string): string | undefined => {
    const at = words.indexOf(name)
    return at < 0 ? undefined : words.splice(at, 2)[1]
  }
  const match = option('--match') ?? ''
  const engines = enginesOf(option('--engine') ?? 'all')
  const executionThreads = Number(option('--execution-threads') ?? 1)
  const [directory, ...forks] = words
  const sources = directory === undefined ? SOURCES : [{ directory, forks: forks.length > 0 ? forks : ['Cancun'] }]
  let isGreen = true
  for (const source of sources) {
    if (!existsSync(source.directory)) {
      console.log(`state tests skipped: ${source.directory} is not there`)
      continue
    }
    const files = stateTestFiles(source.directory).filter((file) => file.includes(match))
    if (executionThreads > 1) {
      if (!(await compareBlocks({ ...source, files }, executionThreads))) isGreen = false
      continue
    }
    for (const engineName of engines) {
      const results = await runInWorkers({ ...source, engineName, files })
      report(engineName, results)
      if (results.some(isNew)) isGreen = false
    }
  }
  process.exitCode = isGreen ? 0 : 1
}

/** @returns whether all blocks are the same */
async function compareBlocks({ directory, forks, files }: Omit<Job, 'engineName'>, threads: number): Promise<boolean> {
  const blocks = await startStateTestBlocks(threads, await createTestEngine('wasm'))
  let [compared, different] = [0, 0]
  for (const [index, file] of files.entries()) {
    for (const cases of testsOf(readStateTestCases(directory, file, forks))) {
      const difference = await blocks.compare(cases)
      compared++
      if (difference !== undefined) {
        different++
        console.log(`FAIL ${cases[0]!.id}: ${difference}`)
      }
    }
    if ((index + 1) % 250 === 0) console.log(`${index + 1} of ${files.length} files, ${compared} blocks`)
  }
  await blocks.close()
  const { adopted, conflicts, alone } = blocks.counts
  console.log(`${threads} threads: ${compared - different} of ${compared} blocks are the same as in order`)
  console.log(`transactions: ${adopted} adopted, ${conflicts} conflicts, ${alone} executed in their turn alone`)
  return different === 0
}

function enginesOf(text: string): readonly string[] {
  if (text === 'both') return ['wasm', 'reference']
  return text === 'all' ? ENGINE_NAMES : text.split(',')
}

async function runInWorkers({ files, ...common }: Job): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  let filesDone = 0
  const jobs = Array.from({ length: WORKERS }, (_, index) => files.filter((__, at) => at % WORKERS === index))
  await Promise.all(
    jobs.map(
      (part) =>
        new Promise<void>((resolve, reject) => {
          const job: Job = { ...common, files: part }
          const worker = new Worker(new URL(import.meta.url), { workerData: job })
          worker.on('message', (batch: CaseResult[]) => {
            results.push(...batch)
            for (const result of batch)
              if (isNew(result)) console.log(`FAIL ${result.engineName} ${result.id}: ${result.failure}`)
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

function report(engineName: string, results: readonly CaseResult[]): void {
  const failed = results.filter(({ failure }) => failure !== undefined)
  const unknown = failed.filter(isNew)
  const slowest = [...results].sort((a, b) => b.milliseconds - a.milliseconds).slice(0, 10)
  console.log(`slowest on ${engineName}:`)
  for (const { id, milliseconds } of slowest) console.log(`  ${(milliseconds / 1000).toFixed(1)} s ${id}`)
  const passed = results.length - failed.length
  console.log(
    `${engineName}: ${passed} of ${results.length} passed, ${failed.length - unknown.length} known failures, ${unknown.length} new`,
  )
}

if (parentPort === null) await main()
else await runJob(workerData as Job)
