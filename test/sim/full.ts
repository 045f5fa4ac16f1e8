import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { describeViolation } from './describeViolation.ts'
import { type Mode, type RunReport, randomRun } from './randomRun.ts'

/**
 * Runs many seeds of mixed faults in as many threads as there are processors. Prints each violation with the command that
 * replays it; exits with 1 when there is any.
 *
 *   npm run test:sim-full
 *   npm run test:sim-full -- --small 1000 --large 20 --seed 5000 --jobs 1
 */
const USAGE = {
  /** seeds with 4 and 7 validators, half each */
  small: { type: 'string', default: '10000' },
  /** seeds with 50 validators */
  large: { type: 'string', default: '500' },
  /** the first of them */
  seed: { type: 'string', default: '1' },
  jobs: { type: 'string', default: String(availableParallelism()) },
} as const

const PROGRESS_MS = 20_000
/** Seeds that a worker gets at a time. */
const BATCH = 4

interface Task {
  readonly seed: number
  readonly validators: number
  readonly mode: Mode
}

/** One seed in four looks for unsafety alone, over a longer time of faults. */
function taskOf(seed: number, validators: number): Task {
  return { seed, validators, mode: seed % 4 === 3 ? 'safety' : 'liveness' }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: USAGE })
  const [small, large, first, jobs] = [values.small, values.large, values.seed, values.jobs].map(Number) as [
    number,
    number,
    number,
    number,
  ]
  const tasks: Task[] = []
  // The large ones take longest, so they come first and the processors end together.
  for (let i = 0; i < large; i++) tasks.push(taskOf(first + i, 50))
  for (let i = 0; i < small; i++) tasks.push(taskOf(first + i, i % 2 === 0 ? 4 : 7))
  await runTasks(tasks, jobs)
}

async function runTasks(tasks: readonly Task[], jobs: number): Promise<void> {
  const beginMs = performance.now()
  const total = { runs: 0, failed: 0, heights: 0, events: 0, virtualMs: 0, maxRound: 0, stuckRuns: 0 }
  let shownMs = beginMs
  let next = 0
  const show = (): void => {
    const seconds = (performance.now() - beginMs) / 1000
    console.log(
      `${total.runs} of ${tasks.length} seeds, ${total.heights} heights, ${(total.events / seconds).toFixed(0)} events/s, ` +
        `${(total.virtualMs / 3_600_000).toFixed(1)} h of virtual time, highest round ${total.maxRound}, ${total.failed} failed`,
    )
  }
  const take = (report: RunReport): void => {
    total.runs++
    total.heights += report.height
    total.events += report.events
    total.virtualMs += report.virtualMs
    total.maxRound = Math.max(total.maxRound, report.maxRound)
    if (report.violations.length > 0) {
      total.failed++
      console.log(describeViolation(report))
    }
    if (performance.now() - shownMs < PROGRESS_MS) return
    shownMs = performance.now()
    show()
  }
  await Promise.all(
    Array.from({ length: jobs }, () => {
      const worker = new Worker(new URL(import.meta.url), { workerData: 'worker' })
      return new Promise<void>((resolve, reject) => {
        const feed = (): void => {
          if (next >= tasks.length) {
            resolve(worker.terminate().then(() => undefined))
            return
          }
          worker.postMessage(tasks.slice(next, next + BATCH))
          next += BATCH
        }
        worker.on('message', (reports: readonly RunReport[]) => {
          for (const report of reports) take(report)
          feed()
        })
        worker.on('error', reject)
        feed()
      })
    }),
  )
  show()
  const seconds = (performance.now() - beginMs) / 1000
  console.log(`${seconds.toFixed(0)} s, ${total.failed === 0 ? 'no violation' : `${total.failed} VIOLATIONS`}`)
  process.exitCode = total.failed === 0 ? 0 : 1
}

if (parentPort === null || workerData !== 'worker') {
  await main()
} else {
  parentPort.on('message', (tasks: readonly Task[]) => {
    parentPort!.postMessage(tasks.map((task) => randomRun(task)))
  })
}
