import { parseArgs } from 'node:util'
import { describeViolation } from './describeViolation.ts'
import { type Mode, randomRun } from './randomRun.ts'

/**
 * Runs one seed of the simulator again.
 *
 *   node test/sim/run.ts --seed 4711 --validators 4 --mode liveness [--trace]
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    validators: { type: 'string', default: '4' },
    mode: { type: 'string', default: 'liveness' },
    /** seeds from `seed` on */
    runs: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
  },
})

const first = Number(values.seed)
const cpu = process.cpuUsage()
let events = 0
let heights = 0
let failed = 0
for (let seed = first; seed < first + Number(values.runs); seed++) {
  const report = randomRun({
    seed,
    validators: Number(values.validators),
    mode: values.mode as Mode,
    ...(values.trace ? { trace: (line: string) => console.log(line) } : {}),
  })
  events += report.events
  heights += report.height
  if (report.violations.length === 0) continue
  failed++
  console.log(describeViolation(report))
}
const { user, system } = process.cpuUsage(cpu)
console.log(
  `${values.runs} runs, ${failed} failed, ${heights} heights, ${events} events, ${((user + system) / 1000).toFixed(0)} ms CPU`,
)
process.exitCode = failed === 0 ? 0 : 1
