import { bytesToHex } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { OP } from '../opcodes.ts'
import { paddedMemory } from './paddedMemory.ts'
import type { TraceCollector, TraceContext } from './traceCollector.ts'

const HASH_LENGTH = 72

/** Creates geth's keccak256PreimageTracer: the inputs of KECCAK256 opcodes, by hash. */
export function createKeccak256PreimageTracer(context: Pick<TraceContext, 'budget'>): TraceCollector {
  const { budget } = context
  const preimages = new Map<string, string>()
  return {
    tracer: {
      onOpcode({ op, stack, memory, error }) {
        if (op !== OP.KECCAK256 || stack.length < 2) return
        const preimage = paddedMemory(memory, stack.at(-1)!, stack.at(-2)!)
        if (preimage === undefined) return
        const length = HASH_LENGTH + 2 * preimage.length
        // An opcode that cannot pay for its memory costs next to nothing, so each counts.
        if (error !== undefined && !budget.spend(length)) return
        const hash = bytesToHex(keccak256(preimage))
        if (preimages.has(hash) || (error === undefined && !budget.spend(length))) return
        preimages.set(hash, bytesToHex(preimage))
      },
    },
    result() {
      budget.check()
      return Object.fromEntries([...preimages].sort(([a], [b]) => (a < b ? -1 : 1)))
    },
  }
}
