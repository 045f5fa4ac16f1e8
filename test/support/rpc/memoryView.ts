import { bytesKey, compareBytes, equalBytes } from '../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT } from '../../../src/primitives/hash.ts'
import { StateUnavailable } from '../../../src/state/head.ts'
import type { NodeView } from '../../../src/state/view.ts'
import type { MemoryStateReader } from '../state/memoryReader.ts'
import { type MemoryBlock, memoryChainReader } from './memoryChain.ts'
import { memoryProof, stateRootOf } from './memoryState.ts'

/** What a pruned node would no longer have. */
export interface Pruning {
  readonly oldestState?: number
  readonly oldestBlock?: number
  readonly base?: number
}

/** A view on blocks and the states after them, which must not change any more. */
export function memoryView(
  blocks: readonly MemoryBlock[],
  states: readonly MemoryStateReader[],
  { oldestState = 0, oldestBlock = 0, base = 0 }: Pruning = {},
): NodeView {
  const stateAt = (height: number): MemoryStateReader => {
    if (height < oldestState) throw new StateUnavailable(height, oldestState)
    return states[height]!
  }
  return {
    chain: memoryChainReader(blocks, oldestBlock, base),
    oldestState,
    stateAt,
    accounts: async function* ({ start, reverse = false } = {}) {
      const addresses = [...states.at(-1)!.accounts()].map(({ address }) => address).sort(compareBytes)
      for (const address of reverse ? addresses.reverse() : addresses) {
        const order = start === undefined ? 0 : compareBytes(address, start)
        if (reverse ? order <= 0 : order >= 0) yield address
      }
    },
    stateRoots: (height) => ({ after: (changes) => stateRootOf(stateAt(height).with(changes)) }),
    rangeAt: (height) => ({
      accounts: async function* (start) {
        for (const { address, account } of stateAt(height).accounts()) {
          if (compareBytes(address, start) >= 0) yield [address, account]
        }
      },
      slots: async function* (owner, start) {
        for (const { address, slots } of stateAt(height).accounts()) {
          if (equalBytes(address, owner)) yield* slots.filter(([slot]) => compareBytes(slot, start) >= 0)
        }
      },
      storageRoot: async () => EMPTY_TRIE_ROOT,
    }),
    addTouched: (height, { accounts }) => {
      const all = [...stateAt(height - 1).accounts(), ...stateAt(height).accounts()]
      for (const { address, slots } of all) {
        const known = accounts.get(bytesKey(address)) ?? new Set()
        accounts.set(bytesKey(address), new Set([...known, ...slots.map(([slot]) => bytesKey(slot))]))
      }
      return all.length
    },
    proofAt: async (height, address, slots) => memoryProof(stateAt(height), address, slots),
  }
}
