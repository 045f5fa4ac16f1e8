import { createMerkleProof, createMPT, type MerklePatriciaTrie } from '@ethereumjs/mpt'
import type { Address } from '../../../src/primitives/address.ts'
import { equalBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, type Hash, keccak256 } from '../../../src/primitives/hash.ts'
import { encodeRLP } from '../../../src/primitives/rlp.ts'
import type { StateChanges } from '../../../src/state/changes.ts'
import type { AccountProof } from '../../../src/state/proof.ts'
import { MemoryStateReader } from '../state/memoryReader.ts'

/** The state after `changes` were applied in order, from nothing. */
export function stateAfter(changes: readonly StateChanges[]): MemoryStateReader {
  const state = new MemoryStateReader()
  for (const change of changes) state.apply(change)
  return state
}

/** State root by an implementation of the trie that is not ours. */
export async function stateRootOf(state: MemoryStateReader): Promise<Hash> {
  return (await accountTrie(state)).root()
}

/** A proof by an implementation of the trie that is not ours. */
export async function memoryProof(
  state: MemoryStateReader,
  address: Address,
  slots: readonly Uint8Array[],
): Promise<AccountProof> {
  const trie = await accountTrie(state)
  const found = [...state.accounts()].find((entry) => equalBytes(entry.address, address))
  const storage = await storageTrie(found?.slots ?? [])
  return {
    accountProof: await createMerkleProof(trie, keccak256(address)),
    nonce: found?.account.nonce ?? 0n,
    balance: found?.account.balance ?? 0n,
    codeHash: found?.account.codeHash ?? EMPTY_CODE_HASH,
    storageRoot: storage.root(),
    storageProofs: await Promise.all(
      slots.map(async (slot) => ({
        slot,
        value: state.getStorage(address, slot),
        proof: equalBytes(storage.root(), EMPTY_TRIE_ROOT) ? [] : await createMerkleProof(storage, keccak256(slot)),
      })),
    ),
  }
}

async function accountTrie(state: MemoryStateReader): Promise<MerklePatriciaTrie> {
  const trie = await createMPT()
  for (const { address, account, slots } of state.accounts()) {
    const { nonce, balance, codeHash } = account
    const storageRoot = (await storageTrie(slots)).root()
    await trie.put(keccak256(address), encodeRLP([nonce, balance, storageRoot, codeHash]))
  }
  return trie
}

async function storageTrie(slots: readonly (readonly [Uint8Array, Uint8Array])[]): Promise<MerklePatriciaTrie> {
  const trie = await createMPT()
  for (const [slot, value] of slots) await trie.put(keccak256(slot), encodeRLP(value))
  return trie
}
