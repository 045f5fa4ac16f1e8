/**
 * Makes the data directory of a chain with a large state and many blocks (`makeBigChain` says what is true in it), and prints how
 * long it took. A node of the testnet's chain ID opens it: `NETWORK=testnet HOMEDIR=DIR coind start`. `--help` lists the flags.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { dataPaths } from '../src/datadir/dataDirectory.ts'
import { bytesToHex } from '../src/primitives/bytes.ts'
import { makeBigChain } from './bigChain/makeBigChain.ts'
import { numberFlag, readFlags } from './flags.ts'

const HELP = `node bench/bigChain.ts [flags]
  --home DIR            to be made
  --accounts 2000000
  --slots 1000000
  --delegations 10000
  --blocks 1000000
  --validators 50
  --signers 1           validators that sign each block
`

const values = readFlags(HELP, {
  home: { type: 'string' },
  accounts: numberFlag('2000000'),
  slots: numberFlag('1000000'),
  delegations: numberFlag('10000'),
  blocks: numberFlag('1000000'),
  validators: numberFlag('50'),
  signers: numberFlag('1'),
})
if (values.home === undefined) throw new Error('--home DIR is missing: the directory to be made')

const BLOCK_MS = 400
const PRINT_MS = 5_000
const blocks = Number(values.blocks)
const db = dataPaths(values.home).db
const megabytes = (): number =>
  readdirSync(db).reduce((sum, name) => sum + (statSync(join(db, name), { throwIfNoEntry: false })?.size ?? 0), 0) / 1e6

const counts = new Map<string, { entries: number; beganMs: number }>()
let [stepEndMs, printedMs] = [performance.now(), 0]
const began = performance.now()
function report(name: string): void {
  const { entries, beganMs } = counts.get(name)!
  const seconds = (stepEndMs - beganMs) / 1000
  const rate = Math.round(entries / seconds).toLocaleString('en')
  const memory = Math.round(process.memoryUsage().rss / 1e6)
  console.log(
    `${name.padEnd(12)}${entries.toLocaleString('en').padStart(12)} in ${seconds.toFixed(1).padStart(6)} s, ${rate} a second; ` +
      `db ${megabytes().toFixed(0)} MB, memory ${memory} MB`,
  )
}

let current: string | undefined
const { stateRoot } = await makeBigChain({
  homedir: values.home,
  accounts: Number(values.accounts),
  slots: Number(values.slots),
  delegations: Number(values.delegations),
  blocks,
  validators: Number(values.validators),
  signers: Number(values.signers),
  genesisTimeMs: Math.floor((Date.now() - blocks * BLOCK_MS) / 1000) * 1000,
  onStep: (name, entries) => {
    if (name !== current && current !== undefined) report(current)
    current = name
    const count = counts.get(name) ?? { entries: 0, beganMs: stepEndMs }
    count.entries += entries
    counts.set(name, count)
    stepEndMs = performance.now()
    if (stepEndMs - printedMs < PRINT_MS) return
    printedMs = stepEndMs
    report(name)
  },
})
if (current !== undefined) report(current)
const seconds = (performance.now() - began) / 1000
console.log(`
head ${blocks}, state root ${bytesToHex(stateRoot)}
${megabytes().toFixed(0)} MB in ${seconds.toFixed(0)} s: ${(megabytes() / seconds).toFixed(1)} MB/s; at most ${Math.round(process.resourceUsage().maxRSS / 1000)} MB of memory`)
