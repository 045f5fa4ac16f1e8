import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startSuiteServer } from '../rpcCompat/startSuiteServer.ts'
import { askSimulation } from './askSimulation.ts'
import { difference } from './differences.ts'
import { simulateRequest } from './simulateRequest.ts'
import { gethVersion, startGeth } from './startGeth.ts'
import { encodeVectors, type SimulateVector } from './vectors.ts'

/**
 * `npm run test:geth [-- --seed N --from N --count N --save FILE]`: sends the same random simulations to this node and to geth, both over the
 * chain of execution-apis, and prints where the answers differ. `--save` keeps geth's answers as the vectors of `npm test`. geth is the command
 * of the variable GETH, or on the PATH.
 */
const SUITE = fileURLToPath(new URL('../../../../shared/fixtures/rpc-compat/', import.meta.url))

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '11' },
    from: { type: 'string', default: '0' },
    count: { type: 'string', default: '2000' },
    save: { type: 'string' },
  },
})
const [seed, from, count] = [Number(values.seed), Number(values.from), Number(values.count)]
const command = process.env.GETH ?? 'geth'
if (gethVersion(command) === undefined || !existsSync(SUITE)) {
  console.error(
    `skipped: ${existsSync(SUITE) ? 'geth is not on the PATH, and GETH does not name it' : `${SUITE} is absent`}`,
  )
  process.exit(0)
}
const [node, geth] = await Promise.all([startSuiteServer(SUITE), startGeth(command, SUITE)])
const vectors: SimulateVector[] = []
let [differing, errors] = [0, 0]
for (let index = from; index < from + count; index++) {
  const params = simulateRequest(seed, index)
  const [ours, geths] = await Promise.all([askSimulation(node.url, params), askSimulation(geth.url, params)])
  const found = difference(ours, geths)
  if (found !== undefined) {
    console.log(`request ${index}: ${found}`)
    differing++
  }
  if ('error' in geths) errors++
  vectors.push({ params, answer: geths })
}
await Promise.all([node.close(), geth.close()])
if (values.save !== undefined) writeFileSync(values.save, encodeVectors(vectors))
console.log(
  `seed ${seed}, requests ${from} to ${from + count - 1}, geth ${geth.version}: ${errors} of the answers are errors`,
)
console.log(`${count - differing} passed, ${differing} failed`)
process.exitCode = differing === 0 ? 0 : 1
