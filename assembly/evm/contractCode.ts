// Code entries: the bytecode of an account, with its jump destinations and blocks once they are
// known. The host finds entries by the bytecode's hash; here they form a list.
import { accountsChanged } from './accountEpoch'
import { OP_JUMPDEST, OP_PUSH1, OP_PUSH32 } from './constants'
import { forgetCode, loadCode } from './host'
import {
  CODE_BLOCKS, CODE_BYTES, CODE_HEADER, CODE_IS_INIT, CODE_JUMPS, CODE_LENGTH, CODE_NEXT, CODE_PREVIOUS, CODE_USERS,
} from './layout'

/** Zeros before the code, so that a push may read the 32 bytes that end with its operand. */
const PADDING_BEFORE: usize = 32
/** Zeros after the code: for the longest push that is cut off, and the STOP after it. */
const PADDING_AFTER: usize = 64
/** Bytes of entries above which all are freed between two runs. */
const LIMIT: usize = 48 << 20
/**
 * Bytes of entries above which those that no frame uses are freed within a run. As much as all gas
 * of a transaction (2^24, EIP-7825) can load at the price of cold accounts, with the longest
 * bytecode and its jump tables. With less, a contract could make the engine free and load the same
 * bytecode again and again at the price of warm accounts.
 */
const LIMIT_IN_RUN: usize = 320 << 20
/**
 * Most bytes of block tables: above this, further bytecode runs in the plain loop until some tables
 * are freed. Calls of warm accounts make tables, nine times as long as the bytecode, at a price
 * that would buy a gigabyte of them in a transaction.
 */
const TABLES_LIMIT: usize = 64 << 20

let newest: usize = 0
let total: usize = 0
let tables: usize = 0

/** The entry of no code. */
export const emptyCode: usize = createEntry(0)

function createEntry(length: usize): usize {
  const entry = heap.alloc(CODE_HEADER + PADDING_BEFORE + length + PADDING_AFTER)
  memory.fill(entry, 0, CODE_HEADER + PADDING_BEFORE)
  const bytes = entry + CODE_HEADER + PADDING_BEFORE
  memory.fill(bytes + length, 0, PADDING_AFTER)
  store<usize>(entry, bytes, CODE_BYTES)
  store<u32>(entry, <u32>length, CODE_LENGTH)
  return entry
}

/** Returns a listed entry, whose bytes the host fills in. */
export function newCode(length: u32): usize {
  const entry = createEntry(length)
  total += sizeOf(entry)
  store<usize>(entry, newest, CODE_NEXT)
  if (newest !== 0) store<usize>(newest, entry, CODE_PREVIOUS)
  newest = entry
  return entry
}

/** Returns an entry for init code, which only its frame uses. */
export function newInitCode(bytes: usize, length: u32): usize {
  const entry = createEntry(length)
  store<u32>(entry, 1, CODE_IS_INIT)
  memory.copy(load<usize>(entry, CODE_BYTES), bytes, length)
  return entry
}

/** Returns the entry of an account's code. Frees unused entries first when they take too much. */
export function acquireCode(record: usize): usize {
  if (total > LIMIT_IN_RUN) freeUnused()
  return loadCode(record)
}

/** Frees unused entries between two runs. */
export function limitCodes(): void {
  if (total > LIMIT || tables > TABLES_LIMIT / 2) freeUnused()
}

export function useCode(entry: usize): void {
  store<u32>(entry, load<u32>(entry, CODE_USERS) + 1, CODE_USERS)
}

export function releaseCode(entry: usize): void {
  store<u32>(entry, load<u32>(entry, CODE_USERS) - 1, CODE_USERS)
  if (load<u32>(entry, CODE_IS_INIT) !== 0) freeEntry(entry)
}

