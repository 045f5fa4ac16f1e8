import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readCases } from './exchanges.ts'
import { gradeCases } from './gradeCases.ts'
import { startSuiteServer } from './startSuiteServer.ts'

/**
 * `npm run test:rpc-compat [DIRECTORY]`: sends the cases of ethereum/execution-apis to a node's RPC over HTTP and prints which answers differ.
 * DIRECTORY has other cases of the same form: `.io` files in folders; where it has a `chain.rlp` too, it is a suite of its own, with its cases in
 * `tests`. Otherwise they are asked on the chain of the suite beside the project.
 */
const SUITE = fileURLToPath(new URL('../../../../shared/fixtures/rpc-compat/', import.meta.url))

const given = process.argv[2] === undefined ? SUITE : resolve(process.argv[2])
const isSuite = existsSync(join(given, 'chain.rlp'))
const suite = isSuite ? given : SUITE
if (!existsSync(join(suite, 'chain.rlp'))) {
  console.error(`skipped: ${suite} is absent, the chain that the cases are asked on`)
  process.exit(0)
}
const cases = readCases(isSuite ? join(suite, 'tests') : given)
if (cases.length === 0) {
  console.error(`${given} has no cases (.io files)`)
  process.exit(2)
}
const server = await startSuiteServer(suite)
const faults = await gradeCases(server.url, cases, suite)
await server.close()
for (const [name, fault] of faults) console.log(`${name}: ${fault}`)
console.log(`${cases.length - faults.size} passed, ${faults.size} failed`)
process.exitCode = faults.size === 0 ? 0 : 1
