import { expect, test } from 'vitest'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'

/** Their pages are of a list that strangers cannot make longer: the coins of an account, of which there is one, and a validator set. */
const SHORT_LISTS = [
  '/cosmos.bank.v1beta1.Query/AllBalances',
  '/cosmos.bank.v1beta1.Query/SpendableBalances',
  '/cosmos.bank.v1beta1.Query/TotalSupply',
  '/cosmos.base.tendermint.v1beta1.Service/GetLatestValidatorSet',
  '/cosmos.base.tendermint.v1beta1.Service/GetValidatorSetByHeight',
]

/** Answers or work that grow with what strangers stored, and come without pages; the query that runs any other; and those that read old blocks. */
const LONG_ANSWERS = [
  '/cosmos.gov.v1.Query/TallyResult',
  '/cosmos.gov.v1beta1.Query/TallyResult',
  '/cosmos.distribution.v1beta1.Query/DelegationTotalRewards',
  '/cosmos.distribution.v1beta1.Query/DelegatorValidators',
  '/cosmos.tx.v1beta1.Service/Simulate',
  '/cosmos.tx.v1beta1.Service/GetTx',
  '/cosmos.base.tendermint.v1beta1.Service/GetBlockByHeight',
  '/cosmos.staking.v1beta1.Query/HistoricalInfo',
  '/cosmos.base.tendermint.v1beta1.Service/ABCIQuery',
]

test('queries that may take long wait in the heavy queue: all that have pages, and those named here', () => {
  const paged = [...QUERIES.values()].filter(({ request }) => request.fields.some(({ name }) => name === 'pagination'))
  expect(paged.length).toBeGreaterThan(30)
  const quick = paged.filter(({ runs }) => runs === 'cheap').map(({ path }) => path)
  expect(quick.sort()).toEqual(SHORT_LISTS)
  for (const path of LONG_ANSWERS) expect(QUERIES.get(path)?.runs).toBe('heavy')
})
