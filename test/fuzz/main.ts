import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { createTestEngine } from '../testEngines.ts'
import { findDifference } from './findDifference.ts'
import { parseCase } from './fuzzCase.ts'
import { type Finding, type FuzzRange, fuzzRange, kindsOf } from './fuzzRange.ts'
import { investigate } from './investigate.ts'

/**
 * Compares two engines on generated cases. Prints each new kind of difference with the command that replays it; exits with 1
 * when there is any.
 *
 *   npm run test:fuzz -- --runs 1000000 --seed 7 --jobs 2
 *   npm run test:fuzz -- --seed 7 --first 4711 --runs 1        one case again
 *   npm run test:fuzz -- --case file.json                      a minimised case again
 */
const HELP = `npm run test:fuzz -- [flags] compares two engines on generated cases.

  --runs 20000         cases
  --seed 1             what they are generated from
  --first 0            number of the first one
  --jobs 1             threads
  --engine wasm        the two engines that are compared
  --other reference
  --steps              compare each step of each case too
  --findings 10        distinct differences after which no more are looked for
  --case FILE          run a minimised case again
`

const FLAGS = {
  help: { type: 'boolean', default: false },
  runs: { type: 'string', default: '20000' },
  seed: { type: 'string', default: '1' },
  first: { type: 'string', default: '0' },
  jobs: { type: 'string', default: '1' },
  engine: { type: 'string', default: 'wasm' },
  other: { type: 'string', default: 'reference' },
  steps: { type: 'boolean', default: false },
  findings: { type: 'string', default: '10' },
  case: { type: 'string' },
} as const

type WorkerMessage = { readonly runs: number } | { readonly finding: Finding }

const PROGRESS_MS = 30_000
const LONGEST_LINE = 400

async function main(): Promise<void> {
  const { values } = parseArgs({ options: FLAGS })
  if (values.help) {
    console.log(HELP)
    return
  }
  const engines = [values.engine, values.other] as const
  if (values.case !== undefined) {
    await replayFile(values.case, engines)
    return
  }
  const [runs, seed, first, jobs] = [values.runs, values.seed, values.first, values.jobs].map(Number) as [
    number,
    number,
    number,
    number,
  ]
  const share = Math.ceil(runs / jobs)
  const ranges = Array.from({ length: jobs }, (_, job): FuzzRange => {
    const from = first + job * share
    const count = Math.min(share, first + runs - from)
    return { seed, first: from, runs: count, engines, comparesSteps: values.steps, minimises: true }
  })
  await runAll(ranges, runs, Number(values.findings))
}

async function runAll(ranges: readonly FuzzRange[], runs: number, mostFindings: number): Promise<void> {
  const beginMs = performance.now()
  const directory = mkdtempSync(join(tmpdir(), 'coind-fuzz-'))
  const seen = new Map<string, number>()
  let done = 0
  let shownMs = beginMs
  const show = (): void => {
    const seconds = (performance.now() - beginMs) / 1000
    console.log(`${done} of ${runs} runs, ${(done / seconds).toFixed(0)} a second, ${seen.size} kinds of difference`)
  }
  const workers = ranges.map((range) => new Worker(new URL(import.meta.url), { workerData: range }))
  const stopAll = () => Promise.all(workers.map((worker) => worker.terminate()))
  await Promise.all(
    workers.map((worker, job) =>
      Promise.race([
        new Promise<void>((resolve, reject) => {
          worker.on('error', reject)
          worker.on('exit', () => resolve())
        }),
        new Promise<void>((resolve) => {
          worker.on('message', (message: WorkerMessage) => {
            if ('finding' in message) {
              const signature = signatureOf(message.finding)
              seen.set(signature, (seen.get(signature) ?? 0) + 1)
              if (seen.get(signature) === 1) print(message.finding, ranges[job]!, directory)
              if (seen.size >= mostFindings) resolve(stopAll().then(() => undefined))
              return
            }
            done += message.runs
            if (performance.now() - shownMs < PROGRESS_MS) return
            shownMs = performance.now()
            show()
          })
        }),
      ]),
    ),
  )
  show()
  for (const [signature, count] of seen) console.log(`${count} × ${signature}`)
  process.exitCode = seen.size === 0 ? 0 : 1
}

/** Differences of one fault mostly look alike: the opcode where the engines part, and what differs then. */
function signatureOf({ differences, steps }: Finding): string {
  const opcode = /last common step: depth \d+ pc \d+ (\S+)/.exec(steps)?.[1] ?? 'no step'
  return `${opcode}: ${kindsOf(differences)}`
}

function print({ index, kind, differences, steps, smallest }: Finding, range: FuzzRange, directory: string): void {
  const { seed, engines } = range
  const names = `--engine ${engines[0]} --other ${engines[1]}${range.comparesSteps ? ' --steps' : ''}`
  console.log(`\nDIFFERENCE between ${engines[0]} and ${engines[1]} in case ${index} of seed ${seed} (${kind})`)
  for (const line of differences.slice(0, 12)) console.log(`  ${line.slice(0, LONGEST_LINE)}`)
  console.log(steps)
  if (smallest === undefined) {
    const first = Math.max(range.first, index - 1_000)
    console.log('It does not happen on fresh engines: it depends on the runs before.')
    console.log(`  npm run test:fuzz -- --seed ${seed} --first ${first} --runs ${index - first + 1} ${names}`)
    return
  }
  const file = join(directory, `seed${seed}-${index}.json`)
  writeFileSync(file, smallest)
  console.log(`  npm run test:fuzz -- --seed ${seed} --first ${index} --runs 1 ${names}`)
  console.log(`  npm run test:fuzz -- --case ${file} ${names}    (minimised)`)
}

async function replayFile(path: string, names: readonly [string, string]): Promise<void> {
  const fuzzCase = parseCase(readFileSync(path, 'utf8'))
  const engines = [await createTestEngine(names[0]), await createTestEngine(names[1])] as const
  const differences = await findDifference(fuzzCase, engines)
  for (const line of differences) console.log(line)
  console.log(await investigate(fuzzCase, engines))
  process.exitCode = differences.length === 0 ? 0 : 1
}

if (parentPort === null) {
  await main()
} else {
  const send = (message: WorkerMessage): void => parentPort!.postMessage(message)
  await fuzzRange(workerData as FuzzRange, {
    onProgress: (runs) => send({ runs }),
    onFinding: (finding) => send({ finding }),
  })
}
