import { OP, opcodeName } from '../opcodes.ts'
import type { OpcodeStep, Tracer } from '../tracer.ts'

/** Runs the same execution, each time from the same state, with the tracer that it is given. */
export type TracedRun = (tracer: Tracer) => Promise<unknown>

/** The machine before an opcode, as both engines should show it. */
interface StepRecord {
  readonly pc: number
  readonly op: number
  readonly gas: bigint
  readonly depth: number
  readonly refund: bigint
  /** words on the stack */
  readonly height: number
  /** the words that an opcode can reach, top first */
  readonly top: readonly bigint[]
  readonly memoryLength: number
  /** hash of the memory, for opcodes that read from it without a trace on the stack; 0 for others */
  readonly memory: number
  readonly returnDataLength: number
}

interface StepDifference {
  /** how many steps the engines agree on */
  readonly index: number
  /**
   * the last step that they agree on: the engines differ in its effects; undefined when they differ
   * at the first step
   */
  readonly before: StepRecord | undefined
  /** undefined when this engine's run had ended */
  readonly first: StepRecord | undefined
  readonly second: StepRecord | undefined
}

/** DUP16 and SWAP16 reach this far. */
const REACH = 17
/** Opcodes that read memory without leaving what they read on the stack. */
const READS_MEMORY: ReadonlySet<number> = new Set<number>([
  OP.KECCAK256,
  OP.LOG0,
  OP.LOG1,
  OP.LOG2,
  OP.LOG3,
  OP.LOG4,
  OP.CREATE,
  OP.CALL,
  OP.CALLCODE,
  OP.RETURN,
  OP.DELEGATECALL,
  OP.CREATE2,
  OP.STATICCALL,
  OP.REVERT,
])
/** Bytes of memory that are hashed: enough for what contracts usually pass on, and a limit for hostile ones. */
const HASHED_MEMORY = 4_096

/**
 * Returns the first step at which two engines differ; undefined when they agree on all. Runs the
 * first engine twice and the second once: it retains only 8 bytes of each step, since a block can
 * have millions. Costs and errors of a step are not compared: they show in the next one.
 */
export async function firstDifferingStep(first: TracedRun, second: TracedRun): Promise<StepDifference | undefined> {
  const digests = createDigestList()
  await first({ onOpcode: (step) => digests.push(digestOf(recordOf(step))) })

  let index = 0
  let before: StepRecord | undefined
  let secondStep: StepRecord | undefined
  let hasDiffered = false
  await second({
    onOpcode: (step) => {
      if (hasDiffered) return
      const record = recordOf(step)
      if (index < digests.length() && digests.at(index) === digestOf(record)) {
        before = record
        index++
      } else {
        secondStep = record
        hasDiffered = true
      }
    },
  })
  if (!hasDiffered && index === digests.length()) return undefined

  let count = 0
  let firstStep: StepRecord | undefined
  await first({
    onOpcode: (step) => {
      if (count++ === index) firstStep = recordOf(step)
    },
  })
  return { index, before, first: firstStep, second: secondStep }
}

/** Returns the difference in lines for a person. */
export function describeStepDifference(difference: StepDifference, names: readonly [string, string]): string {
  const { index, before, first, second } = difference
  const lines = [`the engines agree on ${index} steps`]
  if (before !== undefined) lines.push(`last common step: ${stepText(before)}`)
  lines.push(`then ${names[0]}: ${first === undefined ? 'the end' : stepText(first)}`)
  lines.push(`then ${names[1]}: ${second === undefined ? 'the end' : stepText(second)}`)
  return lines.join('\n')
}

function stepText({ pc, op, gas, depth, refund, height, top, memoryLength, returnDataLength }: StepRecord): string {
  const stack = top.slice(0, 8).map((word) => `0x${word.toString(16)}`)
  const rest = height > stack.length ? ' …' : ''
  return (
    `depth ${depth} pc ${pc} ${opcodeName(op)} gas ${gas} refund ${refund} memory ${memoryLength} ` +
    `return data ${returnDataLength} stack (${height}, top first) ${stack.join(' ')}${rest}`
  )
}

function recordOf(step: OpcodeStep): StepRecord {
  const { pc, op, gas, depth, refund, stack, memory, returnData } = step
  return {
    pc,
    op,
    gas,
    depth,
    refund,
    height: stack.length,
    top: stack.slice(-REACH).reverse(),
    memoryLength: memory.length,
    memory: READS_MEMORY.has(op) ? hashBytes(memory) : 0,
    returnDataLength: returnData.length,
  }
}

function hashBytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < bytes.length && i < HASHED_MEMORY; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return hash >>> 0
}

/** Returns a digest of 52 bits, in two independent halves. */
function digestOf(record: StepRecord): number {
  const { pc, op, gas, depth, refund, height, top, memoryLength, memory, returnDataLength } = record
  const numbers = [pc, op, gas, depth, refund, height, memoryLength, memory, returnDataLength]
  const text = `${numbers.join()},${top.map((word) => word.toString(36)).join()}`
  let low = 0x811c9dc5
  let high = 0x9747b28c
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13)
  }
  return (high & 0xfffff) * 2 ** 32 + (low >>> 0)
}

interface DigestList {
  push(digest: number): void
  at(index: number): number
  length(): number
}

function createDigestList(): DigestList {
  let items = new Float64Array(1_024)
  let length = 0
  return {
    push: (digest) => {
      if (length === items.length) {
        const larger = new Float64Array(length * 2)
        larger.set(items)
        items = larger
      }
      items[length++] = digest
    },
    at: (index) => items[index]!,
    length: () => length,
  }
}
