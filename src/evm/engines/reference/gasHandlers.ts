import type { Common } from '@ethereumjs/common'
import type { ExecResult } from '@ethereumjs/evm'
import { bigIntToBytes } from '../../../primitives/bytes.ts'
import { COPY_WORD_GAS, memoryCost, wordsOf } from './memoryGas.ts'

type FrameState = NonNullable<ExecResult['runState']>

/** Gives the cost of an opcode from its base cost; notes what it warms and how far memory grows. */
type GasHandler = (frame: FrameState, gas: bigint, common: Common) => bigint

const KECCAK_WORD_GAS = 6n

/** Cost of the memory up to `offset + length` beyond what is paid for, which is paid for then. */
function memoryGas(frame: FrameState, offset: bigint, length: bigint): bigint {
  const cost = memoryCost(frame, offset, length)
  if (cost === 0n) return 0n
  frame.highestMemCost += cost
  frame.memoryWordCount = wordsOf(offset + length)
  return cost
}

function peek1(frame: FrameState): bigint {
  return frame.stack.peek(1)[0]!
}

function peek2(frame: FrameState): [bigint, bigint] {
  return frame.stack.peek(2) as [bigint, bigint]
}

const oneWord: GasHandler = (frame, gas) => gas + memoryGas(frame, peek1(frame), 32n)
const oneByte: GasHandler = (frame, gas) => gas + memoryGas(frame, peek1(frame), 1n)

const range: GasHandler = (frame, gas) => {
  const [offset, length] = peek2(frame)
  return gas + memoryGas(frame, offset, length)
}

const keccak: GasHandler = (frame, gas) => {
  const [offset, length] = peek2(frame)
  return gas + memoryGas(frame, offset, length) + KECCAK_WORD_GAS * wordsOf(length)
}

const copy: GasHandler = (frame, gas) => {
  const [offset, , length] = frame.stack.peek(3) as [bigint, bigint, bigint]
  return gas + memoryGas(frame, offset, length) + COPY_WORD_GAS * wordsOf(length)
}

/** EIP-2929; before it SLOAD has a fixed price. */
const sload: GasHandler = (frame, gas, common) => {
  const slot = bigIntToBytes(peek1(frame), 32)
  if (!common.isActivatedEIP(2929)) return gas
  const address = frame.env.address.bytes
  const { journal } = frame.interpreter
  if (journal.isWarmedStorage(address, slot)) return gas + common.param('warmstoragereadGas')
  journal.addWarmedStorage(address, slot)
  return gas + common.param('coldsloadGas')
}

/**
 * Synchronous replacements, by opcode, for gas handlers of `@ethereumjs/evm` that are asynchronous without waiting for
 * anything: KECCAK256, CALLDATACOPY, CODECOPY, MLOAD, MSTORE, MSTORE8, SLOAD, RETURN, REVERT. The same in every fork.
 */
export const GAS_HANDLERS: ReadonlyMap<number, GasHandler> = new Map([
  [0x20, keccak],
  [0x37, copy],
  [0x39, copy],
  [0x51, oneWord],
  [0x52, oneWord],
  [0x53, oneByte],
  [0x54, sload],
  [0xf3, range],
  [0xfd, range],
])
