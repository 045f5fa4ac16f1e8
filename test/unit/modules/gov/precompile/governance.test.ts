import { getAddress, type Hex, toHex, zeroAddress } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { GOV_GAS } from '../../../../../src/modules/gov/messages.ts'
import { GOVERNANCE } from '../../../../../src/modules/moduleAccounts.ts'
import { bytesToHex } from '../../../../../src/primitives/bytes.ts'
import {
  ALICE,
  accountOf,
  BOB,
  COIN,
  NativeChain,
  OPERATORS,
  operatorOf,
} from '../../../../support/precompiles/nativeChain.ts'

const [FIRST, SECOND, THIRD] = OPERATORS as [Hex, Hex, Hex]
const NO_PAGE = { key: '0x', offset: 0n, limit: 0n, countTotal: false, reverse: false }
const MIN_DEPOSIT = 100n * COIN
const VOTING_MS = 100_000
const AUTHORITY = accountOf(bytesToHex(GOVERNANCE))

const spend = {
  '@type': '/cosmos.distribution.v1beta1.MsgCommunityPoolSpend',
  authority: AUTHORITY,
  recipient: accountOf(BOB),
  amount: [{ denom: 'acoin', amount: COIN.toString() }],
}
const TEXT = { title: 'a title', summary: 'a summary', metadata: 'some text', messages: [] as unknown[] }

let chain: NativeChain

beforeEach(() => {
  chain = new NativeChain({
    modules: (modules) => ({
      ...modules,
      gov: {
        ...modules.gov,
        constitution: 'be kind',
        params: {
          ...modules.gov.params,
          min_deposit: [{ denom: 'acoin', amount: MIN_DEPOSIT.toString() }],
          expedited_min_deposit: [{ denom: 'acoin', amount: (5n * MIN_DEPOSIT).toString() }],
          voting_period: `${VOTING_MS / 1000}s`,
          expedited_voting_period: `${VOTING_MS / 2000}s`,
          min_deposit_ratio: '0.010000000000000000',
          min_initial_deposit_ratio: '0.000000000000000000',
        },
      },
    }),
  })
})

const coins = (amount: bigint, denom = 'acoin') => [{ denom, amount }]
const submit = (from: Hex, json: unknown, deposit = coins(MIN_DEPOSIT), proposer = from) =>
  chain.send(from, 'gov', 'submitProposal', [
    proposer,
    typeof json === 'string' ? toHex(json) : toHex(JSON.stringify(json)),
    deposit,
  ])
const vote = (from: Hex, option: number, id = 1n, metadata = '') =>
  chain.send(from, 'gov', 'vote', [from, id, option, metadata])
const proposal = async (id = 1n) => (await chain.read('gov', 'getProposal', [id])).result as Record<string, unknown>
const tally = async (id = 1n) => (await chain.read('gov', 'getTallyResult', [id])).result

