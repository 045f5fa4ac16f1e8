import { describe, expect, it } from 'vitest'
import { entryHash } from '../../../src/chain/block/entries.ts'
import { MAX_BLOCK_TRANSACTIONS } from '../../../src/chain/comet/block.ts'
import { ExecutionTimeout } from '../../../src/evm/engine.ts'
import { type BlockExecution, POSTPONED } from '../../../src/execution/blockExecution.ts'
import type { Entry } from '../../../src/execution/entry.ts'
import { skippedEvm } from '../../../src/execution/executedBlock.ts'
import {
  type CandidateSource,
  DefectiveTransactions,
  fillBlock,
  PostponedTransactions,
  SlowTransactions,
} from '../../../src/execution/proposal.ts'
import { createTransactionDecoder } from '../../../src/modules/tx/transactionDecoder.ts'
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

describe('slow transactions', () => {
  it('are hopeless after four stops that came after a fair time', () => {
    const slow = new SlowTransactions()
    const outcomes = [49, 50, 200, 10, 100, 20, 50].map((afterMs) => slow.add(hashOf(1), 100, afterMs))
    expect(outcomes).toEqual([...Array(6).fill('waits'), 'hopeless'])
    expect(slow.add(hashOf(2), 100, 1)).toBe('waits')
    expect([103, 104].map((height) => slow.isWaiting(hashOf(2), height))).toEqual([true, false])
  })
})

const CHAIN = { chainId: 'coin_76287-1', evmChainId: 76287n, allowsUnprotected: false }
const DECODER = createTransactionDecoder(CHAIN)
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
 * The gas limits hash of the transactions that a proposer takes who has {@link BUDGET_MS}, on a clock that only transactions move: each uses
 * all its gas at this pace, and the mempool takes `poolMs` to answer.
 */
const filled = (gasLimits: readonly bigint[], ...rest: Pace): Promise<readonly bigint[]> =>
  fill(
    gasLimits.map((gasLimit, index) => transaction(index + 1, gasLimit)),
    ...rest,
  )

type Pace = [
  gasPerMs: bigint,
  poolMs?: number,
  /** precompile gas that is left, where others have used some: transactions with more gas want more */
  precompileGasLeft?: bigint | undefined,
  /** the pace of those with more than 4,000,000 gas, which are stopped at their deadline */
  slowGasPerMs?: bigint,
]

async function fill(
  raws: readonly Uint8Array[],
  ...[gasPerMs, poolMs = 0, precompileGasLeft, slowGasPerMs]: Pace
): Promise<readonly bigint[]> {
  const taken: bigint[] = []
  let gasLeft = 10n ** 9n
  let nowMs = 0
  let endMs = Number.POSITIVE_INFINITY
  const execution: Pick<BlockExecution, 'gasLeft' | 'nativeGasLeft' | 'precompileGas' | 'tryApply'> & {
    readonly seed: { readonly number: number; readonly baseFeePerGas: bigint }
  } = {
    seed: { number: 1, baseFeePerGas: 1n },
    gasLeft: () => gasLeft,
    nativeGasLeft: () => 0n,
    precompileGas: () => ({ left: precompileGasLeft ?? 2_000_000n, isFresh: precompileGasLeft === undefined }),
    tryApply: async (entry: Entry, mayBeUndone = true) => {
      if (!('transaction' in entry)) throw new Error('not an EVM transaction')
      const { gasLimit } = entry.transaction
      nowMs += Number(gasLimit / (gasLimit > 4_000_000n && slowGasPerMs !== undefined ? slowGasPerMs : gasPerMs))
      if (slowGasPerMs !== undefined && nowMs > endMs) {
        nowMs = endMs
        throw new ExecutionTimeout('stopped')
      }
      if (precompileGasLeft !== undefined && gasLimit > precompileGasLeft && mayBeUndone)
        return skippedEvm(POSTPONED, gasLimit)
      gasLeft -= gasLimit
      taken.push(gasLimit)
      return { kind: 'evm' } as Awaited<ReturnType<BlockExecution['tryApply']>>
    },
  }
  await fillBlock(
    execution as unknown as BlockExecution,
    sourceOf(raws, () => {
      nowMs += poolMs
    }),
    {
      ...limitsOn(() => nowMs),
      executionDeadline: {
        setIn: (milliseconds) => {
          endMs = nowMs + milliseconds
        },
      },
    },
    DECODER,
  )
  return taken
}

/** A mempool with these transactions. */
function sourceOf(raws: readonly Uint8Array[], onAsked: () => void = () => undefined): CandidateSource {
  return {
    candidates: async ({ isFirst }) => {
      onAsked()
      return isFirst ? raws.map((raw, index) => ({ raw, hash: entryHash(raw), sender: senderOf(index) })) : []
    },
  }
}

