import * as theirMessages from 'cosmjs-types/cosmos/upgrade/v1beta1/tx'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { MsgVote, PASSED, VOTE_OPTIONS } from '../../../../src/modules/gov/types.ts'
import {
  CancelSoftwareUpgradeProposal,
  MsgSubmitProposalV1beta1,
  SoftwareUpgradeProposal,
} from '../../../../src/modules/gov/typesV1beta1.ts'
import { MESSAGES } from '../../../../src/modules/messages.ts'
import { beginUpgrade, UpgradeNeeded, upgradeRules } from '../../../../src/modules/upgrade/beginUpgrade.ts'
import { MsgCancelUpgrade, MsgSoftwareUpgrade } from '../../../../src/modules/upgrade/messages.ts'
import { doneHeight, getPlan, type Plan, upgradesDone } from '../../../../src/modules/upgrade/plan.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import { anyOf, COIN, codeOf, GovChain, HOLDERS, succeeded, VALIDATORS, VOTING_MS } from '../gov/govChain.ts'
import { count, expectSameWire, text, wireCase } from '../wireCases.ts'

/** Year 1, which Go's clients send as the time of a plan. */
const ZERO_TIME = -62_135_596_800n * 1_000_000_000n

const plan = (fields: Partial<Plan> = {}): Plan => ({
  name: 'next',
  time: ZERO_TIME,
  height: 5n,
  info: 'https://example.org/next',
  upgradedClientState: undefined,
  ...fields,
})
const schedule = (fields: Partial<Plan> = {}) =>
  anyOf(MsgSoftwareUpgrade, { authority: GOV_AUTHORITY, plan: plan(fields) })

let chain: GovChain

beforeEach(() => {
  chain = new GovChain()
})

function decide(id: bigint): void {
  const option = VOTE_OPTIONS.VOTE_OPTION_YES
  succeeded(chain.send(MsgVote, { proposalId: id, voter: toBech32(VALIDATORS[0]), option }))
  chain.endBlock(VOTING_MS)
}

/** A proposal of v1beta1 with this content. */
function proposeContent(content: AnyValue): void {
  const initialDeposit = coinsOf(10n * COIN)
  succeeded(chain.send(MsgSubmitProposalV1beta1, { content, initialDeposit, proposer: toBech32(HOLDERS[0]!) }))
}

