import { bytesToHex } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'
import { codeDelegationTarget } from '../authorization.ts'
import { OP, opcodeName } from '../opcodes.ts'
import type { FrameEnter, OpcodeStep, Tracer } from '../tracer.ts'
import type { TraceContext } from './traceCollector.ts'

/** The code of a call and what each of its opcodes did, in Parity's form. */
interface VmTrace {
  readonly code: string
  readonly ops: VmOperation[]
}

interface VmOperation {
  readonly pc: number
  /** of the opcode, with the gas that a call or creation gets; the gas it returns is not subtracted */
  cost: number
  /** null where the opcode failed */
  ex: Executed | null
  /** of the call or creation that the opcode made */
  sub: VmTrace | null
  readonly op: string
}

interface Executed {
  /** gas that is left after it */
  readonly used: number
  readonly push: readonly string[]
  readonly mem: { readonly data: string; readonly off: number } | null
  readonly store: { readonly key: string; readonly val: string } | null
}

/** A call that runs. */
interface OpenFrame {
  readonly trace: VmTrace
  /** its newest opcode, whose outcome the next one shows */
  last: LastStep | undefined
}

interface LastStep {
  readonly operation: VmOperation
  readonly op: number
  readonly gas: bigint
  readonly range: MemoryRange | undefined
  readonly store: Executed['store']
  /** gas that its call or creation has given back */
  returnedGas: bigint
}

interface MemoryRange {
  readonly offset: number
  readonly length: number
}

/** Characters of an operation in JSON, and of each word that it pushes. */
const OPERATION_LENGTH = 110
const WORD_LENGTH = 69

const CREATIONS: ReadonlySet<number> = new Set([OP.CREATE, OP.CREATE2])
const CALLS: ReadonlySet<number> = new Set([OP.CALL, OP.CALLCODE, OP.DELEGATECALL, OP.STATICCALL])
const WITHOUT_RESULT: ReadonlySet<number> = new Set([
  OP.STOP,
  OP.CALLDATACOPY,
  OP.CODECOPY,
  OP.EXTCODECOPY,
  OP.RETURNDATACOPY,
  OP.POP,
  OP.MSTORE,
  OP.MSTORE8,
  OP.SSTORE,
  OP.JUMP,
  OP.JUMPI,
  OP.JUMPDEST,
  OP.TSTORE,
  OP.MCOPY,
  OP.LOG0,
  OP.LOG1,
  OP.LOG2,
  OP.LOG3,
  OP.LOG4,
  OP.RETURN,
  OP.REVERT,
  OP.INVALID,
  OP.SELFDESTRUCT,
])
/** Frames that were refused before they began. */
const REFUSALS: ReadonlySet<string> = new Set([
  'insufficient balance for transfer',
  'max call depth exceeded',
  'nonce uint64 overflow',
])
/** Errors of frames whose last opcode ran as it should. */
const HAPPENS_AFTER_CODE =
  /^(execution reverted|contract creation code storage out of gas|max code size exceeded|invalid code: )/
/** Opcodes that were refused before they began: they are not shown. */
const REJECTION = /^(invalid opcode|stack underflow|stack limit reached)/

/**
 * Creates the tracer of Parity's `vmTrace` as reth makes it (revm-inspectors: ParityTraceBuilder):
 * what each opcode cost, pushed and wrote, with the calls that it made.
 */