/** Frees every entry that no frame uses. */
export function freeUnused(): void {
  let entry = newest
  while (entry !== 0) {
    const next = load<usize>(entry, CODE_NEXT)
    if (load<u32>(entry, CODE_USERS) === 0) {
      const previous = load<usize>(entry, CODE_PREVIOUS)
      if (previous === 0) newest = next
      else store<usize>(previous, next, CODE_NEXT)
      if (next !== 0) store<usize>(next, previous, CODE_PREVIOUS)
      total -= sizeOf(entry)
      forgetCode(entry)
      freeEntry(entry)
    }
    entry = next
  }
  accountsChanged()
}

function freeEntry(entry: usize): void {
  if (load<usize>(entry, CODE_JUMPS) !== 0) heap.free(load<usize>(entry, CODE_JUMPS))
  if (load<usize>(entry, CODE_BLOCKS) !== 0) {
    heap.free(load<usize>(entry, CODE_BLOCKS))
    tables -= blockTableSize(load<u32>(entry, CODE_LENGTH))
  }
  heap.free(entry)
}

function sizeOf(entry: usize): usize {
  const length = <usize>load<u32>(entry, CODE_LENGTH)
  let size = CODE_HEADER + PADDING_BEFORE + PADDING_AFTER + length
  if (load<usize>(entry, CODE_JUMPS) !== 0) size += length + 1
  return size
}

/**
 * Returns the bytes of what CODE_BLOCKS points to: the table of blocks (blocks.ts), and behind it
 * that of fused opcodes (fusion.ts).
 */
function blockTableSize(length: usize): usize {
  return fusedOffset(length) + length + PADDING_AFTER
}

/** Returns whether a code has a table of its blocks, or may get one. */
export function hasRoomForBlocks(entry: usize): bool {
  return load<usize>(entry, CODE_BLOCKS) !== 0 || tables + blockTableSize(load<u32>(entry, CODE_LENGTH)) <= TABLES_LIMIT
}

/** Makes an empty block table for an entry. */
export function newBlockTable(entry: usize): usize {
  const size = blockTableSize(load<u32>(entry, CODE_LENGTH))
  const table = heap.alloc(size)
  memory.fill(table, 0, size)
  store<usize>(entry, table, CODE_BLOCKS)
  tables += size
  return table
}

/** Returns where the table of fused opcodes begins. */
// @ts-ignore: decorator
@inline
export function fusedOffset(length: usize): usize {
  return (length + 1) << 3
}

/** Counts what was added to an entry. */
function countCode(entry: usize, bytes: usize): void {
  if (load<u32>(entry, CODE_IS_INIT) === 0) total += bytes
}

/** Returns the table of jump destinations of a code: a byte for each of its bytes. */
export function jumpsOf(entry: usize): usize {
  const known = load<usize>(entry, CODE_JUMPS)
  if (known !== 0) return known
  const length = <usize>load<u32>(entry, CODE_LENGTH)
  const jumps = heap.alloc(length + 1)
  memory.fill(jumps, 0, length + 1)
  const code = load<usize>(entry, CODE_BYTES)
  let at: usize = 0
  while (at < length) {
    const opcode = <u32>load<u8>(code + at)
    if (opcode === OP_JUMPDEST) store<u8>(jumps + at, 1)
    else if (opcode - OP_PUSH1 <= <u32>(OP_PUSH32 - OP_PUSH1)) at += opcode - OP_PUSH1 + 1
    at++
  }
  store<usize>(entry, jumps, CODE_JUMPS)
  countCode(entry, length + 1)
  return jumps
}

/** EIP-7702: code of this length with this prefix names another account, whose code runs in its place. */
const DESIGNATOR_LENGTH: u32 = 23
/** 0xef0100, as the three lowest bytes of a number. */
const PREFIX: u32 = 0x0001ef
const PREFIX_MASK: u32 = 0xffffff

/** Returns a pointer to the address to which a code delegates (EIP-7702), or 0. */
export function delegationOf(code: usize): usize {
  if (load<u32>(code, CODE_LENGTH) !== DESIGNATOR_LENGTH) return 0
  const bytes = load<usize>(code, CODE_BYTES)
  return (load<u32>(bytes) & PREFIX_MASK) === PREFIX ? bytes + 3 : 0
}
