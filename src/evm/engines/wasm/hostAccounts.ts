import {
  ACCOUNT_EMPTY,
  ACCOUNT_EXISTS,
  ACCOUNT_HAS_CODE,
  ACCOUNT_STANDARD_PRECOMPILE,
  ACCOUNT_STATEFUL_PRECOMPILE,
  ACCOUNT_WARM,
  RECORD_ADDRESS,
  RECORD_BALANCE,
  RECORD_CODE_HASH,
  RECORD_FLAGS,
} from '../../../../assembly/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../../../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../../primitives/hash.ts'
import { isStandardPrecompile } from '../../precompileAddresses.ts'
import { recordTransfer } from '../../recordTransfer.ts'
import type { RunState } from './runState.ts'

const WORD_BITS = 256

/** The engine's imports for accounts and their coins. The world copies the addresses that it keeps. */
export function accountImports(run: RunState) {
  const first: Address = new Uint8Array(20)
  const second: Address = new Uint8Array(20)

  return {
    loadAccount(record: number): void {
      const { memory, world } = run
      const address = memory.read(record + RECORD_ADDRESS, first)
      let flags = precompileFlags(run, address)
      if (world.isWarmAddress(address)) flags |= ACCOUNT_WARM
      const codeHash = world.getCodeHash(address)
      const isEmpty = codeHash === undefined || world.isEmpty(address)
      if (codeHash !== undefined) flags |= ACCOUNT_EXISTS
      if (isEmpty) flags |= ACCOUNT_EMPTY
      else if (!equalBytes(codeHash, EMPTY_CODE_HASH)) flags |= ACCOUNT_HAS_CODE
      memory.view.setUint32(record + RECORD_FLAGS, flags, true)
      memory.writeWord(record + RECORD_BALANCE, isEmpty ? 0n : world.getBalance(address))
      // EIP-1052: 0 for an account that is empty
      memory.writeBytesAsWord(record + RECORD_CODE_HASH, isEmpty ? EMPTY_BYTES : codeHash)
    },

    isWarmAddress(pointer: number): number {
      const address = run.memory.read(pointer, first)
      return run.world.isWarmAddress(address) || isStandardPrecompile(address, run.environment.rules.fork) ? 1 : 0
    },

    /** EIP-161: a transfer of nothing touches the recipient. */
    transfer(from: number, to: number, value: number): void {
      const { memory, world } = run
      const recipient = memory.read(to, second)
      if (memory.isZeroWord(value)) {
        world.touch(recipient)
        return
      }
      moveValue(world, memory.read(from, first), recipient, memory.readWord(value))
    },

    touch(pointer: number): void {
      run.world.touch(run.memory.read(pointer, first))
    },
  }
}

/** Moves coins that the sender has. A balance wraps at 2^256, as geth's does: no chain has so many coins. */
export function moveValue(world: RunState['world'], from: Address, to: Address, value: bigint): void {
  recordTransfer(world, from, to, value)
  world.subBalance(from, value)
  world.setBalance(to, BigInt.asUintN(WORD_BITS, world.getBalance(to) + value))
}

/** A stateful precompile hides a standard one; those are warm in every transaction (EIP-2929). */
function precompileFlags({ environment: { precompiles, rules } }: RunState, address: Address): number {
  const isStandard = isStandardPrecompile(address, rules.fork)
  const warmth = isStandard ? ACCOUNT_WARM : 0
  if (precompiles.size > 0 && precompiles.has(bytesKey(address))) return ACCOUNT_STATEFUL_PRECOMPILE | warmth
  return isStandard ? ACCOUNT_STANDARD_PRECOMPILE | warmth : 0
}