function limitsOn(now: () => number): Parameters<typeof fillBlock>[2] {
  return {
    maxTxBytes: 10_000_000,
    budgetMs: BUDGET_MS,
    postponed: new PostponedTransactions(2_000_000n),
    defective: new DefectiveTransactions(),
    slow: new SlowTransactions(),
    executionDeadline: { setIn: () => undefined },
    onStopped: () => undefined,
    onError: (_, error) => {
      throw error
    },
    now,
  }
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

describe('transactions that are stopped', () => {
  const others = Array<bigint>(30).fill(100_000n)

  it('leave time to the others, however many they are', async () => {
    for (let count = 1; count <= 8; count++) {
      const slow = Array.from({ length: count }, (_, index) => MOST - BigInt(index))
      const taken = await filled([...slow, ...others], 100_000n, 0, undefined, 10_000n)
      expect([count, taken.length]).toEqual([count, others.length])
    }
  })

  it('leave some of it also where each asks for less gas than the last', async () => {
    const slow = [MOST, 9_000_000n, 6_000_000n, 5_000_000n, 4_500_000n, 4_100_000n]
    expect((await filled([...slow, ...others], 100_000n, 0, undefined, 10_000n)).length).toBeGreaterThan(20)
  })
})

describe('large transactions that cannot start', () => {
  it('take a tenth of the time at most, and the others the rest', async () => {
    const large = Array.from({ length: 20 }, (_, index) => new Uint8Array(5_000).fill(index, 1).fill(0x0a, 0, 1))
    const raws = [...large, ...Array.from({ length: 30 }, (_, index) => transaction(index + 1, 21_000n))]
    let nowMs = 0
    let taken = 0
    const execution = {
      seed: { number: 1, baseFeePerGas: 1n },
      gasLeft: () => 100_000_000n,
      nativeGasLeft: () => 25_000_000n,
      precompileGas: () => ({ left: 2_000_000n, isFresh: true }),
      tryApply: async (entry: Entry) => {
        nowMs += 'transaction' in entry ? 1 : 9
        if (!('transaction' in entry)) return skippedEvm('it cannot start', 0n)
        taken++
        return { kind: 'evm' }
      },
    }
    await fillBlock(
      execution as unknown as BlockExecution,
      sourceOf(raws),
      limitsOn(() => nowMs),
      DECODER,
    )
    expect([taken, nowMs]).toEqual([30, 48])
  })
})

describe('several threads', () => {
  it('are told of EVM transactions alone: native ones are read in their turn', async () => {
    const raws = [Uint8Array.of(0x0a, 1, 0), transaction(1, 21_000n)]
    let announced: readonly Entry[] = []
    const execution = {
      seed: { number: 1, baseFeePerGas: 1n },
      isParallel: true,
      announce: (entries: readonly Entry[]) => {
        announced = entries
      },
      gasLeft: () => 100_000_000n,
      nativeGasLeft: () => 0n,
      precompileGas: () => ({ left: 2_000_000n, isFresh: true }),
      tryApply: async () => ({ kind: 'evm' }),
    }
    await fillBlock(
      execution as unknown as BlockExecution,
      sourceOf(raws),
      limitsOn(() => 0),
      DECODER,
    )
    expect(announced.map((entry) => 'transaction' in entry)).toEqual([true])
  })
})

describe('transactions that are undone for want of precompile gas', () => {
  it('keep no others out: beyond a share of the time they are included as they are, and pay', async () => {
    // 20 ms, more than a tenth; the next large one pays.
    expect(await filled([2_000_000n, 21_000n, 1_900_000n, 21_000n], 100_000n, 0, 21_000n)).toEqual([
      21_000n,
      1_900_000n,
      21_000n,
    ])
  })

  it('do not count for the pace of the others', async () => {
    // 20 ms without gas; the third needs 50 of the 95 that are left at the pace of the second.
    expect(await filled([2_000_000n, 1_000_000n, 5_000_000n], 100_000n, 0, 1_999_999n)).toEqual([
      1_000_000n,
      5_000_000n,
    ])
  })

  it('are small ones for longer', async () => {
    const small = (count: number) => Array<bigint>(count).fill(600_000n)
    expect(await filled([...small(4), 21_000n], 100_000n, 0, 21_000n)).toEqual([21_000n])
    expect(await filled([...small(6), 21_000n], 100_000n, 0, 21_000n)).toEqual([600_000n, 21_000n])
  })
})
