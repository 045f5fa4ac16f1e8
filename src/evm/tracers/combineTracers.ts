import type { Tracer } from '../tracer.ts'

/**
 * Creates a tracer that forwards to several. It has the hooks that any of them has: an engine does work
 * for each hook that is present.
 */
export function combineTracers(tracers: readonly Tracer[]): Tracer {
  return {
    ...fanOut('onTransactionStart', tracers),
    ...fanOut('onTransactionEnd', tracers),
    ...fanOut('onEnter', tracers),
    ...fanOut('onExit', tracers),
    ...fanOut('onOpcode', tracers),
    ...fanOut('onLog', tracers),
    ...fanOut('onAccess', tracers),
  }
}

function fanOut<K extends keyof Tracer>(hook: K, tracers: readonly Tracer[]): Pick<Tracer, K> | Record<string, never> {
  const callees = tracers.filter((tracer) => tracer[hook] !== undefined)
  if (callees.length === 0) return {}
  const call = (...event: readonly never[]): void => {
    for (const tracer of callees) (tracer[hook] as (...event: readonly never[]) => void)(...event)
  }
  return { [hook]: call } as unknown as Pick<Tracer, K>
}
