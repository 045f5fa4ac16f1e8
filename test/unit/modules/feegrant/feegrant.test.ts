import * as theirs from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import * as theirMessages from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { GRANTS_PREFIX, getFeeGrant, granteePrefix, useFeeAllowance } from '../../../../src/modules/feegrant/grants.ts'
import { FEEGRANT_MESSAGES } from '../../../../src/modules/feegrant/messages.ts'
import {
  AllowedMsgAllowance,
  BasicAllowance,
  FeeGrant,
  MsgGrantAllowance,
  MsgPruneAllowances,
  MsgRevokeAllowance,
  PeriodicAllowance,
} from '../../../../src/modules/feegrant/types.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import type { SdkError } from '../../../../src/modules/sdkError.ts'
import { type Address, toBech32, toChecksumAddress } from '../../../../src/primitives/address.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import {
  anyOf,
  codeOf,
  eventTexts,
  GENESIS_MS,
  GovChain,
  HOLDERS,
  succeeded,
} from '../../../support/modules/gov/govChain.ts'
import { coin, expectSameWire, type TheirMessage, text, wireCase } from '../../../support/modules/wireCases.ts'

const [ALICE, BOB, CAROL] = HOLDERS as [Address, Address, Address]
const NOW = BigInt(GENESIS_MS) * 1_000_000n
const SECOND = 1_000_000_000n
const SEND = '/cosmos.bank.v1beta1.MsgSend'

let chain: GovChain

beforeEach(() => {
  chain = new GovChain()
})

function grant(allowance: AnyValue | undefined) {
  return chain.send(MsgGrantAllowance, { granter: toBech32(ALICE), grantee: toBech32(BOB), allowance })
}

/** Bob's fee from Alice, as a transaction in the present block would take it. */
function use(feeAcoin: bigint, typeUrls: readonly string[] = [SEND]): SdkError | undefined {
  const fee = { granter: ALICE, grantee: BOB, feeAcoin, typeUrls }
  chain.world.beginTransaction()
  return useFeeAllowance(chain.context, fee)
}

const basic = (limit: bigint, expiration?: bigint) => anyOf(BasicAllowance, { spendLimit: coinsOf(limit), expiration })

function periodic(fields: Partial<ReturnType<typeof PeriodicAllowance.create>> = {}): AnyValue {
  return anyOf(PeriodicAllowance, {
    basic: { spendLimit: coinsOf(25n), expiration: undefined },
    period: 10n * SECOND,
    periodSpendLimit: coinsOf(10n),
    periodCanSpend: coinsOf(10n),
    periodReset: NOW + 10n * SECOND,
    ...fields,
  })
}

const allowances = (prefix: Uint8Array) => [...chain.native.range(prefix)].map(([, value]) => FeeGrant.decode(value))

