import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { dashboardQueries, GRAFANA_DASHBOARD, grafanaDashboard } from '../../scripts/grafanaDashboard.ts'
import { ACCOUNTS, CHAIN_ID, GWEI } from './devChain.ts'
import { startCollector } from './otlpCollector.ts'
import { rpc } from './rpc.ts'
import { freePort, startNode, type TestNode } from './startNode.ts'

const RULES = new URL('../../deploy/prometheus/', import.meta.url).pathname
/** Metrics without values where nothing of the kind has happened. */
const QUIET = /unforeseen|signer_|restarts|dropped_total|refused_total|p2p_|view_waiting/
const WAIT = { timeout: 60_000, interval: 500 }
/** Debian's package `prometheus` has both programs. */
const hasPrometheus = ['prometheus', 'promtool'].every(
  (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0,
)

it('has the dashboard that scripts/grafanaDashboard.ts makes', () => {
  expect(readFileSync(GRAFANA_DASHBOARD, 'utf8')).toBe(grafanaDashboard())
})

let node: TestNode
let metricsPort: number
const collector = await startCollector()
beforeAll(async () => {
  metricsPort = await freePort()
  node = await startNode({
    environment: {
      METRICS_PORT: String(metricsPort),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20a%2Cb,X-Scope=7',
      OTEL_TRACES_SAMPLER_ARG: '1',
    },
  })
})
afterAll(async () => {
  await node.stop()
  await collector.close()
})

describe('traces', () => {
  it('follow a transaction from its client to its block, and a block from its height’s begin to the disk', async () => {
    const account = ACCOUNTS[0]!
    const raw = await account.signTransaction({
      chainId: CHAIN_ID,
      nonce: 0,
      to: account.address,
      gas: 21_000n,
      gasPrice: 2n * GWEI,
    })
    const hash = await rpc<Hex>(node.url, 'eth_sendRawTransaction', raw)
    const parts = ['rpc.submit', 'mempool.admit', 'block.build', 'block.finalize']
    const trace = await collector.trace((span) => span.traceId === hash.slice(2, 34), ['transaction', ...parts])
    const root = trace.get('transaction')!
    expect(root.parentSpanId).toBe('')
    for (const name of parts) expect(trace.get(name)?.parentSpanId).toBe(root.spanId)
    expect(root.startNs).toBeLessThanOrEqual(trace.get('mempool.admit')!.startNs)
    expect(root.endNs).toBeGreaterThan(trace.get('block.build')!.startNs)

    // The link leads to the block's own trace.
    const blockTrace = await collector.trace(
      (span) => span.traceId === root.linkedTraceId,
      [
        'block',
        'consensus.propose',
        'consensus.prevote',
        'consensus.precommit',
        'consensus.commit',
        'block.build',
        'block.finalize',
        'block.write',
      ],
    )
    expect(blockTrace.get('consensus.commit')!.parentSpanId).toBe(blockTrace.get('block')!.spanId)
    const { height } = blockTrace.get('block')!
    const receipt = await rpc<{ blockNumber: Hex }>(node.url, 'eth_getTransactionReceipt', hash)
    expect(height).toBe(BigInt(receipt.blockNumber))
    expect(collector.headers()).toMatchObject({ authorization: 'Bearer a,b', 'x-scope': '7' })
  })
})

describe.skipIf(!hasPrometheus)('a real Prometheus (skipped where Debian’s package is not installed)', () => {
  let prometheus: ChildProcess
  let directory: string
  let url: string
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-prometheus-'))
    const file = join(directory, 'prometheus.yml')
    writeFileSync(
      file,
      readFileSync(join(RULES, 'prometheus.yml'), 'utf8')
        .replaceAll('127.0.0.1:9464', `127.0.0.1:${metricsPort}`)
        .replaceAll('15s', '1s')
        .replace('[coind.rules.yml]', `["${RULES}coind.rules.yml"]`),
    )
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    const flags = [
      `--config.file=${file}`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    prometheus = spawn('prometheus', flags, { stdio: 'ignore' })
  })
  afterAll(async () => {
    const ended = new Promise((resolve) => prometheus.once('exit', resolve))
    prometheus.kill('SIGTERM')
    await ended
    rmSync(directory, { recursive: true })
  })

  const ask = async (path: string, parameters: Record<string, string> = {}) => {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    return (await response.json()) as {
      status: string
      error?: string
      data: { result: unknown[]; groups: RuleGroup[] }
    }
  }

  it('finds the rules right, and each alert where it is due', () => {
    execFileSync('promtool', ['check', 'config', join(RULES, 'prometheus.yml')])
    execFileSync('promtool', ['test', 'rules', join(RULES, 'coind.rules.test.yml')])
  })

  it('answers every query of the dashboard from a node’s metrics', async () => {
    let unanswered: readonly string[] = dashboardQueries()
    await vi.waitFor(async () => {
      await rpc(node.url, 'eth_chainId')
      const answers = await Promise.all(unanswered.map((query) => ask('query', { query })))
      expect(answers.flatMap(({ error }) => error ?? [])).toEqual([])
      unanswered = unanswered.filter((query, index) => !QUIET.test(query) && answers[index]!.data.result.length === 0)
      expect(unanswered).toEqual([])
    }, WAIT)
  })

  it('evaluates the rules, and fires none for a node that is well', async () => {
    const rules = await vi.waitFor(async () => {
      const found = (await ask('rules')).data.groups.flatMap((group) => group.rules)
      expect(found.length).toBeGreaterThan(0)
      expect(found.filter(({ health }) => health !== 'ok')).toEqual([])
      return found
    }, WAIT)
    expect(rules.filter(({ state }) => state === 'firing')).toEqual([])
  })
})

interface RuleGroup {
  readonly rules: readonly { readonly name: string; readonly health: string; readonly state?: string }[]
}
