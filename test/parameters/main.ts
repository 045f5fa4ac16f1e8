import { parseArgs } from 'node:util'
import { runParameters } from './runParameters.ts'

/**
 * Runs chains while governance sets random legal parameters of all modules and their extremes, among messages, slashes, jailings, key
 * rotations, unbondings and evidence. No block may throw, all invariants hold after each block, and another chain that executes the same
 * blocks has the same roots. Exits with 1 and the seed when that fails.
 */
const HELP = `npm run test:parameters -- [flags]

  --seeds 20     chains
  --seed 1       of the first one
  --blocks 400   of each chain
`

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    seeds: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    blocks: { type: 'string', default: '400' },
  },
})
if (flags.help) {
  console.log(HELP)
  process.exit()
}

const totals = new Map<string, number>()
const first = Number(flags.seed)
for (let seed = first; seed < first + Number(flags.seeds); seed++) {
  const { blocks, counts, root } = await runParameters(seed, Number(flags.blocks))
  for (const [name, count] of counts) totals.set(name, (totals.get(name) ?? 0) + count)
  console.log(`seed ${seed}: ${blocks} blocks, root ${root}`)
}
for (const [name, count] of [...totals].sort()) console.log(`${String(count).padStart(8)} ${name}`)
