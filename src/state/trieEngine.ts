import {
  FAILURE_MISSING,
  FAILURE_NODE,
  LISTED_KEY_BYTES,
  OPERATION_BYTES,
  PART_BYTES,
  UPDATE_BYTES,
} from '../../assembly/trie/trieLayout.ts'
import { loadBuiltModule } from '../primitives/builtModule.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { damagedContents } from '../storage/damage.ts'
import { NODE_KEY_BYTES, type TrieSource } from './trieNode.ts'

/** The exports of assembly/trie. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  useTrie(id: number, seed: bigint): void
  reserveInput(length: number): number
  reserveNode(length: number): number
  sortUpdates(updates: number, count: number, preimageBytes: number): void
  beginLog(heightHigh: number, heightLow: number): void
  update(ownerLength: number, count: number, isWiped: boolean): void
  rootAddress(): number
  endLog(): void
  logAddress(): number
  logBytes(): number
  operationsAddress(): number
  operationsCount(): number
  namesAddress(): number
  namesBytes(): number
  hasLeaf(ownerLength: number, isAny: boolean): number
  findMissing(owner: number, updates: number, parts: number, count: number, keys: number, missing: number): number
  keepNode(keyLength: number, rlpLength: number): void
  adopt(count: number): void
  dropNodes(limit: number): void
}

/** Updates of one trie, hashed and sorted, as assembly/trie/trieLayout.ts describes them, and behind them their values. */
export interface UpdateList {
  readonly bytes: Uint8Array
  readonly count: number
}

/** Operations for the database, as `WriteBatch.addPacked` takes them. */
export interface PackedOperations {
  readonly bytes: Uint8Array
  readonly operations: Int32Array
}

/** Context of a running update. */
interface Run {
  readonly source: TrieSource
  readonly log: PackedOperations[]
  /** makes the error for an update that was given as number `index`: FAILURE_PRESENCE or FAILURE_STORAGE of assembly/trie/trieLayout.ts */
  readonly failure: (failure: number, index: number) => Error
}

/** Nodes that are not in memory, each with the part of the updates that needs it. */
export interface MissingNodes {
  /** keys of LISTED_KEY_BYTES */
  readonly keys: Uint8Array
  /** PART_BYTES for each */
  readonly parts: Uint8Array
  readonly count: number
}

/** Where the owner ends in the module's input. */
const OWNER_ROOM = 32
/**
 * A module whose memory has grown beyond this plus the limit is replaced: the memory never shrinks.
 */
const LARGEST_MEMORY = 128 << 20
/** Bytes of nodes beyond the limit that are read before the next block is adopted: by blocks that may not be decided. */
const SPARE_BYTES = 96 << 20
/** The module's numbers have 32 bits. */
const MOST_BYTES = 0xffff_ffff

let wasm: Exports | undefined
let run: Run | undefined
let newestId = 0

/**
 * The nodes and updates of one head's tries in the WebAssembly module of this thread, which all
 * engines share. Nodes are cached by trie, and the least recently used ones of all tries make room
 * for others.
 */
export class TrieEngine {
  readonly #id = ++newestId
  readonly #seed: bigint
  readonly #limit: number
  readonly #mostBytes: number

  /**
   * Nodes of all tries take at most about `limit` bytes once a block is adopted, and SPARE_BYTES
   * more until then. `seed` hides the nodes' places in the table from an attacker who chooses
   * paths.
   */
  constructor(limit: number, seed: bigint) {
    this.#limit = Math.min(limit, MOST_BYTES)
    this.#mostBytes = Math.min(limit + SPARE_BYTES, MOST_BYTES)
    this.#seed = BigInt.asUintN(63, seed)
  }

  /** Hashes the preimages in `list`, of `preimageBytes` each, and sorts the updates by their keys. */
  sort({ bytes, count }: UpdateList, preimageBytes: number): void {
    const module = this.#module()
    const length = count * UPDATE_BYTES
    const at = module.reserveInput(length)
    memoryOf(module).set(bytes.subarray(0, length), at)
    module.sortUpdates(at, count, preimageBytes)
    bytes.set(memoryOf(module).subarray(at, at + length))
  }

  /**
   * Runs `work`, which may call {@link update}, and returns the names of the changed nodes as a
   * `KeyList` has them.
   * @param height for the history; undefined when no history is written
   */
  log(height: number | undefined, source: TrieSource, log: PackedOperations[], work: () => void): Uint8Array {
    const module = this.#module()
    module.beginLog(height === undefined ? -1 : Math.floor(height / 0x1_0000_0000), (height ?? 0) | 0)
    work()
    withRun({ source, log, failure: noFailure }, () => module.endLog())
    const at = module.namesAddress()
    return memoryOf(module).slice(at, at + module.namesBytes())
  }

