import type { Common } from '@ethereumjs/common'
import type { ExecResult } from '@ethereumjs/evm'
import { bigIntToBytes, bytesToBigInt, EMPTY_BYTES, equalBytes } from '../../../primitives/bytes.ts'
import { keccak256 } from '../../../primitives/hash.ts'
import type { WorldState } from '../../../state/world.ts'
import { recordBurn, recordTransfer } from '../../coinMovements.ts'
import { OP } from '../../opcodes.ts'
import { GAS_HANDLERS } from './opcodeGas.ts'

type FrameState = NonNullable<ExecResult['runState']>
type Handler = (frame: FrameState, common: Common) => void | Promise<void>

const ADDRESS_MASK = (1n << 160n) - 1n
const LIMB_MASK = 0xffffffffffffffffn

/** An entry of the opcode table of `@ethereumjs/evm`. */
interface OpcodeEntry {
  opcodeInfo: { readonly isAsync: boolean }
  opHandler: Handler
  gasHandler: unknown
}

/**
 * Replaces handlers in an opcode table. Logs go to the world at once, since those of stateful
 * precompiles do so too. A self-destruct records the coins that it moves or burns. Init code that
 * begins with 0xef00 runs, and ends at this first byte, which is not an opcode. Memory words and
 * hashes are converted to and from bigint faster.
 */
export function installHandlers(table: readonly unknown[]): unknown[] {
  const copy = (table as readonly OpcodeEntry[]).map((entry) => ({ ...entry }))
  for (let topics = 0; topics <= 4; topics++) {
    const entry = copy[OP.LOG0 + topics]!
    entry.opHandler = loggingHandler(entry.opHandler)
  }
  copy[OP.SELFDESTRUCT]!.opHandler = burningHandler(copy[OP.SELFDESTRUCT]!.opHandler)
  for (const [opcode, handler] of GAS_HANDLERS) copy[opcode]!.gasHandler = handler
  copy[OP.SLOAD] = { ...copy[OP.SLOAD]!, opcodeInfo: synchronous(copy[OP.SLOAD]!.opcodeInfo), opHandler: sloadHandler }
  for (const opcode of [OP.CREATE, OP.CREATE2]) copy[opcode]!.opHandler = creatingHandler(copy[opcode]!.opHandler)
  copy[OP.KECCAK256]!.opHandler = keccakHandler
  copy[OP.MLOAD]!.opHandler = mloadHandler
  copy[OP.MSTORE]!.opHandler = mstoreHandler
  return copy
}

/** Returns the world of the run: the EVM that a frame runs in is a ChainEVM. */
function worldOf(frame: FrameState): WorldState {
  return (frame.interpreter._evm as unknown as { readonly world: WorldState }).world
}

function loggingHandler(original: Handler): Handler {
  return (frame, common) => {
    original(frame, common)
    const log = frame.interpreter._result.logs.pop()
    if (log === undefined) return
    const [address, topics, data] = log
    worldOf(frame).emitLog({ address, topics, data })
  }
}

function burningHandler(original: Handler): Handler {
  return (frame, common) => {
    const { address } = frame.env
    const world = worldOf(frame)
    const [beneficiary] = frame.stack.peek(1)
    const given = world.getSpendable(address.bytes)
    const recipient = beneficiary === undefined ? undefined : bigIntToBytes(beneficiary & ADDRESS_MASK, 20)
    if (recipient !== undefined) recordTransfer(world, address.bytes, recipient, given)
    const toSelf = recipient !== undefined && equalBytes(recipient, address.bytes)
    const burns =
      toSelf && (!common.isActivatedEIP(6780) || frame.env.createdAddresses?.has(address.toString()) === true)
    if (burns) recordBurn(world, address.bytes, given)
    return original(frame, common)
  }
}

/**
 * Wraps the stock handler of a creation, which runs nothing for init code that begins like
 * EIP-3540's containers, whatever the fork.
 */
function creatingHandler(original: Handler): Handler {
  return async (frame, common) => {
    const { interpreter, memory, stack } = frame
    const [value, offset, length] = stack.peek(3) as [bigint, bigint, bigint]
    const isTooLong = common.isActivatedEIP(3860) && length > common.param('maxInitCodeSize')
    if (interpreter.isStatic() || isTooLong || length < 2n) return original(frame, common)
    const initCode = memory.read(Number(offset), Number(length), true)
    if (initCode[0] !== 0xef || initCode[1] !== 0x00) return original(frame, common)
    const gasLimit = frame.messageGasLimit!
    delete frame.messageGasLimit
    stack.popN(3)
    const salt = frame.opCode === OP.CREATE2 ? bigIntToBytes(stack.pop(), 32) : undefined
    stack.push(
      salt === undefined
        ? await interpreter.create(gasLimit, value, initCode)
        : await interpreter.create2(gasLimit, value, initCode, salt),
    )
  }
}

function keccakHandler(frame: FrameState): void {
  const [offset, length] = frame.stack.popN(2) as [bigint, bigint]
  const data = length === 0n ? EMPTY_BYTES : frame.memory.read(Number(offset), Number(length), true)
  frame.stack.push(bytesToBigInt(keccak256(data)))
}

function synchronous<Info extends OpcodeEntry['opcodeInfo']>(opcodeInfo: Info): Info {
  return { ...opcodeInfo, isAsync: false }
}

function sloadHandler(frame: FrameState): void {
  const slot = bigIntToBytes(frame.stack.pop(), 32)
  frame.stack.push(bytesToBigInt(worldOf(frame).getStorage(frame.env.address.bytes, slot)))
}

function mloadHandler(frame: FrameState): void {
  const offset = Number(frame.stack.pop())
  frame.stack.push(bytesToBigInt(frame.memory.read(offset, 32, true)))
}

function mstoreHandler(frame: FrameState): void {
  const [position, word] = frame.stack.popN(2) as [bigint, bigint]
  const offset = Number(position)
  const { memory } = frame
  memory.extend(offset, 32)
  const { buffer, byteOffset } = memory._store
  const view = new DataView(buffer, byteOffset + offset, 32)
  view.setBigUint64(0, word >> 192n)
  view.setBigUint64(8, (word >> 128n) & LIMB_MASK)
  view.setBigUint64(16, (word >> 64n) & LIMB_MASK)
  view.setBigUint64(24, word & LIMB_MASK)
}