describe('an upgrade', () => {
  it('that passed stops this version at its height, with words for the operator', () => {
    const id = chain.propose({ messages: [schedule()] })
    decide(id)
    expect(chain.proposal(id)).toMatchObject({ status: PASSED, failedReason: '' })
    expect(getPlan(chain.native)).toEqual(plan())
    chain.endBlock(400)
    chain.endBlock(400)
    expect(chain.context.block.height).toBe(4)
    const stops = () => chain.endBlock(400)
    expect(stops).toThrow(UpgradeNeeded)
    expect(stops).toThrow(
      'upgrade "next" is needed at height 5: this version cannot execute block 5. Stop the node, install the version ' +
        'that knows "next" (https://example.org/next), and start it again with the same data.',
    )
  })

  it.each([MsgSoftwareUpgrade, MsgCancelUpgrade])("is governance's alone", (type) => {
    const message = { authority: toBech32(HOLDERS[0]!), plan: plan() }
    expect(codeOf(chain.send<object>(type, message))).toBe('upgrade/6')
  })

  it('goes on with a version that knows it', () => {
    succeeded(chain.run(schedule({ height: 2n })))
    const migrated: number[] = []
    const known = new Map([['next', () => void migrated.push(chain.context.block.height)]])
    const rules = { known, skippedHeights: [3] }
    beginUpgrade(chain.context, rules)
    expect(migrated).toEqual([])
    chain.passTime(400)
    beginUpgrade(chain.context, rules)
    beginUpgrade(chain.context, rules)
    expect(migrated).toEqual([2])
    expect(getPlan(chain.native)).toBeUndefined()
    expect(doneHeight(chain.native, 'next')).toBe(2)
    expect([...upgradesDone(chain.native)]).toEqual([{ name: 'next', height: 2 }])
    expect(codeOf(chain.run(schedule({ height: 9n })))).toBe('sdk/18')
    expect(codeOf(chain.run(schedule({ name: 'nex', height: 9n })))).toBe('no error')
  })

  it('is passed over at the heights that the operator names, and its plan forgotten', () => {
    succeeded(chain.run(schedule({ height: 2n })))
    const rules = upgradeRules([2])
    beginUpgrade(chain.context, rules)
    expect(getPlan(chain.native)?.height).toBe(2n)
    chain.passTime(400)
    expect(() => beginUpgrade(chain.context, upgradeRules([1, 3]))).toThrow(UpgradeNeeded)
    beginUpgrade(chain.context, rules)
    expect(getPlan(chain.native)).toBeUndefined()
    expect([...upgradesDone(chain.native)]).toEqual([])
    // It was not made, so that it may be planned again.
    expect(codeOf(chain.run(schedule({ height: 9n })))).toBe('no error')
  })

  it('is replaced by another, and cancelled', () => {
    succeeded(chain.run(schedule()))
    succeeded(chain.run(schedule({ name: 'other', height: 7n, time: 0n })))
    expect(getPlan(chain.native)).toEqual(plan({ name: 'other', height: 7n }))
    succeeded(chain.run(anyOf(MsgCancelUpgrade, { authority: GOV_AUTHORITY })))
    expect(getPlan(chain.native)).toBeUndefined()
    chain.endBlock(400)
  })

  it('of v1beta1 is scheduled and cancelled, too', () => {
    const words = { title: 'upgrade', description: 'to the next version' }
    proposeContent(anyOf(SoftwareUpgradeProposal, { ...words, plan: plan({ height: 100n }) }))
    expect(getPlan(chain.native)).toBeUndefined()
    decide(1n)
    expect(getPlan(chain.native)).toEqual(plan({ height: 100n }))
    proposeContent(anyOf(CancelSoftwareUpgradeProposal, words))
    decide(2n)
    expect(getPlan(chain.native)).toBeUndefined()
  })

  it.each<{ name: string; fields: Partial<Plan> }>([
    { name: 'without a name', fields: { name: '' } },
    { name: 'at no height', fields: { height: 0n } },
    { name: 'at a negative height', fields: { height: -5n } },
    { name: 'at the present height', fields: { height: 1n } },
    { name: 'beyond all heights', fields: { height: 2n ** 53n } },
    { name: 'with a time', fields: { time: 1n } },
    { name: 'with a client state', fields: { upgradedClientState: { typeUrl: '/a', value: new Uint8Array(0) } } },
  ])('$name is refused', ({ fields }) => {
    expect(codeOf(chain.run(schedule(fields)))).toBe('sdk/18')
    expect(getPlan(chain.native)).toBeUndefined()
  })
})

describe('encodings', () => {
  const plans = fc.record({
    name: text,
    time: fc.constant(10n ** 18n),
    height: count,
    info: text,
    upgradedClientState: fc.constant(undefined),
  })
  it('are those of cosmjs-types', () => {
    expectSameWire(
      wireCase(MsgSoftwareUpgrade, theirMessages.MsgSoftwareUpgrade, fc.record({ authority: text, plan: plans })),
    )
    expectSameWire(wireCase(MsgCancelUpgrade, theirMessages.MsgCancelUpgrade, fc.record({ authority: text })))
    const answers = [MsgSoftwareUpgrade, MsgCancelUpgrade].map(({ typeUrl }) => MESSAGES.get(typeUrl)!.response.typeUrl)
    expect(answers).toEqual([
      theirMessages.MsgSoftwareUpgradeResponse.typeUrl,
      theirMessages.MsgCancelUpgradeResponse.typeUrl,
    ])
  })
})
