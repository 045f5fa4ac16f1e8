import { EVMError, type EVMResult, type ExecResult, type Message as FrameMessage } from '@ethereumjs/evm'
import { includesFork } from '../../../chain/genesis/hardfork.ts'
import type { Address } from '../../../primitives/address.ts'
import { bigIntToBytes, bytesKey, EMPTY_BYTES } from '../../../primitives/bytes.ts'
import { create2Address, createAddress } from '../../contractAddress.ts'
import type { ExecutionEnvironment } from '../../engine.ts'
import { OP } from '../../opcodes.ts'
import { isStandardPrecompile } from '../../precompileAddresses.ts'
import type { FrameEnter, FrameType, Tracer } from '../../tracer.ts'
import { FAILURE_MESSAGES } from '../failureMessages.ts'
import type { ChainEVM } from './chainEVM.ts'
import { failureMessage, frameFailureMessage } from './failures.ts'
import { constantGas, MAX_MEMORY_WORDS, OVERFLOWN_WORDS } from './opcodeGas.ts'
import { stackFault } from './stackBounds.ts'

type FrameState = NonNullable<ExecResult['runState']>
type Handler = (frame: FrameState, common: ChainEVM['common']) => void | Promise<void>
type GasHandler = (frame: FrameState, gas: bigint, common: ChainEVM['common']) => Promise<bigint>

/** An entry of the opcode table of `@ethereumjs/evm`. */
interface OpcodeEntry {
  readonly opcodeInfo: { readonly code: number; readonly dynamicGas: boolean; readonly isAsync: boolean }
  readonly opHandler: Handler
  readonly gasHandler: GasHandler
}

/** A frame that has begun and not ended. */
interface OpenFrame {
  readonly gas: bigint
  /** its code is a stateful precompile */
  readonly isStateful: boolean
  readonly logsBefore: number
  /** the last opcode that ran, of those with a handler here */
  opcode: number
}

const {
  STOP,
  LOG0,
  LOG4,
  CREATE,
  CALL,
  CALLCODE,
  RETURN,
  RETURNDATACOPY,
  DELEGATECALL,
  CREATE2,
  STATICCALL,
  SELFDESTRUCT,
  TSTORE,
} = OP

const FRAME_TYPES: Readonly<Record<number, FrameType>> = {
  [CREATE]: 'CREATE',
  [CALL]: 'CALL',
  [CALLCODE]: 'CALLCODE',
  [DELEGATECALL]: 'DELEGATECALL',
  [CREATE2]: 'CREATE2',
  [STATICCALL]: 'STATICCALL',
}
const CALLS: readonly number[] = [CALL, CALLCODE, DELEGATECALL, STATICCALL]
/** A frame that ended with one of these did not run into the end of its code. */
const ENDINGS = new Set<number>([STOP, RETURN, SELFDESTRUCT])

const MAX_DEPTH = 1024
const CALL_STIPEND = 2_300n
const ADDRESS_MASK = (1n << 160n) - 1n

/**
 * Connects `environment.tracer` to `evm` for one run, which {@link ChainEVM.end} ends: frames come from the EVM's events,
 * opcodes from handlers around those of the opcode table, so that a tracer sees what geth's would.
 */
export function attachTracer(evm: ChainEVM, environment: ExecutionEnvironment): void {
  const { tracer } = environment
  if (tracer === undefined) return
  const session = new TracingSession(tracer, environment)
  evm.events.on('beforeMessage', (message) => session.enter(message))
  evm.events.on('afterMessage', (result) => session.exit(result))
  const machine = evm as unknown as { _opcodeMap: readonly OpcodeEntry[] }
  machine._opcodeMap = session.watch(machine._opcodeMap)
}

class TracingSession {
  readonly #tracer: Tracer
  readonly #environment: ExecutionEnvironment
  readonly #frames: OpenFrame[] = []
  /** frames that have begun so far */
  #entered = 0

  constructor(tracer: Tracer, environment: ExecutionEnvironment) {
    this.#tracer = tracer
    this.#environment = environment
  }

