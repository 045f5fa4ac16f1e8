import { FAILED, NO_FAILURE, REVERTED, TRACE_FRAMES, TRACE_STEPS } from '../../../../assembly/constants.ts'
import type { Log } from '../../../chain/receipt.ts'
import { bytesKey, EMPTY_BYTES } from '../../../primitives/bytes.ts'
import type { FrameEnter, FrameExit, FrameType, Tracer } from '../../tracer.ts'
import { FAILURE_WORDS } from '../failureMessages.ts'
import { engineFailureMessages } from './engineFailureMessages.ts'
import type { RunState } from './runState.ts'
import { TracedStep } from './tracedStep.ts'

const ADDRESS_BYTES = 20

const FRAME_TYPES: ReadonlyMap<number, FrameType> = new Map([
  [0xf0, 'CREATE'],
  [0xf1, 'CALL'],
  [0xf2, 'CALLCODE'],
  [0xf4, 'DELEGATECALL'],
  [0xf5, 'CREATE2'],
  [0xfa, 'STATICCALL'],
  [0xff, 'SELFDESTRUCT'],
])

/** Hands the tracer of a run what happens; its absent hooks cost nothing. */
export interface WasmTracing {
  /** trace flags of the environment */
  readonly flags: number
  log(log: Log): void
  enter(frame: FrameEnter): void
  exit(frame: FrameExit): void
  step(step: TracedStep): void
}

export function createTracing(tracer: Tracer): WasmTracing {
  const hasFrames = tracer.onEnter !== undefined || tracer.onExit !== undefined
  return {
    flags: (tracer.onOpcode === undefined ? 0 : TRACE_STEPS) | (hasFrames ? TRACE_FRAMES : 0),
    log: (log) => tracer.onLog?.(log),
    enter: (frame) => tracer.onEnter?.(frame),
    exit: (frame) => tracer.onExit?.(frame),
    step: (step) => tracer.onOpcode?.(step),
  }
}

/** The engine's imports that tell of steps and frames. It calls them only where the environment's trace flags ask for it. */
export function tracingImports(run: RunState) {
  const words = (code: number, detail: number, need: number): string | undefined =>
    code === NO_FAILURE ? undefined : engineFailureMessages({ code, detail, need }, run.precompileFailure)

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
      const error = words(failure, detail, need)
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
      const { memory, environment } = run
      const callee = memory.copy(to, ADDRESS_BYTES)
      run.tracing?.enter({
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
      run.tracing?.exit({
        depth,
        output: status === FAILED ? EMPTY_BYTES : run.memory.copy(output, length),
        gasUsed,
        error: status === REVERTED ? FAILURE_WORDS.reverted : words(failure, detail, need),
        reverted: status === REVERTED || status === FAILED,
      })
    },
  }
}
