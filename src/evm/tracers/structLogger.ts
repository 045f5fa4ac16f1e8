import { bigIntToBytes, bytesKey, bytesToHex, EMPTY_BYTES, padLeft } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'
import { OP, opcodeName } from '../opcodes.ts'
import type { FrameExit, OpcodeStep, Tracer } from '../tracer.ts'
import type { TraceCollector, TraceContext } from './traceCollector.ts'

/** Parts of a struct log, as requests ask for them. */
interface StructLoggerConfig {
  readonly enableMemory: boolean
  readonly disableStack: boolean
  readonly disableStorage: boolean
  readonly enableReturnData: boolean
  /** bytes of JSON after which no more is logged; 0 = no such limit */
  readonly limit: number
}

interface StructLog {
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly depth: number
  error?: string
  stack?: readonly string[]
  returnData?: string
  memory?: readonly string[]
  storage?: Readonly<Record<string, string>>
  refund?: number
}

/** A log without stack, memory, storage and data. */
const LOG_LENGTH = 70
const WORD_LENGTH = 69

/** Creates geth's struct logger (eth/tracers/logger): every opcode with what it found, in the legacy JSON form. */
export function createStructLogger(config: StructLoggerConfig, context: Pick<TraceContext, 'budget'>): TraceCollector {
  const { budget } = context
  const logs: StructLog[] = []
  const storages = new Map<string, Map<string, string>>()
  let world: WorldState | undefined
  let length = 0
  let gasUsed = 0n
  let exit: Pick<FrameExit, 'output' | 'error'> = { output: EMPTY_BYTES, error: undefined }

  /** Returns the slots of the frame's contract that were read or written so far, with those of this step. */
  const storageAfter = ({ op, stack, address }: OpcodeStep): ReadonlyMap<string, string> | undefined => {
    const slot = stack.at(-1)
    if (slot === undefined || world === undefined) return undefined
    const key = bytesKey(address)
    const storage = storages.get(key) ?? new Map<string, string>()
    storages.set(key, storage)
    const name = bigIntToBytes(slot, 32)
    if (op === OP.SLOAD) {
      storage.set(bytesToHex(name), bytesToHex(padLeft(world.getStorage(address, name), 32)))
    } else {
      const value = stack.at(-2)
      if (value === undefined) return undefined
      storage.set(bytesToHex(name), bytesToHex(bigIntToBytes(value, 32)))
    }
    return storage
  }

  const tracer: Tracer = {
    onTransactionStart(start) {
      world = start.world
    },
    onOpcode(step) {
      if (config.limit !== 0 && length > config.limit) return
      const { op, stack, memory, returnData, error } = step
      const showsStorage = !config.disableStorage && error === undefined && (op === OP.SLOAD || op === OP.SSTORE)
      const storage = showsStorage ? storageAfter(step) : undefined
      const size =
        LOG_LENGTH +
        (config.disableStack ? 0 : stackLength(stack)) +
        (config.enableMemory ? Math.ceil(memory.length / 32) * WORD_LENGTH : 0) +
        (config.enableReturnData ? returnData.length * 2 : 0) +
        (storage === undefined ? 0 : storage.size * WORD_LENGTH * 2)
      if (!budget.spend(size)) return
      const log = toStructLog(step, config, storage)
      if (config.limit !== 0) length += JSON.stringify(log).length
      logs.push(log)
    },
    onExit({ depth, output, error }) {
      if (depth === 0) exit = { output: output.slice(), error }
    },
    onTransactionEnd(end) {
      gasUsed = end.gasUsed
    },
  }
  return {
    tracer,
    result() {
      budget.check()
      const isShown = exit.error === undefined || exit.error === 'execution reverted'
      return {
        gas: Number(gasUsed),
        failed: exit.error !== undefined,
        returnValue: isShown ? bytesToHex(exit.output) : '0x',
        structLogs: logs,
      }
    },
  }
}

function toStructLog(
  step: OpcodeStep,
  config: StructLoggerConfig,
  storage: ReadonlyMap<string, string> | undefined,
): StructLog {
  const { pc, op, gas, gasCost, depth, error, stack, returnData, memory, refund } = step
  const log: StructLog = { pc, op: opcodeName(op), gas: Number(gas), gasCost: Number(gasCost), depth }
  if (error !== undefined) log.error = error
  if (!config.disableStack) log.stack = stack.map((word) => `0x${word.toString(16)}`)
  if (config.enableReturnData && returnData.length > 0) log.returnData = bytesToHex(returnData)
  if (config.enableMemory && memory.length > 0) log.memory = memoryWords(memory)
  if (storage !== undefined && storage.size > 0) log.storage = Object.fromEntries([...storage].sort(byName))
  if (refund !== 0n) log.refund = Number(refund)
  return log
}

/** Characters of a stack in JSON, within a few for each word. */
function stackLength(stack: readonly bigint[]): number {
  let length = 0
  for (const word of stack) length += word < 0x1_0000_0000n ? 10 : WORD_LENGTH
  return length
}

function memoryWords(memory: Uint8Array): string[] {
  const words: string[] = []
  for (let offset = 0; offset < memory.length; offset += 32)
    words.push(bytesToHex(memory.subarray(offset, offset + 32)))
  return words
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
