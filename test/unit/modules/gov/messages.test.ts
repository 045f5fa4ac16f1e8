import { beforeEach, describe, expect, it } from 'vitest'
import { GenericAuthorization, MsgExec, MsgGrant } from '../../../../src/modules/authz/types.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { type Coin, coinsOf } from '../../../../src/modules/coin.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { getDeposit, getVote } from '../../../../src/modules/gov/state.ts'
import {
  DEPOSIT_PERIOD,
  MsgDeposit,
  MsgExecLegacyContent,
  MsgSubmitProposal,
  MsgVote,
  MsgVoteWeighted,
  PASSED,
  REJECTED,
  VOTING_PERIOD,
} from '../../../../src/modules/gov/types.ts'
import {
  MsgDepositV1beta1,
  MsgSubmitProposalV1beta1,
  MsgVoteV1beta1,
  MsgVoteWeightedV1beta1,
  TextProposal,
} from '../../../../src/modules/gov/typesV1beta1.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { GOV_DEPOSITS, GOVERNANCE } from '../../../../src/modules/moduleAccounts.ts'
import { MsgCancelUpgrade, MsgSoftwareUpgrade } from '../../../../src/modules/upgrade/messages.ts'
import { type Address, toBech32, toChecksumAddress } from '../../../../src/primitives/address.ts'
import { ONE } from '../../../../src/primitives/decimal.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import {
  anyOf,
  COIN,
  codeOf,
  eventTexts,
  GENESIS_MS,
  GovChain,
  HOLDERS,
  succeeded,
  VALIDATORS,
  VOTING_MS,
} from '../../../support/modules/gov/govChain.ts'

const [ALICE, BOB] = HOLDERS as [Address, Address]
const OTHER: readonly Coin[] = [{ denom: 'other', amount: 1n }]
const YES = 1
const CANCEL_UPGRADE = anyOf(MsgCancelUpgrade, { authority: GOV_AUTHORITY })

let chain: GovChain

beforeEach(() => {
  chain = new GovChain()
})

const proposal = (fields: Partial<ReturnType<typeof MsgSubmitProposal.create>> = {}) => ({
  title: 'a title',
  summary: 'a summary',
  metadata: 'no JSON',
  proposer: toBech32(ALICE),
  initialDeposit: coinsOf(10n * COIN),
  ...fields,
})

