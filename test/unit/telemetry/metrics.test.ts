import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import {
  createConsensusMetrics,
  createExecutorMetrics,
  createPoolMetrics,
  createProcessMetrics,
  createSocketMetrics,
  createViewMetrics,
} from '../../../src/telemetry/metrics.ts'
import { serveMetrics } from '../../../src/telemetry/metricsServer.ts'
import { createThreadMetrics, formatMetrics } from '../../../src/telemetry/threadMetrics.ts'

describe('metrics of several threads', () => {
  it('are one page: equal labels added up, event loops apart', async () => {
    const main = createThreadMetrics('main')
    createConsensusMetrics(main.registry).blockHeight.set(42)
    createProcessMetrics(main.registry)
    const sockets = ['socket-0', 'socket-1'].map((name) => {
      const thread = createThreadMetrics(name)
      const metrics = createSocketMetrics(thread.registry)
      metrics.requestsTotal.inc({ method: 'eth_call', outcome: 'ok' }, 3)
      metrics.requestSeconds.observe({ method: 'eth_call' }, 0.003)
      metrics.connections.set({ transport: 'ws' }, 2)
      return thread
    })
    const threads = [main, ...sockets]
    // Snapshots cross threads by structured clone.
    const page = await formatMetrics(structuredClone(await Promise.all(threads.map((thread) => thread.snapshot()))))
    expect(page).toMatch(/^coind_block_height 42$/m)
    expect(page).toMatch(/^coind_rpc_requests_total\{method="eth_call",outcome="ok"\} 6$/m)
    expect(page).toMatch(/^coind_rpc_connections\{transport="ws"\} 4$/m)
    expect(page).toMatch(/^coind_rpc_request_seconds_bucket\{le="0\.005",method="eth_call"\} 2$/m)
    expect(page).toMatch(/^coind_event_loop_delay_seconds\{thread="socket-1",quantile="0\.99"\} /m)
    expect(page).toMatch(/^process_resident_memory_bytes \d+/m)
  })

  it('have names of their own, with the unit at the end; one that several threads have means the same in each', async () => {
    const creators = [
      createConsensusMetrics,
      createExecutorMetrics,
      createPoolMetrics,
      createSocketMetrics,
      createViewMetrics,
    ]
    const meanings = new Map<string, string>()
    for (const create of creators) {
      const { registry } = createThreadMetrics('one')
      create(registry)
      for (const { name, type, help } of registry.getMetricsAsArray()) {
        if (!name.startsWith('coind_')) continue
        expect(`${name} ${String(type)}`).toMatch(
          /_total counter$|_(seconds|bytes) (histogram|gauge)$|^coind_[a-z_]+ gauge$/,
        )
        expect(`${type} ${help}`).toBe(meanings.get(name) ?? `${type} ${help}`)
        meanings.set(name, `${type} ${help}`)
      }
    }
    expect(meanings.size).toBeGreaterThan(20)
  })

  it('show a blocked event loop', async () => {
    const thread = createThreadMetrics('busy')
    // Begins to measure.
    await thread.snapshot()
    await new Promise((resolve) => setTimeout(resolve, 100))
    const until = performance.now() + 250
    while (performance.now() < until) Math.sqrt(2)
    await new Promise((resolve) => setTimeout(resolve, 100))
    const page = await formatMetrics([await thread.snapshot()])
    const worst = Number(/thread="busy",quantile="1"\} ([0-9.]+)/.exec(page)?.[1])
    expect(worst).toBeGreaterThan(0.15)
  })
})

const urlOf = ({ port }: { readonly port: number }): string => `http://127.0.0.1:${port}/metrics`

describe('serveMetrics', () => {
  it('answers GET /metrics alone', async () => {
    let isBroken = false
    const server = await serveMetrics({ host: '127.0.0.1', port: 0 }, async () => {
      if (isBroken) throw new Error('a thread has stopped')
      return 'coind_block_height 1\n'
    })
    try {
      const ok = await fetch(urlOf(server))
      expect([ok.status, ok.headers.get('content-type'), await ok.text()]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
        'coind_block_height 1\n',
      ])
      expect((await fetch(urlOf(server), { method: 'POST' })).status).toBe(405)
      expect((await fetch(urlOf(server).replace('/metrics', '/'))).status).toBe(404)
      isBroken = true
      expect((await fetch(urlOf(server))).status).toBe(503)
      await expect(serveMetrics({ host: '127.0.0.1', port: server.port }, async () => '')).rejects.toMatchObject({
        code: 'EADDRINUSE',
      })
    } finally {
      await server.stop()
    }
  })

  it('makes one page for all who ask meanwhile', async () => {
    let made = 0
    const server = await serveMetrics({ host: '127.0.0.1', port: 0 }, async () => {
      const page = `coind_block_height ${++made}`
      await new Promise((resolve) => setImmediate(resolve))
      return page
    })
    try {
      const socket = connect(Number(new URL(urlOf(server)).port), '127.0.0.1')
      const get = (connection: string) => `GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n\r\n`
      // In one packet, so that all of them are there before the first is answered.
      socket.write(get('keep-alive').repeat(9) + get('close'))
      const answers = await text(socket)
      expect(answers.match(/coind_block_height \d+/g)).toEqual(Array(10).fill('coind_block_height 1'))
      expect(await (await fetch(urlOf(server))).text()).toBe('coind_block_height 2')
    } finally {
      await server.stop()
    }
  })
})