  /**
   * Applies updates to the trie of `owner`, and returns its new root.
   * @param isWiped the trie is taken for one without keys
   */
  update(owner: Uint8Array, list: UpdateList, isWiped: boolean, context: Run): Hash {
    const module = this.#module()
    const { bytes, count } = list
    const at = module.reserveInput(OWNER_ROOM + bytes.length)
    const memory = memoryOf(module)
    memory.set(owner, at)
    memory.set(bytes, at + OWNER_ROOM)
    withRun(context, () => module.update(owner.length, count, isWiped))
    const root = module.rootAddress()
    return memoryOf(module).slice(root, root + 32)
  }

  /** Whether the trie of `owner` has a key of 32 bytes; undefined: any key. */
  has(owner: Uint8Array, key: Uint8Array | undefined, source: TrieSource): boolean {
    const module = this.#module()
    const at = module.reserveInput(OWNER_ROOM + 32)
    memoryOf(module).set(owner, at)
    if (key !== undefined) memoryOf(module).set(key, at + OWNER_ROOM)
    return withRun({ source, log: [], failure: noFailure }, () => module.hasLeaf(owner.length, key === undefined)) !== 0
  }

  /** Finds nodes on the ways to updates that are not in memory, below the nodes of `parts`. */
  findMissing(owner: Uint8Array, list: UpdateList, parts: Uint8Array): MissingNodes {
    const module = this.#module()
    const { bytes, count } = list
    const updates = OWNER_ROOM
    const given = updates + count * UPDATE_BYTES
    const keys = given + parts.length
    const missing = keys + count * LISTED_KEY_BYTES
    const at = module.reserveInput(missing + count * PART_BYTES)
    const memory = memoryOf(module)
    memory.set(owner, at)
    memory.set(bytes.subarray(0, count * UPDATE_BYTES), at + updates)
    memory.set(parts, at + given)
    const found = module.findMissing(
      owner.length,
      at + updates,
      at + given,
      parts.length / PART_BYTES,
      at + keys,
      at + missing,
    )
    return {
      keys: memory.slice(at + keys, at + keys + found * LISTED_KEY_BYTES),
      parts: memory.slice(at + missing, at + missing + found * PART_BYTES),
      count: found,
    }
  }

  /** Caches a node that was read. */
  keep(key: Uint8Array, rlp: Uint8Array): void {
    const module = this.#module()
    const at = module.reserveInput(key.length + rlp.length)
    const memory = memoryOf(module)
    for (let i = 0; i < key.length; i++) memory[at + i] = key[i]!
    memory.set(rlp, at + key.length)
    module.keepNode(key.length, rlp.length)
  }

  /** Caches the nodes that a log stores, and drops others to make room. */
  adopt(log: readonly PackedOperations[]): void {
    const module = this.#module()
    for (const { bytes, operations } of log) {
      const numbers = new Uint8Array(operations.buffer, operations.byteOffset, operations.byteLength)
      const at = module.reserveInput(numbers.length + bytes.length)
      const memory = memoryOf(module)
      memory.set(numbers, at)
      memory.set(bytes, at + numbers.length)
      module.adopt(numbers.length / OPERATION_BYTES)
      module.dropNodes(this.#limit)
    }
    module.dropNodes(this.#limit)
    if (module.memory.buffer.byteLength > LARGEST_MEMORY + this.#limit) wasm = undefined
  }

  #module(): Exports {
    wasm ??= loadBuiltModule<Exports>('trie', { readNode, takeLog, fail })
    wasm.useTrie(this.#id, this.#seed)
    wasm.dropNodes(this.#mostBytes)
    return wasm
  }
}

let memoryBytes: Uint8Array = EMPTY_BYTES

/**
 * Returns all of the module's memory. Callers must not retain it: it becomes empty when the memory
 * grows.
 */
function memoryOf(module: Exports): Uint8Array {
  const { buffer } = module.memory
  if (memoryBytes.buffer !== buffer) memoryBytes = new Uint8Array(buffer)
  return memoryBytes
}

function withRun<T>(context: Run, work: () => T): T {
  run = context
  try {
    return work()
  } finally {
    run = undefined
  }
}

/** Where no update runs. */
function noFailure(failure: number): Error {
  return new Error(`failure ${failure} without an update`)
}

const keyMemory = new Uint8Array(NODE_KEY_BYTES)

function readNode(at: number, length: number): number {
  const module = wasm!
  const memory = memoryOf(module)
  for (let i = 0; i < length; i++) keyMemory[i] = memory[at + i]!
  const rlp = run!.source.get(keyMemory.subarray(0, length))
  if (rlp === undefined) return 0
  const to = module.reserveNode(rlp.length)
  memoryOf(module).set(rlp, to)
  return rlp.length
}

function takeLog(): void {
  const module = wasm!
  const memory = memoryOf(module)
  const log = module.logAddress()
  const numbers = module.operationsAddress()
  run!.log.push({
    bytes: memory.slice(log, log + module.logBytes()),
    operations: new Int32Array(memory.slice(numbers, numbers + module.operationsCount() * OPERATION_BYTES).buffer),
  })
}

function fail(failure: number, index: number): void {
  if (failure === FAILURE_MISSING) throw damagedContents('a trie node is missing')
  if (failure === FAILURE_NODE) throw damagedContents('not a trie node')
  throw run!.failure(failure, index)
}
