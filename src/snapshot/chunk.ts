import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type Address, toAddress } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import {
  atEnd,
  DecodingError,
  encodeRLP,
  enterList,
  isListNext,
  leaveList,
  openRLP,
  type RLPCursor,
  type RLPInput,
  type RLPTarget,
  readBytes,
  readFixedBytes,
  readInteger,
} from '../primitives/rlp.ts'
import type { Account } from '../state/reader.ts'

/**
 * A chunk of a snapshot: a part that is proved by itself (src/snapshot/verifyChunk.ts). Ranges are
 * over the tries' keys and include both bounds. Entries are in ascending order of these keys, and
 * contain the values whose hashes are the keys.
 */
export type Chunk = StateChunk | BlocksChunk

/** A chunk of the state. */
export type StateChunk = AccountsChunk | StorageChunk | NativeChunk | CodesChunk

/** All accounts with first <= keccak256(address) <= last. */
export interface AccountsChunk {
  readonly kind: 'accounts'
  readonly first: Hash
  readonly last: Hash
  readonly accounts: readonly AccountEntry[]
  /** of the range, against the state root (`proveRange`) */
  readonly proof: readonly Uint8Array[]
}

export interface AccountEntry extends Account {
  readonly address: Address
  readonly storageRoot: Hash
  /** all slots of the account that are set; undefined when they are in chunks of their own */
  readonly slots: readonly SlotEntry[] | undefined
}

export interface SlotEntry {
  /** 32 bytes */
  readonly slot: Uint8Array
  /** minimal big-endian bytes, not empty */
  readonly value: Uint8Array
}

/** All slots of an account with first <= keccak256(slot) <= last. */
export interface StorageChunk {
  readonly kind: 'storage'
  readonly address: Address
  /** the nodes from the state root to the account's leaf, which has the storage root */
  readonly accountProof: readonly Uint8Array[]
  readonly first: Hash
  readonly last: Hash
  readonly slots: readonly SlotEntry[]
  /** of the range, against the storage root */
  readonly proof: readonly Uint8Array[]
}

/** All native entries with first <= keccak256(keccak256(key)) <= last: the storage of the reserved account, with raw keys. */
export interface NativeChunk {
  readonly kind: 'native'
  readonly accountProof: readonly Uint8Array[]
  readonly first: Hash
  readonly last: Hash
  readonly entries: readonly NativeEntry[]
  readonly proof: readonly Uint8Array[]
}

