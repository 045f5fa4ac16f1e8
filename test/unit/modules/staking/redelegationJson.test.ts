import { expect, it } from 'vitest'
import { RedelegationResponse } from '../../../../src/modules/staking/types.ts'

it('redelegations have the JSON that the SDK makes of them', () => {
  const completionTime = 1_797_141_059_821_000_000n
  const response = RedelegationResponse.create({
    redelegation: { delegatorAddress: 'coin1d', validatorSrcAddress: 'src', validatorDstAddress: 'dst', entries: [] },
    entries: [
      {
        redelegationEntry: {
          creationHeight: 568n,
          completionTime,
          initialBalance: 10n ** 18n,
          sharesDst: 10n ** 18n,
          unbondingId: 2n,
          unbondingOnHoldRefCount: 0n,
        },
        balance: 5n,
      },
    ],
  })
  // Made by cosmos-sdk 0.50.14 and gogogateway 1.2.0 of the same values.
  expect(JSON.stringify(RedelegationResponse.toJson(response, { typeOf: () => undefined }))).toBe(
    '{"redelegation":{"delegator_address":"coin1d","validator_src_address":"src","validator_dst_address":"dst",' +
      '"entries":null},"entries":[{"redelegation_entry":{"creation_height":568,' +
      '"completion_time":"2026-12-13T05:50:59.821Z","initial_balance":"1000000000000000000",' +
      '"shares_dst":"1.000000000000000000","unbonding_id":2},"balance":"5"}]}',
  )
})
