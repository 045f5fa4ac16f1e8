import { expect, it } from 'vitest'
import { type BlockEventsContext, blockEventsOf } from '../../../../src/rpc/comet/blockEvents.ts'
import { createSignedChain, testKey } from '../../../support/rpc/comet/signedChain.ts'

it('ValidatorSetUpdates names each validator whose power a block changes, 0 for one that leaves', () => {
  const chain = createSignedChain([
    {},
    {
      updates: [
        { publicKey: testKey(4).publicKey, power: 7n },
        { publicKey: testKey(3).publicKey, power: 0n },
      ],
    },
    {},
    {},
  ])
  const context = { view: { chain } } as unknown as BlockEventsContext
  const updates = (height: number) =>
    [...blockEventsOf(context, height, 'ValidatorSetUpdates')].map((event) => event.data())
  expect(updates(1)).toEqual([])
  expect(updates(2)).toMatchObject([
    {
      type: 'tendermint/event/ValidatorSetUpdates',
      value: {
        validator_updates: [
          { address: expect.stringMatching(/^[0-9A-F]{40}$/), voting_power: '7', proposer_priority: '0' },
          { address: expect.stringMatching(/^[0-9A-F]{40}$/), voting_power: '0', proposer_priority: '0' },
        ],
      },
    },
  ])
})
