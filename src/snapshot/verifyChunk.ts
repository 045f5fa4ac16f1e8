import type { Address } from '../primitives/address.ts'
import { bytesKey, bytesToHex, compareBytes, equalBytes, keyBytes } from '../primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../primitives/hash.ts'
import { encodeRLP } from '../primitives/rlp.ts'
import { NATIVE_ACCOUNT, nativeSlot } from '../state/prepareChanges.ts'
import { RangeProofError, verifyPath, verifyRange } from '../state/rangeProof.ts'
import { decodeAccountLeaf, encodeAccountLeaf } from '../state/trie.ts'
import { buildTrie, type NodeSink, type TrieLeaf } from '../state/trieBuilder.ts'
import { ACCOUNT_TRIE, storageTrie } from '../state/trieNode.ts'
import {
  type AccountEntry,
  type AccountsChunk,
  ChunkError,
  type NativeChunk,
  type NativeEntry,
  type SlotEntry,
  type StateChunk,
  type StorageChunk,
} from './chunk.ts'

/** Returns the sink for the nodes of one trie; see `trieNodeKey` for `owner`. */
export type TrieSinks = (owner: Uint8Array) => NodeSink

const NO_SINKS: TrieSinks = () => () => undefined

/**
 * Accepts a chunk only when it is a true part of the state with this root: it has all entries of
 * its range, and no others. Contract code is accepted as such: whether accounts have it is checked
 * when all chunks are there. The sinks get all nodes of the tries that the chunk determines (see
 * `verifyRange`) before the whole chunk is verified. The nodes are valid only if this function
 * returns.
 * @throws ChunkError
 */
export function verifyChunk(chunk: StateChunk, stateRoot: Hash, sinks: TrieSinks = NO_SINKS): void {
  try {
    verify(chunk, stateRoot, sinks)
  } catch (cause) {
    if (cause instanceof RangeProofError) throw new ChunkError(`a chunk of ${chunk.kind}: ${cause.message}`, { cause })
    throw cause
  }
}

function verify(chunk: StateChunk, stateRoot: Hash, sinks: TrieSinks): void {
  if (chunk.kind === 'accounts') verifyAccounts(chunk, stateRoot, sinks)
  else if (chunk.kind === 'codes') verifyCodes(chunk.codes)
  else verifyStorage(chunk, stateRoot, sinks)
}

function verifyStorage(chunk: StorageChunk | NativeChunk, stateRoot: Hash, sinks: TrieSinks): void {
  const isNative = chunk.kind === 'native'
  const address = isNative ? NATIVE_ACCOUNT : chunk.address
  if (!isNative && equalBytes(address, NATIVE_ACCOUNT)) {
    throw new ChunkError('a chunk of storage: native entries have chunks of another kind')
  }
  const root = storageRootOf(address, stateRoot, chunk.accountProof)
  const leaves = isNative ? chunk.entries.map(nativeLeaf) : chunk.slots.map(slotLeaf)
  verifyRange({ root, first: chunk.first, last: chunk.last, leaves, proof: chunk.proof }, sinks(storageTrie(address)))
}

function verifyAccounts({ first, last, accounts, proof }: AccountsChunk, root: Hash, sinks: TrieSinks): void {
  const leaves = accounts.map((account) => {
    const value = encodeAccountLeaf(account, bytesKey(account.storageRoot))
    return { key: bytesKey(keccak256(account.address)), value }
  })
  verifyRange({ root, first, last, leaves, proof }, sinks(ACCOUNT_TRIE))
  for (const account of accounts) verifySlots(account, sinks)
}

/** Verifies that the slots, which are all of the account's, have the storage root, which is proved. */
function verifySlots({ address, storageRoot, slots }: AccountEntry, sinks: TrieSinks): void {
  const isEmpty = equalBytes(storageRoot, EMPTY_TRIE_ROOT)
  if (slots === undefined) {
    if (isEmpty)
      throw new ChunkError(`the account ${bytesToHex(address)} should have chunks of storage, but its storage is empty`)
    return
  }
  if (slots.length === 0 && isEmpty) return
  if (equalBytes(address, NATIVE_ACCOUNT)) throw new ChunkError('native entries have chunks of their own')
  const leaves = slots.map(slotLeaf)
  leaves.forEach(({ key }, i) => {
    if (i === 0 || key > leaves[i - 1]!.key) return
    throw new ChunkError(`the slots of the account ${bytesToHex(address)} are not in the order of their hashes`)
  })
  if (equalBytes(buildTrie(leaves, sinks(storageTrie(address))), storageRoot)) return
  throw new ChunkError(`the slots of the account ${bytesToHex(address)} do not match its storage root`)
}

function verifyCodes(codes: readonly Uint8Array[]): void {
  let previous: Hash | undefined
  for (const code of codes) {
    const hash = keccak256(code)
    if (previous !== undefined && compareBytes(hash, previous) <= 0) {
      throw new ChunkError('the contract code of a chunk is not in the order of its hashes')
    }
    previous = hash
  }
}

function storageRootOf(address: Address, stateRoot: Hash, accountProof: readonly Uint8Array[]): Hash {
  const leaf = verifyPath(stateRoot, keccak256(address), accountProof)
  if (leaf === undefined)
    throw new ChunkError(`a chunk has storage of the account ${bytesToHex(address)}, which the state does not have`)
  return decodeAccountLeaf(keyBytes(leaf)).storageRoot
}

function slotLeaf({ slot, value }: SlotEntry): TrieLeaf {
  return { key: bytesKey(keccak256(slot)), value: bytesKey(encodeRLP(value)) }
}

function nativeLeaf({ key, value }: NativeEntry): TrieLeaf {
  return slotLeaf({ slot: nativeSlot(key), value })
}
