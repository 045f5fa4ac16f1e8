import type { Tracer } from '../tracer.ts'
import type { TraceCollector } from './traceCollector.ts'

/** geth's muxTracer: several tracers at once, each answer under its tracer's name. */
export function createMuxTracer(
  parts: readonly (readonly [name: string, collector: TraceCollector])[],
): TraceCollector {
  const tracers = parts.map(([, { tracer }]) => tracer)
  return {
    tracer: {
      ...fanOut('onTransactionStart', tracers),
      ...fanOut('onTransactionEnd', tracers),
      ...fanOut('onEnter', tracers),
      ...fanOut('onExit', tracers),
      ...fanOut('onOpcode', tracers),
      ...fanOut('onLog', tracers),
      ...fanOut('onAccess', tracers),
    },
    result: () => Object.fromEntries(parts.map(([name, collector]) => [name, collector.result()])),
  }
}

/** One hook that calls those of all tracers; absent when no tracer has it, since an engine works for a present one. */
function fanOut<K extends keyof Tracer>(hook: K, tracers: readonly Tracer[]): Pick<Tracer, K> | Record<string, never> {
  const callees = tracers.filter((tracer) => tracer[hook] !== undefined)
  if (callees.length === 0) return {}
  const call = (...event: readonly never[]): void => {
    for (const tracer of callees) (tracer[hook] as (...event: readonly never[]) => void)(...event)
  }
  return { [hook]: call } as unknown as Pick<Tracer, K>
}