export interface NativeEntry {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** Contract code, ascending by its keccak256, none twice. */
export interface CodesChunk {
  readonly kind: 'codes'
  readonly codes: readonly Uint8Array[]
}

/** Consecutive blocks from height `from` on. */
export interface BlocksChunk {
  readonly kind: 'blocks'
  readonly from: number
  readonly blocks: readonly BlockEntry[]
}

export interface BlockEntry {
  /** consensus block, protobuf */
  readonly block: Uint8Array
  /** Ethereum header, RLP */
  readonly header: Uint8Array
}

/** The bytes are not a chunk, or a chunk is not part of the state that it should be part of. */
export class ChunkError extends Error {
  override readonly name = 'ChunkError'
}

/** Largest size of a chunk as it is stored and sent, and of its unpacked content. Makers aim at a quarter of these. */
export const MAX_PACKED_BYTES = 16 << 20
export const MAX_UNPACKED_BYTES = 32 << 20
/**
 * Most accounts and slots, native entries, pieces of contract code or blocks in a chunk. A decoded entry
 * takes some hundred bytes of memory in addition to its own, so without this bound a chunk of tiny
 * ones would take gigabytes.
 */
export const MAX_CHUNK_ENTRIES = 1 << 19
/** Most nodes of a proof: two paths of at most 65 nodes. */
const MAX_PROOF_NODES = 130

const COMPRESSION_LEVEL = 3
/** zstd's window at most, as a power of two: a frame may ask for no more memory than the largest content. */
const MAX_WINDOW_LOG = 25

/** In place of the slots of an account that are in chunks of their own. */
const ELSEWHERE = new Uint8Array(0)

/**
 * Encodes a chunk in RLP: a list of the number of its kind (the position in `KINDS`), then the
 * fields in the order of their types above. An account is the list [address, nonce, balance, code
 * hash, storage root, slots or no bytes]; the other entries are lists of two.
 */
export function encodeChunk(chunk: Chunk): Uint8Array {
  return encodeRLP([BigInt(KINDS.indexOf(chunk.kind)), ...fieldsOf(chunk)])
}

/**
 * Reads what {@link encodeChunk} wrote; byte strings are views on `content`. There is one encoding of each chunk, and sizes of all fields are
 * checked, but no order and no hash: see `verifyChunk`.
 * @throws ChunkError
 */
export function decodeChunk(content: Uint8Array): Chunk {
  if (content.length > MAX_UNPACKED_BYTES) throw new ChunkError(`a chunk has more than ${MAX_UNPACKED_BYTES} bytes`)
  try {
    return new ChunkReader(content).read()
  } catch (cause) {
    if (cause instanceof DecodingError) throw new ChunkError(`invalid chunk: ${cause.message}`, { cause })
    throw cause
  }
}

/** Compresses an encoded chunk. The same version of Node.js produces the same bytes on all machines. */
export function packChunk(content: Uint8Array): Uint8Array {
  return zstdCompressSync(content, { params: { [constants.ZSTD_c_compressionLevel]: COMPRESSION_LEVEL } })
}

/** @throws ChunkError when it is not a zstd frame, or too large before or after */
export function unpackChunk(packed: Uint8Array): Uint8Array {
  if (packed.length > MAX_PACKED_BYTES) throw new ChunkError(`a packed chunk has more than ${MAX_PACKED_BYTES} bytes`)
  try {
    return zstdDecompressSync(packed, {
      maxOutputLength: MAX_UNPACKED_BYTES,
      params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
    })
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') throw new ChunkError(`a chunk has more than ${MAX_UNPACKED_BYTES} bytes`)
    if (code?.startsWith('ZSTD_') || code === 'Z_BUF_ERROR')
      throw new ChunkError(`invalid chunk: ${message}`, { cause })
    throw cause
  }
}

const KINDS: readonly Chunk['kind'][] = ['accounts', 'storage', 'native', 'codes', 'blocks']

function fieldsOf(chunk: Chunk): RLPInput[] {
  switch (chunk.kind) {
    case 'accounts':
      return [chunk.first, chunk.last, chunk.accounts.map(accountItem), chunk.proof]
    case 'storage':
      return [chunk.address, chunk.accountProof, chunk.first, chunk.last, chunk.slots.map(slotItem), chunk.proof]
    case 'native':
      return [
        chunk.accountProof,
        chunk.first,
        chunk.last,
        chunk.entries.map(({ key, value }) => [key, value]),
        chunk.proof,
      ]
    case 'codes':
      return [chunk.codes]
    case 'blocks':
      return [BigInt(chunk.from), chunk.blocks.map(({ block, header }) => [block, header])]
  }
}

function accountItem({ address, nonce, balance, codeHash, storageRoot, slots }: AccountEntry): RLPInput {
  return [address, nonce, balance, codeHash, storageRoot, slots === undefined ? ELSEWHERE : slots.map(slotItem)]
}

function slotItem({ slot, value }: SlotEntry): RLPInput {
  return [slot, value]
}

/** Names that the codec's errors use for the parts of a chunk. */
const CHUNK: RLPTarget = { type: 'chunk', path: '' }
const part = (type: string): RLPTarget => ({ type, path: '', of: CHUNK })
const KIND = part('kind')
const BOUND = part('bound')
const PROOF = part('proof')
const NODE = part('proof node')
const ENTRIES = part('entries')
const ACCOUNT = part('account')
const SLOT = part('slot')
const NATIVE = part('native entry')
const CODE = part('code')
const BLOCK = part('block')
const HEIGHT = part('height')

class ChunkReader {
  readonly #cursor: RLPCursor
  #entries = 0

  constructor(content: Uint8Array) {
    this.#cursor = openRLP(content)
  }

  read(): Chunk {
    const cursor = this.#cursor
    const end = enterList(cursor, CHUNK)
    const chunk = this.#fields(KINDS[Number(readInteger(cursor, 1, KIND))])
    leaveList(cursor, end, CHUNK)
    if (!atEnd(cursor)) throw new ChunkError('invalid chunk: bytes follow it')
    return chunk
  }

