import { beforeEach, describe, expect, it, vi } from 'vitest'
import { GRANTS_PREFIX, type GrantId, getGrant, grantIdOf } from '../../../../src/modules/authz/grants.ts'
import {
  AUTHORIZATION_TYPE_NAMES,
  GenericAuthorization,
  Grant,
  MsgExec,
  MsgExecResponse,
  MsgGrant,
  MsgRevoke,
  SendAuthorization,
  StakeAuthorization,
} from '../../../../src/modules/authz/types.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { executeProposal } from '../../../../src/modules/gov/proposals.ts'
import { MsgSubmitProposal } from '../../../../src/modules/gov/types.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { getDelegation } from '../../../../src/modules/staking/delegations.ts'
import { addressesKey } from '../../../../src/modules/storeKey.ts'
import { MsgCancelUpgrade } from '../../../../src/modules/upgrade/messages.ts'
import { type Address, BECH32_OPERATOR, toBech32, toChecksumAddress } from '../../../../src/primitives/address.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import type { NativeStore } from '../../../../src/state/world.ts'
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
} from '../../../support/modules/gov/govChain.ts'

const [ALICE, BOB, CAROL] = HOLDERS as [Address, Address, Address]
const SEND = MsgSend.typeUrl
const DELEGATE = '/cosmos.staking.v1beta1.MsgDelegate'

let chain: GovChain

beforeEach(() => {
  chain = new GovChain()
})

function grant(authorization: AnyValue | undefined, expiration?: bigint) {
  return chain.send(MsgGrant, {
    granter: toBech32(ALICE),
    grantee: toBech32(BOB),
    grant: { authorization, expiration },
  })
}

const send = (from: Address, to: Address, amount: bigint): AnyValue =>
  anyOf(MsgSend, { fromAddress: toBech32(from), toAddress: toBech32(to), amount: coinsOf(amount) })
const exec = (...msgs: AnyValue[]) => chain.send(MsgExec, { grantee: toBech32(BOB), msgs })
const generic = (msg: string) => anyOf(GenericAuthorization, { msg })
const sends = (limit: bigint, allowList: readonly string[] = []) =>
  anyOf(SendAuthorization, { spendLimit: coinsOf(limit), allowList })

function delegation(amount: bigint, operator: Address = VALIDATORS[0]): AnyValue {
  const { type } = MESSAGES.get(DELEGATE)!
  const message = {
    delegator_address: toBech32(ALICE),
    validator_address: toBech32(operator, BECH32_OPERATOR),
    amount: { denom: 'acoin', amount: amount.toString() },
  }
  return { typeUrl: DELEGATE, value: type.encode(type.fromJson(message, { typeOf: () => undefined })) }
}

function stakes(fields: Partial<ReturnType<typeof StakeAuthorization.create>>): AnyValue {
  const authorizationType = AUTHORIZATION_TYPE_NAMES.AUTHORIZATION_TYPE_DELEGATE
  return anyOf(StakeAuthorization, { authorizationType, ...fields })
}

