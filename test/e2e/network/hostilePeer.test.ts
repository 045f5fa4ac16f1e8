import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FloodCounts, FloodOptions } from './hostileFlood.ts'
import { differences, type LocalNetwork, makeNetwork, type NetworkNode, QUICK, waitForHeight } from './localNetwork.ts'
import { startTransfers, waitForTransfers } from './transfers.ts'

const FLOOD = new URL('hostileFlood.ts', import.meta.url).pathname
const QUIET_MS = 4_000
const FLOOD_MS = 10_000
const MIN_BLOCKS = 5
const MAX_GROWTH_MIB = 300

interface NetInfo {
  readonly peers: readonly {
    readonly node_info: { readonly id: string }
    /** nanoseconds */
    readonly connection_status: { readonly Duration: string }
  }[]
}

interface Flood {
  readonly process: ChildProcess
  /** Ends it; gives what it has done. */
  stop(): Promise<FloodCounts>
}

let network: LocalNetwork
let flood: Flood | undefined

beforeAll(async () => {
  network = await makeNetwork({ validators: 4, environment: QUICK.environment })
  await network.start()
})

afterAll(async () => {
  flood?.process.kill('SIGKILL')
  await network.stop()
})

async function startFlood(options: FloodOptions): Promise<Flood> {
  const child = spawn(process.execPath, [FLOOD, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines: string[] = []
  const reader = createInterface(child.stdout)
  reader.on('line', (line) => lines.push(line))
  const ended = once(child, 'exit')
  await Promise.race([once(reader, 'line'), ended])
  if (child.exitCode !== null) throw new Error(`the flood ended with ${child.exitCode}`)
  return {
    process: child,
    stop: async () => {
      child.stdin.end()
      await ended
      return JSON.parse(lines.at(-1)!) as FloodCounts
    },
  }
}

const residentMib = ({ running }: NetworkNode): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${running.process.pid}/status`, 'utf8'))![1]) / 1024

/** Watches the network for a while, and until it has decided some blocks. */
async function watch(durationMs: number): Promise<{ readonly intervalMs: number; readonly mib: readonly number[] }> {
  const startMs = performance.now()
  const from = await network.seed.height()
  let mib: readonly number[] = network.nodes.map(() => 0)
  let blocks = 0
  while (performance.now() - startMs < durationMs || blocks < MIN_BLOCKS) {
    await sleep(250)
    blocks = (await network.seed.height()) - from
    mib = network.nodes.map((node, index) => Math.max(mib[index]!, residentMib(node)))
  }
  return { intervalMs: Math.round((performance.now() - startMs) / blocks), mib }
}

/** Messages of all kinds that all nodes have received from all peers. */
async function received(): Promise<number> {
  const metrics = await Promise.all(
    network.nodes.map(async ({ variables }) =>
      (await fetch(`http://127.0.0.1:${variables.METRICS_PORT}/metrics`)).text(),
    ),
  )
  const counters = metrics.join('\n').matchAll(/^coind_p2p_received_messages_total.* (\d+)$/gm)
  return [...counters].reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Milliseconds that a node has been connected with each of the others. */
async function connectedMs(node: NetworkNode): Promise<ReadonlyMap<string, number>> {
  const { peers } = await node.comet<NetInfo>('net_info')
  return new Map(peers.map((peer) => [peer.node_info.id, Number(peer.connection_status.Duration) / 1e6]))
}

describe('four validators that are flooded by peers without manners', () => {
  it('go on, stay together and keep their memory', async () => {
    await waitForHeight(network.seed, 5)
    const transfers = startTransfers(network.nodes, 200)
    const quiet = await watch(QUIET_MS)
    flood = await startFlood({
      targets: network.nodes.map(({ peerAddress }) => peerAddress),
      chainId: network.chainId,
      genesisHash: network.genesisHash,
      rpcUrl: network.seed.rpcUrl,
    })
    const before = await received()
    const sentBefore = transfers.sent.length
    const startMs = performance.now()
    const flooded = await watch(FLOOD_MS)
    const floodedMs = performance.now() - startMs
    const arrived = (await received()) - before
    const connected = await Promise.all(network.nodes.map(connectedMs))
    const counts = await flood.stop()
    const sentMeanwhile = transfers.sent.slice(sentBefore)
    await transfers.stop()
    const { identities, connections, ...messages } = counts
    const perSecond = (count: number): number => Math.round((count / floodedMs) * 1000)
    const sum = Object.values(messages).reduce((total, count) => total + count)
    console.log(
      `block interval: ${quiet.intervalMs} ms, flooded ${flooded.intervalMs} ms; ${perSecond(sum)} messages/s ` +
        `(${perSecond(arrived)} read) by ${identities} peers, ${connections} connections; ` +
        `memory ${quiet.mib.map(Math.round)} -> ${flooded.mib.map(Math.round)} MiB`,
      messages,
    )

    // It was a flood, of everything.
    for (const [kind, count] of Object.entries(counts)) expect(count, kind).toBeGreaterThan(0)
    const bans = network.nodes.map(({ running }) =>
      running
        .output()
        .split('\n')
        .filter((line) => line.includes('peer banned')),
    )
    for (const [index, { name }] of network.nodes.entries()) expect(bans[index]!.length, name).toBeGreaterThan(0)

    // Blocks are decided with all nodes at the same, and transactions go into them.
    const height = await network.seed.height()
    await Promise.all(network.nodes.map((node) => waitForHeight(node, height + 3)))
    expect(await differences(network.nodes)).toEqual([])
    expect(sentMeanwhile.length).toBeGreaterThan(0)
    await waitForTransfers(network.seed, sentMeanwhile)

    for (const [index, node] of network.nodes.entries()) {
      const others = network.nodes.filter((other) => other !== node)
      for (const { nodeId, name } of others) {
        // The same connection as before the flood.
        expect(connected[index]!.get(nodeId) ?? 0, `${node.name} with ${name}`).toBeGreaterThan(floodedMs)
        expect(
          bans[index]!.filter((line) => line.includes(nodeId)),
          `${node.name} of ${name}`,
        ).toEqual([])
      }
      expect(flooded.mib[index]! - quiet.mib[index]!, node.name).toBeLessThan(MAX_GROWTH_MIB)
    }
  })
})
