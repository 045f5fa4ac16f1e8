import { bigIntToBytes, bytesKey, bytesToHex, keyBytes, padLeft } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'
import { OP } from '../opcodes.ts'
import type { OpcodeStep, Tracer } from '../tracer.ts'
import { type CallFrame, createCallTree, formatFrame } from './callTracer.ts'
import { paddedMemory } from './paddedMemory.ts'
import {
  quantity,
  readSwitch,
  type TraceCollector,
  type TraceContext,
  TraceError,
  type TracerConfig,
} from './traceCollector.ts'

/** Facts about one call that the validation of a UserOperation needs (ERC-7562, by the names of its rules). */
interface FrameDetails {
  /** by slot, in hex: the value that the call found, unless it had written the slot before (STO-…) */
  readonly reads: Map<string, string>
  /** by slot, how often */
  readonly writes: Map<string, number>
  readonly transientReads: Map<string, number>
  readonly transientWrites: Map<string, number>
  /** addresses of EXTCODE…, except those of EXTCODESIZE before ISZERO (OP-051) */
  readonly extCodeAccesses: string[]
  /** how often each opcode ran; GAS only where no call follows it (OP-012) */
  readonly usedOpcodes: Map<number, number>
  /** by address: bytes of code, and the first opcode that looked at it (OP-041) */
  readonly contractSizes: Map<string, { readonly contractSize: number; readonly opcode: number }>
}

const DETAILS_LENGTH = 200
const COUNT_LENGTH = 80
const OPCODE_LENGTH = 12
const ADDRESS_LENGTH = 90
const SLOT_LENGTH = 140
const ADDRESS_MASK = (1n << 160n) - 1n

const EXT_OPCODES = new Set<number>([OP.EXTCODEHASH, OP.EXTCODESIZE, OP.EXTCODECOPY])
const STORAGE_OPCODES = new Set<number>([OP.SLOAD, OP.SSTORE, OP.TLOAD, OP.TSTORE])
const CALL_OPCODES = new Set<number>([OP.CALL, OP.CALLCODE, OP.DELEGATECALL, OP.STATICCALL])

/** Opcodes that no rule is about: arithmetic and the stack. */
const IGNORED: ReadonlySet<number> = new Set<number>([
  ...Array.from({ length: OP.SWAP16 - OP.PUSH0 + 1 }, (_, index) => OP.PUSH0 + index),
  ...[OP.POP, OP.ADD, OP.SUB, OP.MUL, OP.DIV, OP.EQ, OP.LT, OP.GT],
  ...[OP.SLT, OP.SGT, OP.SHL, OP.SHR, OP.AND, OP.OR, OP.NOT, OP.ISZERO],
])

/**
 * Creates geth's erc7562Tracer: the tree of calls with the facts that bundlers check in a
 * UserOperation's validation (ERC-7562). Options: `withLog`; `ignoredOpcodes`, a list of quantities
 * instead of the usual one; `stackTopItemsSize`, which must not be 0 and changes nothing, as in
 * geth.
 */