describe('an allowance', () => {
  it('pays until it is used up', () => {
    const { events } = succeeded(grant(basic(10n)))
    const names = `granter=${toBech32(ALICE)}, grantee=${toBech32(BOB)}`
    expect(eventTexts(events)).toEqual([`set_feegrant: ${names}`])
    expect(use(4n)).toBeUndefined()
    expect(eventTexts(chain.world.events())).toEqual([`use_feegrant: ${names}`, `update_feegrant: ${names}`])
    expect(use(7n)).toMatchObject({
      codespace: 'feegrant',
      code: 2,
      message: `${toBech32(ALICE)} does not allow to pay fees for ${toBech32(BOB)}: basic allowance: fee limit exceeded`,
    })
    expect(use(6n)).toBeUndefined()
    expect(eventTexts(chain.world.events())).toEqual([`revoke_feegrant: ${names}`, `use_feegrant: ${names}`])
    expect(codeOf(use(1n))).toBe('sdk/38')
    expect(getFeeGrant(chain.native, ALICE, BOB)).toBeUndefined()
  })

  it('without a limit pays anything', () => {
    succeeded(grant(basic(0n)))
    expect(use(10n ** 30n)).toBeUndefined()
    expect(use(0n)).toBeUndefined()
    expect(allowances(granteePrefix(BOB))).toEqual([
      { granter: toBech32(ALICE), grantee: toBech32(BOB), allowance: basic(0n) },
    ])
    expect(allowances(granteePrefix(CAROL))).toEqual([])
  })

  it('ends at its time, and is removed after it', () => {
    succeeded(grant(basic(10n, NOW + SECOND)))
    chain.endBlock(1_000)
    expect(use(1n)).toBeUndefined()
    chain.passTime(1)
    expect(codeOf(use(1n))).toBe('feegrant/3')
    expect(getFeeGrant(chain.native, ALICE, BOB)).toBeDefined()
    chain.endBlock(1)
    expect(getFeeGrant(chain.native, ALICE, BOB)).toBeUndefined()
    succeeded(grant(basic(10n)))
    chain.endBlock(10 ** 9)
    expect(use(1n)).toBeUndefined()
  })

  it('that is over can be removed by anybody before a block does', () => {
    const prune = () => chain.send(MsgPruneAllowances, { pruner: toBech32(CAROL) })
    succeeded(grant(basic(10n, NOW + SECOND)))
    succeeded(prune())
    expect(getFeeGrant(chain.native, ALICE, BOB)).toBeDefined()
    chain.passTime(1_001)
    const { events } = succeeded(prune())
    expect(eventTexts(events)).toEqual([`prune_feegrant: pruner=${toBech32(CAROL)}`])
    expect(getFeeGrant(chain.native, ALICE, BOB)).toBeUndefined()
    expect(() => chain.send(MsgPruneAllowances, { pruner: '' })).toThrow(TypeError)
  })

  it('has at most 64 coins and allowed messages in all', () => {
    const coins = (length: number) =>
      Array.from({ length }, (_, index) => ({ denom: `c${String(index).padStart(3, '0')}`, amount: 5n }))
    const basicOf = (length: number) => anyOf(BasicAllowance, { spendLimit: coins(length) })
    const periodicOf = (length: number) => periodic({ periodSpendLimit: coins(length), periodCanSpend: coins(length) })
    const allowing = (length: number, allowance: AnyValue) =>
      anyOf(AllowedMsgAllowance, { allowance, allowedMessages: new Array(length).fill('a') })
    const unlimited = { basic: { spendLimit: [], expiration: undefined } }
    for (const tooLong of [basicOf(65), periodicOf(33), allowing(65, basicOf(0)), allowing(33, basicOf(32))]) {
      expect(codeOf(grant(tooLong))).toBe('sdk/18')
    }
    expect(codeOf(grant(allowing(32, allowing(16, basicOf(16)))))).toBe('no error')
    expect(codeOf(grant(periodic({ ...unlimited, periodSpendLimit: coins(32), periodCanSpend: coins(32) })))).toBe(
      'sdk/18',
    )
  })

  it('is not granted twice, unless the one before is over', () => {
    succeeded(grant(basic(10n, NOW + SECOND)))
    expect(codeOf(grant(basic(10n)))).toBe('sdk/18')
    chain.passTime(1_001)
    expect(codeOf(grant(basic(20n, NOW)))).toBe('sdk/18')
    succeeded(grant(basic(20n)))
    chain.endBlock(10_000)
    expect(use(20n)).toBeUndefined()
  })

  it('is revoked', () => {
    const revoke = { granter: toBech32(ALICE), grantee: toBech32(BOB) }
    expect(codeOf(chain.send(MsgRevokeAllowance, revoke))).toBe('sdk/38')
    succeeded(grant(basic(10n, NOW + SECOND)))
    const { events } = succeeded(chain.send(MsgRevokeAllowance, revoke))
    expect(eventTexts(events)[0]).toMatch(/^revoke_feegrant: /)
    expect(codeOf(use(1n))).toBe('sdk/38')
    succeeded(grant(basic(10n)))
    chain.endBlock(2_000)
    expect(use(1n)).toBeUndefined()
    expect(codeOf(chain.send(MsgRevokeAllowance, { ...revoke, grantee: toChecksumAddress(ALICE) }))).toBe('sdk/7')
  })

  it('may name the messages that it pays for', () => {
    succeeded(grant(anyOf(AllowedMsgAllowance, { allowance: basic(10n), allowedMessages: [SEND, '/a.B'] })))
    expect(use(4n, [SEND, '/a.B', SEND])).toBeUndefined()
    expect(codeOf(use(4n, [SEND, '/a.C']))).toBe('feegrant/7')
    expect(codeOf(use(7n))).toBe('feegrant/2')
    expect(use(6n)).toBeUndefined()
    expect(codeOf(use(1n))).toBe('sdk/38')
  })

  it.each<{ name: string; allowance: AnyValue | undefined; code: string }>([
    { name: 'nothing', allowance: undefined, code: 'feegrant/5' },
    { name: 'an unknown allowance', allowance: { typeUrl: '/a.B', value: new Uint8Array(0) }, code: 'sdk/2' },
    {
      name: 'bytes that are no message',
      allowance: { typeUrl: BasicAllowance.typeUrl, value: Uint8Array.of(3) },
      code: 'sdk/2',
    },
    { name: 'a negative limit', allowance: basic(-1n), code: 'sdk/10' },
    { name: 'a time before 1970', allowance: basic(1n, -SECOND), code: 'feegrant/4' },
    { name: 'a time that is over', allowance: basic(1n, NOW - 1n), code: 'sdk/18' },
    { name: 'no period limit', allowance: periodic({ periodSpendLimit: [] }), code: 'sdk/10' },
    { name: 'a negative rest of the period', allowance: periodic({ periodCanSpend: coinsOf(-1n) }), code: 'sdk/10' },
    { name: 'a negative period', allowance: periodic({ period: -SECOND }), code: 'feegrant/4' },
    { name: 'a period of zero', allowance: periodic({ period: 0n }), code: 'feegrant/4' },
    {
      name: 'a period of zero, for some messages',
      allowance: anyOf(AllowedMsgAllowance, { allowance: periodic({ period: 0n }), allowedMessages: [SEND] }),
      code: 'feegrant/4',
    },
    {
      name: 'more in the first period than in others',
      allowance: periodic({ periodCanSpend: coinsOf(11n) }),
      code: 'sdk/10',
    },
    {
      name: 'a period limit of other coins',
      allowance: periodic({ periodSpendLimit: [{ denom: 'other', amount: 1n }] }),
      code: 'sdk/10',
    },
    {
      name: 'no allowance for messages',
      allowance: anyOf(AllowedMsgAllowance, { allowedMessages: [SEND] }),
      code: 'feegrant/5',
    },
    { name: 'no messages', allowance: anyOf(AllowedMsgAllowance, { allowance: basic(1n) }), code: 'feegrant/6' },
    {
      name: 'very many messages',
      allowance: anyOf(AllowedMsgAllowance, { allowance: basic(1n), allowedMessages: Array<string>(200).fill(SEND) }),
      code: 'sdk/18',
    },
    { name: 'an allowance inside of many', allowance: nested(20), code: 'sdk/2' },
  ])('of $name is refused', ({ allowance, code }) => {
    expect(codeOf(grant(allowance))).toBe(code)
    expect(allowances(GRANTS_PREFIX)).toEqual([])
  })

  it('to oneself is refused', () => {
    const message = { granter: toBech32(ALICE), grantee: toChecksumAddress(ALICE), allowance: basic(1n) }
    expect(codeOf(chain.send(MsgGrantAllowance, message))).toBe('sdk/7')
  })

  it("to a precompile is refused, but not to a module's account, which exists", () => {
    const to = (grantee: string) =>
      chain.send(MsgGrantAllowance, { granter: toBech32(ALICE), grantee, allowance: basic(1n) })
    expect(codeOf(to('0x0000000000000000000000000000000000000800'))).toBe('sdk/4')
    succeeded(to(GOV_AUTHORITY))
  })
})

