import { CREATE_COLLISION, CREATE_FINE, CREATE_NONCE_OVERFLOW } from '../../../../assembly/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { equalBytes } from '../../../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../../primitives/hash.ts'
import type { WorldState } from '../../../state/world.ts'
import { recordBurn } from '../../burntBalance.ts'
import { create2Address, createAddress } from '../../contractAddress.ts'
import { moveValue } from './hostAccounts.ts'
import type { RunState } from './runState.ts'

/** EIP-2681: a nonce never gets beyond this. */
const MAX_NONCE = (1n << 64n) - 1n

/** The engine's imports for contracts that come and go. */
export function creationImports(run: RunState) {
  const creator: Address = new Uint8Array(20)
  const account: Address = new Uint8Array(20)
  const salt = new Uint8Array(32)

  const addressOf = (saltAt: number, codeAt: number, length: number, nonce: bigint): Address => {
    const { memory } = run
    if (saltAt === 0) return createAddress(creator, nonce)
    return create2Address(creator, memory.read(saltAt, salt), memory.bytes.subarray(codeAt, codeAt + length))
  }

  return {
    prepareCreate(creatorAt: number, saltAt: number, codeAt: number, length: number, out: number): number {
      const { memory, world } = run
      const nonce = world.getNonce(memory.read(creatorAt, creator))
      if (nonce >= MAX_NONCE) return CREATE_NONCE_OVERFLOW
      world.setNonce(creator, nonce + 1n)
      const address = addressOf(saltAt, codeAt, length, nonce)
      memory.write(out, address)
      return isOccupied(world, address) ? CREATE_COLLISION : CREATE_FINE
    },

    /** For traces of a creation that does not begin. */
    creationAddress(creatorAt: number, saltAt: number, codeAt: number, length: number, out: number): void {
      const { memory, world } = run
      memory.read(creatorAt, creator)
      memory.write(out, addressOf(saltAt, codeAt, length, world.getNonce(creator)))
    },

    createAccount(addressAt: number, creatorAt: number, value: number): void {
      const { memory, world } = run
      beginContract(world, memory.read(addressAt, account), memory.read(creatorAt, creator), memory.readWord(value))
    },

    selfDestruct(addressAt: number, beneficiaryAt: number): void {
      const { memory, world } = run
      destroyContract(world, memory.read(addressAt, account), memory.read(beneficiaryAt, creator))
    },
  }
}

/** Whether no contract may be created at the address (EIP-684, EIP-7610). */
export function isOccupied(world: WorldState, address: Address): boolean {
  const codeHash = world.getCodeHash(address)
  if (codeHash === undefined) return world.hasStorage(address)
  return world.getNonce(address) > 0n || !equalBytes(codeHash, EMPTY_CODE_HASH) || world.hasStorage(address)
}

/** A new contract before its init code runs (EIP-161: nonce 1), with the value that the creator gives it. */
export function beginContract(world: WorldState, address: Address, creator: Address, value: bigint): void {
  world.clearStorage(address)
  world.markCreated(address)
  world.setNonce(address, 1n)
  if (value > 0n) moveValue(world, creator, address, value)
}

/** EIP-6780: only what the same transaction created is deleted, and what such a contract gives to itself is burnt. */
function destroyContract(world: WorldState, address: Address, beneficiary: Address): void {
  const balance = world.getBalance(address)
  const isNew = world.isCreated(address)
  if (!equalBytes(address, beneficiary)) {
    if (balance > 0n) moveValue(world, address, beneficiary, balance)
    else world.touch(beneficiary)
  } else if (isNew) {
    recordBurn(world, balance)
    world.setBalance(address, 0n)
  }
  if (isNew) world.markSelfDestructed(address)
}