describe('MsgSubmitProposal', () => {
  it('opens a proposal and starts its vote when the deposit suffices', () => {
    const messages = [CANCEL_UPGRADE, CANCEL_UPGRADE]
    const { events } = succeeded(chain.send(MsgSubmitProposal, proposal({ messages })))
    const url = MsgCancelUpgrade.typeUrl
    expect(eventTexts(events).filter((text) => text.includes('proposal'))).toEqual([
      `submit_proposal: proposal_id=1, proposal_proposer=${toBech32(ALICE)}, proposal_messages=,${url},${url}`,
      `proposal_deposit: depositor=${toBech32(ALICE)}, amount=${10n * COIN}acoin, proposal_id=1`,
      'submit_proposal: voting_period_start=1',
    ])
    const start = BigInt(GENESIS_MS) * 1_000_000n
    const end = start + BigInt(VOTING_MS) * 1_000_000n
    expect(chain.proposal(1n)).toEqual({
      id: 1n,
      messages,
      status: VOTING_PERIOD,
      finalTallyResult: { yesCount: '0', abstainCount: '0', noCount: '0', noWithVetoCount: '0' },
      submitTime: start,
      depositEndTime: end,
      totalDeposit: coinsOf(10n * COIN),
      votingStartTime: start,
      votingEndTime: end,
      metadata: 'no JSON',
      title: 'a title',
      summary: 'a summary',
      proposer: toBech32(ALICE),
      expedited: false,
      failedReason: '',
    })
    expect(chain.world.getBalance(GOV_DEPOSITS)).toBe(10n * COIN)
    expect(chain.problems()).toEqual([])
  })

  it('leaves it in deposit when the deposit does not, and takes an address of either encoding', () => {
    const fields = proposal({ initialDeposit: coinsOf(COIN), proposer: toChecksumAddress(ALICE) })
    const { events } = succeeded(chain.send(MsgSubmitProposal, fields))
    expect(eventTexts(events).filter((text) => text.includes('voting_period_start'))).toEqual([])
    expect(chain.proposal(1n)).toMatchObject({ status: DEPOSIT_PERIOD, proposer: toBech32(ALICE) })
  })

  it('counts ids', () => {
    expect([chain.propose(), chain.propose(), chain.propose()]).toEqual([1n, 2n, 3n])
  })

  it.each<{ name: string; fields: Parameters<typeof proposal>[0]; code: string }>([
    { name: 'no title', fields: { title: '' }, code: 'sdk/18' },
    { name: 'no summary', fields: { summary: '' }, code: 'sdk/18' },
    { name: 'neither messages nor metadata', fields: { metadata: '' }, code: 'gov/11' },
    {
      name: 'a title that is not that of the metadata',
      fields: { metadata: '{"title":"b","summary":"a summary"}' },
      code: 'gov/5',
    },
    { name: 'a summary that is not that of the metadata', fields: { metadata: '{"title":"a title"}' }, code: 'gov/5' },
    {
      name: 'a title that is not that of the metadata, in capitals',
      fields: { metadata: '{"TITLE":"b","summary":"a summary","authors":[null]}' },
      code: 'gov/5',
    },
    { name: 'long metadata', fields: { metadata: 'ä'.repeat(128) }, code: 'gov/15' },
    { name: 'a long title', fields: { title: 'a'.repeat(256) }, code: 'gov/15' },
    { name: 'a long summary', fields: { summary: 'a'.repeat(10_201) }, code: 'gov/22' },
    { name: 'no deposit', fields: { initialDeposit: [] }, code: 'gov/16' },
    { name: 'too small a deposit', fields: { initialDeposit: coinsOf(COIN / 10n - 1n) }, code: 'gov/16' },
    { name: 'a deposit of another denomination', fields: { initialDeposit: OTHER }, code: 'gov/23' },
    { name: 'too small a deposit and others', fields: { initialDeposit: [...coinsOf(1n), ...OTHER] }, code: 'gov/23' },
    { name: 'a negative deposit', fields: { initialDeposit: coinsOf(-COIN) }, code: 'sdk/10' },
    { name: 'coins that come twice', fields: { initialDeposit: [...coinsOf(COIN), ...coinsOf(COIN)] }, code: 'sdk/10' },
    { name: 'more than the proposer has', fields: { initialDeposit: coinsOf(1_001n * COIN) }, code: 'sdk/5' },
    {
      name: 'an unknown message',
      fields: { messages: [{ typeUrl: '/a.B', value: new Uint8Array(0) }] },
      code: 'sdk/2',
    },
    {
      name: 'a message that does not decode',
      fields: { messages: [{ ...CANCEL_UPGRADE, value: Uint8Array.of(1) }] },
      code: 'sdk/2',
    },
    {
      name: "somebody else's message",
      fields: { messages: [anyOf(MsgCancelUpgrade, { authority: toBech32(ALICE) })] },
      code: 'gov/13',
    },
    {
      name: 'a message of no address',
      fields: { messages: [anyOf(MsgCancelUpgrade, { authority: 'coin1' })] },
      code: 'sdk/7',
    },
    {
      name: 'an invalid message',
      fields: { messages: [anyOf(MsgSoftwareUpgrade, { authority: GOV_AUTHORITY })] },
      code: 'gov/12',
    },
    { name: 'very many messages', fields: { messages: Array<AnyValue>(800).fill(CANCEL_UPGRADE) }, code: 'sdk/18' },
    { name: 'invalid content', fields: { messages: [legacy({ title: ' ', description: 'a' })] }, code: 'gov/12' },
  ])('with $name is refused and changes nothing', ({ fields, code }) => {
    expect(codeOf(chain.send(MsgSubmitProposal, proposal(fields)))).toBe(code)
    expect(chain.propose()).toBe(1n)
    expect(chain.world.getBalance(ALICE)).toBe(990n * COIN)
  })

  it('takes metadata of any form but the recommended one with other texts', () => {
    for (const metadata of [
      '{"title":"a title","summary":"a summary","authors":["x"]}',
      '[1]',
      '7',
      '{"title":7}',
      '{"Title":"a title","SUMMARY":"a summary","details":null}',
      '{"title":"another","authors":"somebody"}',
      '{"title":"another","authors":["x",7]}',
      '{"title":"another","details":{}}',
      '{',
    ]) {
      expect(chain.propose({ metadata })).toBeGreaterThan(0n)
    }
  })

  it('needs the minimum initial deposit', () => {
    chain = new GovChain({ gov: { min_initial_deposit_ratio: '0.300000000000000000' } })
    expect(codeOf(chain.send(MsgSubmitProposal, proposal({ initialDeposit: coinsOf(3n * COIN - 1n) })))).toBe('gov/16')
    expect(chain.propose({ initialDeposit: coinsOf(3n * COIN) })).toBe(1n)
    expect(codeOf(chain.send(MsgSubmitProposal, proposal({ initialDeposit: OTHER })))).toBe('gov/16')
    const expedited = { expedited: true, initialDeposit: coinsOf(15n * COIN - 1n) }
    expect(codeOf(chain.send(MsgSubmitProposal, proposal(expedited)))).toBe('gov/16')
  })

  it('costs the gas of what it proposes, too', () => {
    const { gas: gasOf } = MESSAGES.get(MsgSubmitProposal.typeUrl)!
    const gas = (messages: readonly AnyValue[]) => gasOf(MsgSubmitProposal.create({ messages }))
    expect(gas([CANCEL_UPGRADE, CANCEL_UPGRADE]) - gas([])).toBe(2n * (gas([CANCEL_UPGRADE]) - gas([])))
    expect(gas([CANCEL_UPGRADE])).toBeGreaterThan(gas([]))
  })
})

