import type { Log } from '../../chain/block/receipt.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'
import { revertReason } from '../revertReason.ts'
import type { FrameEnter, FrameExit, FrameType, Tracer } from '../tracer.ts'
import {
  quantity,
  readSwitch,
  type TraceCollector,
  type TraceContext,
  TraceError,
  type TracerConfig,
} from './traceCollector.ts'

/** A call with those that it made. */
export interface CallFrame {
  readonly type: FrameType
  readonly from: Address
  /** undefined for a creation that failed */
  to: Address | undefined
  readonly input: Uint8Array
  readonly value: bigint | undefined
  gas: bigint
  gasUsed: bigint
  output: Uint8Array
  /** geth's message; undefined on success */
  error: string | undefined
  reverted: boolean
  precompile: boolean
  calls: CallFrame[]
  logs: CallLog[]
}

interface CallLog {
  readonly log: Log
  /** in the block */
  readonly index: number
  /** how many calls the frame had made before */
  readonly position: number
}

/** Characters of a frame in JSON, without its data. */
const FRAME_LENGTH = 400
const LOG_LENGTH = 250

/** The tree of a transaction's calls, for tracers that show it. */
interface CallTree {
  readonly tracer: Tracer
  /** Returns the call that is running; undefined outside of all calls, and in one that is left out. */
  current(): CallFrame | undefined
  /** @throws TraceError when nothing ran, or the tree got too large */
  root(): CallFrame
}

/** Collects calls, and their logs if wanted. */
export function createCallTree(
  options: { readonly onlyTopCall: boolean; readonly withLog: boolean },
  context: Pick<TraceContext, 'firstLogIndex' | 'budget'>,
): CallTree {
  const { onlyTopCall, withLog } = options
  const { budget } = context
  const open: CallFrame[] = []
  let root: CallFrame | undefined
  let transactionGas = 0n
  let world: WorldState | undefined
  let depth = 0

  const tracer: Tracer = {
    onTransactionStart(start) {
      transactionGas = start.gasLimit
      world = start.world
    },
    onEnter(enter) {
      depth = enter.depth
      if (onlyTopCall && enter.depth > 0) return
      const isKept = budget.spend(FRAME_LENGTH + 2 * enter.input.length)
      const frame = beginFrame(enter, isKept)
      if (enter.depth === 0) {
        frame.gas = transactionGas
        root = frame
      } else if (isKept) {
        open.at(-1)?.calls.push(frame)
      }
      open.push(frame)
    },
    onExit(exit) {
      depth = exit.depth - 1
      if (onlyTopCall && exit.depth > 0) return
      const frame = open.pop()
      if (frame !== undefined) endFrame(frame, exit, budget.spend(2 * exit.output.length))
    },
    onTransactionEnd({ gasUsed }) {
      if (root !== undefined) root.gasUsed = gasUsed
    },
  }
  if (withLog) {
    tracer.onLog = (log) => {
      const frame = open.at(-1)
      if (frame === undefined || (onlyTopCall && depth > 0)) return
      if (!budget.spend(LOG_LENGTH + 2 * log.data.length)) return
      // Logs of reverted frames are gone from the world, so their indices are used again.
      const index = context.firstLogIndex + (world === undefined ? 0 : world.logs().length - 1)
      frame.logs.push({ log, index, position: frame.calls.length })
    }
  }
  return {
    tracer,
    current: () => open.at(-1),
    root() {
      budget.check()
      if (root === undefined || open.length > 0) throw new TraceError('incorrect number of top-level calls')
      return root
    },
  }
}

/** Creates geth's callTracer: `onlyTopCall`, `withLog`. */
export function createCallTracer(config: TracerConfig, context: TraceContext): TraceCollector {
  const options = { onlyTopCall: readSwitch(config, 'onlyTopCall'), withLog: readSwitch(config, 'withLog') }
  const tree = createCallTree(options, context)
  return { tracer: tree.tracer, result: () => formatFrame(tree.root(), false) }
}

function beginFrame(enter: FrameEnter, isKept: boolean): CallFrame {
  const { type, from, to, input, gas, value, precompile } = enter
  return {
    type,
    from,
    to,
    input: isKept ? input.slice() : input.subarray(0, 0),
    value,
    gas,
    gasUsed: 0n,
    output: input.subarray(0, 0),
    error: undefined,
    reverted: false,
    precompile,
    calls: [],
    logs: [],
  }
}

function endFrame(frame: CallFrame, { output, gasUsed, error, reverted }: FrameExit, isKept: boolean): void {
  frame.gasUsed = gasUsed
  if (error !== undefined && reverted) {
    frame.error = error
    frame.reverted = true
    if (frame.type === 'CREATE' || frame.type === 'CREATE2') frame.to = undefined
    if (error !== 'execution reverted') return
  }
  if (isKept) frame.output = output.slice()
}

/**
 * Formats a frame with keys in geth's order. Logs of frames that failed, or whose callers did, are
 * left out. `detailsOf` returns further keys of a frame.
 */
export function formatFrame(
  frame: CallFrame,
  isParentReverted: boolean,
  detailsOf?: (frame: CallFrame) => Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { to, output, error, value, calls } = frame
  const isReverted = isParentReverted || frame.reverted
  const reason = error === 'execution reverted' ? revertReason(output) : undefined
  const logs = isReverted ? [] : frame.logs
  return {
    from: bytesToHex(frame.from),
    gas: quantity(frame.gas),
    gasUsed: quantity(frame.gasUsed),
    ...(to === undefined ? {} : { to: bytesToHex(to) }),
    input: bytesToHex(frame.input),
    ...(output.length === 0 ? {} : { output: bytesToHex(output) }),
    ...(error === undefined ? {} : { error }),
    ...(reason === undefined || reason === '' ? {} : { revertReason: reason }),
    ...(calls.length === 0 ? {} : { calls: calls.map((call) => formatFrame(call, isReverted, detailsOf)) }),
    ...(logs.length === 0 ? {} : { logs: logs.map(formatLog) }),
    ...(value === undefined ? {} : { value: quantity(value) }),
    ...detailsOf?.(frame),
    type: frame.type,
  }
}

function formatLog({ log, index, position }: CallLog): Readonly<Record<string, unknown>> {
  return {
    address: bytesToHex(log.address),
    topics: log.topics.map(bytesToHex),
    data: bytesToHex(log.data),
    index: quantity(index),
    position: quantity(position),
  }
}
