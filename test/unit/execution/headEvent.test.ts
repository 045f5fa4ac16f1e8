import { expect, it } from 'vitest'
import { mergePoolUpdates } from '../../../src/execution/headEvent.ts'
import type { PoolHeadUpdate } from '../../../src/mempool/types.ts'

const address = (index: number) => new Uint8Array(20).fill(index)
const hash = (index: number) => new Uint8Array(32).fill(index)

function update(height: number, nonces: Readonly<Record<number, bigint>>, included: readonly number[]): PoolHeadUpdate {
  return {
    height,
    baseFeePerGas: BigInt(height),
    minimumBaseFee: 1n,
    gasLimit: 30_000_000n,
    accounts: Object.entries(nonces).map(([index, nonce]) => [
      address(Number(index)),
      { nonce, balance: nonce, code: 'none' },
    ]),
    included: included.map(hash),
  }
}

it('several blocks come to the newest state of each account, and to all their transactions', () => {
  const merged = mergePoolUpdates([
    update(4, { 1: 1n, 2: 5n }, [1, 2]),
    update(5, {}, []),
    update(6, { 1: 3n, 3: 1n }, [3]),
  ])
  expect(merged.accounts.map(([who, { nonce }]) => [who[0], nonce])).toEqual([
    [1, 3n],
    [2, 5n],
    [3, 1n],
  ])
  expect({ ...merged, accounts: [] }).toEqual({ ...update(6, {}, [1, 2, 3]) })
})