describe('MsgDeposit', () => {
  it('adds up, and starts the vote', () => {
    const id = chain.propose({ initialDeposit: coinsOf(4n * COIN) })
    const send = () =>
      succeeded(chain.send(MsgDeposit, { proposalId: id, depositor: toBech32(BOB), amount: coinsOf(3n * COIN) }))
    expect(eventTexts(send().events).at(-1)).toMatch(/^proposal_deposit: depositor=/)
    expect(chain.proposal(id).status).toBe(DEPOSIT_PERIOD)
    expect(eventTexts(send().events).at(-1)).toBe('proposal_deposit: voting_period_start=1')
    expect(chain.proposal(id)).toMatchObject({ status: VOTING_PERIOD, totalDeposit: coinsOf(10n * COIN) })
    expect(getDeposit(chain.native, id, BOB)?.amount).toEqual(coinsOf(6n * COIN))
    // More is taken while it is voted on.
    expect(eventTexts(send().events).at(-1)).toMatch(/^proposal_deposit: depositor=/)
    expect(chain.problems()).toEqual([])
  })

  it.each<{ name: string; id?: bigint; amount: readonly Coin[]; code: string }>([
    { name: 'an unknown proposal', id: 7n, amount: coinsOf(COIN), code: 'sdk/38' },
    { name: 'nothing', amount: [], code: 'sdk/10' },
    { name: 'a negative amount', amount: coinsOf(-COIN), code: 'sdk/10' },
    { name: 'another denomination', amount: OTHER, code: 'gov/23' },
    { name: 'less than the ratio', amount: coinsOf(COIN / 10n - 1n), code: 'gov/16' },
    { name: 'more than there is', amount: coinsOf(1_001n * COIN), code: 'sdk/5' },
  ])('of $name is refused', ({ id = 1n, amount, code }) => {
    chain.propose({ initialDeposit: coinsOf(COIN) })
    expect(codeOf(chain.send(MsgDeposit, { proposalId: id, depositor: toBech32(BOB), amount }))).toBe(code)
    expect(chain.world.getBalance(BOB)).toBe(1_000n * COIN)
    expect(chain.proposal(1n).totalDeposit).toEqual(coinsOf(COIN))
  })

  it('may be of any size without a ratio, and comes too late when the proposal is decided', () => {
    chain = new GovChain({ gov: { min_deposit_ratio: '0.000000000000000000' } })
    chain.propose()
    const send = () => codeOf(chain.send(MsgDeposit, { proposalId: 1n, depositor: toBech32(BOB), amount: coinsOf(1n) }))
    expect(send()).toBe('no error')
    chain.endBlock(VOTING_MS)
    expect(send()).toBe('gov/3')
  })
})

