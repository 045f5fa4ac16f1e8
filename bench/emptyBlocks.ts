/**
 * Measures what an empty block retains on disk in archive mode, with everything that the executor writes: consensus block, header,
 * state, history and indexes. Prints bytes per block by column after LevelDB's compaction. Slots and nodes at the head grow until
 * the rings of EIP-2935 and EIP-4788 are full (8,191 blocks and seconds), then only their history does.
 *
 *   node bench/emptyBlocks.ts [blocks] [validators]
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { advanceState } from '../src/consensus/consensusState.ts'
import { Column, prefixEnd } from '../src/storage/columns.ts'
import { Database } from '../src/storage/database.ts'
import { networkGenesis, openNetworkNode, proposeBlock } from '../test/support/execution/testNetwork.ts'

const [blocks = 5_000, validators = 1] = process.argv.slice(2).map(Number)
const WARM_UP = 500

const chain = await openNetworkNode(networkGenesis(validators))
const database = await Database.open(chain.location, { readOnly: true })

interface Size {
  readonly entries: number
  readonly bytes: number
}

async function columnSizes(): Promise<ReadonlyMap<string, Size>> {
  const sizes = new Map<string, Size>()
  for (const [name, column] of Object.entries(Column)) {
    let entries = 0
    let bytes = 0
    const start = Uint8Array.of(column)
    for await (const [key, value] of database.entries({ start, end: prefixEnd(start) })) {
      entries++
      bytes += key.length + value.length
    }
    sizes.set(name, { entries, bytes })
  }
  return sizes
}

async function diskBytes(): Promise<number> {
  await database.compact(Uint8Array.of(0), Uint8Array.of(0xff))
  return readdirSync(chain.location)
    .filter((name) => name.endsWith('.ldb'))
    .reduce((sum, name) => sum + statSync(join(chain.location, name)).size, 0)
}

let state = await chain.state()
async function produce(): Promise<void> {
  const decided = await proposeBlock(chain, state)
  state = advanceState(state, decided, await chain.executor.application.finalizeBlock(decided))
}

for (let i = 0; i < WARM_UP; i++) await produce()
const [before, diskBefore] = [await columnSizes(), await diskBytes()]
const began = performance.now()
for (let i = 0; i < blocks; i++) await produce()
const milliseconds = (performance.now() - began) / blocks
const [after, diskAfter] = [await columnSizes(), await diskBytes()]

const number = (value: number): string => value.toFixed(1).padStart(10)
let total = 0
for (const [name, size] of after) {
  const former = before.get(name)!
  const bytes = (size.bytes - former.bytes) / blocks
  total += bytes
  if (bytes === 0) continue
  console.log(
    `${name.padEnd(16)}${number((size.entries - former.entries) / blocks)} entries${number(bytes)} bytes per block`,
  )
}
console.log(`
keys and values ${number(total)} bytes per block
on disk         ${number((diskAfter - diskBefore) / blocks)} bytes per block, compacted
time            ${number(milliseconds)} ms per block`)
await database.close()
await chain.close()