  #fields(kind: Chunk['kind'] | undefined): Chunk {
    switch (kind) {
      case 'accounts': {
        const { first, last } = this.#range()
        return { kind, first, last, accounts: this.#list(ENTRIES, () => this.#account()), proof: this.#proof() }
      }
      case 'storage': {
        const address = toAddress(readFixedBytes(this.#cursor, 20, ACCOUNT))
        const accountProof = this.#proof()
        const { first, last } = this.#range()
        return { kind, address, accountProof, first, last, slots: this.#slots(), proof: this.#proof() }
      }
      case 'native': {
        const accountProof = this.#proof()
        const { first, last } = this.#range()
        return {
          kind,
          accountProof,
          first,
          last,
          entries: this.#list(ENTRIES, () => this.#native()),
          proof: this.#proof(),
        }
      }
      case 'codes':
        return { kind, codes: this.#list(ENTRIES, () => this.#filled(CODE)) }
      case 'blocks': {
        const from = Number(readInteger(this.#cursor, 6, HEIGHT))
        return { kind, from, blocks: this.#list(ENTRIES, () => this.#block()) }
      }
      default:
        throw new ChunkError('invalid chunk: its kind is not known, a later version may have made it')
    }
  }

  #range(): { first: Hash; last: Hash } {
    return { first: readFixedBytes(this.#cursor, 32, BOUND), last: readFixedBytes(this.#cursor, 32, BOUND) }
  }

  #account(): AccountEntry {
    const cursor = this.#cursor
    const end = enterList(cursor, ACCOUNT)
    const account = {
      address: toAddress(readFixedBytes(cursor, 20, ACCOUNT)),
      nonce: readInteger(cursor, 8, ACCOUNT),
      balance: readInteger(cursor, 32, ACCOUNT),
      codeHash: readFixedBytes(cursor, 32, ACCOUNT),
      storageRoot: readFixedBytes(cursor, 32, ACCOUNT),
      slots: isListNext(cursor) ? this.#slots() : this.#noSlots(),
    }
    leaveList(cursor, end, ACCOUNT)
    return account
  }

  #noSlots(): undefined {
    readFixedBytes(this.#cursor, ELSEWHERE.length, SLOT)
  }

  #slots(): SlotEntry[] {
    return this.#list(ENTRIES, () => {
      const cursor = this.#cursor
      const end = enterList(cursor, SLOT)
      const slot = readFixedBytes(cursor, 32, SLOT)
      const value = this.#filled(SLOT)
      if (value.length > 32 || value[0] === 0)
        throw new ChunkError('invalid chunk: a slot has another value than 1 to 2^256-1')
      leaveList(cursor, end, SLOT)
      return { slot, value }
    })
  }

  #native(): NativeEntry {
    const end = enterList(this.#cursor, NATIVE)
    const entry = { key: readBytes(this.#cursor, NATIVE), value: this.#filled(NATIVE) }
    leaveList(this.#cursor, end, NATIVE)
    return entry
  }

  #block(): BlockEntry {
    const end = enterList(this.#cursor, BLOCK)
    const entry = { block: this.#filled(BLOCK), header: this.#filled(BLOCK) }
    leaveList(this.#cursor, end, BLOCK)
    return entry
  }

  #proof(): Uint8Array[] {
    const cursor = this.#cursor
    const end = enterList(cursor, PROOF)
    const nodes: Uint8Array[] = []
    while (!atEnd(cursor)) {
      if (nodes.length === MAX_PROOF_NODES)
        throw new ChunkError(`invalid chunk: a proof has more than ${MAX_PROOF_NODES} nodes`)
      nodes.push(readBytes(cursor, NODE))
    }
    leaveList(cursor, end, PROOF)
    return nodes
  }

  #list<T>(target: RLPTarget, read: () => T): T[] {
    const cursor = this.#cursor
    const end = enterList(cursor, target)
    const items: T[] = []
    while (!atEnd(cursor)) {
      if (this.#entries++ === MAX_CHUNK_ENTRIES)
        throw new ChunkError(`invalid chunk: it has more than ${MAX_CHUNK_ENTRIES} entries`)
      items.push(read())
    }
    leaveList(cursor, end, target)
    return items
  }

  /** Reads bytes that must not be empty. */
  #filled(target: RLPTarget): Uint8Array {
    const bytes = readBytes(this.#cursor, target)
    if (bytes.length === 0) throw new ChunkError(`invalid chunk: a ${target.type} has an empty part`)
    return bytes
  }
}