describe('a proposal', () => {
  it('goes from submission to execution', async () => {
    const submitted = await submit(ALICE, { ...TEXT, messages: [spend] }, coins(MIN_DEPOSIT / 2n))
    expect(submitted.result).toBe(1n)
    expect(submitted.events).toMatchObject([
      { eventName: 'SubmitProposal', args: { proposer: getAddress(ALICE), proposalId: 1n } },
    ])
    expect(submitted.native.map(({ type }) => type)).toContain('submit_proposal')
    expect(await proposal()).toMatchObject({
      id: 1n,
      messages: [spend['@type']],
      status: 1,
      submitTime: BigInt(Math.floor(chain.timeMs / 1000)),
      totalDeposit: coins(MIN_DEPOSIT / 2n),
      votingStartTime: 0n,
      title: TEXT.title,
      summary: TEXT.summary,
      metadata: TEXT.metadata,
      proposer: getAddress(ALICE),
    })

    const deposited = await chain.send(BOB, 'gov', 'deposit', [BOB, 1n, coins(MIN_DEPOSIT / 2n)])
    expect(deposited.events).toMatchObject([
      { eventName: 'Deposit', args: { depositor: getAddress(BOB), proposalId: 1n, amount: coins(MIN_DEPOSIT / 2n) } },
    ])
    expect(await proposal()).toMatchObject({
      status: 2,
      votingEndTime: BigInt(Math.floor((chain.timeMs + VOTING_MS) / 1000)),
    })

    const voted = await vote(FIRST, 1, 1n, 'because')
    expect(voted.events).toMatchObject([{ eventName: 'Vote', args: { voter: FIRST, proposalId: 1n, option: 1 } }])
    const options = [
      { option: 1, weight: '0.7' },
      { option: 2, weight: '0.3' },
    ]
    const weighted = await chain.send(SECOND, 'gov', 'voteWeighted', [SECOND, 1n, options, ''])
    expect(weighted.events).toMatchObject([{ eventName: 'VoteWeighted', args: { voter: SECOND, options } }])
    await vote(THIRD, 1)
    await vote(BOB, 4)
    expect(await tally()).toEqual({
      yes: (540n * COIN).toString(),
      abstain: (60n * COIN).toString(),
      no: '0',
      noWithVeto: '0',
    })
    expect((await chain.read('gov', 'getVote', [1n, FIRST])).result).toEqual({
      proposalId: 1n,
      voter: FIRST,
      options: [{ option: 1, weight: '1.000000000000000000' }],
      metadata: 'because',
    })

    const before = chain.balance(BOB)
    await chain.send(ALICE, 'distribution', 'fundCommunityPool', [ALICE, coins(2n * COIN)])
    chain.nextBlock({ waitMs: VOTING_MS })
    chain.nextBlock()
    expect(await proposal()).toMatchObject({ status: 3 })
    expect(await tally()).toMatchObject({ yes: (540n * COIN).toString() })
    // what was spent, and the deposit back
    expect(chain.balance(BOB)).toBe(before + COIN + MIN_DEPOSIT / 2n)
    expect((await vote(FIRST, 1)).reason).toMatch(/inactive proposal/)
    expect(chain.problems()).toEqual([])
  })

  it('can be taken back by who made it, for a part of the deposits', async () => {
    await submit(ALICE, TEXT)
    await chain.send(BOB, 'gov', 'deposit', [BOB, 1n, coins(10n * COIN)])
    const before = chain.balance(BOB)
    expect((await chain.send(BOB, 'gov', 'cancelProposal', [BOB, 1n])).reason).toMatch(/invalid proposer/)
    const outcome = await chain.send(ALICE, 'gov', 'cancelProposal', [ALICE, 1n])
    expect(outcome.events).toMatchObject([
      { eventName: 'CancelProposal', args: { proposer: getAddress(ALICE), proposalId: 1n } },
    ])
    expect(chain.balance(BOB)).toBe(before + 5n * COIN)
    expect((await chain.read('gov', 'getProposal', [1n])).reason).toBe(
      "rpc error: code = NotFound desc = proposal 1 doesn't exist",
    )
    expect(chain.problems()).toEqual([])
  })

  it('pays for its bytes', async () => {
    const used = async (summary: string) => (await submit(ALICE, { ...TEXT, summary })).applied.gasUsed
    const short = await used('s')
    expect(short).toBeGreaterThan(21_000n + GOV_GAS.submitProposal)
    expect((await used('s'.repeat(5001))) - short).toBeGreaterThan(20n * 5_000n)
  })

  it('is not read when its deposit is not there', async () => {
    const outcome = await submit(ALICE, '{"title"', coins(10n ** 30n))
    expect(outcome.reason).toMatch(/insufficient funds/)
  })

  it('is shown for gas of its messages', async () => {
    const messages = Array(100).fill(spend)
    await submit(ALICE, { ...TEXT, messages: [spend] })
    await submit(ALICE, { ...TEXT, messages })
    const used = async (id: bigint) => (await chain.send(ALICE, 'gov', 'getProposal', [id])).applied.gasUsed - 21_000n
    // Each message has more than 150 bytes.
    expect((await used(2n)) - (await used(1n))).toBeGreaterThan(4n * 99n * 150n)
    const list = async (status: number) =>
      (await chain.send(ALICE, 'gov', 'getProposals', [status, zeroAddress, zeroAddress, NO_PAGE])).applied.gasUsed
    expect((await list(0)) - (await list(5))).toBeGreaterThan(4n * 100n * 150n)
  })

  it.each([
    ['no JSON', '{"title"', /is not JSON/],
    ['nothing', '', /^invalid proposal json jsonBlob arg $/],
    ['JSON that is no object', '[]', /./],
    ['brackets without end', '['.repeat(200_000), /nested too deeply/],
    [
      'messages in messages without end',
      `{"title":"a","messages":[${'{"@type":"/cosmos.authz.v1beta1.MsgExec","msgs":['.repeat(3000)}`,
      /nested too deeply/,
    ],
    ['an unknown message', { ...TEXT, messages: [{ '@type': '/x.Y' }] }, /@type/],
    ['a message of a wrong form', { ...TEXT, messages: [{ ...spend, amount: 5 }] }, /amount/],
    [
      'a message that another one must sign',
      { ...TEXT, messages: [{ ...spend, authority: accountOf(ALICE) }] },
      /expected gov account/,
    ],
    ['no title', { ...TEXT, title: '' }, /title/],
    ['a title that is a number', { ...TEXT, title: 5 }, /texts/],
    ['a long title', { ...TEXT, title: 'x'.repeat(300) }, /too long/],
    ['bytes that are no text', '\u0000\uffff', /JSON/],
  ])('of %s is refused', async (_what, json, reason) => {
    const before = chain.balance(ALICE)
    const outcome = await submit(ALICE, json)
    expect([outcome.reason, outcome.events]).toEqual([expect.stringMatching(reason), []])
    expect(chain.balance(ALICE)).toBe(before)
    expect((await chain.read('gov', 'getProposals', [0, zeroAddress, zeroAddress, NO_PAGE])).result).toMatchObject([
      [],
      {},
    ])
  })
})

