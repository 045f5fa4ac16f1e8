import { opcodeName } from '../opcodes.ts'
import type { TraceCollector, TraceContext } from './traceCollector.ts'

const COUNT_LENGTH = 10

/** Creates geth's opcountTracer: how many opcodes ran. */
export function createOpcodeCounter(): TraceCollector {
  let count = 0
  return {
    tracer: {
      onOpcode: () => {
        count++
      },
    },
    result: () => count,
  }
}

/**
 * Creates geth's unigramTracer, bigramTracer and trigramTracer: how often each opcode, or each two
 * or three in a row at the same depth, ran. A bigram's first opcode may be from the call before,
 * and those of the first trigrams are empty, as in geth.
 */
export function createOpcodeHistogram(length: 1 | 2 | 3, context: Pick<TraceContext, 'budget'>): TraceCollector {
  const { budget } = context
  const counts = new Map<string, number>()
  let former: string[] = Array(length - 1).fill('')
  let formerDepth = 0
  return {
    tracer: {
      onOpcode({ op, depth }) {
        const name = opcodeName(op)
        const isSameDepth = depth === formerDepth
        formerDepth = depth
        if (length === 3 && !isSameDepth) {
          former = ['', '']
          return
        }
        if (length === 1 || isSameDepth) {
          const key = [...former, name].join('-')
          const known = counts.get(key)
          if (known !== undefined || budget.spend(key.length + COUNT_LENGTH)) counts.set(key, (known ?? 0) + 1)
        }
        former = [...former, name].slice(1)
      },
    },
    result() {
      budget.check()
      return Object.fromEntries(counts)
    },
  }
}