describe('a grant', () => {
  it('lets the grantee send messages in the name of the granter, whose coins move', () => {
    const { events } = succeeded(grant(generic(SEND)))
    const names = `grantee="${toBech32(BOB)}", granter="${toBech32(ALICE)}", msg_type_url="${SEND}"`
    expect(eventTexts(events)).toEqual([`cosmos.authz.v1beta1.EventGrant: ${names}`])
    const done = succeeded(exec(send(ALICE, CAROL, COIN), send(ALICE, CAROL, 2n * COIN)))
    expect(MsgExecResponse.decode(done.answer).results).toHaveLength(2)
    expect(chain.world.getBalance(CAROL)).toBe(1_003n * COIN)
    expect(chain.world.getBalance(ALICE)).toBe(997n * COIN)
    const transfers = eventTexts(done.events).filter((text) => text.startsWith('transfer: '))
    expect(transfers.map((text) => text.slice(-2))).toEqual(['=0', '=1'])
    expect(transfers[1]).toMatch(/, authz_msg_index=1$/)
    expect(getGrant(chain.native, { granter: ALICE, grantee: BOB, msgTypeUrl: SEND })).toBeDefined()
  })

  it('is needed for messages of others, but not for one’s own', () => {
    expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('authz/2')
    expect(codeOf(exec(send(BOB, CAROL, COIN)))).toBe('no error')
    succeeded(grant(generic(DELEGATE)))
    expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('authz/2')
    expect(codeOf(chain.send(MsgExec, { grantee: toBech32(CAROL), msgs: [delegation(COIN)] }))).toBe('authz/2')
  })

  it('is revoked', () => {
    succeeded(grant(generic(SEND)))
    const revoke = { granter: toBech32(ALICE), grantee: toBech32(BOB), msgTypeUrl: SEND }
    const { events } = succeeded(chain.send(MsgRevoke, revoke))
    expect(eventTexts(events)[0]).toMatch(/^cosmos.authz.v1beta1.EventRevoke: /)
    expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('authz/2')
    expect(codeOf(chain.send(MsgRevoke, revoke))).toBe('authz/2')
    expect(codeOf(chain.send(MsgRevoke, { ...revoke, msgTypeUrl: '' }))).toBe('sdk/18')
    expect(codeOf(chain.send(MsgRevoke, { ...revoke, grantee: toChecksumAddress(ALICE) }))).toBe('authz/7')
  })

  it('holds in the block whose time is its end', () => {
    succeeded(grant(generic(SEND), (BigInt(GENESIS_MS) + 2_000n) * 1_000_000n))
    chain.endBlock(2_000)
    expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('no error')
    chain.passTime(1)
    expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('authz/6')
  })

  it('ends at its time, and is removed after it', () => {
    const id = { granter: ALICE, grantee: BOB, msgTypeUrl: SEND }
    const now = BigInt(GENESIS_MS) * 1_000_000n
    expect(codeOf(grant(generic(SEND), now))).toBe('authz/3')
    succeeded(grant(generic(SEND), now + 1_000_000_000n))
    // A new grant replaces the one before, and its end.
    succeeded(grant(generic(SEND), now + 2_000_000_001n))
    chain.endBlock(2_000)
    expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('no error')
    chain.passTime(1)
    expect(getGrant(chain.native, id)).toBeDefined()
    expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('authz/6')
    chain.endBlock(1)
    expect(getGrant(chain.native, id)).toBeUndefined()
    succeeded(grant(generic(SEND)))
    chain.endBlock(10 ** 9)
    expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('no error')
  })

  it('is listed', () => {
    succeeded(grant(generic(SEND)))
    succeeded(grant(generic(DELEGATE)))
    const of = (filter: Parameters<typeof grants>[1]) =>
      [...grants(chain.native, filter)].map(({ msgTypeUrl }) => msgTypeUrl)
    expect(of({})).toEqual([SEND, DELEGATE])
    expect(of({ granter: ALICE })).toEqual([SEND, DELEGATE])
    expect(of({ granter: ALICE, grantee: CAROL })).toEqual([])
    expect([...grants(chain.native)][0]).toMatchObject({ granter: ALICE, grantee: BOB })
  })

  it.each<{ name: string; authorization: AnyValue | undefined; code: string }>([
    { name: 'nothing', authorization: undefined, code: 'sdk/29' },
    { name: 'an unknown authorization', authorization: { typeUrl: '/a.B', value: new Uint8Array(0) }, code: 'sdk/2' },
    {
      name: 'bytes that are no message',
      authorization: { typeUrl: SendAuthorization.typeUrl, value: Uint8Array.of(3) },
      code: 'sdk/2',
    },
    { name: 'an unknown message', authorization: generic('/a.B'), code: 'sdk/29' },
    { name: 'sends of nothing', authorization: sends(0n), code: 'sdk/10' },
    { name: 'sends of less than nothing', authorization: sends(-1n), code: 'sdk/10' },
    { name: 'sends to one twice', authorization: sends(1n, [toBech32(CAROL), toBech32(CAROL)]), code: 'bank/8' },
    {
      name: 'sends to very many',
      authorization: sends(
        1n,
        Array.from({ length: 100 }, (_, index) => toBech32(new Uint8Array(20).fill(index))),
      ),
      code: 'sdk/18',
    },
    { name: 'an unknown kind of staking', authorization: stakes({ authorizationType: 9 }), code: 'authz/4' },
    { name: 'no kind of staking', authorization: stakes({ authorizationType: 0 }), code: 'authz/4' },
    {
      name: 'validators that are allowed and some that are denied',
      authorization: stakes({ allowList: { address: [] }, denyList: { address: [] } }),
      code: 'sdk/18',
    },
    { name: 'negative stakes', authorization: stakes({ maxTokens: coinsOf(-1n)[0]! }), code: 'authz/12' },
  ])('of $name is refused', ({ authorization, code }) => {
    expect(codeOf(grant(authorization))).toBe(code)
    expect([...grants(chain.native)]).toEqual([])
  })

  it('to oneself or to a precompile is refused', () => {
    const to = (grantee: string) =>
      codeOf(
        chain.send(MsgGrant, {
          granter: toBech32(ALICE),
          grantee,
          grant: { authorization: generic(SEND), expiration: undefined },
        }),
      )
    expect(to(toBech32(ALICE))).toBe('authz/7')
    expect(to(toChecksumAddress(ALICE))).toBe('authz/7')
    expect(to('0x0000000000000000000000000000000000000800')).toBe('sdk/4')
  })

  it('to governance lets a proposal act in the name of its granter', () => {
    const authorization = sends(5n, [])
    const given = { granter: toBech32(ALICE), grantee: GOV_AUTHORITY, grant: { authorization, expiration: undefined } }
    succeeded(chain.send(MsgGrant, given))
    const before = chain.world.getBalance(BOB)
    const act = () => [anyOf(MsgExec, { grantee: GOV_AUTHORITY, msgs: [send(ALICE, BOB, 4n)] })]
    expect(executeProposal(chain.context, MESSAGES, act())).toBeUndefined()
    expect(chain.world.getBalance(BOB)).toBe(before + 4n)
    expect(executeProposal(chain.context, MESSAGES, act())?.error).toMatchObject({ codespace: 'sdk', code: 5 })
  })
})