describe('who acts', () => {
  beforeEach(async () => {
    await submit(ALICE, TEXT)
  })

  it.each([
    ['submitProposal', [ALICE, toHex('{}'), []], 'proposer'],
    ['cancelProposal', [ALICE, 1n], 'proposer'],
    ['deposit', [ALICE, 1n, coins(COIN)], 'depositor address:'],
    ['vote', [ALICE, 1n, 1, ''], 'voter address:'],
    ['voteWeighted', [ALICE, 1n, [{ option: 1, weight: '1' }], ''], 'voter address:'],
  ] as const)('%s only for itself', async (name, args, what) => {
    const [, ...rest] = args
    expect((await chain.send(BOB, 'gov', name, args)).reason).toBe(
      `msg.sender address ${getAddress(BOB)} does not match the requester address ${getAddress(ALICE)}`,
    )
    expect((await chain.send(BOB, 'gov', name, [zeroAddress, ...rest])).reason).toBe(`invalid ${what} ${zeroAddress}`)
  })
})

describe('votes and deposits', () => {
  beforeEach(async () => {
    await submit(ALICE, TEXT)
  })

  it.each([
    ['no option', () => vote(ALICE, 0), /invalid vote option/],
    ['an unknown option', () => vote(ALICE, 5), /invalid vote option/],
    ['an option of 255', () => vote(ALICE, 255), /invalid vote option/],
    ['an unknown proposal', () => vote(ALICE, 1, 9n), /inactive proposal/],
    ['proposal 2^64 - 1', () => vote(ALICE, 1, 2n ** 64n - 1n), /inactive proposal/],
    ['long metadata', () => vote(ALICE, 1, 1n, 'x'.repeat(300)), /too long/],
  ])('for %s are refused', async (_what, run, reason) => {
    expect((await run()).reason).toMatch(reason)
  })

  it.each([
    ['nothing', []],
    ['less than all', [{ option: 1, weight: '0.5' }]],
    [
      'more than all',
      [
        { option: 1, weight: '0.6' },
        { option: 2, weight: '0.6' },
      ],
    ],
    [
      'an option twice',
      [
        { option: 1, weight: '0.5' },
        { option: 1, weight: '0.5' },
      ],
    ],
    [
      'a weight below 0',
      [
        { option: 1, weight: '1.5' },
        { option: 2, weight: '-0.5' },
      ],
    ],
    ['a weight that is no number', [{ option: 1, weight: 'all' }]],
    ['a weight of a hundred thousand digits', [{ option: 1, weight: '9'.repeat(100_000) }]],
    ['an unknown option', [{ option: 9, weight: '1' }]],
  ] as const)('with weights of %s are refused', async (_what, options) => {
    const outcome = await chain.send(ALICE, 'gov', 'voteWeighted', [ALICE, 1n, options, ''])
    expect([outcome.status, outcome.events]).toEqual(['revert', []])
    expect(outcome.reason).not.toBe('')
  })

  it.each([
    ['nothing', []],
    ['0', coins(0n)],
    ['another coin', coins(COIN, 'other')],
    ['too little', coins(COIN / 10n)],
    ['more than there is', coins(2n ** 200n)],
    ['a coin twice', [...coins(COIN), ...coins(COIN)]],
  ])('of %s are refused', async (_what, amount) => {
    const before = chain.balance(ALICE)
    const outcome = await chain.send(ALICE, 'gov', 'deposit', [ALICE, 1n, amount])
    expect([outcome.status, outcome.events]).toEqual(['revert', []])
    expect(chain.balance(ALICE)).toBe(before)
  })

  it('are listed in pages', async () => {
    await chain.send(BOB, 'gov', 'deposit', [BOB, 1n, coins(2n * COIN)])
    for (const voter of [FIRST, SECOND, ALICE]) await vote(voter, 1)
    const page = async (name: string, request: object, id = 1n) =>
      (await chain.read('gov', name, [id, { ...NO_PAGE, ...request }])).result as [
        { voter: Hex; depositor: Hex }[],
        { nextKey: Hex; total: bigint },
      ]
    const [votes, { nextKey }] = await page('getVotes', { limit: 2n })
    expect(votes.map(({ voter }) => voter)).toEqual([FIRST, SECOND])
    expect((await page('getVotes', { key: nextKey }))[0].map(({ voter }) => voter)).toEqual([getAddress(ALICE)])
    expect((await page('getVotes', { reverse: true, limit: 1n }))[0].map(({ voter }) => voter)).toEqual([
      getAddress(ALICE),
    ])
    expect((await page('getVotes', {}, 7n))[0]).toEqual([])
    for (const [name, ...args] of [
      ['getProposal'],
      ['getTallyResult'],
      ['getVotes', NO_PAGE],
      ['getDeposits', NO_PAGE],
      ['getVote', ALICE],
      ['getDeposit', ALICE],
    ] as const) {
      const { reason } = await chain.read('gov', name, [0n, ...args])
      expect(reason, name).toBe('rpc error: code = InvalidArgument desc = proposal id can not be 0')
    }
    const [deposits, { total }] = await page('getDeposits', {})
    expect([deposits.map(({ depositor }) => depositor), total]).toEqual([[getAddress(ALICE), getAddress(BOB)], 2n])
    expect((await chain.read('gov', 'getDeposit', [1n, BOB])).result).toEqual({
      proposalId: 1n,
      depositor: getAddress(BOB),
      amount: coins(2n * COIN),
    })
    expect((await chain.read('gov', 'getDeposit', [1n, FIRST])).reason).toMatch(/NotFound/)
    expect((await chain.read('gov', 'getVote', [1n, BOB])).reason).toBe(
      `rpc error: code = InvalidArgument desc = voter: ${accountOf(BOB)} not found for proposal: 1`,
    )
  })

  it('are counted as stakes are, and counting while voting goes on leaves nothing', async () => {
    await chain.send(BOB, 'staking', 'delegate', [BOB, operatorOf(FIRST), 50n * COIN])
    await vote(FIRST, 1)
    await vote(BOB, 3)
    const before = chain.snapshot()
    const counted = await chain.send(ALICE, 'gov', 'getTallyResult', [1n])
    expect(counted.result).toEqual({
      yes: (100n * COIN).toString(),
      abstain: '0',
      no: (50n * COIN).toString(),
      noWithVeto: '0',
    })
    const after = chain.snapshot()
    expect([...before.keys()].filter((key) => before.get(key) !== after.get(key))).toEqual([ALICE])
    // three validators, two votes, and the delegations of those who voted
    expect(counted.applied.gasUsed).toBeGreaterThan(21_000n + 7_000n)
    const short = await chain.send(ALICE, 'gov', 'getTallyResult', [1n], { gas: counted.applied.gasUsed - 1n })
    expect(short.status).toBe('failure')
    expect(chain.problems()).toEqual([])
  })
})

