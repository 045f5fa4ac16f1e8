import { expect, it } from 'vitest'
import { ERC20_PARAMS, tokenPairs } from '../../../../src/modules/erc20/tokenPairs.ts'
import { GovChain } from '../../../support/modules/gov/govChain.ts'

const NATIVE_TOKEN = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'

it('the native token is registered with what the genesis says', () => {
  const { native } = new GovChain()
  const pair = { erc20Address: NATIVE_TOKEN, denom: 'acoin', enabled: true, contractOwner: 1 }
  expect([...tokenPairs(native)]).toEqual([pair])
  expect(ERC20_PARAMS.get(native)).toEqual({ enableErc20: true, permissionlessRegistration: false })
})

it('nothing is registered where the genesis has no pair', () => {
  const { native } = new GovChain({
    change: ({ app_state }) => {
      app_state.erc20.token_pairs = []
      app_state.erc20.native_precompiles = []
    },
  })
  expect([...tokenPairs(native)]).toEqual([])
})
