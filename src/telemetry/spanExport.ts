import { createHash } from 'node:crypto'
import { type Context, ROOT_CONTEXT, type SpanContext, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, RandomIdGenerator, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { SpanRecord, TraceSubject } from './spans.ts'

/** The values that decide the IDs of traces and of their roots. */
export interface TraceIdentity {
  readonly chainId: string
  /** 40 hex digits */
  readonly nodeId: string
}

export interface SpanExportOptions {
  readonly identity: TraceIdentity
  /** attributes of everything that this process reports, by OpenTelemetry's names */
  readonly resource: Readonly<Record<string, string>>
  readonly exporter: SpanExporter
}

/** Takes spans of this node and passes them to an exporter in batches. */
export interface SpanExport {
  add(record: SpanRecord): void
  /** Exports what waits. */
  close(): Promise<void>
}

/** Milliseconds for which spans are gathered. */
const BATCH_MS = 1_000
/** Hex digits of IDs. */
const TRACE_ID_DIGITS = 32
const SPAN_ID_DIGITS = 16

/**
 * Creates an exporter for a collector's OTLP over HTTP with protobuf.
 * @param endpoint base address: `/v1/traces` is added
 */
export function otlpExporter(endpoint: string, headers: Readonly<Record<string, string>>): SpanExporter {
  return new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, headers: { ...headers } })
}

/**
 * Makes spans of OpenTelemetry's SDK. Their IDs need no context that travels with messages. A trace's ID follows from its
 * transaction's hash or its block's height, and its root's ID on this node from the trace's ID and the node. So threads and nodes
 * agree without knowing of each other.
 */
export function createSpanExport({ identity, resource, exporter }: SpanExportOptions): SpanExport {
  const random = new RandomIdGenerator()
  /** the IDs of the root that is being made */
  let next: SpanContext | undefined
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...resource }),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: BATCH_MS })],
    idGenerator: {
      generateTraceId: () => next?.traceId ?? random.generateTraceId(),
      generateSpanId: () => next?.spanId ?? random.generateSpanId(),
    },
  })
  const tracer = provider.getTracer('coind')
  return {
    add: ({ subject, name, startMs, endMs, isRoot, attributes, block }) => {
      const root = rootOf(identity, subject)
      const parent: Context = isRoot ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, root)
      const links = block === undefined ? [] : [{ context: rootOf(identity, { kind: 'block', height: block }) }]
      if (isRoot) next = root
      const span = tracer.startSpan(name, { startTime: startMs, attributes: { ...attributes }, links }, parent)
      next = undefined
      span.end(endMs)
    },
    close: () => provider.shutdown(),
  }
}

/** Returns the root span of a subject's trace on this node. */
export function rootOf({ chainId, nodeId }: TraceIdentity, subject: TraceSubject): SpanContext {
  const traceId =
    subject.kind === 'transaction'
      ? subject.hash.slice(0, TRACE_ID_DIGITS)
      : sha256(`block ${subject.height} of ${chainId}`).slice(0, TRACE_ID_DIGITS)
  const spanId = sha256(`${traceId} on ${nodeId}`).slice(0, SPAN_ID_DIGITS)
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: false }
}

/** @returns hex */
function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