describe('lists and parameters', () => {
  it('of proposals are filtered', async () => {
    await submit(ALICE, TEXT)
    await submit(BOB, TEXT, coins(COIN))
    await submit(ALICE, { ...TEXT, messages: [spend] }, coins(2n * COIN))
    await vote(BOB, 1, 1n)
    const ids = async (status: number, voter: Hex, depositor: Hex, request: object = {}) => {
      const { result } = await chain.read('gov', 'getProposals', [status, voter, depositor, { ...NO_PAGE, ...request }])
      const [found, { nextKey, total }] = result as [{ id: bigint }[], { nextKey: Hex; total: bigint }]
      return [found.map(({ id }) => id), nextKey, total]
    }
    const id = (number: number): Hex => toHex(number, { size: 8 })
    expect(await ids(0, zeroAddress, zeroAddress)).toEqual([[1n, 2n, 3n], '0x', 3n])
    expect(await ids(1, zeroAddress, zeroAddress)).toEqual([[2n, 3n], '0x', 2n])
    expect(await ids(2, zeroAddress, zeroAddress)).toEqual([[1n], '0x', 1n])
    expect(await ids(99, zeroAddress, zeroAddress)).toEqual([[1n, 2n, 3n], '0x', 3n])
    expect(await ids(0, BOB, zeroAddress)).toEqual([[1n], '0x', 1n])
    expect(await ids(0, zeroAddress, ALICE)).toEqual([[1n, 3n], '0x', 2n])
    expect(await ids(0, zeroAddress, zeroAddress, { limit: 1n })).toEqual([[1n], id(2), 0n])
    expect(await ids(0, zeroAddress, zeroAddress, { key: id(2) })).toEqual([[2n, 3n], '0x', 0n])
    expect(await ids(0, zeroAddress, zeroAddress, { reverse: true, limit: 2n })).toEqual([[3n, 2n], id(1), 0n])
  })

  it('are those of the genesis', async () => {
    expect((await chain.read('gov', 'getConstitution')).result).toBe('be kind')
    expect((await chain.read('gov', 'getParams')).result).toMatchObject({
      votingPeriod: BigInt(VOTING_MS) * 1_000_000n,
      minDeposit: coins(MIN_DEPOSIT),
      quorum: '0.334000000000000000',
      burnVoteVeto: true,
    })
  })
})
