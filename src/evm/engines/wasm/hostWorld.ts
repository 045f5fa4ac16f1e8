import {
  ACCOUNT_EMPTY,
  ACCOUNT_EXISTS,
  ACCOUNT_HAS_CODE,
  ACCOUNT_IDLE_PRECOMPILE,
  ACCOUNT_STANDARD_PRECOMPILE,
  ACCOUNT_STATEFUL_PRECOMPILE,
  ACCOUNT_WARM,
  CODE_BYTES,
  CREATE_COLLISION,
  CREATE_FINE,
  CREATE_NONCE_OVERFLOW,
  RECORD_ADDRESS,
  RECORD_BALANCE,
  RECORD_CODE_HASH,
  RECORD_FLAGS,
  RECORD_LEAST_GAS,
  STORE_ENTRY,
} from '../../../../assembly/evm/constants.ts'
import type { Log } from '../../../chain/block/receipt.ts'
import type { Address } from '../../../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../../../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../../primitives/hash.ts'
import { ADDRESS_WORDS, createSlotWords, NAME_WORDS } from '../../../state/slotWords.ts'
import type { WorldState } from '../../../state/world.ts'
import { recordBurn, recordTransfer } from '../../coinMovements.ts'
import { create2Address, createAddress } from '../../contractAddress.ts'
import { isStandardPrecompile } from '../../precompileAddresses.ts'
import { commitCheckpoint, openCheckpoint, type RunState, revertCheckpoint } from './runState.ts'

const ADDRESS_BYTES = 20
const WORD_BYTES = 32
const WORD_BITS = 256
const MAX_TOPICS = 4
const HIGH_HALF = 2 ** 32
/** Offsets in an entry of `storeSlots`. */
const KEY = 32
const VALUE = 64
/** EIP-2681: a nonce never gets beyond this. */
const MAX_NONCE = (1n << 64n) - 1n

/**
 * Returns the engine's imports that read and write the world: accounts, storage, bytecode,
 * creations, checkpoints, logs and block hashes. assembly/evm/host.ts declares them. The world
 * copies the bytes that it stores, so the addresses and keys below are buffers that each call fills
 * anew.
 */
export function worldImports(run: RunState) {
  return {
    ...accountImports(run),
    ...storageImports(run),
    ...codeImports(run),
    ...creationImports(run),
    ...journalImports(run),
  }
}

