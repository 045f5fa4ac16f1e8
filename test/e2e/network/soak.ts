/**
 * Runs a network of validators and a full node for a while, with transactions through all of them: `npm run test:soak -- [flags]`.
 * It prints block intervals and memory every minute; at the end all nodes must have the same blocks and every transaction.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { residentMegabytes } from '../../../bench/measure/processUsage.ts'
import { rpc } from '../rpc.ts'
import { BlockIntervals } from './blockIntervals.ts'
import { differences, type LocalNetwork, makeNetwork, waitForHeight } from './localNetwork.ts'
import { startTransfers } from './transfers.ts'

const HELP = `npm run test:soak -- [flags]
  --minutes 10      how long
  --validators 4    and one full node
  --kill-seconds 0  kill a node every so many seconds and start it again; 0: none
`

const { values: flags } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    validators: { type: 'string', default: '4' },
    'kill-seconds': { type: 'string', default: '0' },
  },
})
if (flags.help) {
  console.log(HELP)
  process.exit()
}

async function run(network: LocalNetwork): Promise<boolean> {
  await network.start()
  await waitForHeight(network.seed, 20)
  const intervals = new BlockIntervals(network.seed, await network.seed.height())
  const transfers = startTransfers(network.nodes, 200)
  const begin = performance.now()
  const endMs = begin + Number(flags.minutes) * 60_000
  const killMs = Number(flags['kill-seconds']) * 1_000
  let lastKillMs = begin
  let killed = 0
  while (performance.now() < endMs) {
    await sleep(Math.min(10_000, endMs - performance.now()))
    if (killMs > 0 && performance.now() - lastKillMs >= killMs) {
      lastKillMs = performance.now()
      // The seed node is the one whose blocks are read.
      const node = network.nodes[1 + (killed++ % (network.nodes.length - 1))]!
      await node.kill('SIGKILL')
      await sleep(3_000)
      await node.start()
    }
    await intervals.follow()
    const memory = network.nodes.map((node) => Math.round(residentMegabytes(node.running.process.pid!)))
    const seconds = Math.round((performance.now() - begin) / 1000)
    console.log(`${seconds} s: ${intervals.summary()}; ${transfers.sent.length} transactions; MB ${memory.join(' ')}`)
  }
  await transfers.stop()
  const target = (await network.seed.height()) + 10
  await Promise.all(network.nodes.map((node) => waitForHeight(node, target)))
  const different = await differences(network.nodes)
  const missing = await missingTransactions(network, transfers.sent)
  console.log(`${different.length} blocks differ, ${missing} transactions are missing, ${killed} kills`)
  for (const line of different.slice(0, 10)) console.log(line)
  return different.length === 0 && missing === 0
}

/** What a node that was killed had only in its mempool may be lost; with kills nothing can be said. */
async function missingTransactions(network: LocalNetwork, sent: readonly string[]): Promise<number> {
  if (flags['kill-seconds'] !== '0') return 0
  let missing = 0
  for (const node of network.nodes) {
    for (const hash of sent) {
      if ((await rpc(`${node.rpcUrl}/`, 'eth_getTransactionReceipt', hash)) === null) missing++
    }
  }
  return missing
}

const network = await makeNetwork({ validators: Number(flags.validators), fullNodes: 1 })
try {
  if (!(await run(network))) process.exitCode = 1
} finally {
  await network.stop()
}
