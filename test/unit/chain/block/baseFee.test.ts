import { createBlockHeader } from '@ethereumjs/block'
import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextBaseFee } from '../../../../src/chain/block/baseFee.ts'
import { runs } from '../../../propertyRuns.ts'

const ETHEREUM = { elasticity: 2n, changeDenominator: 8n, minimumBaseFee: 0n, initialBaseFee: 10n ** 9n }
const OURS = { elasticity: 2n, changeDenominator: 240n, minimumBaseFee: 10n ** 9n, initialBaseFee: 10n ** 9n }

describe('nextBaseFee', () => {
  it("agrees with @ethereumjs/block under Ethereum's parameters", () => {
    const common = new Common({ chain: Mainnet, hardfork: Hardfork.London })
    fc.assert(
      fc.property(
        fc.bigInt({ min: 7n, max: 10n ** 13n }),
        fc
          .bigInt({ min: 5_000n, max: 10n ** 9n })
          .chain((gasLimit) =>
            fc.record({ gasLimit: fc.constant(gasLimit), gasUsed: fc.bigInt({ min: 0n, max: gasLimit }) }),
          ),
        (baseFeePerGas, { gasLimit, gasUsed }) => {
          const header = createBlockHeader({ number: 13_000_000n, baseFeePerGas, gasLimit, gasUsed }, { common })
          expect(nextBaseFee({ baseFeePerGas, gasLimit, gasUsed }, ETHEREUM)).toBe(header.calcNextBaseFee())
        },
      ),
      { numRuns: runs(60) },
    )
  })

  it.each<[string, bigint, bigint, bigint]>([
    ['rises by 1/240 after a full block', 10n ** 10n, 30_000_000n, 10n ** 10n + 10n ** 10n / 240n],
    ['stays at the target', 10n ** 10n, 15_000_000n, 10n ** 10n],
    ['falls by 1/240 after an empty block', 10n ** 10n, 0n, 10n ** 10n - 10n ** 10n / 240n],
    ['never falls below the floor', 10n ** 9n, 0n, 10n ** 9n],
    ['rises by at least 1', 10n ** 9n, 15_000_001n, 10n ** 9n + 1n],
    ['is lifted to the floor', 1n, 15_000_000n, 10n ** 9n],
  ])('%s', (_name, baseFeePerGas, gasUsed, expected) => {
    expect(nextBaseFee({ baseFeePerGas, gasUsed, gasLimit: 30_000_000n }, OURS)).toBe(expected)
  })

  it('is the initial one after a block without a base fee', () => {
    expect(nextBaseFee({ baseFeePerGas: undefined, gasUsed: 0n, gasLimit: 30_000_000n }, OURS)).toBe(10n ** 9n)
  })

  it('keeps its fee in a block without room for gas', () => {
    expect(nextBaseFee({ baseFeePerGas: 10n ** 9n, gasUsed: 0n, gasLimit: 1n }, OURS)).toBe(10n ** 9n)
  })
})
