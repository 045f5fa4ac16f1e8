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
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import {
  beginUpgrade,
  checkVersion,
  UpgradeNeeded,
  type UpgradeRules,
  upgradeRules,
  WrongVersion,
} from '../../../../src/modules/upgrade/beginUpgrade.ts'
import { MsgCancelUpgrade, MsgSoftwareUpgrade } from '../../../../src/modules/upgrade/messages.ts'
import { initModuleVersions, moduleVersions, versionsOf } from '../../../../src/modules/upgrade/moduleVersions.ts'
import { doneHeight, getPlan, type Plan, upgradesDone } from '../../../../src/modules/upgrade/plan.ts'
import { type Migration, UPGRADES, type Upgrade } from '../../../../src/modules/upgrade/upgrades.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import {
  anyOf,
  COIN,
  codeOf,
  GovChain,
  HOLDERS,
  succeeded,
  VALIDATORS,
  VOTING_MS,
} from '../../../support/modules/gov/govChain.ts'
import { count, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'

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

const height = () => chain.context.block.height
const rulesOf = (...upgrades: readonly Upgrade[]): UpgradeRules => ({ upgrades, skippedHeights: [] })
const migration = (module: string, from: number, migrate: () => void): Migration => ({ module, from, migrate })

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

  it('is made at its height alone by the version that has it', () => {
    succeeded(chain.run(schedule({ height: 2n })))
    const migrated: number[] = []
    const rules = rulesOf({ name: 'next', migrations: [migration('mint', 2, () => migrated.push(height()))] })
    const early = () => beginUpgrade(chain.context, rules)
    expect(early).toThrow(WrongVersion)
    expect(early).toThrow('BINARY UPDATED BEFORE TRIGGER: upgrade "next" is planned for height 2')
    chain.passTime(400)
    beginUpgrade(chain.context, { ...rules, skippedHeights: [3] })
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

describe('migrations', () => {
  let ran: string[]
  const step = (module: string, from: number) => migration(module, from, () => void ran.push(`${module} ${from}`))
  const second: Upgrade = { name: 'v2', migrations: [step('mint', 2), step('auth', 5), step('mint', 3)] }
  const third: Upgrade = { name: 'v3', migrations: [step('fresh', 0), step('mint', 4), step('bank', 4)] }
  const make = (rules: UpgradeRules, name: string) => {
    succeeded(chain.run(schedule({ name, height: BigInt(height()) + 1n })))
    chain.passTime(400)
    beginUpgrade(chain.context, rules)
  }
  const check = (rules?: UpgradeRules) => checkVersion(chain.native, height() + 1, rules)
  beforeEach(() => {
    ran = []
  })

  it("run in the order of the modules' names, accounts last, and leave the versions in the state", () => {
    expect(moduleVersions(chain.native)).toEqual(versionsOf())
    check()
    make(rulesOf(second), 'v2')
    expect(ran).toEqual(['mint 2', 'mint 3', 'auth 5'])
    expect(moduleVersions(chain.native)).toEqual(versionsOf([second]))
    expect(moduleVersions(chain.native).get('mint')).toBe(4)
    check(rulesOf(second))
    make(rulesOf(second, third), 'v3')
    expect(ran.slice(3)).toEqual(['bank 4', 'fresh 0', 'mint 4'])
    expect(moduleVersions(chain.native)).toEqual(versionsOf([second, third]))
    check(rulesOf(second, third))
  })

  it('of an upgrade that was passed over run with the next', () => {
    make(rulesOf(second, third), 'v3')
    expect(ran).toEqual(['bank 4', 'fresh 0', 'mint 2', 'mint 3', 'mint 4', 'auth 5'])
    expect([...moduleVersions(chain.native).keys()]).toEqual([...versionsOf([second, third]).keys()].toSorted())
  })

  it('are not run by a version that has later ones too', () => {
    const tooLate = () => make(rulesOf(second, third), 'v2')
    expect(tooLate).toThrow('this version has "v3", which is later, already. Run the version of "v2".')
    expect(tooLate).toThrow(WrongVersion)
    expect(ran).toEqual([])
  })

  it('that were not run keep a newer version from the state, and those that were an older one', () => {
    expect(() => check(rulesOf(second))).toThrow(
      'auth module is at version 5 before block 2, that of this software at 6. Run an older',
    )
    make(rulesOf(second), 'v2')
    expect(() => check()).toThrow('made upgrade "v2" at height 2, which this version does not know')
    const renamed = { ...second, migrations: [step('mint', 2)] }
    expect(() => check(rulesOf(renamed))).toThrow(WrongVersion)
  })

  it('are due before the first block that this version executes', () => {
    succeeded(chain.run(schedule({ name: 'v2', height: 2n })))
    check(rulesOf(second))
    expect(() => check()).toThrow(UpgradeNeeded)
    expect(() => checkVersion(chain.native, 1, rulesOf(second))).toThrow(WrongVersion)
    // Who passes it over stays with the former version.
    checkVersion(chain.native, 2, upgradeRules([2]))
    expect(() => checkVersion(chain.native, 2, { ...rulesOf(second), skippedHeights: [2] })).toThrow(WrongVersion)
  })

  it('are part of the genesis of a chain that begins with a later version', () => {
    initModuleVersions(chain.native, [second])
    expect(moduleVersions(chain.native)).toEqual(versionsOf([second]))
    check(rulesOf(second))
  })

  it("of this version lead from each module's first version to its last, step by step", () => {
    const versions = new Map(versionsOf([]))
    for (const { module, from } of UPGRADES.flatMap(({ migrations }) => migrations)) {
      expect([module, versions.get(module) ?? 0]).toEqual([module, from])
      versions.set(module, from + 1)
    }
    for (const { name } of UPGRADES) expect(name).toMatch(/^[A-Za-z0-9._-]{1,64}$/)
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
