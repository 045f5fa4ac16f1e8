import { beforeEach, describe, expect, it } from 'vitest'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { endGov } from '../../../../src/modules/gov/endGov.ts'
import { GOV_GAS } from '../../../../src/modules/gov/messages.ts'
import { getProposalRecord } from '../../../../src/modules/gov/state.ts'
import {
  FAILED,
  MsgCancelProposal,
  MsgDeposit,
  MsgSubmitProposal,
  MsgVote,
  MsgVoteWeighted,
  PASSED,
  VOTING_PERIOD,
} from '../../../../src/modules/gov/types.ts'
import { MsgSubmitProposalV1beta1, ParameterChangeProposal } from '../../../../src/modules/gov/typesV1beta1.ts'
import type { MessageHandler, MessageTable } from '../../../../src/modules/message.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { GOV_DEPOSITS, GOVERNANCE } from '../../../../src/modules/moduleAccounts.ts'
import { sdkError } from '../../../../src/modules/sdkError.ts'
import { MsgCancelUpgrade } from '../../../../src/modules/upgrade/messages.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import {
  anyOf,
  COIN,
  eventTexts,
  GovChain,
  HOLDERS,
  succeeded,
  VALIDATORS,
  VOTING_MS,
} from '../../../support/modules/gov/govChain.ts'

const CANCEL_UPGRADE = anyOf(MsgCancelUpgrade, { authority: GOV_AUTHORITY })
/** Nearly as many as may run at the end of one block. */
const MANY = Array(550).fill(CANCEL_UPGRADE)
const BLOCK_GAS = 2_000_000

let chain: GovChain

beforeEach(() => {
  chain = new GovChain()
})

/** Gas of work that a step takes. */
function workOf(step: () => unknown): number {
  const before = chain.native.work.done
  step()
  return chain.native.work.done - before
}

function pass(id: bigint): void {
  succeeded(chain.send(MsgVote, { proposalId: id, voter: toBech32(VALIDATORS[0]), option: 1 }))
}

/** The table of messages with another way to cancel upgrades. */
function messagesWith(run: MessageHandler['run']): MessageTable {
  const handler = MESSAGES.get(MsgCancelUpgrade.typeUrl)!
  return new Map([...MESSAGES, [MsgCancelUpgrade.typeUrl, { ...handler, run }]])
}

describe('a block', () => {
  it('drops as many proposals as its budget allows, however large they are', () => {
    const count = 200
    for (let i = 0; i < count; i++) chain.propose({ messages: MANY, initialDeposit: coinsOf(COIN / 10n) })
    chain.passTime(VOTING_MS)
    let blocks = 0
    let dropped = 0
    while (dropped < count) {
      const work = workOf(() => endGov(chain.context, MESSAGES))
      expect(work).toBeLessThan(BLOCK_GAS)
      blocks++
      const left = Array.from({ length: count }, (_, index) => getProposalRecord(chain.native, BigInt(index + 1)))
      expect(count - left.filter((record) => record !== undefined).length).toBeGreaterThan(dropped)
      dropped = count - left.filter((record) => record !== undefined).length
      expect(chain.problems()).toEqual([])
    }
    expect(blocks).toBeGreaterThan(2)
    expect(chain.world.getBalance(GOV_DEPOSITS)).toBe(0n)
  })

  it('decides proposals although very many others only wait to be dropped', () => {
    for (let i = 0; i < 200; i++) chain.propose({ initialDeposit: coinsOf(COIN / 10n) })
    const id = chain.propose()
    pass(id)
    chain.passTime(VOTING_MS)
    endGov(chain.context, MESSAGES)
    expect(chain.proposal(id).status).toBe(PASSED)
    expect(getProposalRecord(chain.native, 200n)).toBeDefined()
  })

  it('executes no further proposal once messages have used its budget', () => {
    const ids = [chain.propose({ messages: [CANCEL_UPGRADE] }), chain.propose({ messages: [CANCEL_UPGRADE] })]
    for (const id of ids) pass(id)
    chain.passTime(VOTING_MS)
    const messages = messagesWith(({ world }) => {
      world.native.work.add(3_000_000)
      return new Uint8Array(0)
    })
    endGov(chain.context, messages)
    expect(ids.map((id) => chain.proposal(id).status)).toEqual([PASSED, VOTING_PERIOD])
    endGov(chain.context, messages)
    expect(ids.map((id) => chain.proposal(id).status)).toEqual([PASSED, PASSED])
  })

  it('fails a proposal whose messages need more gas than a transaction may use, and undoes them', () => {
    chain.world.addBalance(GOVERNANCE, COIN)
    const send = anyOf(MsgSend, {
      fromAddress: GOV_AUTHORITY,
      toAddress: toBech32(HOLDERS[1]!),
      amount: coinsOf(COIN),
    })
    const id = chain.propose({ messages: [send, CANCEL_UPGRADE] })
    pass(id)
    const endless = messagesWith(({ world }) => {
      for (;;) world.native.work.add(1_000)
    })
    chain.passTime(VOTING_MS)
    chain.world.beginTransaction()
    const work = workOf(() => endGov(chain.context, endless))
    const events = eventTexts(chain.world.events())
    // It throws when a checkpoint is left open.
    chain.world.endTransaction({ clearEmpty: true })
    expect(work).toBeLessThan(BLOCK_GAS + 16_777_216 + 1_000)
    expect(chain.proposal(id)).toMatchObject({ status: FAILED, failedReason: expect.stringMatching(/out of gas/) })
    expect(events.at(-1)).toMatch(/proposal_failed.*more than 16777216 gas/)
    expect(chain.world.getBalance(GOVERNANCE)).toBe(COIN)
    expect(chain.problems()).toEqual([])
  })

  it('counts the fixed gas of messages that do less', () => {
    const [few, many] = [[CANCEL_UPGRADE], Array(101).fill(CANCEL_UPGRADE)].map((messages) => {
      chain = new GovChain()
      pass(chain.propose({ messages }))
      chain.passTime(VOTING_MS)
      return workOf(() =>
        endGov(
          chain.context,
          messagesWith(() => new Uint8Array(0)),
        ),
      )
    })
    const { gas } = MESSAGES.get(MsgCancelUpgrade.typeUrl)!
    expect(many! - few!).toBeGreaterThan(100 * Number(gas(MsgCancelUpgrade.create())))
  })

  it('stores a bounded reason of a failure', () => {
    const id = chain.propose({ messages: [CANCEL_UPGRADE] })
    pass(id)
    chain.passTime(VOTING_MS)
    endGov(
      chain.context,
      messagesWith(() => sdkError('invalidRequest', 'x'.repeat(60_000))),
    )
    expect(chain.proposal(id).failedReason).toBe('x'.repeat(1_024))
  })

  it('ends even when coins of deposits are missing, and says so', () => {
    const id = chain.propose({ initialDeposit: coinsOf(COIN) })
    chain.world.subBalance(GOV_DEPOSITS, COIN)
    chain.world.addBalance(HOLDERS[1]!, COIN)
    const events = eventTexts(chain.endBlock(VOTING_MS))
    expect(events[0]).toMatch(
      /^deposit_not_moved: proposal_id=1, amount=1000000000000000000acoin, reason=.*insufficient funds/,
    )
    expect(getProposalRecord(chain.native, id)).toBeUndefined()
    expect(chain.problems()).toEqual([])
  })
})