describe('a SendAuthorization', () => {
  it('is used up', () => {
    succeeded(grant(sends(3n * COIN)))
    const revoked = (events: readonly string[]) => events.some((text) => text.includes('EventRevoke'))
    expect(revoked(eventTexts(succeeded(exec(send(ALICE, CAROL, COIN))).events))).toBe(false)
    expect(codeOf(exec(send(ALICE, CAROL, 3n * COIN)))).toBe('sdk/5')
    expect(revoked(eventTexts(succeeded(exec(send(ALICE, CAROL, 2n * COIN))).events))).toBe(true)
    expect(codeOf(exec(send(ALICE, CAROL, 1n)))).toBe('authz/2')
    expect(chain.world.getBalance(CAROL)).toBe(1_003n * COIN)
  })

  it('may name receivers, in either encoding', () => {
    for (const text of [toChecksumAddress(CAROL), toBech32(CAROL).toUpperCase()]) {
      succeeded(grant(sends(9n * COIN, [toBech32(ALICE), text])))
      expect(codeOf(exec(send(ALICE, BOB, COIN)))).toBe('sdk/4')
      expect(codeOf(exec(send(ALICE, CAROL, COIN)))).toBe('no error')
    }
  })

  it('has at most 64 receivers and coins, and only addresses among the receivers', () => {
    const receivers = Array.from({ length: 65 }, (_, index) => toBech32(new Uint8Array(20).fill(index)))
    const coins = Array.from({ length: 65 }, (_, index) => ({
      denom: `c${String(index).padStart(3, '0')}`,
      amount: 1n,
    }))
    expect(codeOf(grant(sends(COIN, receivers)))).toBe('sdk/18')
    expect(codeOf(grant(sends(COIN, receivers.slice(1))))).toBe('no error')
    expect(codeOf(grant(anyOf(SendAuthorization, { spendLimit: coins })))).toBe('sdk/18')
    expect(codeOf(grant(anyOf(SendAuthorization, { spendLimit: coins.slice(1) })))).toBe('no error')
    for (const text of ['', 'x', toBech32(CAROL, BECH32_OPERATOR), `${toBech32(CAROL)}a`]) {
      expect(codeOf(grant(sends(COIN, [toBech32(BOB), text])))).toBe('sdk/7')
    }
  })
})

