import {
  FAILED,
  FRAME_ADDRESS,
  FRAME_CALLER,
  FRAME_RETURN_DATA,
  FRAME_RETURN_DATA_LENGTH,
  NO_FAILURE,
  REVERTED,
  TRACE_FRAMES,
  TRACE_STEPS,
} from '../../../../assembly/evm/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { bytesKey, EMPTY_BYTES } from '../../../primitives/bytes.ts'
import { OP } from '../../opcodes.ts'
import type { FrameType, OpcodeStep, Tracer } from '../../tracer.ts'
import { FAILURE_MESSAGES } from '../failureMessages.ts'
import { engineFailureMessage } from './engineFailureMessage.ts'
import type { LinearMemory } from './linearMemory.ts'
import { PartyReports } from './partyReports.ts'
import type { RunState, WasmTracing } from './runState.ts'

const ADDRESS_BYTES = 20

const FRAME_TYPES: ReadonlyMap<number, FrameType> = new Map<number, FrameType>([
  [OP.CREATE, 'CREATE'],
  [OP.CALL, 'CALL'],
  [OP.CALLCODE, 'CALLCODE'],
  [OP.DELEGATECALL, 'DELEGATECALL'],
  [OP.CREATE2, 'CREATE2'],
  [OP.STATICCALL, 'STATICCALL'],
  [OP.SELFDESTRUCT, 'SELFDESTRUCT'],
])

/** Creates the hooks of a tracer, and the flags by which the engine knows which of them there are. */
export function createTracing(tracer: Tracer, memory: LinearMemory, hashSeed: bigint): WasmTracing {
  const hasData = tracer.onEnter !== undefined || tracer.onExit !== undefined
  const hasFrames = hasData || tracer.onParty !== undefined
  return {
    parties: tracer.onParty && new PartyReports(memory, hashSeed, tracer.onParty.bind(tracer)),
    hasData,
    flags: (tracer.onOpcode === undefined ? 0 : TRACE_STEPS) | (hasFrames ? TRACE_FRAMES : 0),
    log: (log) => tracer.onLog?.(log),
    enter: (frame) => tracer.onEnter?.(frame),
    exit: (frame) => tracer.onExit?.(frame),
    step: (step) => tracer.onOpcode?.(step),
  }
}

/**
 * Returns the engine's imports that report steps and frames. It calls them only where the
 * environment's trace flags ask for it.
 */
export function tracingImports(run: RunState) {
  const messageOf = (code: number, detail: number, need: number): string | undefined =>
    code === NO_FAILURE ? undefined : engineFailureMessage({ code, detail, need }, run.precompileFailure)

  return {
    traceStep(
      pc: number,
      op: number,
      gas: bigint,
      gasCost: bigint,
      depth: number,
      refund: bigint,
      stack: number,
      top: number,
      memory: number,
      memoryLength: number,
      frame: number,
      failure: number,
      detail: number,
      need: number,
    ): void {
      const at = { stack, top, memory, memoryLength, frame }
      const error = messageOf(failure, detail, need)
      run.tracing?.step(new TracedStep(run.memory, at, { pc, op, gas, gasCost, depth, refund, error }))
    },

    traceEnter(
      depth: number,
      kind: number,
      from: number,
      to: number,
      input: number,
      length: number,
      gas: bigint,
      value: number,
      isPrecompile: number,
    ): void {
      const { memory, environment, tracing } = run
      tracing?.parties?.tell(from)
      tracing?.parties?.tell(to)
      if (tracing?.hasData !== true) return
      const callee = memory.copy(to, ADDRESS_BYTES)
      tracing.enter({
        depth,
        type: FRAME_TYPES.get(kind)!,
        from: memory.copy(from, ADDRESS_BYTES),
        to: callee,
        input: memory.copy(input, length),
        gas,
        value: value === 0 ? undefined : memory.readWord(value),
        precompile: isPrecompile !== 0 && !environment.precompiles.has(bytesKey(callee)),
      })
    },

    traceExit(
      depth: number,
      output: number,
      length: number,
      gasUsed: bigint,
      status: number,
      failure: number,
      detail: number,
      need: number,
    ): void {
      if (run.tracing?.hasData !== true) return
      run.tracing.exit({
        depth,
        output: status === FAILED ? EMPTY_BYTES : run.memory.copy(output, length),
        gasUsed,
        error: status === REVERTED ? FAILURE_MESSAGES.reverted : messageOf(failure, detail, need),
        reverted: status === REVERTED || status === FAILED,
      })
    },
  }
}

const WORD_BYTES = 32

/** Addresses at which the machine stores the data of a step. */
interface StepPointers {
  /** lowest word of the stack */
  readonly stack: number
  /** top word; one word below `stack` when the stack is empty */
  readonly top: number
  readonly memory: number
  readonly memoryLength: number
  readonly frame: number
}

/** A step that reads the machine's memory when a field is asked for. Valid only during the hook that receives it. */
class TracedStep implements OpcodeStep {
  readonly pc: number
  readonly op: number
  readonly gas: bigint
  readonly gasCost: bigint
  readonly depth: number
  readonly refund: bigint
  readonly error: string | undefined
  readonly #machine: LinearMemory
  readonly #at: StepPointers
  #stack: bigint[] | undefined

  constructor(
    machine: LinearMemory,
    at: StepPointers,
    fields: Pick<OpcodeStep, 'pc' | 'op' | 'gas' | 'gasCost' | 'depth' | 'refund' | 'error'>,
  ) {
    this.pc = fields.pc
    this.op = fields.op
    this.gas = fields.gas
    this.gasCost = fields.gasCost
    this.depth = fields.depth
    this.refund = fields.refund
    this.error = fields.error
    this.#machine = machine
    this.#at = at
  }

  get stack(): readonly bigint[] {
    if (this.#stack === undefined) {
      const { stack, top } = this.#at
      this.#stack = []
      for (let word = stack; word <= top; word += WORD_BYTES) this.#stack.push(this.#machine.readWord(word))
    }
    return this.#stack
  }

  get memory(): Uint8Array {
    const { memory, memoryLength } = this.#at
    return this.#machine.bytes.subarray(memory, memory + memoryLength)
  }

  get returnData(): Uint8Array {
    const { view, bytes } = this.#machine
    const start = view.getUint32(this.#at.frame + FRAME_RETURN_DATA, true)
    return bytes.subarray(start, start + view.getUint32(this.#at.frame + FRAME_RETURN_DATA_LENGTH, true))
  }

  get address(): Address {
    return this.#machine.copy(this.#at.frame + FRAME_ADDRESS, ADDRESS_BYTES)
  }

  get caller(): Address {
    return this.#machine.copy(this.#at.frame + FRAME_CALLER, ADDRESS_BYTES)
  }
}
