import { createCallTracer } from './callTracer.ts'
import { combineTracers } from './combineTracers.ts'
import { createErc7562Tracer } from './erc7562Tracer.ts'
import { createFlatCallTracer } from './flatCallTracer.ts'
import { createFourByteTracer } from './fourByteTracer.ts'
import { createKeccak256PreimageTracer } from './keccak256PreimageTracer.ts'
import { createOpcodeCounter, createOpcodeHistogram } from './opcodeTracers.ts'
import { createPrestateTracer } from './prestateTracer.ts'
import { type TraceCollector, type TraceContext, TraceError, type TracerConfig } from './traceCollector.ts'

/** Tracers of one muxTracer: each sees every step. */
const MAX_TRACERS = 16

type TracerFactory = (config: TracerConfig, context: TraceContext) => TraceCollector

const FACTORIES: ReadonlyMap<string, TracerFactory> = new Map<string, TracerFactory>([
  ['callTracer', createCallTracer],
  ['prestateTracer', createPrestateTracer],
  ['flatCallTracer', createFlatCallTracer],
  ['erc7562Tracer', createErc7562Tracer],
  ['keccak256PreimageTracer', (_, context) => createKeccak256PreimageTracer(context)],
  ['4byteTracer', (_, context) => createFourByteTracer(context)],
  ['opcountTracer', createOpcodeCounter],
  ['unigramTracer', (_, context) => createOpcodeHistogram(1, context)],
  ['bigramTracer', (_, context) => createOpcodeHistogram(2, context)],
  ['trigramTracer', (_, context) => createOpcodeHistogram(3, context)],
  ['noopTracer', () => ({ tracer: {}, result: () => ({}) })],
  ['muxTracer', createMuxTracer],
])

/** Returns whether the text is not a name, so that it can only be a tracer in JavaScript. */
export function isScript(name: string): boolean {
  return !/^\w*$/.test(name)
}

/**
 * Returns one of geth's native tracers, or a tracer in JavaScript.
 * @throws TraceError for another name, JavaScript where it is not allowed, or a wrong configuration
 */
export function tracerByName(name: string, config: TracerConfig, context: TraceContext): TraceCollector {
  const create = FACTORIES.get(name)
  if (create !== undefined) return create(config, context)
  if (!isScript(name)) throw new TraceError(`tracer not found: expected one of ${[...FACTORIES.keys()].join(', ')}`)
  if (context.createScript !== undefined) return context.createScript(name, config, context)
  throw new TraceError(
    'tracers in JavaScript are not run on this port: the operator allows them with RPC_JS_TRACERS=true, or at PRIVATE_RPC_PORT',
  )
}

/** Creates geth's muxTracer: several tracers at once, each answer under its tracer's name. */
function createMuxTracer(config: TracerConfig, context: TraceContext): TraceCollector {
  const count = Object.keys(config).length
  if (count > MAX_TRACERS) throw new TraceError(`invalid tracer configuration: more than ${MAX_TRACERS} tracers`)
  const parts = Object.entries(config).map(([name, own]) => {
    if (name === 'muxTracer') throw new TraceError('invalid tracer configuration: a muxTracer in a muxTracer')
    return [name, tracerByName(name, asConfig(own), context)] as const
  })
  return {
    tracer: combineTracers(parts.map(([, { tracer }]) => tracer)),
    result: () => Object.fromEntries(parts.map(([name, collector]) => [name, collector.result()])),
  }
}

function asConfig(json: unknown): TracerConfig {
  if (json === undefined || json === null) return {}
  if (typeof json !== 'object' || Array.isArray(json)) {
    throw new TraceError('invalid tracer configuration: not an object')
  }
  return json as TracerConfig
}
