import type { ExecResult } from '@ethereumjs/evm'
import { bigIntToBytes, bytesToBigInt, equalBytes } from '../../../primitives/bytes.ts'
import { keccak256 } from '../../../primitives/hash.ts'
import { recordBurn } from '../../burntBalance.ts'
import { recordTransfer } from '../../recordTransfer.ts'
import type { ChainEVM } from './chainEVM.ts'
import { GAS_HANDLERS } from './gasHandlers.ts'

type FrameState = NonNullable<ExecResult['runState']>
type Handler = (frame: FrameState, common: ChainEVM['common']) => void | Promise<void>

/** An entry of the opcode table of `@ethereumjs/evm`. */
interface OpcodeEntry {
  opcodeInfo: { readonly isAsync: boolean }
  opHandler: Handler
  gasHandler: unknown
}

const KECCAK256 = 0x20
const MLOAD = 0x51
const MSTORE = 0x52
const SLOAD = 0x54
const LOG0 = 0xa0
const SELFDESTRUCT = 0xff

/**
 * Replaces handlers in an opcode table: logs go to the world at once, since those of stateful precompiles do so too; a
 * self-destruct notes what it moves or burns; memory words and hashes take the fast way to and from bigint.
 */
export function installHandlers(table: readonly unknown[]): unknown[] {
  const copy = (table as readonly OpcodeEntry[]).map((entry) => ({ ...entry }))
  for (let topics = 0; topics <= 4; topics++) {
    const entry = copy[LOG0 + topics]!
    entry.opHandler = loggingHandler(entry.opHandler)
  }
  copy[SELFDESTRUCT]!.opHandler = burningHandler(copy[SELFDESTRUCT]!.opHandler)
  for (const [opcode, handler] of GAS_HANDLERS) copy[opcode]!.gasHandler = handler
  copy[SLOAD] = { ...copy[SLOAD]!, opcodeInfo: synchronous(copy[SLOAD]!.opcodeInfo), opHandler: sloadHandler }
  copy[KECCAK256]!.opHandler = keccakHandler
  copy[MLOAD]!.opHandler = mloadHandler
  copy[MSTORE]!.opHandler = mstoreHandler
  return copy
}

function evmOf(frame: FrameState): ChainEVM {
  return frame.interpreter._evm as ChainEVM
}

function loggingHandler(original: Handler): Handler {
  return (frame, common) => {
    original(frame, common)
    const log = frame.interpreter._result.logs.pop()
    if (log === undefined) return
    const [address, topics, data] = log
    evmOf(frame).world.emitLog({ address, topics, data })
  }
}

function burningHandler(original: Handler): Handler {
  return (frame, common) => {
    const { address } = frame.env
    const { world } = evmOf(frame)
    const [beneficiary] = frame.stack.peek(1)
    const balance = world.getBalance(address.bytes)
    const heir = beneficiary === undefined ? undefined : bigIntToBytes(beneficiary & ADDRESS_MASK, 20)
    if (heir !== undefined) recordTransfer(world, address.bytes, heir, balance)
    const toSelf = heir !== undefined && equalBytes(heir, address.bytes)
    const burns =
      toSelf && (!common.isActivatedEIP(6780) || frame.env.createdAddresses?.has(address.toString()) === true)
    if (burns) recordBurn(world, balance)
    return original(frame, common)
  }
}

const ADDRESS_MASK = (1n << 160n) - 1n
const WORD = 0xffffffffffffffffn

function keccakHandler(frame: FrameState): void {
  const [offset, length] = frame.stack.popN(2) as [bigint, bigint]
  const data = length === 0n ? EMPTY : frame.memory.read(Number(offset), Number(length), true)
  frame.stack.push(bytesToBigInt(keccak256(data)))
}

const EMPTY = new Uint8Array(0)

function synchronous<Info extends OpcodeEntry['opcodeInfo']>(opcodeInfo: Info): Info {
  return { ...opcodeInfo, isAsync: false }
}

function sloadHandler(frame: FrameState): void {
  const slot = bigIntToBytes(frame.stack.pop(), 32)
  frame.stack.push(bytesToBigInt(evmOf(frame).world.getStorage(frame.env.address.bytes, slot)))
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
  view.setBigUint64(8, (word >> 128n) & WORD)
  view.setBigUint64(16, (word >> 64n) & WORD)
  view.setBigUint64(24, word & WORD)
}
