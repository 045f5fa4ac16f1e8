import fc from 'fast-check'
import { expect, it } from 'vitest'
import { getSupply } from '../../../../src/modules/bank/ledger.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { communityPool } from '../../../../src/modules/distribution/feePool.ts'
import { MsgCancelProposal, MsgDeposit, MsgSubmitProposal, MsgVote } from '../../../../src/modules/gov/types.ts'
import { GOV_DEPOSITS } from '../../../../src/modules/moduleAccounts.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { truncate } from '../../../../src/primitives/decimal.ts'
import { runs } from '../../../propertyRuns.ts'
import {
  COIN,
  GovChain,
  type GovChainOptions,
  HOLDERS,
  VALIDATORS,
  VOTING_MS,
} from '../../../support/modules/gov/govChain.ts'

const who = fc.nat(HOLDERS.length - 1)
const id = fc.bigInt(1n, 5n)
const amount = fc.oneof(fc.bigInt(0n, 12n * COIN), fc.bigInt(0n, 2_000n * COIN))
const step = fc.oneof(
  fc.record({ kind: fc.constant('submit' as const), who, amount, expedited: fc.boolean() }),
  fc.record({ kind: fc.constant('deposit' as const), who, id, amount }),
  fc.record({
    kind: fc.constant('vote' as const),
    who: fc.nat(VALIDATORS.length - 1),
    id,
    option: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ kind: fc.constant('cancel' as const), who, id }),
  fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 1, max: VOTING_MS }) }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
const gov: fc.Arbitrary<NonNullable<GovChainOptions['gov']>> = fc.record({
  burn_vote_quorum: fc.boolean(),
  burn_proposal_deposit_prevote: fc.boolean(),
  burn_vote_veto: fc.boolean(),
  min_deposit_ratio: fc.constantFrom('0.000000000000000000', '0.010000000000000000'),
  proposal_cancel_ratio: fc.constantFrom('0.000000000000000000', '0.333333333333333333', '1.000000000000000000'),
  proposal_cancel_dest: fc.constantFrom('', toBech32(HOLDERS[4]!)),
})

/** What is refused is of no interest here: it must have no effect, which the sums show. */
function take(chain: GovChain, next: Step): void {
  if (next.kind === 'time') chain.endBlock(next.ms)
  else if (next.kind === 'submit') {
    chain.send(MsgSubmitProposal, {
      title: 'a',
      summary: 'b',
      metadata: 'c',
      proposer: toBech32(HOLDERS[next.who]!),
      initialDeposit: coinsOf(next.amount),
      expedited: next.expedited,
    })
  } else if (next.kind === 'deposit') {
    const depositor = toBech32(HOLDERS[next.who]!)
    chain.send(MsgDeposit, { proposalId: next.id, depositor, amount: coinsOf(next.amount) })
  } else if (next.kind === 'cancel') {
    chain.send(MsgCancelProposal, { proposalId: next.id, proposer: toBech32(HOLDERS[next.who]!) })
  } else {
    const voter = toBech32(VALIDATORS[next.who]!)
    chain.send(MsgVote, { proposalId: next.id, voter, option: next.option })
  }
}

it('deposits are conserved whatever happens to proposals', () => {
  let emptied = 0
  let held = 0
  fc.assert(
    fc.property(gov, fc.array(step, { maxLength: 25 }), (params, steps) => {
      const chain = new GovChain({ gov: params })
      const others = getSupply(chain.world) - owned(chain)
      for (const next of steps) {
        take(chain, next)
        expect(chain.problems()).toEqual([])
        expect(getSupply(chain.world) - owned(chain)).toBe(others)
        if (chain.world.getBalance(GOV_DEPOSITS) > 0n) held++
      }
      // Everything comes to an end.
      for (let period = 0; period < 4; period++) chain.endBlock(VOTING_MS)
      expect(chain.world.getBalance(GOV_DEPOSITS)).toBe(0n)
      expect(chain.problems()).toEqual([])
      emptied++
    }),
    { numRuns: runs(60) },
  )
  expect(emptied).toBeGreaterThanOrEqual(60)
  expect(held).toBeGreaterThan(60)
})

/** Acoin of the holders, of governance and of the community. */
function owned(chain: GovChain): bigint {
  const balances = [...HOLDERS, GOV_DEPOSITS].map((address) => chain.world.getBalance(address))
  return balances.reduce((sum, balance) => sum + balance, truncate(communityPool(chain.native)))
}
