import { compareBytes } from '../../../src/primitives/bytes.ts'
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
    proofAt: async (height, address, slots) => memoryProof(stateAt(height), address, slots),
  }
}