describe('votes', () => {
  it.each<{ name: string; send: (chain: GovChain) => ReturnType<GovChain['run']>; code: string }>([
    { name: 'for nothing', send: (on) => on.send(MsgVote, { proposalId: 1n, voter: toBech32(ALICE) }), code: 'gov/7' },
    {
      name: 'for an unknown option',
      send: (on) => on.send(MsgVote, { proposalId: 1n, voter: toBech32(ALICE), option: 5 }),
      code: 'gov/7',
    },
    {
      name: 'on an unknown proposal',
      send: (on) => on.send(MsgVote, { proposalId: 3n, voter: toBech32(ALICE), option: YES }),
      code: 'gov/3',
    },
    {
      name: 'on a proposal in deposit',
      send: (on) => on.send(MsgVote, { proposalId: 2n, voter: toBech32(ALICE), option: YES }),
      code: 'gov/3',
    },
    {
      name: 'with long metadata',
      send: (on) =>
        on.send(MsgVote, { proposalId: 1n, voter: toBech32(ALICE), option: YES, metadata: 'a'.repeat(256) }),
      code: 'gov/15',
    },
    { name: 'with no weights', send: (on) => weighted(on, []), code: 'sdk/18' },
    {
      name: 'with weights under 1',
      send: (on) =>
        weighted(on, [
          [1, '0.5'],
          [2, '0.4'],
        ]),
      code: 'gov/7',
    },
    {
      name: 'with weights over 1',
      send: (on) =>
        weighted(on, [
          [1, '0.5'],
          [2, '0.6'],
        ]),
      code: 'gov/7',
    },
    {
      name: 'with a weight of 0',
      send: (on) =>
        weighted(on, [
          [1, '1'],
          [2, '0'],
        ]),
      code: 'gov/7',
    },
    {
      name: 'with a negative weight',
      send: (on) =>
        weighted(on, [
          [1, '-0.5'],
          [2, '1.5'],
        ]),
      code: 'gov/7',
    },
    {
      name: 'with an option twice',
      send: (on) =>
        weighted(on, [
          [1, '0.5'],
          [1, '0.5'],
        ]),
      code: 'gov/7',
    },
    { name: 'with a weight that is no number', send: (on) => weighted(on, [[1, 'all']]), code: 'gov/7' },
    { name: 'with a weight of 19 decimals', send: (on) => weighted(on, [[1, '1.0000000000000000000']]), code: 'gov/7' },
  ])('$name are refused', ({ send, code }) => {
    chain.propose()
    chain.propose({ initialDeposit: coinsOf(COIN) })
    expect(codeOf(send(chain))).toBe(code)
    expect(getVote(chain.native, 1n, ALICE)).toBeUndefined()
  })

  it('come too late when the proposal is decided', () => {
    chain.propose()
    chain.endBlock(VOTING_MS)
    expect(codeOf(chain.send(MsgVote, { proposalId: 1n, voter: toBech32(ALICE), option: YES }))).toBe('gov/3')
  })
})

describe('messages of v1beta1', () => {
  it('do what those of v1 do', () => {
    const content = anyOf(TextProposal, { title: 'text', description: 'words' })
    const deposit = coinsOf(9n * COIN)
    const proposer = toBech32(ALICE)
    succeeded(chain.send(MsgSubmitProposalV1beta1, { content, initialDeposit: deposit, proposer }))
    const messages = [anyOf(MsgExecLegacyContent, { content, authority: GOV_AUTHORITY })]
    expect(chain.proposal(1n)).toMatchObject({ title: 'text', summary: 'words', metadata: '', messages })
    succeeded(chain.send(MsgDepositV1beta1, { proposalId: 1n, depositor: toBech32(BOB), amount: coinsOf(COIN) }))
    const [first, second] = VALIDATORS
    succeeded(chain.send(MsgVoteV1beta1, { proposalId: 1n, voter: toBech32(first), option: YES }))
    const options = [
      { option: 1, weight: ONE / 4n },
      { option: 3, weight: (ONE * 3n) / 4n },
    ]
    succeeded(chain.send(MsgVoteWeightedV1beta1, { proposalId: 1n, voter: toBech32(second), options }))
    expect(getVote(chain.native, 1n, second)?.options).toEqual([
      { option: 1, weight: '0.250000000000000000' },
      { option: 3, weight: '0.750000000000000000' },
    ])
    chain.endBlock(VOTING_MS)
    expect(chain.proposal(1n)).toMatchObject({
      status: PASSED,
      finalTallyResult: { yesCount: (115n * COIN).toString(), noCount: (45n * COIN).toString() },
    })
  })

  it.each<{ name: string; content: AnyValue | undefined; code: string }>([
    { name: 'nothing', content: undefined, code: 'gov/5' },
    { name: 'an unknown content', content: { typeUrl: '/a.B', value: new Uint8Array(0) }, code: 'sdk/2' },
    { name: 'a message', content: CANCEL_UPGRADE, code: 'sdk/2' },
    {
      name: 'bytes that are no message',
      content: { typeUrl: TextProposal.typeUrl, value: Uint8Array.of(7) },
      code: 'sdk/2',
    },
    { name: 'no title', content: anyOf(TextProposal, { description: 'a' }), code: 'gov/5' },
    { name: 'a long title', content: anyOf(TextProposal, { title: 'a'.repeat(141), description: 'a' }), code: 'gov/5' },
    { name: 'no description', content: anyOf(TextProposal, { title: 'a', description: ' ' }), code: 'gov/5' },
    {
      name: 'a long description',
      content: anyOf(TextProposal, { title: 'a', description: 'a'.repeat(10_001) }),
      code: 'gov/5',
    },
  ])('refuse $name as content', ({ content, code }) => {
    const initialDeposit = coinsOf(10n * COIN)
    const sent = chain.send(MsgSubmitProposalV1beta1, { content, initialDeposit, proposer: toBech32(ALICE) })
    expect(codeOf(sent)).toBe(code)
  })
})