describe('a periodic allowance', () => {
  /** Fees at seconds after the grant: what each gives. */
  it.each<{
    name: string
    fields?: Parameters<typeof periodic>[0]
    uses: readonly (readonly [number, bigint, string])[]
  }>([
    {
      name: 'pays its part in a period',
      uses: [
        [0, 6n, 'no error'],
        [1, 5n, 'feegrant/2'],
        [9, 4n, 'no error'],
        [9, 1n, 'feegrant/2'],
      ],
    },
    {
      name: 'pays again in the next',
      uses: [
        [0, 10n, 'no error'],
        [10, 10n, 'no error'],
        [19, 1n, 'feegrant/2'],
        [20, 5n, 'no error'],
        [20, 1n, 'sdk/38'],
      ],
    },
    {
      name: 'begins its periods anew after a pause',
      uses: [
        [35, 10n, 'no error'],
        [44, 1n, 'feegrant/2'],
        [45, 10n, 'no error'],
      ],
    },
    {
      name: 'begins one period at the end of another',
      uses: [
        [20, 10n, 'no error'],
        [20, 1n, 'feegrant/2'],
        [30, 5n, 'no error'],
      ],
    },
    {
      name: 'has one period in a block, however short it is',
      fields: { period: 1n },
      uses: [
        [10, 10n, 'no error'],
        [10, 1n, 'feegrant/2'],
        [11, 10n, 'no error'],
        [11, 1n, 'feegrant/2'],
      ],
    },
    {
      name: 'gives no more than the rest in all',
      uses: [
        [0, 10n, 'no error'],
        [10, 10n, 'no error'],
        [20, 6n, 'feegrant/2'],
        [20, 5n, 'no error'],
      ],
    },
    {
      name: 'may have no limit in all',
      fields: { basic: { spendLimit: [], expiration: undefined } },
      uses: [
        [0, 10n, 'no error'],
        [10, 10n, 'no error'],
        [20, 10n, 'no error'],
      ],
    },
    {
      name: 'may begin with less',
      fields: { periodCanSpend: coinsOf(1n) },
      uses: [
        [0, 2n, 'feegrant/2'],
        [10, 10n, 'no error'],
      ],
    },
    {
      name: 'ends at its time',
      fields: { basic: { spendLimit: [], expiration: NOW + 5n * SECOND } },
      uses: [
        [5, 1n, 'no error'],
        [6, 1n, 'feegrant/3'],
      ],
    },
    {
      name: 'has periods that never end',
      fields: { period: 315_576_000_000n * SECOND, periodReset: NOW },
      uses: [
        [0, 10n, 'no error'],
        [9, 1n, 'feegrant/2'],
      ],
    },
  ])('$name', ({ fields, uses }) => {
    succeeded(grant(periodic(fields)))
    let passed = 0
    for (const [second, fee, code] of uses) {
      chain.passTime((second - passed) * 1_000)
      passed = second
      expect(codeOf(use(fee))).toBe(code)
    }
  })
})

