import { beforeEach, describe, expect, it } from 'vitest'
import { getSupply } from '../../../../src/modules/bank/ledger.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { addToCommunityPool, communityPool } from '../../../../src/modules/distribution/feePool.ts'
import { MsgCommunityPoolSpend } from '../../../../src/modules/distribution/messages.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { getProposal, votesOf } from '../../../../src/modules/gov/state.ts'
import {
  FAILED,
  MsgCancelProposal,
  MsgDeposit,
  MsgSubmitProposal,
  MsgVote,
  MsgVoteWeighted,
  PASSED,
  REJECTED,
  VOTE_OPTIONS,
  VOTING_PERIOD,
} from '../../../../src/modules/gov/types.ts'
import { DISTRIBUTION, GOV_DEPOSITS } from '../../../../src/modules/moduleAccounts.ts'
import { type Address, toBech32 } from '../../../../src/primitives/address.ts'
import { decimalOf } from '../../../../src/primitives/decimal.ts'
import {
  anyOf,
  COIN,
  codeOf,
  EXPEDITED_MS,
  eventTexts,
  GovChain,
  HOLDERS,
  succeeded,
  VALIDATORS,
  VOTING_MS,
} from '../../../support/modules/gov/govChain.ts'

const [A, B, C] = VALIDATORS
const [ALICE, BOB] = HOLDERS as [Address, Address]
const {
  VOTE_OPTION_YES: YES,
  VOTE_OPTION_ABSTAIN: ABSTAIN,
  VOTE_OPTION_NO: NO,
  VOTE_OPTION_NO_WITH_VETO: VETO,
} = VOTE_OPTIONS

let chain: GovChain

beforeEach(() => {
  chain = new GovChain()
})

function vote(id: bigint, voter: Address, option: number): void {
  succeeded(chain.send(MsgVote, { proposalId: id, voter: toBech32(voter), option }))
}

/** Pays 5 COIN from the community pool, which has them. */
function spend(recipient: Address, amountCoin = 5n) {
  return anyOf(MsgCommunityPoolSpend, {
    authority: GOV_AUTHORITY,
    recipient: toBech32(recipient),
    amount: coinsOf(amountCoin * COIN),
  })
}

function fillPool(amountCoin: bigint): void {
  chain.world.addBalance(DISTRIBUTION, amountCoin * COIN)
  addToCommunityPool(chain.native, decimalOf(amountCoin * COIN))
}

/** Of 200 COIN bonded: A 100, B 60, C 40. Quorum 0.334, threshold 0.5, veto 0.334. */
const OUTCOMES: readonly {
  readonly name: string
  readonly votes: readonly (readonly [Address, number])[]
  readonly status: number
  readonly result: string
  readonly counts: readonly [string, string, string, string]
  readonly burns?: boolean
  readonly gov?: NonNullable<ConstructorParameters<typeof GovChain>[0]>['gov']
}[] = [
  {
    name: 'passes',
    votes: [
      [A, YES],
      [B, NO],
    ],
    status: PASSED,
    result: 'proposal_passed',
    counts: ['100', '0', '60', '0'],
  },
  {
    name: 'passes although most abstain',
    votes: [
      [A, ABSTAIN],
      [B, YES],
      [C, NO],
    ],
    status: PASSED,
    result: 'proposal_passed',
    counts: ['60', '100', '40', '0'],
  },
  {
    name: 'fails',
    votes: [
      [A, NO],
      [B, YES],
    ],
    status: REJECTED,
    result: 'proposal_rejected',
    counts: ['60', '0', '100', '0'],
  },
  {
    name: 'fails at exactly the threshold',
    votes: [
      [A, YES],
      [B, NO],
      [C, NO],
    ],
    status: REJECTED,
    result: 'proposal_rejected',
    counts: ['100', '0', '100', '0'],
  },
  {
    name: 'is vetoed',
    votes: [
      [A, YES],
      [B, VETO],
    ],
    status: REJECTED,
    result: 'proposal_rejected',
    counts: ['100', '0', '0', '60'],
    burns: true,
  },
  {
    name: 'is vetoed without burning when the parameters say so',
    votes: [
      [A, YES],
      [B, VETO],
    ],
    status: REJECTED,
    result: 'proposal_rejected',
    counts: ['100', '0', '0', '60'],
    gov: { burn_vote_veto: false },
  },
  {
    name: 'passes under the veto threshold',
    votes: [
      [A, YES],
      [C, VETO],
    ],
    status: PASSED,
    result: 'proposal_passed',
    counts: ['100', '0', '0', '40'],
  },
  {
    name: 'has no quorum',
    votes: [[B, YES]],
    status: REJECTED,
    result: 'proposal_rejected',
    counts: ['60', '0', '0', '0'],
  },
  {
    name: 'has no quorum, which burns deposits when the parameters say so',
    votes: [[B, YES]],
    status: REJECTED,
    result: 'proposal_rejected',
    counts: ['60', '0', '0', '0'],
    burns: true,
    gov: { burn_vote_quorum: true },
  },
  {
    name: 'fails when all abstain',
    votes: [
      [A, ABSTAIN],
      [B, ABSTAIN],
    ],
    status: REJECTED,
    result: 'proposal_rejected',
    counts: ['0', '160', '0', '0'],
  },
  { name: 'gets no vote', votes: [], status: REJECTED, result: 'proposal_rejected', counts: ['0', '0', '0', '0'] },
  {
    name: 'counts the last vote of a voter',
    votes: [
      [A, NO],
      [A, YES],
      [B, NO],
    ],
    status: PASSED,
    result: 'proposal_passed',
    counts: ['100', '0', '60', '0'],
  },
]

