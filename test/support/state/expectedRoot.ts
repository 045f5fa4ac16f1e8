import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { bigIntToMinimalBytes, EMPTY_BYTES, equalBytes } from '../../../src/primitives/bytes.ts'
import { NATIVE_ACCOUNT, nativeSlot } from '../../../src/state/prepareChanges.ts'
import type { MemoryStateReader } from './memoryReader.ts'

/** The state root as @ethereumjs/mpt computes it; native entries are storage of the reserved account. */
export async function expectedRoot(state: MemoryStateReader): Promise<Uint8Array> {
  const trie = await createMPT({ useKeyHashing: true })
  for (const { address, account, slots } of state.accounts()) {
    const isNative = equalBytes(address, NATIVE_ACCOUNT)
    const native = [...state.nativeRange(EMPTY_BYTES)].map((key) => [nativeSlot(key), state.getNative(key)!] as const)
    const storage = await createMPT({ useKeyHashing: true })
    for (const [slot, value] of isNative ? native : slots) await storage.put(slot, RLP.encode(value))
    const { nonce, balance, codeHash } = account
    const leaf = [bigIntToMinimalBytes(nonce), bigIntToMinimalBytes(balance), storage.root(), codeHash]
    await trie.put(address, RLP.encode(leaf))
  }
  return trie.root()
}
