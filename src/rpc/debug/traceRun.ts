import { ExecutionTimeout } from '../../evm/engine.ts'
import { createStructLogger } from '../../evm/tracers/structLogger.ts'
import {
  TraceBudget,
  type TraceCollector,
  type TraceContext,
  TraceError,
  type TracerConfig,
} from '../../evm/tracers/traceCollector.ts'
import { tracerByName } from '../../evm/tracers/tracerByName.ts'
import { parseDuration } from '../../primitives/timeText.ts'
import { RPC_CODES, RpcError, serverError } from '../errors.ts'
import { executionOf } from '../eth/callExecution.ts'
import type { RpcContext } from '../method.ts'
import type { TraceConfig } from '../params/traceConfig.ts'

/** geth's default for one trace. */
const DEFAULT_TIMEOUT_MS = 5_000

/** @throws RpcError in Go's words (time.ParseDuration) */
function millisecondsOf(duration: string): number {
  const nanos = parseDuration(duration)
  if (nanos === undefined) throw serverError(`time: invalid duration ${JSON.stringify(duration)}`)
  return Number(nanos) / 1e6
}

/** What all traces of one request share. */
export interface TraceRun {
  /** see `ExecutionEnvironment.yield` */
  readonly pause: () => Promise<void>
  /** @throws TraceError when there is no such tracer */
  readonly collect: (context: Omit<TraceContext, 'budget'>) => TraceCollector
}

/**
 * Runs `trace` with the request's tracer, time limit (within the node's own) and size limit.
 * @throws RpcError in geth's words when it takes too long, gets too large or cannot be done
 */
export async function runTrace<T>(
  context: RpcContext,
  config: TraceConfig,
  trace: (run: TraceRun) => Promise<T>,
): Promise<T> {
  const { limits, now } = context
  const asked = config.timeout === undefined ? DEFAULT_TIMEOUT_MS : millisecondsOf(config.timeout)
  const timeoutMs = Math.max(0, Math.min(asked, limits.callTimeoutMs))
  const budget = new TraceBudget(limits.responseBytes)
  const pause = executionOf(context).yieldUntil(now() + timeoutMs)
  let isLate = false
  try {
    return await trace({
      async pause() {
        try {
          await pause()
        } catch (error) {
          isLate ||= error instanceof ExecutionTimeout
          throw error
        }
      },
      collect: (place) => createCollector(config, { ...place, budget }),
    })
  } catch (error) {
    // A call reports its deadline in other words.
    if (isLate) throw serverError('execution timeout')
    if (!(error instanceof TraceError)) throw error
    throw new RpcError(error.isTooLarge ? RPC_CODES.responseTooLarge : RPC_CODES.server, error.message)
  }
}

function createCollector(config: TraceConfig, context: TraceContext): TraceCollector {
  if (config.tracer !== undefined) return tracerByName(config.tracer, readTracerConfig(config.tracerConfig), context)
  const { enableMemory = false, disableStack = false, disableStorage = false, enableReturnData = false } = config
  return createStructLogger(
    { enableMemory, disableStack, disableStorage, enableReturnData, limit: config.limit ?? 0 },
    context,
  )
}

function readTracerConfig(json: unknown): TracerConfig {
  if (json === undefined || json === null) return {}
  if (typeof json !== 'object' || Array.isArray(json)) throw serverError('invalid tracer configuration: not an object')
  return json as TracerConfig
}
