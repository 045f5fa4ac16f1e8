/**
 * Runs a network of validators and a full node for a while, with transactions, subscriptions, reads and traces through all of them, and
 * kills one after another: `npm run test:soak -- [flags]`. It prints block intervals, memory and descriptors every minute; at the end all
 * nodes must have the same blocks, every transaction that a node took and every receipt that a client has read.
 */
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { residentMegabytes } from '../../../bench/measure/processUsage.ts'
import { rpcBatch } from '../rpc.ts'
import { BlockIntervals } from './blockIntervals.ts'
import { differences, type LocalNetwork, makeNetwork, type NetworkNode, waitForHeight } from './localNetwork.ts'
import { type SoakTransfers, soakAccounts, startReaders, startSoakTransfers } from './soakClients.ts'

const HELP = `npm run test:soak -- [flags]
  --minutes 10      how long
  --validators 4    and one full node
  --transactions 200  a second, through all nodes together
  --kill-seconds 0  kill a node every so many seconds and start it again; 0: none
`

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    validators: { type: 'string', default: '4' },
    transactions: { type: 'string', default: '200' },
    'kill-seconds': { type: 'string', default: '0' },
  },
})
if (flags.help) {
  console.log(HELP)
  process.exit()
}
const BALANCE_ACOIN = 10n ** 24n
const AWAY_MS = 3_000
const STEP_MS = 60_000
const RESEND_MS = 20_000
const RECEIPTS_AT_ONCE = 100

const megabytes = ({ running }: NetworkNode): number => Math.round(residentMegabytes(running.process.pid!))
const descriptors = ({ running }: NetworkNode): number => readdirSync(`/proc/${running.process.pid}/fd`).length

async function run(network: LocalNetwork): Promise<boolean> {
  const { nodes, seed } = network
  await network.start()
  await waitForHeight(seed, 20)
  const intervals = new BlockIntervals(seed, await seed.height())
  const transfers = startSoakTransfers(nodes, Number(flags.transactions))
  const readers = startReaders(nodes, () => transfers.sent[transfers.receipts.size - 1])
  const beginMs = performance.now()
  const endMs = beginMs + Number(flags.minutes) * 60_000
  const killMs = Number(flags['kill-seconds']) * 1_000
  // What a node loses is sent again when it is back, which takes a while.
  const killAfter = (ms: number): number => (killMs > 0 && ms + killMs < endMs - RESEND_MS ? ms + killMs : Infinity)
  let nextKillMs = killAfter(beginMs)
  let killed = 0
  while (performance.now() < endMs) {
    await sleep(Math.max(0, Math.min(STEP_MS, endMs - performance.now(), nextKillMs - performance.now())))
    await intervals.follow()
    const seconds = Math.round((performance.now() - beginMs) / 1000)
    const { calls, traces, notifications, broken } = readers.counts
    console.log(
      `${seconds} s: ${intervals.summary()}; ${transfers.sent.length} transactions, ${transfers.receipts.size} receipts, ` +
        `${calls} calls, ${traces} traces, ${notifications} notifications, ${broken} broken; ` +
        `MB ${nodes.map(megabytes).join(' ')}; descriptors ${nodes.map(descriptors).join(' ')}`,
    )
    if (performance.now() < nextKillMs) continue
    nextKillMs = killAfter(nextKillMs)
    // The seed node is the one whose blocks are read.
    const node = nodes[1 + (killed++ % (nodes.length - 1))]!
    await node.kill('SIGKILL')
    await sleep(AWAY_MS)
    await node.start()
    console.log(`${node.name} was killed and is back`)
  }
  await readers.stop()
  await transfers.stop()
  const target = (await seed.height()) + 10
  await Promise.all(nodes.map((node) => waitForHeight(node, target)))
  const different = await differences(nodes)
  const missing = await missingTransactions(nodes, transfers)
  console.log(`${different.length} blocks differ, ${missing.length} transactions are missing, ${killed} kills`)
  for (const line of [...different, ...missing].slice(0, 10)) console.log(line)
  return different.length === 0 && missing.length === 0
}

/** Transactions that a node took, or that a client has seen in another block, but that are not in every node's chain. */
async function missingTransactions(
  nodes: readonly NetworkNode[],
  { sent, receipts }: SoakTransfers,
): Promise<readonly string[]> {
  const missing: string[] = []
  for (const node of nodes) {
    for (let at = 0; at < sent.length; at += RECEIPTS_AT_ONCE) {
      const hashes = sent.slice(at, at + RECEIPTS_AT_ONCE)
      const calls = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
      const found = (await rpcBatch(`${node.rpcUrl}/`, calls)) as readonly ({ readonly blockHash: string } | null)[]
      for (const [index, receipt] of found.entries()) {
        const hash = hashes[index]!
        const seen = receipts.get(hash)
        if (receipt === null || (seen !== undefined && seen !== receipt.blockHash)) {
          missing.push(
            `${node.name} has ${hash} in ${receipt?.blockHash ?? 'no block'}, and a client saw ${seen ?? 'none'}`,
          )
        }
      }
    }
  }
  return missing
}

const validators = Number(flags.validators)
const network = await makeNetwork({
  validators,
  fullNodes: 1,
  fundedAccounts: soakAccounts(validators + 1).map(({ address }) => ({ address, balanceAcoin: BALANCE_ACOIN })),
})
try {
  if (!(await run(network))) process.exitCode = 1
} finally {
  await network.stop()
}