export function createErc7562Tracer(config: TracerConfig, context: TraceContext): TraceCollector {
  const { budget } = context
  const ignored = readIgnored(config['ignoredOpcodes'])
  checkStackItems(config['stackTopItemsSize'])
  const tree = createCallTree({ onlyTopCall: false, withLog: readSwitch(config, 'withLog') }, context)
  const details = new WeakMap<CallFrame, FrameDetails>()
  const preimages = new Set<string>()
  let world: WorldState | undefined
  /** the opcode before this one, in whichever call, with the top of the stack that it found */
  let last: { readonly op: number; readonly top: bigint | undefined } | undefined

  const detailsOf = (frame: CallFrame): FrameDetails => {
    const known = details.get(frame)
    if (known !== undefined) return known
    const created = emptyDetails()
    details.set(frame, created)
    return created
  }

  const readSlot = ({ reads, writes }: FrameDetails, slot: string, step: OpcodeStep): void => {
    if (reads.has(slot) || writes.has(slot) || world === undefined || !budget.spend(SLOT_LENGTH)) return
    const value = world.getStorage(step.address, bigIntToBytes(BigInt(slot), 32))
    reads.set(slot, bytesToHex(padLeft(value, 32)))
  }

  const count = <K>(counts: Map<K, number>, key: K, length: number): void => {
    const known = counts.get(key)
    if (known !== undefined || budget.spend(length)) counts.set(key, (known ?? 0) + 1)
  }

  const storageAccess = (frame: FrameDetails, slot: string, step: OpcodeStep): void => {
    if (step.op === OP.SLOAD) readSlot(frame, slot, step)
    else if (step.op === OP.SSTORE) count(frame.writes, slot, COUNT_LENGTH)
    else if (step.op === OP.TLOAD) count(frame.transientReads, slot, COUNT_LENGTH)
    else if (step.op === OP.TSTORE) count(frame.transientWrites, slot, COUNT_LENGTH)
  }

  const keepPreimage = ({ stack, memory, error }: OpcodeStep): void => {
    const preimage = stack.length < 2 ? undefined : paddedMemory(memory, stack.at(-1)!, stack.at(-2)!)
    if (preimage === undefined) return
    const length = 2 * preimage.length + 5
    // An opcode that cannot pay for its memory costs next to nothing, so each counts.
    if (error !== undefined && !budget.spend(length)) return
    const key = bytesKey(preimage)
    if (preimages.has(key) || (error === undefined && !budget.spend(length))) return
    preimages.add(key)
  }

  const onOpcode = (step: OpcodeStep): void => {
    const call = tree.current()
    if (call === undefined) return
    const { op, stack } = step
    const frame = detailsOf(call)
    const top = stack.at(-1)
    if (op === OP.REVERT || op === OP.RETURN) last = undefined
    if (last?.top !== undefined && EXT_OPCODES.has(last.op) && !(last.op === OP.EXTCODESIZE && op === OP.ISZERO)) {
      if (budget.spend(ADDRESS_LENGTH)) frame.extCodeAccesses.push(addressOf(last.top))
    }
    const callee = EXT_OPCODES.has(op) ? top : CALL_OPCODES.has(op) ? stack.at(-2) : undefined
    if (callee !== undefined && world !== undefined) {
      const address = addressOf(callee)
      if (!frame.contractSizes.has(address) && budget.spend(ADDRESS_LENGTH)) {
        const contractSize = world.getCode(bigIntToBytes(callee & ADDRESS_MASK, 20)).length
        frame.contractSizes.set(address, { contractSize, opcode: op })
      }
    }
    if (last?.op === OP.GAS && !CALL_OPCODES.has(op)) count(frame.usedOpcodes, OP.GAS, OPCODE_LENGTH)
    if (op !== OP.GAS && !ignored.has(op)) count(frame.usedOpcodes, op, OPCODE_LENGTH)
    if (top !== undefined && STORAGE_OPCODES.has(op)) {
      storageAccess(frame, bytesToHex(bigIntToBytes(top, 32)), step)
    }
    if (op === OP.KECCAK256) keepPreimage(step)
    last = { op, top }
  }

  const tracer: Tracer = {
    ...tree.tracer,
    onTransactionStart(start) {
      world = start.world
      tree.tracer.onTransactionStart?.(start)
    },
    onEnter(enter) {
      budget.spend(DETAILS_LENGTH)
      tree.tracer.onEnter?.(enter)
    },
    onOpcode,
  }
  return {
    tracer,
    result() {
      const root = tree.root()
      const keccak = [...preimages].sort(compareBinary).map((key) => bytesToHex(keyBytes(key)))
      return formatFrame(root, false, (frame) => ({
        ...formatDetails(detailsOf(frame)),
        // geth does not look at the reason for which the transaction's own call failed.
        outOfGas: frame !== root && isOutOfGas(frame),
        ...(frame !== root || keccak.length === 0 ? {} : { keccak }),
      }))
    },
  }
}

function emptyDetails(): FrameDetails {
  return {
    reads: new Map(),
    writes: new Map(),
    transientReads: new Map(),
    transientWrites: new Map(),
    extCodeAccesses: [],
    usedOpcodes: new Map(),
    contractSizes: new Map(),
  }
}

function formatDetails(frame: FrameDetails): Readonly<Record<string, unknown>> {
  return {
    accessedSlots: {
      reads: Object.fromEntries(Array.from(frame.reads, ([slot, value]) => [slot, [value]])),
      writes: Object.fromEntries(frame.writes),
      transientReads: Object.fromEntries(frame.transientReads),
      transientWrites: Object.fromEntries(frame.transientWrites),
    },
    extCodeAccessInfo: frame.extCodeAccesses,
    usedOpcodes: Object.fromEntries(Array.from(frame.usedOpcodes, ([op, times]) => [quantity(op), times])),
    contractSize: Object.fromEntries(frame.contractSizes),
  }
}

function isOutOfGas({ error }: CallFrame): boolean {
  return (
    error !== undefined && (error.startsWith('out of gas') || error === 'contract creation code storage out of gas')
  )
}

/** @throws TraceError when it is not a list of quantities */
function readIgnored(json: unknown): ReadonlySet<number> {
  if (json === undefined || json === null) return IGNORED
  if (!Array.isArray(json) || !json.every((entry) => typeof entry === 'string' && /^0x[0-9a-f]{1,16}$/i.test(entry))) {
    throw new TraceError('invalid tracer configuration: ignoredOpcodes is not a list of quantities')
  }
  return new Set(json.map((entry: string) => Number(BigInt(entry) & 0xffn)))
}

/**
 * Checks the number of stack items: geth would crash without the top of the stack. @throws
 * TraceError for fewer than one
 */
function checkStackItems(json: unknown): void {
  if (json === undefined || json === null || (Number.isSafeInteger(json) && Number(json) >= 0)) return
  throw new TraceError('invalid tracer configuration: stackTopItemsSize is not a number of items')
}

function addressOf(word: bigint): string {
  return bytesToHex(bigIntToBytes(word & ADDRESS_MASK, 20))
}

function compareBinary(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
