import { beforeEach, describe, expect, it } from 'vitest'
import { MsgUpdateParams } from '../../../../src/modules/feemarket/messages.ts'
import { FEEMARKET_PARAMS, type FeeMarketParams, feeMarketOf } from '../../../../src/modules/feemarket/params.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { ONE } from '../../../../src/primitives/decimal.ts'
import { codeOf, GovChain, HOLDERS, succeeded } from '../../../support/modules/gov/govChain.ts'

const GENESIS_FEE = { initialBaseFee: 10n ** 9n }
const GWEI = 10n ** 9n * ONE

let chain: GovChain

beforeEach(() => {
  chain = new GovChain()
})

function update(change: Partial<FeeMarketParams>, authority: string = GOV_AUTHORITY) {
  return chain.send(MsgUpdateParams, { authority, params: { ...FEEMARKET_PARAMS.get(chain.native), ...change } })
}

describe('the fee market', () => {
  it('begins with the parameters of the genesis', () => {
    const market = { elasticity: 2n, changeDenominator: 240n, minimumBaseFee: 10n ** 9n, initialBaseFee: 10n ** 9n }
    expect(feeMarketOf(chain.native, GENESIS_FEE)).toEqual(market)
  })

  it('changes with them', () => {
    succeeded(update({ baseFeeChangeDenominator: 8, elasticityMultiplier: 4, minGasPrice: 0n }))
    const market = { elasticity: 4n, changeDenominator: 8n, minimumBaseFee: 0n, initialBaseFee: 10n ** 9n }
    expect(feeMarketOf(chain.native, GENESIS_FEE)).toEqual(market)
  })

  it.each<{ name: string; change: Partial<FeeMarketParams> }>([
    { name: 'a denominator of 0', change: { baseFeeChangeDenominator: 0 } },
    { name: 'an elasticity of 0', change: { elasticityMultiplier: 0 } },
    { name: 'a negative price', change: { minGasPrice: -ONE } },
    { name: 'a part of an acoin', change: { minGasPrice: GWEI + 1n } },
    { name: 'an absurd price', change: { minGasPrice: 10n ** 27n * ONE + ONE } },
    { name: 'no base fee', change: { noBaseFee: true } },
    { name: 'a base fee from a height on', change: { enableHeight: 5n } },
    { name: 'a share of the gas limit', change: { minGasMultiplier: ONE / 2n } },
    { name: 'another base fee', change: { baseFee: 2n * GWEI } },
    { name: 'a negative base fee', change: { baseFee: -GWEI } },
  ])('cannot have $name', ({ change }) => {
    const before = FEEMARKET_PARAMS.get(chain.native)
    expect(codeOf(update(change))).toBe('sdk/18')
    expect(FEEMARKET_PARAMS.get(chain.native)).toEqual(before)
  })

  it('is for governance to change', () => {
    expect(codeOf(update({ elasticityMultiplier: 3 }, toBech32(HOLDERS[0]!)))).toBe('gov/13')
  })
})