  /** Returns the table with handlers that call the tracer; opcodes that no hook of the tracer reports keep theirs. */
  watch(table: readonly OpcodeEntry[]): OpcodeEntry[] {
    const watched = table.map((entry, opcode) => this.#withFrames(entry, opcode))
    return this.#tracer.onOpcode === undefined ? watched : watched.map((entry) => this.#withSteps(entry))
  }

  enter(message: FrameMessage): void {
    const { world, rules, precompiles, hiddenPrecompiles } = this.#environment
    const { caller, data, depth, gasLimit, value, delegatecall, salt } = message
    const opcode = this.#frames.at(-1)?.opcode
    const type =
      (opcode === undefined ? undefined : FRAME_TYPES[opcode]) ?? (message.to === undefined ? 'CREATE' : 'CALL')
    let to: Address
    if (message.to !== undefined) to = message.codeAddress.bytes
    else if (salt !== undefined) to = create2Address(caller.bytes, salt, data)
    else to = createAddress(caller.bytes, world.getNonce(caller.bytes) - 1n)
    const isStateful = message.to !== undefined && precompiles.has(bytesKey(to))
    this.#frames.push({ gas: gasLimit, isStateful, logsBefore: world.logs().length, opcode: STOP })
    this.#entered++
    this.#enter({
      depth,
      type,
      from: delegatecall ? message.to!.bytes : caller.bytes,
      to,
      input: data,
      gas: gasLimit,
      value: type === 'STATICCALL' ? undefined : value,
      precompile:
        message.to !== undefined &&
        !isStateful &&
        isStandardPrecompile(to, rules.fork) &&
        hiddenPrecompiles?.has(bytesKey(to)) !== true,
    })
  }

  #enter(frame: FrameEnter): void {
    this.#tracer.onParty?.(frame.from)
    this.#tracer.onParty?.(frame.to)
    this.#tracer.onEnter?.(frame)
  }

  exit({ execResult }: EVMResult): void {
    const frame = this.#frames.pop()!
    const depth = this.#frames.length
    const { exceptionError, executionGasUsed, returnValue } = execResult
    if (exceptionError === undefined) this.#reportEnd(execResult, frame, depth)
    const error = exceptionError === undefined ? undefined : failureMessage(execResult)
    const isFrontier = this.#environment.rules.fork === 'frontier'
    const isKept = error === undefined || error === FAILURE_MESSAGES.reverted
    let spent = executionGasUsed
    if (frame.gas < spent) spent = frame.gas
    this.#tracer.onExit?.({
      depth,
      output: isKept ? returnValue : EMPTY_BYTES,
      gasUsed: spent,
      error,
      reverted: error !== undefined && !(isFrontier && error === FAILURE_MESSAGES.codeStoreOutOfGas),
    })
  }

  /** Reports what no opcode shows at the end of a successful frame: the logs of a precompile, the STOP after the last byte. */
  #reportEnd({ runState: state }: ExecResult, frame: OpenFrame, depth: number): void {
    if (frame.isStateful && this.#tracer.onLog !== undefined) {
      for (const log of this.#environment.world.logs().slice(frame.logsBefore)) this.#tracer.onLog(log)
    }
    if (state === undefined || this.#tracer.onOpcode === undefined || ENDINGS.has(frame.opcode)) return
    this.#tracer.onOpcode({
      pc: state.programCounter,
      op: STOP,
      gas: state.gasLeft,
      gasCost: 0n,
      depth: depth + 1,
      refund: this.#refundOf(state),
      stack: state.stack.getStack(),
      memory: memoryOf(state, state.memoryWordCount),
      returnData: state.returnBytes,
      address: state.env.address.bytes,
      caller: state.env.caller.bytes,
      error: undefined,
    })
  }

  /** Reports the machine before the opcode, with its whole cost, as geth does after charging and before running it. */
  #withSteps(entry: OpcodeEntry): OpcodeEntry {
    const { opcodeInfo, gasHandler } = entry
    const onOpcode = this.#tracer.onOpcode!.bind(this.#tracer)
    const isCall = CALLS.includes(opcodeInfo.code)
    const hasWarmth = includesFork(this.#environment.rules.fork, 'berlin')
    const base = (fee: bigint): bigint => constantGas(opcodeInfo.code, fee, hasWarmth)
    const report = (frame: FrameState, op: number, gasCost: bigint, words: bigint, error: string | undefined): void => {
      onOpcode({
        pc: frame.programCounter,
        op,
        gas: frame.gasLeft,
        gasCost,
        depth: frame.env.depth + 1,
        refund: this.#refundOf(frame),
        stack: frame.stack.getStack(),
        memory: memoryOf(frame, words),
        returnData: frame.returnBytes,
        address: frame.env.address.bytes,
        caller: frame.env.caller.bytes,
        error,
      })
    }
    return {
      ...entry,
      opcodeInfo: { ...opcodeInfo, dynamicGas: true },
      gasHandler: async (frame, fee, common) => {
        // Undefined opcodes share the table's entry of INVALID.
        const op = frame.code[frame.programCounter]!
        const words = frame.memoryWordCount
        this.#frames.at(-1)!.opcode = op
        const fault = stackFault(opcodeInfo.code, frame.stack.length)
        if (fault !== undefined) {
          report(frame, op, fee, words, frameFailureMessage(fault, frame))
          throw new EVMError(fault)
        }
        let gas = fee
        try {
          if (opcodeInfo.dynamicGas) gas = await gasHandler(frame, fee, common)
        } catch (error) {
          if (!(error instanceof EVMError)) throw error
          const isLate = failsLate(op, error.error)
          report(frame, op, base(fee), words, isLate ? undefined : frameFailureMessage(error.error, frame))
          throw error
        }
        if (frame.memoryWordCount > MAX_MEMORY_WORDS) {
          const isCounted = frame.gasLeft < base(fee) || frame.memoryWordCount < OVERFLOWN_WORDS
          report(frame, op, base(fee), words, isCounted ? FAILURE_MESSAGES.outOfGas : FAILURE_MESSAGES.gasOverflow)
          return gas
        }
        const cost = isCall ? gas + (frame.messageGasLimit ?? 0n) : gas
        report(frame, op, cost, words, cost > frame.gasLeft ? 'out of gas' : undefined)
        return gas
      },
    }
  }

  #refundOf({ gasRefund }: Pick<FrameState, 'gasRefund'>): bigint {
    return gasRefund + (this.#environment.refundBefore ?? 0n)
  }

  #withFrames(entry: OpcodeEntry, opcode: number): OpcodeEntry {
    if (FRAME_TYPES[opcode] !== undefined) return this.#calling(entry, opcode)
    if (opcode === RETURN) return this.#returning(entry)
    if (opcode === SELFDESTRUCT) return this.#destructing(entry)
    if (opcode >= LOG0 && opcode <= LOG4 && this.#tracer.onLog !== undefined) return this.#logging(entry)
    return entry
  }

  /** Records which opcode calls, and reports the frames that fail before the EVM begins them. */
  #calling(entry: OpcodeEntry, opcode: number): OpcodeEntry {
    const { opcodeInfo, opHandler } = entry
    return {
      ...entry,
      opcodeInfo: { ...opcodeInfo, isAsync: true },
      opHandler: async (frame, common) => {
        this.#frames.at(-1)!.opcode = opcode
        const entered = this.#entered
        const stack = frame.stack.getStack()
        const gas = frame.messageGasLimit ?? 0n
        await opHandler(frame, common)
        if (this.#entered === entered) this.#reportUnbegun(frame, opcode, stack, gas)
      },
    }
  }

  #reportUnbegun(frame: FrameState, opcode: number, stack: readonly bigint[], gas: bigint): void {
    const { world } = this.#environment
    const from = frame.env.address.bytes
    const depth = this.#frames.length
    const top = (index: number): bigint => stack.at(-1 - index) ?? 0n
    const isCreation = opcode === CREATE || opcode === CREATE2
    const hasValue = opcode === CALL || opcode === CALLCODE
    const inputAt = isCreation ? 1 : hasValue ? 3 : 2
    const input = readMemory(frame, top(inputAt), top(inputAt + 1))
    const value = isCreation ? top(0) : hasValue ? top(2) : frame.env.callValue
    let to: Address = bigIntToBytes(top(1) & ADDRESS_MASK, 20)
    if (opcode === CREATE) to = createAddress(from, world.getNonce(from))
    if (opcode === CREATE2) to = create2Address(from, bigIntToBytes(top(3), 32), input)
    const enter: FrameEnter = {
      depth,
      type: FRAME_TYPES[opcode]!,
      from,
      to,
      input,
      gas: hasValue && value > 0n ? gas + CALL_STIPEND : gas,
      value: opcode === STATICCALL ? undefined : value,
      precompile: false,
    }
    let error: string = FAILURE_MESSAGES.nonceOverflow
    if (depth > MAX_DEPTH) error = FAILURE_MESSAGES.callDepth
    else if (value > world.getSpendable(from)) error = FAILURE_MESSAGES.insufficientBalance
    this.#enter(enter)
    this.#tracer.onExit?.({ depth, output: EMPTY_BYTES, gasUsed: 0n, error, reverted: true })
  }

  #returning(entry: OpcodeEntry): OpcodeEntry {
    return {
      ...entry,
      opHandler: (frame, common) => {
        this.#frames.at(-1)!.opcode = RETURN
        return entry.opHandler(frame, common)
      },
    }
  }

  /**
   * Reports a self-destruct to tracers as a frame of its own. It ends its frame, which the EVM does
   * by throwing `stop`.
   */
  #destructing(entry: OpcodeEntry): OpcodeEntry {
    return {
      ...entry,
      opcodeInfo: { ...entry.opcodeInfo, isAsync: true },
      opHandler: async (frame, common) => {
        const from = frame.env.address.bytes
        const to = bigIntToBytes((frame.stack.getStack().at(-1) ?? 0n) & ADDRESS_MASK, 20)
        const value = this.#environment.world.getSpendable(from)
        try {
          await entry.opHandler(frame, common)
        } catch (error) {
          if (error instanceof EVMError && error.error === EVMError.errorMessages.STOP) {
            const depth = this.#frames.length
            const enter = { depth, from, to, value, input: EMPTY_BYTES, gas: 0n, precompile: false }
            this.#enter({ ...enter, type: 'SELFDESTRUCT' })
            this.#tracer.onExit?.({ depth, output: EMPTY_BYTES, gasUsed: 0n, error: undefined, reverted: false })
          }
          throw error
        }
      },
    }
  }

  #logging(entry: OpcodeEntry): OpcodeEntry {
    return {
      ...entry,
      opHandler: (frame, common) => {
        entry.opHandler(frame, common)
        const log = this.#environment.world.logs().at(-1)
        if (log !== undefined) this.#tracer.onLog?.(log)
      },
    }
  }
}

/**
 * Returns whether geth finds this fault only when the opcode runs. The step, which is reported
 * before, then shows no error.
 */
function failsLate(opcode: number, fault: EVMError['error']): boolean {
  if (fault === EVMError.errorMessages.OUT_OF_RANGE) return opcode === RETURNDATACOPY
  if (fault !== EVMError.errorMessages.STATIC_STATE_CHANGE) return false
  return opcode === TSTORE || (opcode >= LOG0 && opcode <= LOG4)
}

/** Returns the memory that the frame had paid for when it had `words` words. */
function memoryOf(frame: FrameState, words: bigint): Uint8Array {
  const length = Number(words) * 32
  const { _store: store } = frame.memory
  if (store.length >= length) return store.subarray(0, length)
  const memory = new Uint8Array(length)
  memory.set(store)
  return memory
}

function readMemory(frame: FrameState, offset: bigint, length: bigint): Uint8Array {
  return length === 0n ? EMPTY_BYTES : frame.memory.read(Number(offset), Number(length)).slice()
}
