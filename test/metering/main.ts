import { parseArgs } from 'node:util'
import { StepCounter } from './countSteps.ts'

/**
 * Measures every message, function of a precompile, hook of blocks and view of the native layer on states that strangers have grown: what they do for each gas must
 * have a bound, and must not grow with the state. Prints a table, then what is wrong; exits with 1 when something is.
 *
 *   npm run test:metering                        states of 10 and 160 strangers
 *   npm run test:metering -- --sizes 10,600      other sizes
 *   npm run test:metering -- --times             a bench: milliseconds for each million gas, at most 15 is the aim
 *   npm run test:metering -- --quiet             only what is wrong
 */
const { values } = parseArgs({
  options: {
    times: { type: 'boolean', default: false },
    sizes: { type: 'string', default: '10,160' },
    quiet: { type: 'boolean', default: false },
  },
})
const counter = values.times ? undefined : new StepCounter()
// Loaded after the counter has started: it counts in what is compiled then.
const { measure } = await import('./measure.ts')
const { findMissingRows, findProblems } = await import('./findProblems.ts')

const [small = 10, large = 160] = values.sizes.split(',').map(Number)
const measured = [await measure(small, counter), await measure(large, counter)] as const
counter?.close()
if (!values.quiet) {
  for (const { size, kind, name, gas, state, steps, ms } of measured.flat()) {
    const work =
      ms === undefined ? `${(steps! / gas).toFixed(3)} steps/gas` : `${((ms / gas) * 1e6).toFixed(1)} ms/Mgas`
    console.log(`${size}\t${kind}\t${work}\t${(state / gas).toFixed(2)} state/gas\t${gas} gas\t${name}`)
  }
}
const problems = [...findMissingRows(), ...findProblems(measured)]
for (const problem of problems) console.log(problem)
console.log(`${measured[0].length} operations, ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
