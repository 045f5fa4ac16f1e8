import { bytesToHex } from '../../primitives/bytes.ts'
import type { TraceCollector, TraceContext } from './traceCollector.ts'

const CALLS = new Set(['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL'])
const KEY_LENGTH = 25

/** Creates geth's 4byteTracer: how often each selector was called with each length of the arguments after it. */
export function createFourByteTracer(context: Pick<TraceContext, 'budget'>): TraceCollector {
  const { budget } = context
  const counts = new Map<string, number>()
  return {
    tracer: {
      onEnter({ type, input, precompile }) {
        if (input.length < 4 || !CALLS.has(type) || precompile) return
        const key = `${bytesToHex(input.subarray(0, 4))}-${input.length - 4}`
        const known = counts.get(key)
        if (known !== undefined || budget.spend(KEY_LENGTH)) counts.set(key, (known ?? 0) + 1)
      },
    },
    result() {
      budget.check()
      return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
    },
  }
}