describe('encodings', () => {
  const any = fc.record({ typeUrl: text, value: fc.uint8Array({ minLength: 1 }) })
  const coins = fc.array(coin)
  const time = fc.bigInt(1n, 2n ** 31n - 1n).map((seconds) => seconds * SECOND)
  const limits = fc.record({ spendLimit: coins, expiration: time })
  const cases = [
    wireCase(BasicAllowance, theirs.BasicAllowance, limits),
    wireCase(
      PeriodicAllowance,
      theirs.PeriodicAllowance,
      fc.record({ basic: limits, period: time, periodSpendLimit: coins, periodCanSpend: coins, periodReset: time }),
    ),
    wireCase(
      AllowedMsgAllowance,
      theirs.AllowedMsgAllowance,
      fc.record({ allowance: any, allowedMessages: fc.array(text) }),
    ),
    wireCase(FeeGrant, theirs.Grant, fc.record({ granter: text, grantee: text, allowance: any })),
    wireCase(
      MsgGrantAllowance,
      theirMessages.MsgGrantAllowance,
      fc.record({ granter: text, grantee: text, allowance: any }),
    ),
    wireCase(MsgRevokeAllowance, theirMessages.MsgRevokeAllowance, fc.record({ granter: text, grantee: text })),
    wireCase(MsgPruneAllowances, theirMessages.MsgPruneAllowances, fc.record({ pruner: text })),
  ]

  it.each(cases.map((wire) => ({ name: wire.ours.name, wire })))('of $name are those of cosmjs-types', ({ wire }) => {
    expectSameWire(wire)
  })

  it('of answers have the names of the SDK', () => {
    const known = theirMessages as unknown as Readonly<Record<string, TheirMessage>>
    for (const { type, response } of FEEGRANT_MESSAGES) {
      expect(known[`${type.name.split('.').at(-1)}Response`]?.typeUrl).toBe(response.typeUrl)
    }
  })
})

function nested(levels: number): AnyValue {
  let allowance = basic(1n)
  for (let level = 0; level < levels; level++) {
    allowance = anyOf(AllowedMsgAllowance, { allowance, allowedMessages: [SEND] })
  }
  return allowance
}