it('votes and deposits cost the same, whatever a proposal says', () => {
  const costs = [{}, { messages: MANY, summary: 's'.repeat(10_200), title: 't'.repeat(255) }].map((fields) => {
    chain = new GovChain()
    const id = chain.propose(fields)
    const depositor = toBech32(HOLDERS[1]!)
    const options = [{ option: 1, weight: '1' }]
    return [
      () => succeeded(chain.send(MsgVoteWeighted, { proposalId: id, voter: depositor, options })),
      () => succeeded(chain.send(MsgDeposit, { proposalId: id, depositor, amount: coinsOf(COIN) })),
    ].map(workOf)
  })
  expect(costs[1]).toEqual(costs[0])
})

it('ordinary messages do less work than their fixed gas pays', () => {
  const id = chain.propose({ messages: [CANCEL_UPGRADE] })
  const depositor = toBech32(HOLDERS[1]!)
  const options = [1, 2, 3, 4].map((option) => ({ option, weight: '0.25' }))
  const submission = {
    title: 'a title',
    summary: 's'.repeat(2_000),
    metadata: 'ipfs://CID',
    proposer: depositor,
    messages: [CANCEL_UPGRADE],
    initialDeposit: coinsOf(10n * COIN),
  }
  const work = {
    submitProposal: workOf(() => succeeded(chain.send(MsgSubmitProposal, submission))),
    vote: workOf(() => succeeded(chain.send(MsgVoteWeighted, { proposalId: id, voter: depositor, options }))),
    deposit: workOf(() => succeeded(chain.send(MsgDeposit, { proposalId: id, depositor, amount: coinsOf(COIN) }))),
    cancelProposal: workOf(() =>
      succeeded(chain.send(MsgCancelProposal, { proposalId: id, proposer: toBech32(HOLDERS[0]!) })),
    ),
  }
  for (const [name, gas] of Object.entries(work)) {
    expect(`${name} ${gas <= Number(GOV_GAS[name as keyof typeof work])} (${gas})`).toBe(`${name} true (${gas})`)
  }
})

it('a submission that runs out of gas anywhere leaves nothing half done', () => {
  const change = { subspace: 'staking', key: 'MaxValidators', value: '40' }
  const content = anyOf(ParameterChangeProposal, { title: 'a', description: 'b', changes: [change] })
  const { type, run } = MESSAGES.get(MsgSubmitProposalV1beta1.typeUrl)!
  const fields = { content, initialDeposit: coinsOf(10n * COIN), proposer: toBech32(HOLDERS[0]!) }
  const submit = (limit: bigint) => {
    chain.world.beginTransaction()
    chain.world.checkpoint()
    const ran = chain.native.work.limited(limit, () => run(chain.context, type.create(fields as never)))
    if (ran.kind === 'exceeded') chain.world.revert()
    else chain.world.commit()
    // It throws when a checkpoint is left open.
    chain.world.endTransaction({ clearEmpty: true })
    return ran.kind
  }
  let limit = 500n
  for (; submit(limit) === 'exceeded'; limit += 500n) {
    expect(getProposalRecord(chain.native, 1n)).toBeUndefined()
    expect(chain.world.getBalance(HOLDERS[0]!)).toBe(1_000n * COIN)
  }
  expect(limit).toBeGreaterThan(30_000n)
  expect(chain.proposal(1n).status).toBe(VOTING_PERIOD)
})
