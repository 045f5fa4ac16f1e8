import { describe, expect, it } from 'vitest'
import type { BlockExecution } from '../../../src/app/blockExecution.ts'
import type { Entry } from '../../../src/app/entry.ts'
import {
  DefectiveTransactions,
  FillTime,
  fillBlock,
  isTooLong,
  PostponedTransactions,
  SlowTransactions,
} from '../../../src/app/proposal.ts'
import { MAX_BLOCK_TRANSACTIONS } from '../../../src/chain/consensus/block.ts'
import { entryHash } from '../../../src/chain/entries.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { signEvmTransaction } from '../../signEvmTransaction.ts'

const hashOf = (number: number) => sha256(Uint8Array.of(number >> 16, number >> 8, number))

describe('postponed transactions', () => {
  it('may be tried again where a sixteenth of the limit more is left', () => {
    const postponed = new PostponedTransactions(1_600n)
    expect(postponed.shouldRetry(hashOf(1), 0n)).toBe(true)
    postponed.add(hashOf(1), 500n)
    expect([0n, 500n, 599n, 600n].map((left) => postponed.shouldRetry(hashOf(1), left))).toEqual([
      false,
      false,
      false,
      true,
    ])
    expect(postponed.shouldRetry(hashOf(2), 0n)).toBe(true)
    postponed.add(hashOf(1), 700n)
    expect(postponed.shouldRetry(hashOf(1), 799n)).toBe(false)
    postponed.delete(hashOf(1))
    expect(postponed.shouldRetry(hashOf(1), 0n)).toBe(true)
  })

  it('are forgotten, the oldest first, when they are very many', () => {
    const postponed = new PostponedTransactions(1_600n)
    for (let number = 0; number < 10_001; number++) postponed.add(hashOf(number), 500n)
    expect([0, 1, 10_000].map((number) => postponed.shouldRetry(hashOf(number), 500n))).toEqual([true, false, false])
  })
})

const CHAIN = { chainId: 'coin_76287-1', evmChainId: 76287n, allowsUnprotected: false }
const BUDGET_MS = 100

/** A signed transaction of a sender of its own. */
function transaction(number: number, gasLimit: bigint) {
  const privateKey = new Uint8Array(32).fill(number)
  const to = new Uint8Array(20) as Address
  const fields = { nonce: 0n, gasLimit, to, value: 0n, data: new Uint8Array(), accessList: [] }
  const unused = { authorizationList: [], maxFeePerBlobGas: 0n, blobVersionedHashes: [] }
  const fees = { maxPriorityFeePerGas: 1n, maxFeePerGas: 10n ** 10n }
  return signEvmTransaction({ type: 2, chainId: CHAIN.evmChainId, ...fields, ...fees, ...unused }, privateKey).raw
}

/**
 * The gas limits of the transactions that a proposer takes who has {@link BUDGET_MS}, on a clock that only transactions move: each uses
 * all its gas at this pace, and the mempool takes `poolMs` to answer.
 */
async function filled(gasLimits: readonly bigint[], gasPerMs: bigint, poolMs = 0): Promise<readonly bigint[]> {
  return fill(
    gasLimits.map((gasLimit, index) => transaction(index + 1, gasLimit)),
    gasPerMs,
    poolMs,
  )
}

