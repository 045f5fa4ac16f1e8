import { BroadcastChannel, workerData } from 'node:worker_threads'
import { DiagLogLevel, diag } from '@opentelemetry/api'
import type { LogConfig, TracingConfig } from '../../../config/config.ts'
import { VERSION } from '../../../config/version.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createTracingMetrics } from '../../../telemetry/metrics.ts'
import { createSpanExport, otlpExporter, type TraceIdentity } from '../../../telemetry/spanExport.ts'
import { countTaken, type SpanPost, type TracingChannel } from '../../../telemetry/spans.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { lowerPriority, type ThreadData } from '../../start/spawn.ts'
import { serve } from '../../wire/port.ts'

/** The tracing thread sends the spans of all threads to a collector. There is one only where the settings name a collector. */
export interface TracingData {
  readonly tracing: TracingConfig
  readonly identity: TraceIdentity
  readonly moniker: string
  /** that the spans come by */
  readonly channel: TracingChannel
  readonly log: LogConfig
}

export type TracingService = typeof service

/** At least so many milliseconds lie between two lines about a collector that does not answer. */
const COMPLAINT_MS = 60_000
/** Time for the last batch at the end; a collector that does not answer must not delay the stop. */
const LAST_BATCH_MS = 1_000

const { control, data } = workerData as ThreadData<TracingData>
lowerPriority('background')
const threadMetrics = createThreadMetrics('tracing')
const metrics = createTracingMetrics(threadMetrics.registry)
const log = createLogger(data.log, { thread: 'tracing' }).child({ part: 'tracing' })

let complainedMs = Number.NEGATIVE_INFINITY
/** Reports failures of exports: the SDK reports them here, and only here. */
function complain(error: string): void {
  metrics.exportFailuresTotal.inc()
  if (performance.now() - complainedMs < COMPLAINT_MS) return
  complainedMs = performance.now()
  log.warn({ error }, 'spans could not be sent to the collector at OTEL_EXPORTER_OTLP_ENDPOINT')
}
const ignore = (): void => undefined
diag.setLogger(
  { error: complain, warn: complain, info: ignore, debug: ignore, verbose: ignore },
  { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
)

const spans = createSpanExport({
  identity: data.identity,
  resource: {
    'service.name': data.tracing.serviceName,
    'service.version': VERSION,
    'service.instance.id': data.identity.nodeId,
    'coind.chain_id': data.identity.chainId,
    'coind.moniker': data.moniker,
  },
  exporter: otlpExporter(data.tracing.endpoint, data.tracing.headers),
})

const channel = new BroadcastChannel(data.channel.name)
channel.onmessage = (event) => {
  // The channel is the node's own: only its threads post on it.
  const { record, dropped } = (event as { readonly data: SpanPost }).data
  countTaken(data.channel)
  if (dropped > 0) metrics.droppedSpansTotal.inc(dropped)
  metrics.spansTotal.inc()
  spans.add(record)
}

const service = {
  /** Answered once spans are taken. */
  ready: (): void => undefined,
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    channel.close()
    await Promise.race([spans.close(), new Promise((resolve) => setTimeout(resolve, LAST_BATCH_MS))])
    log.flush()
  },
}

serve(control, service)
