import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { rpc } from '../rpc.ts'
import {
  differences,
  type LocalNetwork,
  makeNetwork,
  type NetworkNode,
  QUICK,
  waitForHalt,
  waitForHeight,
} from './localNetwork.ts'
import { startTransfers, waitForTransfers } from './transfers.ts'

interface CometBlock {
  readonly block: {
    readonly header: { readonly time: string; readonly height: string; readonly proposer_address: string }
    readonly last_commit: { readonly round: number; readonly signatures: readonly { readonly block_id_flag: number }[] }
    readonly evidence: { readonly evidence: readonly unknown[] }
  }
}

/** Multicall3, which every genesis has, and its `getBlockNumber()`. */
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11'
const BLOCK_NUMBER = '0x42cbb15c'

let network: LocalNetwork

beforeAll(async () => {
  network = await makeNetwork({ ...QUICK, validators: 4, fullNodes: 1 })
  await network.start()
})

afterAll(async () => {
  await network.stop()
})

async function heightsOf(nodes: readonly NetworkNode[]): Promise<readonly number[]> {
  return Promise.all(nodes.map((node) => node.height()))
}

/** Lets the nodes make some blocks and waits until all of them have those. */
async function advance(nodes: readonly NetworkNode[], blocks: number): Promise<void> {
  const target = Math.max(...(await heightsOf(nodes))) + blocks
  await Promise.all(nodes.map((node) => waitForHeight(node, target)))
}

describe('four validators and a full node', () => {
  it('decide blocks at their pace, with transactions that came in through any of them', async () => {
    const transfers = startTransfers(network.nodes)
    await advance(network.nodes, 25)
    await transfers.stop()
    expect(transfers.sent.length).toBeGreaterThan(network.nodes.length * 10)
    await Promise.all(network.nodes.map((node) => waitForTransfers(node, transfers.sent)))
    expect(await differences(network.nodes)).toEqual([])
  })

  it('know each other', async () => {
    for (const node of network.nodes) {
      const counts = async () => {
        const { n_peers } = await node.comet<{ readonly n_peers: string }>('net_info')
        const metrics = await metricsOf(node)
        return [
          Number(n_peers),
          Number(await rpc(`${node.rpcUrl}/`, 'net_peerCount')),
          Number(/^coind_peers.* (\d+)$/m.exec(metrics)?.[1]),
        ]
      }
      const others = network.nodes.length - 1
      await expect.poll(counts, { timeout: 30_000, message: node.name }).toEqual([others, others, others])
    }
  })

  it('have every validator sign', async () => {
    // A vote may come too late for one commit on a busy machine, but not for all.
    const missing = new Set([0, 1, 2, 3])
    const from = await network.seed.height()
    for (let height = from; missing.size > 0 && height < from + 20; height++) {
      await waitForHeight(network.seed, height)
      const { block } = await network.seed.comet<CometBlock>(`block?height=${height}`)
      expect(block.last_commit.signatures).toHaveLength(4)
      for (const [index, { block_id_flag }] of block.last_commit.signatures.entries()) {
        if (block_id_flag === 2) missing.delete(index)
      }
    }
    expect([...missing]).toEqual([])
  })

  it('go on without the seed, halt without a third, and resume when one of them returns and then all', async () => {
    const { seed } = network
    const [, second, ...rest] = network.nodes
    await seed.kill('SIGKILL')
    await advance([second!, ...rest], 5)
    await second!.kill('SIGTERM')
    await waitForHalt(rest)
    // The full node starts while the seed is away.
    const full = rest.pop()!
    await full.kill('SIGKILL')
    await Promise.all([second!.start(), full.start()])
    await advance([second!, ...rest, full], 3)
    await seed.start()
    await advance(network.nodes, 3)
    expect(await differences(network.nodes)).toEqual([])
  })

  it('recover when all are killed at once', async () => {
    const before = Math.max(...(await heightsOf(network.nodes)))
    await Promise.all(network.nodes.map((node) => node.kill('SIGKILL')))
    await network.start()
    await Promise.all(network.nodes.map((node) => waitForHeight(node, before + 5)))
    expect(await differences(network.nodes)).toEqual([])
  })

  it('report a validator that runs twice, on all nodes', async () => {
    const [, twin] = network.validators
    const copy = join(network.directory, 'copy')
    await twin!.kill('SIGTERM')
    cpSync(twin!.home, copy, { recursive: true })
    rmSync(join(copy, 'config', 'node_key.json'))
    await twin!.start()
    const from = await twin!.height()
    // The copy has another identity towards peers and the same key as validator.
    const other = await startCopy(twin!, copy)
    try {
      await advance(network.nodes, 10)
      // When the one before it in turn is away, both enter round 1 at the same moment and propose, each its own block. They may have
      // been found out before: then the twin is no validator any more, and nothing goes on while one of the other three is away.
      const before = await validatorBefore(twin!)
      await before.kill('SIGKILL')
      const height = await evidenceFrom(twin!, from, 300)
      await before.start()
      for (const node of network.nodes) {
        await waitForHeight(node, height)
        const { block } = await node.comet<CometBlock>(`block?height=${height}`)
        expect(block.evidence.evidence.length, node.name).toBeGreaterThan(0)
      }
      for (const { output } of [twin!.running, other]) {
        await vi.waitFor(() => expect(output()).toContain('ANOTHER PROCESS SIGNS WITH THIS'), 30_000)
      }
    } finally {
      await other.stop()
    }
    expect(await differences(network.nodes)).toEqual([])
  })

  it('have counted all of it: every documented metric is there, and alive where something happened', async () => {
    const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
    const documented = [...new Set(page.match(/\bcoind_[a-z0-9_]+/g))]
    expect(documented.length).toBeGreaterThan(35)
    // Delays of event loops are measured from the first reading on.
    await Promise.all(network.nodes.map(metricsOf))
    await rpc(`${network.seed.rpcUrl}/`, 'eth_call', { to: MULTICALL, data: BLOCK_NUMBER }, 'latest')
    // All nodes have been started again since the first test sent transactions.
    const transfers = startTransfers(network.nodes, 20)
    await waitForHeight(network.seed, (await network.seed.height()) + 5)
    await transfers.stop()
    await waitForTransfers(network.seed, transfers.sent)
    const pages = await Promise.all(network.nodes.map(metricsOf))
    const sumOf = (name: string): number =>
      [...pages.join('\n').matchAll(new RegExp(`^${name}(?:_count)?(?:{[^}]*})? (\\S+)$`, 'gm'))].reduce(
        (sum, [, value]) => sum + Number(value),
        0,
      )
    expect(documented.filter((name) => !pages.every((text) => text.includes(`# TYPE ${name} `)))).toEqual([])
    expect(documented.filter((name) => sumOf(name) === 0 && !QUIET_METRICS.has(name))).toEqual([])
  })
})