async function fill(raws: readonly Uint8Array[], gasPerMs: bigint, poolMs = 0): Promise<readonly bigint[]> {
  const taken: bigint[] = []
  let gasLeft = 10n ** 9n
  let nowMs = 0
  const execution: Pick<BlockExecution, 'gasLeft' | 'nativeGasLeft' | 'precompileGas' | 'tryApply'> & {
    readonly seed: { readonly number: number; readonly baseFeePerGas: bigint }
  } = {
    seed: { number: 1, baseFeePerGas: 1n },
    gasLeft: () => gasLeft,
    nativeGasLeft: () => 0n,
    precompileGas: () => ({ left: 2_000_000n, isFresh: true }),
    tryApply: async (entry: Entry) => {
      if (!('transaction' in entry)) throw new Error('not an EVM transaction')
      const { gasLimit } = entry.transaction
      gasLeft -= gasLimit
      nowMs += Number(gasLimit / gasPerMs)
      taken.push(gasLimit)
      return { kind: 'evm' } as Awaited<ReturnType<BlockExecution['tryApply']>>
    },
  }
  await fillBlock(
    execution as unknown as BlockExecution,
    {
      candidates: async ({ isFirst }) => {
        nowMs += poolMs
        return isFirst ? raws.map((raw, index) => ({ raw, hash: entryHash(raw), sender: senderOf(index) })) : []
      },
    },
    {
      maxTxBytes: 10_000_000,
      budgetMs: BUDGET_MS,
      postponed: new PostponedTransactions(2_000_000n),
      defective: new DefectiveTransactions(),
      slow: new SlowTransactions(),
      executionDeadline: { setIn: () => undefined },
      onStopped: () => {
        throw new Error('nothing is stopped')
      },
      onError: (_, error) => {
        throw error
      },
      now: () => nowMs,
    },
    CHAIN,
  )
  return taken
}

const senderOf = (index: number): Address => new Uint8Array(20).fill(index + 1) as Address
const MOST = 2n ** 24n

describe('filling a block', () => {
  it('ends at the time budget', async () => {
    expect(await filled(Array(20).fill(1_000_000n), 100_000n)).toHaveLength(10)
  })

  it('ends at as many transactions as a block may have', async () => {
    const raws = Array<Uint8Array>(MAX_BLOCK_TRANSACTIONS + 1).fill(transaction(1, 21_000n))
    expect(await fill(raws, 10n ** 9n)).toHaveLength(MAX_BLOCK_TRANSACTIONS)
  })

  it('takes one transaction of any gas, however slow it is, and none after it', async () => {
    expect(await filled([MOST, MOST, 21_000n], 75_000n)).toEqual([MOST])
  })

  it('leaves out a transaction that would go far beyond the budget, and takes later ones that fit', async () => {
    // 20 ms at first; then 168 ms, where 105 are left with the overrun, and 80 without it.
    expect(await filled([2_000_000n, MOST, 1_000_000n, 5_000_000n], 100_000n)).toEqual([
      2_000_000n,
      1_000_000n,
      5_000_000n,
    ])
    expect(await filled([2_000_000n, 10_000_000n, 1_000_000n], 100_000n)).toEqual([2_000_000n, 10_000_000n])
  })

  it('takes one where the mempool alone takes longer than the budget', async () => {
    expect(await filled([21_000n, 21_000n], 100_000n, BUDGET_MS + 1)).toEqual([21_000n])
  })

  it('takes large ones where there is time', async () => {
    expect(await filled([21_000n, MOST, MOST, MOST], 500_000n)).toEqual([21_000n, MOST, MOST, MOST])
  })
})

describe('a transaction', () => {
  it('is not held to a pace that too little gas has shown', () => {
    const entry = { transaction: { gasLimit: MOST } } as Entry
    expect(isTooLong(entry, { gas: 999_999n, ms: 50 }, 100)).toBe(false)
    expect(isTooLong(entry, { gas: 1_000_000n, ms: 50 }, 100)).toBe(true)
    expect(isTooLong(entry, { gas: 1_000_000n, ms: 5 }, 100)).toBe(false)
  })
})

describe('the time for transactions', () => {
  it('leaves out what followed them in the blocks before: more at once, less little by little', () => {
    const time = new FillTime()
    expect(time.within(200)).toBe(200)
    time.measured({ filledMs: 100, builtMs: 200, budgetMs: 200 })
    expect(time.within(200)).toBe(100)
    time.measured({ filledMs: 90, builtMs: 100, budgetMs: 200 })
    expect(time.within(200)).toBeCloseTo(110)
    time.measured({ filledMs: 1, builtMs: 100, budgetMs: 200 })
    expect(time.within(200)).toBe(50)
  })

  it('is not judged by nearly empty blocks', () => {
    const time = new FillTime()
    time.measured({ filledMs: 1, builtMs: 24, budgetMs: 200 })
    expect(time.within(200)).toBe(200)
  })
})
