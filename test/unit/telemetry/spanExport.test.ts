import { BroadcastChannel } from 'node:worker_threads'
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace'
import { expect, it } from 'vitest'
import { createSpanExport, rootOf } from '../../../src/telemetry/spanExport.ts'
import { createTracingChannel, type SpanRecord, Tracer } from '../../../src/telemetry/spans.ts'

const HASH = 'ab'.repeat(16) + 'cd'.repeat(16)
const NODES = ['11'.repeat(20), '22'.repeat(20)].map((nodeId) => ({ chainId: 'coin_7628-1', nodeId }))
const RECORD: SpanRecord = {
  subject: { kind: 'transaction', hash: HASH },
  name: 'transaction',
  startMs: 1_700_000_000_000.25,
  endMs: 1_700_000_000_001.5,
  isRoot: true,
  attributes: { 'coind.height': 7 },
  block: 7,
}

it('makes one trace of the spans that threads and nodes record apart', async () => {
  const spans = await Promise.all(
    NODES.map(async (identity) => {
      const exporter = new InMemorySpanExporter()
      const spanExport = createSpanExport({ identity, resource: { 'service.name': 'coind' }, exporter })
      // A part may be over, and exported, before the whole.
      spanExport.add({ ...RECORD, name: 'mempool.admit', isRoot: false, block: undefined })
      spanExport.add(RECORD)
      const collected: unknown[] = []
      const shutdown = exporter.shutdown.bind(exporter)
      exporter.shutdown = () => {
        collected.push(...exporter.getFinishedSpans())
        return shutdown()
      }
      await spanExport.close()
      return collected as ReturnType<InMemorySpanExporter['getFinishedSpans']>
    }),
  )
  const roots = spans.map((own) => own.find(({ name }) => name === 'transaction')!)
  for (const [index, own] of spans.entries()) {
    const root = roots[index]!
    const part = own.find(({ name }) => name === 'mempool.admit')!
    expect(root.spanContext().traceId).toBe('ab'.repeat(16))
    expect(root.parentSpanContext).toBeUndefined()
    expect(part.parentSpanContext?.spanId).toBe(root.spanContext().spanId)
    expect(part.spanContext().traceId).toBe(root.spanContext().traceId)
    expect(root.startTime).toEqual([1_700_000_000, 250_000])
    expect(root.links[0]!.context.traceId).toBe(rootOf(NODES[0]!, { kind: 'block', height: 7 }).traceId)
  }
  expect(roots[0]!.spanContext().spanId).not.toBe(roots[1]!.spanContext().spanId)
})

it('gives each height of each chain a trace of its own', () => {
  const ids = [
    rootOf(NODES[0]!, { kind: 'block', height: 7 }),
    rootOf(NODES[0]!, { kind: 'block', height: 8 }),
    rootOf({ ...NODES[0]!, chainId: 'coin_76287-1' }, { kind: 'block', height: 7 }),
  ].map(({ traceId }) => traceId)
  expect(new Set(ids).size).toBe(3)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
})

it('follows the share of transactions that it is told, and the same ones everywhere', () => {
  const hashes = Array.from({ length: 256 }, (_, first) => Uint8Array.from({ length: 32 }, () => first))
  const followed = (share: number): number => {
    const tracer = new Tracer(createTracingChannel('spans of a test', share))
    const count = hashes.filter((hash) => tracer.follows(hash)).length
    tracer.close()
    return count
  }
  expect([0, 0.25, 1].map(followed)).toEqual([0, 64, 256])
})

it('leaves out what the thread that sends spans is too slow for', () => {
  const channel = createTracingChannel('spans of a slow test', 1)
  const tracer = new Tracer(channel)
  const receiver = new BroadcastChannel(channel.name)
  for (let height = 0; height < 10_005; height++) tracer.block(height, 'block', { startMs: 0 })
  expect(channel.waiting[0]).toBe(10_000)
  receiver.close()
  tracer.close()
})
