import { createCallTracer } from './callTracer.ts'
import { createFlatCallTracer } from './flatCallTracer.ts'
import { createFourByteTracer } from './fourByteTracer.ts'
import { createMuxTracer } from './muxTracer.ts'
import { createPrestateTracer } from './prestateTracer.ts'
import { type TraceCollector, type TraceContext, TraceError, type TracerConfig } from './traceCollector.ts'

type TracerFactory = (config: TracerConfig, context: TraceContext) => TraceCollector

const FACTORIES: ReadonlyMap<string, TracerFactory> = new Map<string, TracerFactory>([
  ['callTracer', createCallTracer],
  ['prestateTracer', createPrestateTracer],
  ['flatCallTracer', createFlatCallTracer],
  ['4byteTracer', (_, context) => createFourByteTracer(context)],
  ['noopTracer', () => ({ tracer: {}, result: () => ({}) })],
  ['muxTracer', createMux],
])

/**
 * One of geth's native tracers.
 * @throws TraceError for another name (JavaScript tracers are not run) or a wrong configuration
 */
export function tracerByName(name: string, config: TracerConfig, context: TraceContext): TraceCollector {
  const create = FACTORIES.get(name)
  if (create === undefined) {
    throw new TraceError(`tracer not found: expected one of ${[...FACTORIES.keys()].join(', ')}`)
  }
  return create(config, context)
}

function createMux(config: TracerConfig, context: TraceContext): TraceCollector {
  return createMuxTracer(
    Object.entries(config).map(([name, own]) => {
      if (name === 'muxTracer') throw new TraceError('invalid tracer configuration: a muxTracer in a muxTracer')
      return [name, tracerByName(name, asConfig(own), context)] as const
    }),
  )
}

function asConfig(json: unknown): TracerConfig {
  if (json === undefined || json === null) return {}
  if (typeof json !== 'object' || Array.isArray(json)) {
    throw new TraceError('invalid tracer configuration: not an object')
  }
  return json as TracerConfig
}
