import { parseArgs } from 'node:util'
import { wideArea } from './wideArea.ts'

/**
 * Prints how blocks follow one another with validators spread over the world, nothing going wrong.
 *
 *   node test/sim/measureWideArea.ts --validators 50 --heights 200
 */
const { values } = parseArgs({
  options: {
    validators: { type: 'string', default: '50' },
    heights: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  },
})
const { simulation, heights, laterRounds, interval } = wideArea({
  seed: Number(values.seed),
  validators: Number(values.validators),
  heights: Number(values.heights),
})
const { violations, queue, network } = simulation
console.log(`heights           ${heights}
interval ms       p50 ${interval(0.5).toFixed(0)}, p95 ${interval(0.95).toFixed(0)}, p99 ${interval(0.99).toFixed(0)}, most ${interval(1).toFixed(0)}
later rounds      ${laterRounds} (${((100 * laterRounds) / heights).toFixed(2)} %)
messages a height ${(network.delivered / heights).toFixed(0)}, ${(network.delivered / heights / simulation.nodes.length).toFixed(0)} a node
events            ${queue.executed}
violations        ${violations.length}`)
for (const { atMs, rule, details } of violations) console.log(`  ${atMs} ${rule}: ${details}`)
process.exitCode = violations.length === 0 ? 0 : 1