describe('a proposal', () => {
  it.each(OUTCOMES)('$name', ({ votes, status, result, counts, burns = false, gov = {} }) => {
    chain = new GovChain({ gov })
    fillPool(5n)
    const supply = getSupply(chain.world)
    const before = chain.world.getBalance(ALICE)
    const id = chain.propose({ messages: [spend(BOB)] })
    succeeded(chain.send(MsgDeposit, { proposalId: id, depositor: toBech32(BOB), amount: coinsOf(COIN) }))
    const bob = chain.world.getBalance(BOB)
    for (const [voter, option] of votes) vote(id, voter, option)

    expect(eventTexts(chain.endBlock(VOTING_MS - 1))).toEqual([])
    expect(chain.proposal(id).status).toBe(VOTING_PERIOD)
    const events = eventTexts(chain.endBlock(1))

    const proposal = chain.proposal(id)
    const [yesCount, abstainCount, noCount, noWithVetoCount] = counts.map((count) => (BigInt(count) * COIN).toString())
    expect(proposal.status).toBe(status)
    expect(proposal.finalTallyResult).toEqual({ yesCount, abstainCount, noCount, noWithVetoCount })
    expect(proposal.failedReason).toBe(status === REJECTED ? 'proposal did not get enough votes to pass' : '')
    expect(events.at(-1)).toBe(
      `active_proposal: proposal_id=1, proposal_result=${result}, proposal_log=${status === PASSED ? 'passed' : 'rejected'}`,
    )
    expect([...votesOf(chain.native, id)]).toEqual([])
    expect(chain.world.getBalance(GOV_DEPOSITS)).toBe(0n)
    expect(supply - getSupply(chain.world)).toBe(burns ? 11n * COIN : 0n)
    expect(before - chain.world.getBalance(ALICE)).toBe(burns ? 10n * COIN : 0n)
    expect(chain.world.getBalance(BOB) - bob).toBe((burns ? 0n : COIN) + (status === PASSED ? 5n * COIN : 0n))
    expect(communityPool(chain.native)).toBe(decimalOf(status === PASSED ? 0n : 5n * COIN))
    expect(chain.problems()).toEqual([])
    expect(eventTexts(chain.endBlock(VOTING_MS))).toEqual([])
  })

  it('has no effect and says why when one of its messages fails', () => {
    fillPool(5n)
    const id = chain.propose({ messages: [spend(BOB, 3n), spend(BOB, 3n)] })
    vote(id, A, YES)
    const bob = chain.world.getBalance(BOB)
    const events = eventTexts(chain.endBlock(VOTING_MS))
    const { status, failedReason } = chain.proposal(id)
    expect(status).toBe(FAILED)
    expect(failedReason).toMatch(/not have sufficient coins/)
    expect(events.at(-1)).toBe(
      'active_proposal: proposal_id=1, proposal_result=proposal_failed, proposal_log=passed, but msg 1 ' +
        `(/cosmos.distribution.v1beta1.MsgCommunityPoolSpend) failed on execution: ${failedReason}`,
    )
    expect(chain.world.getBalance(BOB)).toBe(bob)
    expect(communityPool(chain.native)).toBe(decimalOf(5n * COIN))
    expect(events.filter((text) => text.includes(toBech32(BOB)))).toEqual([])
  })

  it.each([
    { burns: false, name: 'returned' },
    { burns: true, name: 'burnt' },
  ])('expires in deposit, which is $name', ({ burns }) => {
    chain = new GovChain({ gov: { burn_proposal_deposit_prevote: burns } })
    const supply = getSupply(chain.world)
    const id = chain.propose({ initialDeposit: coinsOf(4n * COIN) })
    succeeded(chain.send(MsgDeposit, { proposalId: id, depositor: toBech32(BOB), amount: coinsOf(5n * COIN) }))
    expect(chain.endBlock(VOTING_MS - 1)).toEqual([])
    const events = eventTexts(chain.endBlock(1))
    expect(events.at(-1)).toBe('inactive_proposal: proposal_id=1, proposal_result=proposal_dropped')
    expect(getProposal(chain.native, id)).toBeUndefined()
    expect(supply - getSupply(chain.world)).toBe(burns ? 9n * COIN : 0n)
    expect(chain.world.getBalance(ALICE)).toBe((burns ? 996n : 1_000n) * COIN)
    expect(chain.world.getBalance(BOB)).toBe((burns ? 995n : 1_000n) * COIN)
    expect(chain.problems()).toEqual([])
  })

  it.each([
    { name: 'burnt', dest: '', supply: 6n, dave: 1_000n, pool: 0n },
    { name: 'sent where the parameters say', dest: toBech32(HOLDERS[3]!), supply: 0n, dave: 1_006n, pool: 0n },
    { name: "the community's", dest: toBech32(DISTRIBUTION), supply: 0n, dave: 1_000n, pool: 6n },
  ])('is cancelled: half of its deposits is $name', ({ dest, supply: burnt, dave, pool }) => {
    chain = new GovChain({ gov: { proposal_cancel_dest: dest } })
    const supply = getSupply(chain.world)
    const id = chain.propose()
    succeeded(chain.send(MsgDeposit, { proposalId: id, depositor: toBech32(BOB), amount: coinsOf(2n * COIN) }))
    vote(id, A, YES)
    const { events } = succeeded(chain.send(MsgCancelProposal, { proposalId: id, proposer: toBech32(ALICE) }))
    expect(eventTexts(events).at(-1)).toBe(`cancel_proposal: sender=${toBech32(ALICE)}, proposal_id=1`)
    expect(getProposal(chain.native, id)).toBeUndefined()
    expect([...votesOf(chain.native, id)]).toEqual([])
    expect(chain.world.getBalance(ALICE)).toBe(995n * COIN)
    expect(chain.world.getBalance(BOB)).toBe(999n * COIN)
    expect(chain.world.getBalance(HOLDERS[3]!)).toBe(dave * COIN)
    expect(supply - getSupply(chain.world)).toBe(burnt * COIN)
    expect(communityPool(chain.native)).toBe(decimalOf(pool * COIN))
    expect(chain.problems()).toEqual([])
    expect(eventTexts(chain.endBlock(VOTING_MS))).toEqual([])
  })

  it('may be cancelled by another one that is decided in the same block', () => {
    chain = new GovChain({ gov: { min_deposit_ratio: '0.000000000000000000' } })
    const own = { proposer: GOV_AUTHORITY, title: 'of governance', summary: 'a summary', metadata: 'none' }
    vote(chain.propose({ messages: [anyOf(MsgSubmitProposal, own)] }), A, YES)
    chain.endBlock(VOTING_MS / 2)
    const cancels = [anyOf(MsgCancelProposal, { proposalId: 3n, proposer: GOV_AUTHORITY })]
    const canceller = chain.propose({ messages: cancels, initialDeposit: [] })
    chain.endBlock(VOTING_MS / 2)
    for (const proposalId of [3n, canceller]) {
      succeeded(chain.send(MsgDeposit, { proposalId, depositor: toBech32(BOB), amount: coinsOf(10n * COIN) }))
    }
    vote(canceller, A, YES)
    vote(3n, A, YES)
    chain.endBlock(VOTING_MS)
    expect(chain.proposal(canceller).status).toBe(PASSED)
    expect(getProposal(chain.native, 3n)).toBeUndefined()
    expect(chain.problems()).toEqual([])
  })

  it('may not be cancelled by others, after voting ended, or when it was decided', () => {
    const id = chain.propose()
    const cancel = (by: Address) => codeOf(chain.send(MsgCancelProposal, { proposalId: id, proposer: toBech32(by) }))
    expect(cancel(BOB)).toBe('gov/18')
    expect(codeOf(chain.send(MsgCancelProposal, { proposalId: 9n, proposer: toBech32(ALICE) }))).toBe('sdk/38')
    chain.endBlock(VOTING_MS)
    expect(cancel(ALICE)).toBe('gov/21')
  })

  it('that is expedited passes early with two thirds', () => {
    fillPool(5n)
    const id = chain.propose({ messages: [spend(BOB)], expedited: true })
    vote(id, A, YES)
    vote(id, B, YES)
    vote(id, C, NO)
    const events = eventTexts(chain.endBlock(EXPEDITED_MS))
    expect(events.at(-1)).toMatch(/proposal_result=proposal_passed/)
    expect(chain.proposal(id)).toMatchObject({ status: PASSED, expedited: true })
  })

  it('that is expedited becomes regular without them, and is voted on again', () => {
    fillPool(5n)
    const id = chain.propose({ messages: [spend(BOB)], expedited: true })
    vote(id, A, YES)
    vote(id, B, NO)
    const events = eventTexts(chain.endBlock(EXPEDITED_MS))
    expect(events).toEqual([
      'active_proposal: proposal_id=1, proposal_result=expedited_proposal_rejected, proposal_log=expedited proposal converted to regular',
    ])
    expect(chain.proposal(id)).toMatchObject({ status: VOTING_PERIOD, expedited: false, failedReason: '' })
    expect(chain.world.getBalance(GOV_DEPOSITS)).toBe(50n * COIN)
    expect(chain.problems()).toEqual([])
    vote(id, A, YES)
    vote(id, B, NO)
    chain.endBlock(VOTING_MS - EXPEDITED_MS - 1)
    expect(chain.proposal(id).status).toBe(VOTING_PERIOD)
    chain.endBlock(1)
    expect(chain.proposal(id).status).toBe(PASSED)
    expect(chain.world.getBalance(ALICE)).toBe(1_000n * COIN)
  })

  it('needs the expedited deposit when it is expedited', () => {
    const id = chain.propose({ expedited: true, initialDeposit: coinsOf(49n * COIN) })
    vote2(id, 'gov/3')
    succeeded(chain.send(MsgDeposit, { proposalId: id, depositor: toBech32(BOB), amount: coinsOf(COIN) }))
    vote2(id, 'no error')

    function vote2(proposalId: bigint, code: string): void {
      expect(codeOf(chain.send(MsgVote, { proposalId, voter: toBech32(A), option: YES }))).toBe(code)
    }
  })

  it('counts weighted votes', () => {
    const id = chain.propose()
    const options = [
      { option: YES, weight: '0.7' },
      { option: NO, weight: '0.2' },
      { option: ABSTAIN, weight: '0.1' },
    ]
    const { events } = succeeded(chain.send(MsgVoteWeighted, { proposalId: id, voter: toBech32(A), options }))
    expect(eventTexts(events)).toEqual([
      `proposal_vote: voter=${toBech32(A)}, option=[{"option":1,"weight":"0.7"},{"option":3,"weight":"0.2"},{"option":2,"weight":"0.1"}], proposal_id=1`,
    ])
    chain.endBlock(VOTING_MS)
    expect(chain.proposal(id).finalTallyResult).toEqual({
      yesCount: (70n * COIN).toString(),
      abstainCount: (10n * COIN).toString(),
      noCount: (20n * COIN).toString(),
      noWithVetoCount: '0',
    })
  })
})
