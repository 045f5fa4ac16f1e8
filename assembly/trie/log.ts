// The changes of an update to the database, in the form of a batch (src/storage/batch.ts): keys and values one after the other, each
// with room for its checksum, and four numbers for each operation. The host takes them whenever the room for them is used up.
import { OPERATION_BYTES } from './trieLayout'
import { takeLog } from './host'
import { key, keyLength } from './nodes'

const FEWEST_BYTES: u32 = 1 << 18
const MOST_OPERATIONS: u32 = 4096
const CHECKSUM_BYTES: u32 = 4
/** Length of a deleted key's value. */
const DELETED: i32 = -1
const TRIE_HISTORY: u8 = 0x13
const HEIGHT_BYTES: u32 = 6
/** A former branch in the history: that it is one, which children it had, its hash. */
const BRANCH: u8 = 1
const BRANCH_BYTES: u32 = 35

let log: usize = heap.alloc(usize(FEWEST_BYTES))
let logRoom: u32 = FEWEST_BYTES
let logLength: u32 = 0
const operations: usize = heap.alloc(usize(MOST_OPERATIONS) * OPERATION_BYTES)
let operationCount: u32 = 0

/** Names of changed nodes, as a `KeyList` of src/state/varint.ts has them. */
let names: usize = heap.alloc(1 << 12)
let namesRoom: u32 = 1 << 12
let namesLength: u32 = 0
const lastName = memory.data(64, 16)
let lastNameLength: u32 = 0

let keepsHistory = false
const height = memory.data(8)

export function logAddress(): usize {
  return log
}

export function logBytes(): u32 {
  return logLength
}

export function operationsAddress(): usize {
  return operations
}

export function operationsCount(): u32 {
  return operationCount
}

export function namesAddress(): usize {
  return names
}

export function namesBytes(): u32 {
  return namesLength
}

/** Empties the log, also after a call that failed. A history is written unless `high` is -1. */
export function beginLog(high: i32, low: u32): void {
  emptyLog()
  namesLength = 0
  lastNameLength = 0
  keepsHistory = high >= 0
  store<u16>(height, bswap<u16>(u16(high)))
  store<u32>(height + 2, bswap<u32>(low))
}

/** Tells the host what is left. */
export function endLog(): void {
  if (operationCount > 0) flush()
}

function emptyLog(): void {
  logLength = 0
  operationCount = 0
}

function flush(): void {
  takeLog()
  emptyLog()
}

/** Address for an entry of at most `length` bytes, with its checksum. */
function reserve(length: u32): usize {
  if (operationCount === MOST_OPERATIONS || (logLength > 0 && logLength + length > logRoom)) flush()
  if (length > logRoom) {
    log = heap.realloc(log, usize(length))
    logRoom = length
  }
  return log + logLength
}

function addOperation(length: u32, valueLength: i32): void {
  const at = operations + usize(operationCount++) * OPERATION_BYTES
  store<i32>(at, 0)
  store<i32>(at, logLength, 4)
  store<i32>(at, length, 8)
  store<i32>(at, valueLength, 12)
  logLength += length + (valueLength < 0 ? 0 : u32(valueLength) + CHECKSUM_BYTES)
}

/** Begins to store a node of at most `room` bytes under the key of the next look-up: address of its RLP. */
export function beginPut(room: u32): usize {
  const at = reserve(keyLength + room + CHECKSUM_BYTES)
  memory.copy(at, key, keyLength)
  return at + keyLength
}

/** Completes what {@link beginPut} began. */
export function endPut(length: u32): void {
  addOperation(keyLength, length)
}

export function logDelete(): void {
  memory.copy(reserve(keyLength), key, keyLength)
  addOperation(keyLength, DELETED)
}

/** Adds what the node of the key was before: the record of a branch, with the hash at `hash` (not 0), or `length` bytes of RLP. */
export function logFormer(mask: u32, hash: usize, rlp: usize, length: u32): void {
  if (!keepsHistory) return
  const valueLength = hash === 0 ? length : BRANCH_BYTES
  let at = reserve(keyLength + HEIGHT_BYTES + valueLength + CHECKSUM_BYTES)
  memory.copy(at, key, keyLength)
  store<u8>(at, TRIE_HISTORY)
  at += keyLength
  store<u32>(at, load<u32>(height))
  store<u16>(at, load<u16>(height, 4), 4)
  at += HEIGHT_BYTES
  if (hash === 0) {
    memory.copy(at, rlp, length)
  } else {
    store<u8>(at, BRANCH)
    store<u8>(at, u8(mask >>> 8), 1)
    store<u8>(at, u8(mask), 2)
    memory.copy(at + 3, hash, 32)
  }
  addOperation(keyLength + HEIGHT_BYTES, valueLength)
  addName()
}

function addName(): void {
  if (namesLength + keyLength + 2 > namesRoom) growNames()
  let shared: u32 = 0
  const most = min(lastNameLength, keyLength)
  while (shared < most && load<u8>(lastName + shared) === load<u8>(key + shared)) shared++
  // Both are below 128: varints of one byte.
  store<u8>(names + namesLength, u8(shared))
  store<u8>(names + namesLength, u8(keyLength - shared), 1)
  memory.copy(names + namesLength + 2, key + shared, keyLength - shared)
  namesLength += 2 + keyLength - shared
  memory.copy(lastName, key, 64)
  lastNameLength = keyLength
}

function growNames(): void {
  names = heap.realloc(names, usize(namesRoom) << 1)
  namesRoom <<= 1
}