export function createVmTracer({ budget }: Pick<TraceContext, 'budget'>): {
  readonly tracer: Tracer
  /** @throws TraceError when it got too large */
  readonly result: () => unknown
} {
  const open: OpenFrame[] = []
  let root: VmTrace = { code: '0x', ops: [] }
  let world: WorldState | undefined

  const codeOf = ({ type, to, input, precompile }: FrameEnter): string => {
    if (type === 'CREATE' || type === 'CREATE2') return bytesToHex(input)
    if (precompile || world === undefined) return '0x'
    const code = world.getCode(to)
    const target = codeDelegationTarget(code)
    return bytesToHex(target === undefined ? code : world.getCode(target))
  }
  const tracer: Tracer = {
    onTransactionStart: (start) => {
      world = start.world
    },
    onEnter: (enter) => {
      if (enter.type === 'SELFDESTRUCT') return void open.push({ trace: root, last: undefined })
      const code = codeOf(enter)
      const trace: VmTrace = { code: budget.spend(code.length) ? code : '0x', ops: [] }
      const caller = open.at(-1)
      if (caller === undefined) root = trace
      else if (caller.last !== undefined) {
        caller.last.operation.sub = trace
        if (CREATIONS.has(caller.last.op)) caller.last.operation.cost += Number(enter.gas)
        caller.last.returnedGas = enter.gas
      }
      open.push({ trace, last: undefined })
    },
    onExit: ({ gasUsed, error }) => {
      const frame = open.pop()
      if (frame?.last !== undefined) {
        if (error === undefined || HAPPENS_AFTER_CODE.test(error)) finish(frame.last, undefined)
        else if (REJECTION.test(error)) frame.trace.ops.pop()
      }
      const called = open.at(-1)?.last
      if (called === undefined) return
      called.returnedGas -= gasUsed
      if (error !== undefined && REFUSALS.has(error)) called.operation.sub = null
    },
    onOpcode: (step) => {
      const frame = open.at(-1)
      if (frame === undefined) return
      if (frame.last !== undefined) finish(frame.last, step)
      frame.last = undefined
      if (step.error !== undefined && REJECTION.test(step.error)) return
      const { pc, op, gas, gasCost, stack, error } = step
      // A failed one may have named any range.
      const range = error === undefined ? memoryRange(op, stack) : undefined
      const words = resultsOf(op)
      if (!budget.spend(OPERATION_LENGTH + words * WORD_LENGTH + 2 * (range?.length ?? 0))) return
      const operation: VmOperation = { cost: Number(gasCost), ex: null, pc, sub: null, op: opcodeName(op) }
      frame.trace.ops.push(operation)
      if (error !== undefined) return
      const store = op === OP.SSTORE ? { key: quantity(stack.at(-1)!), val: quantity(stack.at(-2)!) } : null
      frame.last = { operation, op, gas, range, store, returnedGas: 0n }
    },
  }
  return {
    tracer,
    result: () => {
      budget.check()
      return root
    },
  }
}

/** @param next the frame's next opcode; undefined when the frame has ended */
function finish({ operation, op, gas, range, store, returnedGas }: LastStep, next: OpcodeStep | undefined): void {
  const count = resultsOf(op)
  const push = next === undefined || count === 0 ? [] : next.stack.slice(-count).map(quantity)
  operation.ex = {
    used: Number(next?.gas ?? gas - BigInt(operation.cost) + returnedGas),
    push,
    mem: next === undefined || range === undefined ? null : memoryAfter(op, range, next),
    store,
  }
}

function memoryAfter(op: number, { offset, length }: MemoryRange, next: OpcodeStep): Executed['mem'] {
  // A call writes no more than it got back.
  const written = CALLS.has(op) ? Math.min(length, next.returnData.length) : length
  return written === 0 ? null : { data: bytesToHex(next.memory.subarray(offset, offset + written)), off: offset }
}

/** Returns the memory that an opcode writes, and for MLOAD the word that it reads. */
function memoryRange(op: number, stack: readonly bigint[]): MemoryRange | undefined {
  const at = (offset: number, length: number | undefined): MemoryRange | undefined => {
    const [start, size] = [stack.at(-1 - offset), length === undefined ? undefined : stack.at(-1 - length)]
    if (start === undefined || size === undefined || size === 0n) return undefined
    return { offset: Number(start), length: Number(size) }
  }
  switch (op) {
    case OP.MLOAD:
    case OP.MSTORE:
      return stack.length === 0 ? undefined : { offset: Number(stack.at(-1)!), length: 32 }
    case OP.MSTORE8:
      return stack.length === 0 ? undefined : { offset: Number(stack.at(-1)!), length: 1 }
    case OP.CALLDATACOPY:
    case OP.CODECOPY:
    case OP.RETURNDATACOPY:
    case OP.MCOPY:
      return at(0, 2)
    case OP.EXTCODECOPY:
      return at(1, 3)
    case OP.CALL:
    case OP.CALLCODE:
      return at(5, 6)
    case OP.DELEGATECALL:
    case OP.STATICCALL:
      return at(4, 5)
    default:
      return undefined
  }
}

/** Returns how many words at the top of the stack an opcode has put there; DUP and SWAP count all that they look at. */
function resultsOf(op: number): number {
  if (op >= OP.DUP1 && op <= OP.DUP16) return op - OP.DUP1 + 2
  if (op >= OP.SWAP1 && op <= OP.SWAP16) return op - OP.SWAP1 + 2
  return WITHOUT_RESULT.has(op) ? 0 : 1
}

function quantity(word: bigint): string {
  return `0x${word.toString(16)}`
}