describe('a StakeAuthorization', () => {
  const lists = (...operators: Address[]) => ({
    address: operators.map((operator) => toBech32(operator, BECH32_OPERATOR)),
  })

  it('is used up', () => {
    succeeded(grant(stakes({ maxTokens: coinsOf(3n * COIN)[0]!, allowList: lists(VALIDATORS[0]) })))
    expect(codeOf(exec(delegation(2n * COIN)))).toBe('no error')
    expect(codeOf(exec(delegation(2n * COIN)))).toBe('sdk/10')
    expect(codeOf(exec(delegation(COIN)))).toBe('no error')
    expect(codeOf(exec(delegation(COIN)))).toBe('authz/2')
    expect(getDelegation(chain.native, ALICE, VALIDATORS[0])?.shares).toBe(3n * COIN * 10n ** 18n)
  })

  it.each([
    { name: 'allows', list: 'allowList', operators: [VALIDATORS[0]], codes: ['no error', 'sdk/4'] },
    { name: 'denies', list: 'denyList', operators: [VALIDATORS[0]], codes: ['sdk/4', 'no error'] },
  ])('$name validators', ({ list, operators, codes }) => {
    succeeded(grant(stakes({ [list]: lists(...operators) })))
    expect(VALIDATORS.slice(0, 2).map((operator) => codeOf(exec(delegation(COIN, operator))))).toEqual(codes)
  })

  it.each(['allowList', 'denyList'])('has at most 64 validators in its %s, all of them addresses', (list) => {
    const operators = Array.from({ length: 65 }, (_, index) => new Uint8Array(20).fill(index))
    expect(codeOf(grant(stakes({ [list]: lists(...operators) })))).toBe('sdk/18')
    expect(codeOf(grant(stakes({ [list]: lists(...operators.slice(1)) })))).toBe('no error')
    expect(codeOf(grant(stakes({ [list]: { address: [toBech32(CAROL)] } })))).toBe('sdk/7')
  })

  it('pays for each entry of its lists when it is used', () => {
    const work = (length: number) => {
      const operators = [VALIDATORS[0], ...Array.from({ length }, (_, index) => new Uint8Array(20).fill(index))]
      succeeded(grant(stakes({ allowList: lists(...operators) })))
      const before = chain.native.work.done
      succeeded(exec(delegation(COIN)))
      return chain.native.work.done - before
    }
    work(0)
    const few = work(3)
    const many = work(63)
    expect(many - few).toBeGreaterThanOrEqual(60 * 100)
  })
})