/** Metrics of what does not happen in these tests, or has ended again when they are read. */
const QUIET_METRICS: ReadonlySet<string> = new Set([
  'coind_backfill_blocks_total',
  'coind_backfill_height',
  'coind_history_oldest_height',
  'coind_mempool_bytes',
  'coind_mempool_journal_skipped_total',
  'coind_mempool_rejected_total',
  'coind_mempool_transactions',
  'coind_p2p_bans_total',
  'coind_p2p_dropped_total',
  'coind_p2p_errors_total',
  'coind_p2p_gossip_waits_total',
  'coind_p2p_pending_handshakes',
  'coind_p2p_queued_bytes',
  'coind_p2p_read_seconds_total',
  'coind_block_gas_used',
  'coind_log_dropped_total',
  'coind_rpc_criteria_bytes',
  'coind_rpc_unread_bytes',
  'coind_rpc_refused_total',
  'coind_rpc_subscriptions',
  'coind_thread_restarts_total',
  'coind_scrub_last_pass_timestamp_seconds',
  'coind_scrubbed_bytes_total',
  'coind_signer_connected',
  'coind_p2p_connections_ended_total',
  'coind_pool_late_answers_total',
  'coind_signer_lost_total',
  'coind_signer_seconds',
  'coind_snapshot_bytes',
  'coind_snapshot_failures_total',
  'coind_snapshot_height',
  'coind_snapshot_seconds',
  'coind_stopped_executions_total',
  'coind_trace_dropped_spans_total',
  'coind_trace_export_failures_total',
  'coind_trace_spans_total',
  'coind_view_cancelled_tasks_total',
  'coind_unforeseen_errors_total',
  'coind_view_deadlines_missed_total',
  'coind_view_dropped_tasks_total',
  'coind_view_running_tasks',
  'coind_view_waiting_tasks',
  'coind_speculations_total',
])

async function metricsOf({ variables }: NetworkNode): Promise<string> {
  return (await fetch(`http://127.0.0.1:${variables.METRICS_PORT}/metrics`)).text()
}

async function startCopy(node: NetworkNode, homedir: string) {
  const { startNode } = await import('../startNode.ts')
  const { P2P_PORT: _, RPC_PORT: __, METRICS_PORT: ___, EXTERNAL_P2P_ADDRESS: ____, ...variables } = node.variables
  return startNode({ command: 'start', homedir, environment: { ...variables, HOMEDIR: homedir } })
}

/** The validator whose turn to propose comes before this one's. All have the same power, so that they take turns. */
async function validatorBefore(node: NetworkNode): Promise<NetworkNode> {
  const addresses = await Promise.all(
    network.validators.map(async (validator) => {
      const { validator_info } = await validator.comet<{ readonly validator_info: { readonly address: string } }>(
        'status',
      )
      return validator_info.address
    }),
  )
  const own = addresses[network.validators.indexOf(node)]
  let before = ''
  for (let height = await node.height(); ; height--) {
    const { block } = await node.comet<CometBlock>(`block?height=${height}`)
    if (before === own) return network.validators[addresses.indexOf(block.header.proposer_address)]!
    before = block.header.proposer_address
  }
}

/** The first height from `from` on whose block holds evidence. */
async function evidenceFrom(node: NetworkNode, from: number, blocks: number): Promise<number> {
  for (let height = from; height < from + blocks; height++) {
    await waitForHeight(node, height)
    const { block } = await node.comet<CometBlock>(`block?height=${height}`)
    if (block.evidence.evidence.length > 0) return height
  }
  throw new Error(`no evidence in ${blocks} blocks`)
}
