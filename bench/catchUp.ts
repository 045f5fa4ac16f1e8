/**
 * What decided blocks cost an executor that catches up: empty ones, then ones full of transfers whose senders other threads have
 * recovered. Prints blocks and transfers a second of this thread's CPU time and of wall time, and bytes on disk.
 *
 *   node bench/catchUp.ts [validators] [empty blocks] [blocks of transfers] [transfers in each]
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DecidedBlock } from '../src/consensus/application.ts'
import { advanceState } from '../src/consensus/consensusState.ts'
import { recoverEntrySender } from '../src/execution/entry.ts'
import type { Address } from '../src/primitives/address.ts'
import { hexToBytes } from '../src/primitives/bytes.ts'
import { keccak256 } from '../src/primitives/hash.ts'
import { networkGenesis, openNetworkNode, proposeBlock } from '../test/support/execution/testNetwork.ts'
import { accountOf, GWEI, sign } from './load/sign.ts'

const [validators = 4, emptyBlocks = 1_000, fullBlocks = 20, perBlock = 2_000] = process.argv.slice(2).map(Number)
const SENDERS = 200
const RECIPIENTS = 2_000

const senders = Array.from({ length: SENDERS }, (_, index) => accountOf(`bench ${index}`))
const recipients = Array.from({ length: RECIPIENTS }, (_, index) => keccak256(Buffer.from(`to ${index}`)).slice(12))
const genesis = networkGenesis(validators, {
  blockGasLimit: 150_000_000n,
  fundedAccounts: senders.map(({ address }) => ({ address, balanceAcoin: 10n ** 21n })),
})

/** Makes the chain to catch up with, by another node. */
async function produce(): Promise<readonly (DecidedBlock & { readonly senders: readonly (Address | undefined)[] })[]> {
  const node = await openNetworkNode(genesis)
  let state = await node.state()
  const decisions = []
  for (let block = 0; block < emptyBlocks + fullBlocks; block++) {
    const raws = Array.from({ length: block < emptyBlocks ? 0 : perBlock }, (_, at) => {
      const index = (block - emptyBlocks) * perBlock + at
      const nonce = BigInt(Math.floor(index / SENDERS))
      const to = recipients[index % RECIPIENTS]!
      return hexToBytes(sign(senders[index % SENDERS]!, { nonce, to, value: 1n, maxFeePerGas: 500n * GWEI }).raw)
    })
    const decided = await proposeBlock(node, state, { raws })
    if (decided.block.txs.length !== raws.length) throw new Error(`${decided.block.txs.length} of ${raws.length} fit`)
    state = advanceState(
      state,
      decided,
      await node.executor.application.finalizeBlock({ ...decided, catchingUp: true }),
    )
    decisions.push({ ...decided, senders: decided.block.txs.map((raw) => recoverEntrySender(raw, node.chain)) })
  }
  await node.close()
  return decisions
}

const decisions = await produce()
const node = await openNetworkNode(genesis)
const diskBytes = () =>
  readdirSync(node.location).reduce((sum, name) => sum + statSync(join(node.location, name)).size, 0)

async function measure(name: string, part: typeof decisions, transfers: number): Promise<void> {
  const [thread, all, begin, disk] = [process.threadCpuUsage(), process.cpuUsage(), performance.now(), diskBytes()]
  for (const decided of part) await node.executor.application.finalizeBlock({ ...decided, catchingUp: true })
  const own = process.threadCpuUsage(thread)
  const used = process.cpuUsage(all)
  const seconds = { thread: (own.user + own.system) / 1e6, all: (used.user + used.system) / 1e6 }
  const wall = (performance.now() - begin) / 1000
  const rate = (count: number) =>
    `${Math.round(count / seconds.thread)} per CPU second of this thread, ${Math.round(count / seconds.all)} of the process, ${Math.round(count / wall)} per second`
  console.log(
    `${name}: ${part.length} blocks: ${rate(part.length)}; ${Math.round((diskBytes() - disk) / part.length)} bytes per block`,
  )
  if (transfers > 0) console.log(`  transfers: ${rate(transfers)}`)
}

await measure('warm-up', decisions.slice(0, Math.min(200, emptyBlocks)), 0)
await measure('empty', decisions.slice(Math.min(200, emptyBlocks), emptyBlocks), 0)
await measure('warm-up', decisions.slice(emptyBlocks, emptyBlocks + 4), 0)
const full = decisions.slice(emptyBlocks + 4)
await measure('transfers', full, full.length * perBlock)
await node.close()