describe('messages that only governance may send', () => {
  it.each([
    { message: legacy({ title: 'a', description: 'b' }, toBech32(ALICE)), code: 'gov/13' },
    { message: anyOf(MsgCancelUpgrade, { authority: toBech32(ALICE) }), code: 'upgrade/6' },
    { message: anyOf(MsgSoftwareUpgrade, { authority: toBech32(ALICE), plan: plan('next', 100n) }), code: 'upgrade/6' },
  ])('$message.typeUrl of somebody else is refused', ({ message, code }) => {
    expect(codeOf(chain.run(message))).toBe(code)
  })
})

describe("governance's own coins", () => {
  it('may be sent by a proposal, but not those that are deposits', () => {
    const send = (amount: bigint) =>
      anyOf(MsgSend, { fromAddress: GOV_AUTHORITY, toAddress: toBech32(BOB), amount: coinsOf(amount) })
    const other = chain.propose({ initialDeposit: coinsOf(5n * COIN) })
    chain.world.addBalance(GOVERNANCE, COIN)
    const steals = chain.propose({ messages: [send(COIN + 1n)] })
    const sends = chain.propose({ messages: [send(COIN)] })
    for (const id of [steals, sends]) {
      succeeded(chain.send(MsgVote, { proposalId: id, voter: toBech32(VALIDATORS[0]), option: YES }))
    }
    chain.endBlock(VOTING_MS - 1)
    succeeded(chain.send(MsgDeposit, { proposalId: other, depositor: toBech32(BOB), amount: coinsOf(5n * COIN) }))
    chain.endBlock(1)
    expect(chain.proposal(steals).failedReason).toMatch(/insufficient funds/)
    expect(chain.proposal(sends)).toMatchObject({ status: PASSED, failedReason: '' })
    expect(chain.world.getBalance(GOVERNANCE)).toBe(0n)
    expect(chain.world.getBalance(GOV_DEPOSITS)).toBe(10n * COIN)
    expect(chain.problems()).toEqual([])
  })

  it('are what a grant of governance gives away, without the deposits', () => {
    const authorization = anyOf(GenericAuthorization, { msg: MsgSend.typeUrl })
    const grant = anyOf(MsgGrant, {
      granter: GOV_AUTHORITY,
      grantee: toBech32(BOB),
      grant: { authorization, expiration: undefined },
    })
    succeeded(chain.run(grant))
    chain.world.addBalance(GOVERNANCE, COIN)
    const id = chain.propose()
    const take = (amount: bigint) =>
      chain.send(MsgExec, {
        grantee: toBech32(BOB),
        msgs: [anyOf(MsgSend, { fromAddress: GOV_AUTHORITY, toAddress: toBech32(BOB), amount: coinsOf(amount) })],
      })
    expect(codeOf(take(COIN + 1n))).toBe('sdk/5')
    succeeded(take(COIN))
    expect(chain.problems()).toEqual([])
    chain.endBlock(VOTING_MS)
    expect(chain.proposal(id).status).toBe(REJECTED)
    expect(chain.world.getBalance(ALICE)).toBe(1_000n * COIN)
  })

  it('may not be its deposit', () => {
    const message = anyOf(MsgSubmitProposal, proposal({ proposer: GOV_AUTHORITY }))
    const id = chain.propose({ messages: [message] })
    succeeded(chain.send(MsgVote, { proposalId: id, voter: toBech32(VALIDATORS[0]), option: YES }))
    chain.endBlock(VOTING_MS)
    expect(chain.proposal(id).failedReason).toMatch(/insufficient funds/)
    expect(chain.problems()).toEqual([])
  })
})

function weighted(on: GovChain, options: readonly (readonly [number, string])[]): ReturnType<GovChain['run']> {
  return on.send(MsgVoteWeighted, {
    proposalId: 1n,
    voter: toBech32(ALICE),
    options: options.map(([option, weight]) => ({ option, weight })),
  })
}

function legacy(text: { title: string; description: string }, authority: string = GOV_AUTHORITY): AnyValue {
  return anyOf(MsgExecLegacyContent, { content: anyOf(TextProposal, text), authority })
}

function plan(name: string, height: bigint) {
  return { name, height, time: 0n, info: '', upgradedClientState: undefined }
}