function accountImports(run: RunState) {
  const first: Address = new Uint8Array(ADDRESS_BYTES)
  const second: Address = new Uint8Array(ADDRESS_BYTES)

  return {
    loadAccount(record: number): void {
      const { memory, world } = run
      const address = memory.read(record + RECORD_ADDRESS, first)
      let flags = precompileFlags(run, address)
      if ((flags & ACCOUNT_STATEFUL_PRECOMPILE) !== 0) flags |= describePrecompile(run, record, address)
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

    loadSpendable(pointer: number, out: number): void {
      const { memory, world } = run
      memory.writeWord(out, world.getSpendable(memory.read(pointer, first)))
    },

    /** Moves coins. A transfer of 0 also touches the recipient (EIP-161). */
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

/**
 * Returns the precompile flags of an address. A stateful precompile hides a standard one, which is
 * warm in every transaction (EIP-2929).
 */
function precompileFlags({ environment }: RunState, address: Address): number {
  const { precompiles, hiddenPrecompiles, rules } = environment
  const isStandard = isStandardPrecompile(address, rules.fork)
  const warmth = isStandard ? ACCOUNT_WARM : 0
  if (precompiles.size > 0 && precompiles.has(bytesKey(address))) return ACCOUNT_STATEFUL_PRECOMPILE | warmth
  if (!isStandard) return 0
  return hiddenPrecompiles?.has(bytesKey(address)) === true ? warmth : ACCOUNT_STANDARD_PRECOMPILE | warmth
}

/** Writes the least gas of a stateful precompile. @returns the flags that it has */
function describePrecompile({ memory, environment }: RunState, record: number, address: Address): number {
  const { leastGas = 0n, isIdle } = environment.precompiles.get(bytesKey(address))!
  memory.view.setBigInt64(record + RECORD_LEAST_GAS, leastGas, true)
  return isIdle === true ? ACCOUNT_IDLE_PRECOMPILE : 0
}

/** Moves coins that the sender has. A balance wraps at 2^256, as geth's does: no chain has that many coins. */
function moveValue(world: WorldState, from: Address, to: Address, value: bigint): void {
  recordTransfer(world, from, to, value)
  world.subBalance(from, value)
  world.setBalance(to, BigInt.asUintN(WORD_BITS, world.getBalance(to) + value))
}

function storageImports(run: RunState) {
  const address: Address = new Uint8Array(ADDRESS_BYTES)
  const key = new Uint8Array(WORD_BYTES)
  const stored = new Uint8Array(WORD_BYTES)
  const slot = createSlotWords()

  return {
    loadSlot(addressAt: number, keyAt: number, out: number): number {
      const { memory, world } = run
      memory.read(addressAt, address)
      memory.readNumbers(addressAt, slot.name, 0, ADDRESS_WORDS)
      memory.readNumbers(keyAt, slot.name, ADDRESS_WORDS, NAME_WORDS)
      const isWarm = world.readSlot(address, slot)
      memory.writeNumbers(out, slot.value)
      memory.writeNumbers(out + WORD_BYTES, slot.original)
      return isWarm ? 1 : 0
    },

    isWarmSlot(addressAt: number, keyAt: number): number {
      const { memory, world } = run
      return world.isWarmSlot(memory.read(addressAt, address), memory.read(keyAt, key)) ? 1 : 0
    },

    storeSlots(list: number, count: number): void {
      const { memory, world } = run
      for (let entry = list; entry < list + count * STORE_ENTRY; entry += STORE_ENTRY) {
        memory.read(entry, address)
        memory.read(entry + KEY, key)
        world.setStorage(address, key, memory.read(entry + VALUE, stored))
      }
    },
  }
}

/**
 * Returns the imports for bytecode. An instance caches the bytecode that it has run, by hash, until
 * the engine frees it.
 */
function codeImports(run: RunState) {
  const address: Address = new Uint8Array(ADDRESS_BYTES)
  const entries = new Map<string, number>()
  const keys = new Map<number, string>()

  return {
    loadCode(record: number): number {
      const { memory, world } = run
      memory.read(record + RECORD_ADDRESS, address)
      const key = bytesKey(world.getCodeHash(address)!)
      const known = entries.get(key)
      if (known !== undefined) return known
      const code = world.getCode(address)
      const entry = run.engine.newCode(code.length)
      memory.write(memory.view.getUint32(entry + CODE_BYTES, true), code)
      entries.set(key, entry)
      keys.set(entry, key)
      return entry
    },

    forgetCode(entry: number): void {
      const key = keys.get(entry)
      if (key === undefined) return
      keys.delete(entry)
      entries.delete(key)
    },

    setCode(addressAt: number, codeAt: number, length: number): void {
      const { memory, world } = run
      memory.read(addressAt, address)
      world.setCode(address, memory.bytes.subarray(codeAt, codeAt + length))
    },
  }
}

function creationImports(run: RunState) {
  const creator: Address = new Uint8Array(ADDRESS_BYTES)
  const account: Address = new Uint8Array(ADDRESS_BYTES)
  const salt = new Uint8Array(WORD_BYTES)

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

    /** Writes the address of a creation that does not begin, for traces. */
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

/** Returns whether no contract may be created at the address (EIP-684, EIP-7610). */
export function isOccupied(world: WorldState, address: Address): boolean {
  const codeHash = world.getCodeHash(address)
  if (codeHash === undefined) return world.hasStorage(address)
  return world.getNonce(address) > 0n || !equalBytes(codeHash, EMPTY_CODE_HASH) || world.hasStorage(address)
}

/** Creates a new contract before its init code runs (EIP-161: nonce 1), with the value that the creator sends. */
export function beginContract(world: WorldState, address: Address, creator: Address, value: bigint): void {
  world.clearStorage(address)
  world.markCreated(address)
  world.setNonce(address, 1n)
  if (value > 0n) moveValue(world, creator, address, value)
}

/**
 * Destroys a contract. EIP-6780: only a contract that the same transaction created is deleted, and
 * the coins that such a contract sends to itself are burnt. Locked coins are neither sent nor
 * burnt.
 */
function destroyContract(world: WorldState, address: Address, beneficiary: Address): void {
  const given = world.getSpendable(address)
  const isNew = world.isCreated(address)
  if (!equalBytes(address, beneficiary)) {
    if (given > 0n) moveValue(world, address, beneficiary, given)
    else world.touch(beneficiary)
  } else if (isNew) {
    recordBurn(world, address, given)
    world.setBalance(address, world.getBalance(address) - given)
  }
  if (isNew) world.markSelfDestructed(address)
}

function journalImports(run: RunState) {
  /** Most logs follow another one of the same contract and event: they share the arrays that are equal. */
  let address: Address = new Uint8Array(ADDRESS_BYTES)
  const topicsBefore: Uint8Array[] = Array.from({ length: MAX_TOPICS }, () => new Uint8Array(WORD_BYTES))

  return {
    checkpoint(count: number): void {
      for (let i = 0; i < count; i++) openCheckpoint(run)
    },

    commit(): void {
      commitCheckpoint(run)
    },

    revert(): void {
      revertCheckpoint(run)
    },

    emitLog(addressAt: number, topicsAt: number, topicCount: number, dataAt: number, length: number): void {
      const { memory, world, tracing } = run
      const topics: Uint8Array[] = []
      for (let i = 0; i < topicCount; i++) {
        const topic = memory.copyUnlessEqual(topicsAt + i * WORD_BYTES, topicsBefore[i]!)
        topicsBefore[i] = topic
        topics.push(topic)
      }
      address = memory.copyUnlessEqual(addressAt, address)
      const log: Log = { address, topics, data: memory.copy(dataAt, length) }
      world.emitLog(log)
      tracing?.log(log)
    },

    blockHash(low: number, high: number, out: number): void {
      const hash = run.environment.block.blockHash((high >>> 0) * HIGH_HALF + (low >>> 0))
      run.memory.writeBytesAsWord(out, hash ?? EMPTY_BYTES)
    },
  }
}