describe('MsgExec', () => {
  it('has the effects of all of its messages or none', () => {
    succeeded(grant(sends(1_000n * COIN)))
    expect(codeOf(exec(send(ALICE, CAROL, COIN), send(ALICE, CAROL, 999n * COIN), send(ALICE, CAROL, 1n)))).toBe(
      'authz/2',
    )
    expect(chain.world.getBalance(CAROL)).toBe(1_000n * COIN)
    succeeded(grant(generic(SEND)))
    expect(codeOf(exec(send(ALICE, CAROL, COIN), send(ALICE, CAROL, 1_000n * COIN)))).toBe('sdk/5')
    expect(chain.world.getBalance(CAROL)).toBe(1_000n * COIN)
  })

  it.each<{ name: string; msgs: readonly AnyValue[]; code: string }>([
    { name: 'no messages', msgs: [], code: 'sdk/18' },
    { name: 'an unknown message', msgs: [{ typeUrl: '/a.B', value: new Uint8Array(0) }], code: 'sdk/2' },
    { name: 'a message that does not decode', msgs: [{ typeUrl: SEND, value: Uint8Array.of(7) }], code: 'sdk/2' },
    { name: 'an invalid message', msgs: [send(ALICE, BOB, 0n)], code: 'sdk/10' },
    { name: 'an address that is none', msgs: [anyOf(MsgCancelUpgrade, { authority: 'x' })], code: 'sdk/7' },
    { name: "governance's message", msgs: [anyOf(MsgCancelUpgrade, { authority: GOV_AUTHORITY })], code: 'authz/2' },
  ])('with $name is refused', ({ msgs, code }) => {
    expect(codeOf(exec(...msgs))).toBe(code)
  })

  it.each([
    { depth: 7, code: 'no error' },
    { depth: 8, code: 'sdk/4' },
    { depth: 300, code: 'sdk/4' },
  ])('with messages at level $depth: $code', ({ depth, code }) => {
    let message = send(BOB, CAROL, COIN)
    for (let level = 1; level < depth - 1; level++)
      message = anyOf(MsgExec, { grantee: toBech32(BOB), msgs: [message] })
    expect(codeOf(exec(message))).toBe(code)
    // The same inside of a proposal, which governance could not execute either way.
    const proposed = chain.send(MsgSubmitProposal, {
      title: 'a',
      summary: 'b',
      proposer: toBech32(ALICE),
      initialDeposit: coinsOf(COIN),
      messages: [message],
    })
    expect(codeOf(proposed)).toBe(code === 'no error' ? 'gov/13' : code)
  })

  it.each([1, 3, 6])('decodes and checks a message in %i levels of others once', (levels) => {
    let message = send(BOB, CAROL, COIN)
    for (let level = 1; level < levels; level++) message = anyOf(MsgExec, { grantee: toBech32(BOB), msgs: [message] })
    const decode = vi.spyOn(MsgSend, 'decode')
    const validate = vi.spyOn(MESSAGES.get(SEND)!, 'validate')
    try {
      expect(codeOf(exec(message))).toBe('no error')
      expect(decode).toHaveBeenCalledTimes(1)
      expect(validate).toHaveBeenCalledTimes(1)
    } finally {
      vi.restoreAllMocks()
    }
  })

  it('adds the index of each level to the events, the innermost first', () => {
    const inner = anyOf(MsgExec, { grantee: toBech32(BOB), msgs: [send(BOB, CAROL, 1n), send(BOB, CAROL, 2n)] })
    const { events } = succeeded(exec(send(BOB, CAROL, 3n), send(BOB, CAROL, 4n), inner))
    const transfers = eventTexts(events).filter((text) => text.startsWith('transfer: '))
    expect(transfers.map((text) => text.replace(/^.*acoin/, ''))).toEqual([
      ', authz_msg_index=0',
      ', authz_msg_index=1',
      ', authz_msg_index=0, authz_msg_index=2',
      ', authz_msg_index=1, authz_msg_index=2',
    ])
  })

  it('costs the gas of its messages, too', () => {
    const { gas } = MESSAGES.get(MsgExec.typeUrl)!
    const of = (...msgs: AnyValue[]) => gas(MsgExec.create({ msgs }))
    const sendGas = MESSAGES.get(SEND)!.gas(MsgSend.create())
    expect(of(send(ALICE, BOB, 1n)) - of()).toBeGreaterThan(sendGas)
    expect(of(anyOf(MsgExec, { msgs: [send(ALICE, BOB, 1n)] }))).toBeGreaterThan(of(send(ALICE, BOB, 1n)) + of())
  })
})

/** Grants of a granter (to a grantee), or from the first of all, in order of granter, grantee and message type. */
function* grants(
  native: Pick<NativeStore, 'range'>,
  filter: { readonly granter?: Address; readonly grantee?: Address } = {},
): IterableIterator<GrantId & { readonly grant: Grant }> {
  const { granter, grantee } = filter
  const parts = granter === undefined ? [] : [granter, ...(grantee === undefined ? [] : [grantee])]
  for (const [key, value] of native.range(addressesKey(GRANTS_PREFIX, ...parts))) {
    yield { ...grantIdOf(key), grant: Grant.decode(value) }
  }
}
