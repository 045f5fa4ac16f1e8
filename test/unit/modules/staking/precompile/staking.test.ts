import { getAddress, type Hex, zeroAddress } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { WRITE_GAS } from '../../../../../src/modules/precompileFunctions/nativeCall.ts'
import { STAKING_GAS } from '../../../../../src/modules/staking/messages.ts'
import { getValidator } from '../../../../../src/modules/staking/validators.ts'
import { hexToBytes } from '../../../../../src/primitives/bytes.ts'
import {
  ALICE,
  accountOf,
  BLOCK_MS,
  BOB,
  COIN,
  consensusKeyOf,
  FUNDS,
  NativeChain,
  OPERATORS,
  operatorOf,
} from '../../../../support/precompiles/nativeChain.ts'

const [FIRST, SECOND, THIRD] = OPERATORS as [Hex, Hex, Hex]
const UNBONDING_MS = 21 * 24 * 3600 * 1000
const NO_PAGE = { key: '0x', offset: 0n, limit: 0n, countTotal: false, reverse: false }

let chain: NativeChain

beforeEach(() => {
  chain = new NativeChain()
})

const unbondingSeconds = () => BigInt(Math.floor((chain.timeMs + UNBONDING_MS) / 1000))
const delegation = async (delegator: Hex, operator: Hex) =>
  (await chain.read('staking', 'delegation', [delegator, operatorOf(operator)])).result
const delegate = (from: Hex, operator: Hex, amount: bigint) =>
  chain.send(from, 'staking', 'delegate', [from, operatorOf(operator), amount])

describe('delegate', () => {
  it('moves coins into stake, says so in a log and in the module events, and costs the same whatever the amount', async () => {
    const before = chain.balance(ALICE)
    const outcome = await delegate(ALICE, FIRST, 5n * COIN)
    expect(outcome.result).toBe(true)
    expect(outcome.events).toMatchObject([
      {
        eventName: 'Delegate',
        args: {
          delegatorAddress: getAddress(ALICE),
          validatorAddress: FIRST,
          amount: 5n * COIN,
          newShares: 5n * COIN * COIN,
        },
      },
    ])
    expect(outcome.native.map(({ type }) => type)).toContain('delegate')
    expect(chain.balance(ALICE)).toBe(before - 5n * COIN)
    expect(await delegation(ALICE, FIRST)).toEqual([5n * COIN * COIN, { denom: 'acoin', amount: 5n * COIN }])
    const again = await delegate(ALICE, FIRST, 7n * COIN)
    expect(again.events).toMatchObject([{ args: { newShares: 7n * COIN * COIN } }])
    expect(chain.problems()).toEqual([])
  })

  it('takes the gas of the message and a fixed sum, and does nothing for less', async () => {
    const args = [ALICE, operatorOf(FIRST), COIN]
    const { applied } = await chain.send(ALICE, 'staking', 'delegate', args)
    // 21,000, calldata of 7 words, the function
    expect(applied.gasUsed).toBeGreaterThan(21_000n + WRITE_GAS + STAKING_GAS.delegate)
    expect(applied.gasUsed).toBeLessThan(21_000n + WRITE_GAS + STAKING_GAS.delegate + 5_000n)
    const exact = await chain.send(ALICE, 'staking', 'delegate', args, { gas: applied.gasUsed })
    expect(exact.status).toBe('success')
    const before = chain.snapshot()
    const short = await chain.send(ALICE, 'staking', 'delegate', args, { gas: applied.gasUsed - 1n })
    expect([short.status, short.applied.gasUsed]).toEqual(['failure', applied.gasUsed - 1n])
    expect(changedKeys(before)).toEqual([ALICE])
  })

  it.each([
    [
      'somebody else',
      ALICE,
      [BOB, operatorOf(FIRST), COIN],
      `msg.sender address ${getAddress(ALICE)} does not match the requester address ${getAddress(BOB)}`,
    ],
    ['the address 0', ALICE, [zeroAddress, operatorOf(FIRST), COIN], `invalid delegator address: ${zeroAddress}`],
    ['no validator', ALICE, [ALICE, operatorOf(BOB), COIN], 'validator does not exist'],
    ['more than there is', ALICE, [ALICE, operatorOf(FIRST), FUNDS + 1n], /insufficient funds/],
    ['nothing', ALICE, [ALICE, operatorOf(FIRST), 0n], 'invalid delegation amount: invalid request'],
    ['2^256 - 1', ALICE, [ALICE, operatorOf(FIRST), 2n ** 256n - 1n], /insufficient funds/],
    [
      'an account for a validator',
      ALICE,
      [ALICE, accountOf(FIRST), COIN],
      /^expected the prefix coinvaloper, not coin: invalid address$/,
    ],
    ['no address', ALICE, [ALICE, 'x'.repeat(5000), COIN], /^expected 0x and 40 hex digits, .*: invalid address$/],
  ] as const)('refuses %s', async (_what, from, args, reason) => {
    const before = chain.snapshot()
    const outcome = await chain.send(from, 'staking', 'delegate', args)
    expect(outcome.reason).toMatch(reason instanceof RegExp ? reason : new RegExp(`^${escaped(reason)}$`))
    expect([outcome.events, outcome.native]).toEqual([[], []])
    expect(changedKeys(before)).toEqual([ALICE])
  })

  it('takes a validator in hex too', async () => {
    expect((await chain.send(ALICE, 'staking', 'delegate', [ALICE, FIRST, COIN])).result).toBe(true)
    expect((await delegation(ALICE, FIRST)) as unknown[]).toContainEqual({ denom: 'acoin', amount: COIN })
  })

  it('takes no value', async () => {
    const args = [ALICE, operatorOf(FIRST), COIN]
    const outcome = await chain.send(ALICE, 'staking', 'delegate', args, { value: 1n })
    expect([outcome.status, outcome.reason]).toEqual(['revert', ''])
    expect(chain.balance('0x0000000000000000000000000000000000000800')).toBe(0n)
  })
})

describe('undelegate and cancel', () => {
  beforeEach(async () => {
    await delegate(ALICE, FIRST, 10n * COIN)
    chain.nextBlock()
  })

  it('has the coins paid out after the unbonding time', async () => {
    const held = chain.balance(ALICE)
    const outcome = await chain.send(ALICE, 'staking', 'undelegate', [ALICE, operatorOf(FIRST), 4n * COIN])
    expect(outcome.result).toBe(unbondingSeconds())
    expect(outcome.events).toMatchObject([
      { eventName: 'Unbond', args: { amount: 4n * COIN, completionTime: unbondingSeconds() } },
    ])
    const read = await chain.read('staking', 'unbondingDelegation', [ALICE, operatorOf(FIRST)])
    expect(read.result).toEqual({
      delegatorAddress: accountOf(ALICE),
      validatorAddress: operatorOf(FIRST),
      entries: [
        {
          creationHeight: BigInt(chain.height),
          completionTime: unbondingSeconds(),
          initialBalance: 4n * COIN,
          balance: 4n * COIN,
          unbondingId: expect.any(BigInt),
          unbondingOnHoldRefCount: 0n,
        },
      ],
    })
    chain.nextBlock({ waitMs: UNBONDING_MS - BLOCK_MS })
    chain.nextBlock()
    expect(chain.balance(ALICE)).toBe(held)
    chain.nextBlock()
    expect(chain.balance(ALICE)).toBe(held + 4n * COIN)
    expect((await chain.read('staking', 'unbondingDelegation', [ALICE, operatorOf(FIRST)])).result).toEqual({
      delegatorAddress: '',
      validatorAddress: '',
      entries: [],
    })
    expect(chain.problems()).toEqual([])
  })

  it('gives no more than there is, and not eight times', async () => {
    const all = await chain.send(ALICE, 'staking', 'undelegate', [ALICE, operatorOf(FIRST), 11n * COIN])
    expect(all.reason).toMatch(/invalid shares amount|not enough|insufficient/)
    for (let i = 0; i < 7; i++) {
      chain.nextBlock({ waitMs: 2000 })
      expect((await chain.send(ALICE, 'staking', 'undelegate', [ALICE, operatorOf(FIRST), COIN])).status).toBe(
        'success',
      )
    }
    chain.nextBlock({ waitMs: 2000 })
    const eighth = await chain.send(ALICE, 'staking', 'undelegate', [ALICE, operatorOf(FIRST), COIN])
    expect(eighth.reason).toBe('too many unbonding delegation entries for (delegator, validator) tuple')
    const page = await chain.read('staking', 'unbondingDelegation', [ALICE, operatorOf(FIRST)])
    expect((page.result as { entries: unknown[] }).entries).toHaveLength(7)
  })

  it('brings back what is on its way, by the height at which it left', async () => {
    await chain.send(ALICE, 'staking', 'undelegate', [ALICE, operatorOf(FIRST), 4n * COIN])
    const height = BigInt(chain.height)
    chain.nextBlock()
    const cancel = (amount: bigint, creationHeight: bigint) =>
      chain.send(ALICE, 'staking', 'cancelUnbondingDelegation', [ALICE, operatorOf(FIRST), amount, creationHeight])
    for (const [amount, creationHeight, reason] of [
      [4n * COIN, height - 1n, /not found at block height/],
      [5n * COIN, height, /greater than the unbonding delegation entry balance/],
      [4n * COIN, 2n ** 256n - 1n, /^invalid height/],
      [4n * COIN, 2n ** 64n + height, /^invalid height/],
      [4n * COIN, 2n ** 63n, /^invalid height/],
      [4n * COIN, 0n, /^invalid height/],
    ] as const) {
      const refused = await cancel(amount, creationHeight)
      expect(refused.reason).toMatch(reason)
      expect((await delegation(ALICE, FIRST)) as unknown[]).toContainEqual({ denom: 'acoin', amount: 6n * COIN })
    }
    const outcome = await cancel(3n * COIN, height)
    expect(outcome.result).toBe(true)
    expect(outcome.events).toMatchObject([
      { eventName: 'CancelUnbondingDelegation', args: { amount: 3n * COIN, creationHeight: height } },
    ])
    expect((await delegation(ALICE, FIRST)) as unknown[]).toContainEqual({ denom: 'acoin', amount: 9n * COIN })
    expect(chain.problems()).toEqual([])
  })
})

describe('redelegate', () => {
  beforeEach(async () => {
    await delegate(ALICE, FIRST, 10n * COIN)
  })

  it('moves stake at once and not on', async () => {
    const args = [ALICE, operatorOf(FIRST), operatorOf(SECOND), 4n * COIN]
    const outcome = await chain.send(ALICE, 'staking', 'redelegate', args)
    expect(outcome.result).toBe(unbondingSeconds())
    expect(outcome.events).toMatchObject([
      {
        eventName: 'Redelegate',
        args: { validatorSrcAddress: FIRST, validatorDstAddress: SECOND, amount: 4n * COIN },
      },
    ])
    expect((await delegation(ALICE, FIRST)) as unknown[]).toContainEqual({ denom: 'acoin', amount: 6n * COIN })
    expect((await delegation(ALICE, SECOND)) as unknown[]).toContainEqual({ denom: 'acoin', amount: 4n * COIN })
    const on = await chain.send(ALICE, 'staking', 'redelegate', [ALICE, operatorOf(SECOND), operatorOf(THIRD), COIN])
    expect(on.reason).toMatch(/^redelegation to this validator already in progress/)
    expect(chain.problems()).toEqual([])
  })

  it('is complete since the year 1 when the source was unbonded, as cosmos/evm says', async () => {
    await chain.send(FIRST, 'staking', 'undelegate', [FIRST, operatorOf(FIRST), 100n * COIN])
    chain.nextBlock()
    chain.nextBlock({ waitMs: UNBONDING_MS + BLOCK_MS })
    chain.nextBlock()
    expect((await chain.read('staking', 'validator', [FIRST])).result).toMatchObject({ jailed: true, status: 1 })
    const args = [ALICE, operatorOf(FIRST), operatorOf(SECOND), 4n * COIN]
    const outcome = await chain.send(ALICE, 'staking', 'redelegate', args)
    expect(outcome.result).toBe(-62_135_596_800n)
    expect(outcome.events).toMatchObject([
      { eventName: 'Redelegate', args: { amount: 4n * COIN, completionTime: 2n ** 256n - 62_135_596_800n } },
    ])
    const found = await chain.read('staking', 'redelegation', args.slice(0, 3))
    expect(found.result).toMatchObject({ delegatorAddress: '', entries: [] })
    expect(chain.problems()).toEqual([])
  })

  it('is listed by delegator, by source, and by all three', async () => {
    await chain.send(ALICE, 'staking', 'redelegate', [ALICE, operatorOf(FIRST), operatorOf(SECOND), 4n * COIN])
    await chain.send(ALICE, 'staking', 'redelegate', [ALICE, operatorOf(FIRST), operatorOf(THIRD), COIN])
    await delegate(BOB, FIRST, COIN)
    await chain.send(BOB, 'staking', 'redelegate', [BOB, operatorOf(FIRST), operatorOf(THIRD), COIN])
    const entry = {
      creationHeight: BigInt(chain.height),
      completionTime: unbondingSeconds(),
      initialBalance: 4n * COIN,
      sharesDst: 4n * COIN * COIN,
    }
    const names = {
      delegatorAddress: accountOf(ALICE),
      validatorSrcAddress: operatorOf(FIRST),
      validatorDstAddress: operatorOf(SECOND),
    }
    const one = await chain.read('staking', 'redelegation', [ALICE, operatorOf(FIRST), operatorOf(SECOND)])
    expect(one.result).toEqual({ ...names, entries: [entry] })

    const page = async (delegator: Hex, source: string, destination: string, request: object = NO_PAGE) =>
      (await chain.read('staking', 'redelegations', [delegator, source, destination, request])).result as [
        { redelegation: { validatorDstAddress: string; delegatorAddress: string } }[],
        { nextKey: Hex; total: bigint },
      ]
    const exact = await page(ALICE, operatorOf(FIRST), operatorOf(SECOND))
    expect(exact[0]).toEqual([
      { redelegation: { ...names, entries: [] }, entries: [{ redelegationEntry: entry, balance: 4n * COIN }] },
    ])
    const of = (found: typeof exact) => found[0].map(({ redelegation }) => redelegation.validatorDstAddress)
    const byDelegator = await page(ALICE, '', '')
    expect(of(byDelegator)).toEqual([operatorOf(SECOND), operatorOf(THIRD)])
    expect(byDelegator[1]).toEqual({ nextKey: '0x', total: 2n })
    const bySource = await page(zeroAddress, operatorOf(FIRST), '')
    expect(bySource[0].map(({ redelegation }) => redelegation.delegatorAddress)).toEqual([
      accountOf(ALICE),
      accountOf(ALICE),
      accountOf(BOB),
    ])
    const firstPage = await page(zeroAddress, operatorOf(FIRST), '', { ...NO_PAGE, limit: 2n })
    expect(of(firstPage)).toEqual([operatorOf(SECOND), operatorOf(THIRD)])
    const rest = await page(zeroAddress, operatorOf(FIRST), '', { ...NO_PAGE, key: firstPage[1].nextKey })
    expect(rest[0].map(({ redelegation }) => redelegation.delegatorAddress)).toEqual([accountOf(BOB)])
    const backwards = await page(ALICE, '', '', { ...NO_PAGE, reverse: true, limit: 1n })
    expect(of(backwards)).toEqual([operatorOf(THIRD)])
  })

  it('refuses what says nothing', async () => {
    const nobody = await chain.read('staking', 'redelegations', [zeroAddress, '', operatorOf(FIRST), NO_PAGE])
    expect(nobody.reason).toBe(
      'invalid query. Need to specify at least a source validator address or delegator address',
    )
    const none = await chain.read('staking', 'redelegations', [BOB, operatorOf(FIRST), operatorOf(SECOND), NO_PAGE])
    expect(none.reason).toMatch(/^rpc error: code = NotFound desc = redelegation not found/)
    const empty = await chain.read('staking', 'redelegation', [BOB, operatorOf(FIRST), operatorOf(SECOND)])
    expect(empty.result).toMatchObject({ delegatorAddress: '', entries: [] })
  })
})

describe('validators', () => {
  const description = { moniker: 'bob', identity: 'i', website: 'w', securityContact: 's', details: 'd' }
  const rates = { rate: COIN / 10n, maxRate: COIN / 2n, maxChangeRate: COIN / 100n }
  const key = Buffer.from(consensusKeyOf(BOB)).toString('base64')
  const create = (from: Hex, validator = from, pubkey = key, more = {}) =>
    chain.send(from, 'staking', 'createValidator', [description, rates, 1n, validator, pubkey, 50n * COIN], more)

  it('are made by accounts with a key', async () => {
    const outcome = await create(BOB)
    expect(outcome.result).toBe(true)
    expect(outcome.events).toMatchObject([
      { eventName: 'CreateValidator', args: { validatorAddress: getAddress(BOB), value: 50n * COIN } },
    ])
    chain.nextBlock()
    const { result } = await chain.read('staking', 'validator', [BOB])
    expect(result).toEqual({
      operatorAddress: getAddress(BOB),
      consensusPubkey: key,
      jailed: false,
      status: 3,
      tokens: 50n * COIN,
      delegatorShares: 50n * COIN * COIN,
      description,
      unbondingHeight: 0n,
      unbondingTime: 0n,
      commission: COIN / 10n,
      minSelfDelegation: 1n,
    })
    expect(chain.problems()).toEqual([])
  })

  it('are made by accounts that delegate to code (EIP-7702)', async () => {
    chain.native(({ world }) => world.setCode(hexToBytes(BOB), hexToBytes(`0xef0100${ALICE.slice(2)}`)))
    expect((await create(BOB)).result).toBe(true)
  })

  it.each([
    ['somebody else', () => create(BOB, ALICE), /does not match the requester/],
    ['the address 0', () => create(BOB, zeroAddress), `invalid validator address: ${zeroAddress}`],
    ['a short key', () => create(BOB, BOB, 'AAAA'), 'consensus pubkey len is invalid, got: 3, expected: 32'],
    ['no base64', () => create(BOB, BOB, '!'.repeat(44)), 'invalid consensus pubkey: not base64'],
    ['a key of a megabyte', () => create(BOB, BOB, 'A'.repeat(200_000)), 'invalid consensus pubkey: not base64'],
    [
      'a key that is used',
      () => create(BOB, BOB, Buffer.from(consensusKeyOf(FIRST)).toString('base64')),
      /already exist for this pubkey/,
    ],
    ['a validator', () => create(FIRST), /already exist for this operator/],
  ] as const)('are not made of %s', async (_what, run, reason) => {
    const outcome = await run()
    expect(outcome.reason).toMatch(reason instanceof RegExp ? reason : new RegExp(`^${escaped(reason)}$`))
    expect(getValidator(chain.context.world.native, hexToBytes(BOB))).toBeUndefined()
  })

  it('change what they say of themselves; -1 leaves a number as it is', async () => {
    await create(BOB)
    const change = (text: object, rate: bigint, minimum: bigint) =>
      chain.send(BOB, 'staking', 'editValidator', [{ ...description, ...text }, BOB, rate, minimum])
    const outcome = await change({ moniker: 'bobby', details: '[do-not-modify]' }, -1n, 2n * COIN)
    expect(outcome.events).toMatchObject([
      { eventName: 'EditValidator', args: { commissionRate: -1n, minSelfDelegation: 2n * COIN } },
    ])
    const { result } = await chain.read('staking', 'validator', [BOB])
    expect(result).toMatchObject({
      description: { ...description, moniker: 'bobby' },
      commission: COIN / 10n,
      minSelfDelegation: 2n * COIN,
    })
    for (const [rate, minimum, reason] of [
      [COIN / 10n, -1n, /cannot be changed more than once in 24h/],
      [-2n, -1n, /commission rate must be between 0 and 1/],
      [-1n, -2n, /minimum self delegation must be a positive integer/],
      [-1n, COIN, /minimum self delegation cannot be decrease/],
      [2n ** 255n - 1n, -1n, /commission rate must be between 0 and 1/],
      [-(2n ** 255n), -1n, /commission rate must be between 0 and 1/],
    ] as const) {
      expect((await change({}, rate, minimum)).reason).toMatch(reason)
    }
    chain.nextBlock({ waitMs: 25 * 3600 * 1000 })
    expect((await change({}, COIN / 10n + COIN / 100n, -1n)).result).toBe(true)
  })

  it('are listed in pages', async () => {
    const page = async (status: string, request: object) => {
      const { result, reason } = await chain.read('staking', 'validators', [status, { ...NO_PAGE, ...request }])
      if (reason !== undefined) return reason
      const [found, { nextKey, total }] = result as [{ operatorAddress: Hex }[], { nextKey: Hex; total: bigint }]
      return [found.map(({ operatorAddress }) => operatorAddress), nextKey, total] as const
    }
    expect(await page('', {})).toEqual([OPERATORS, '0x', 3n])
    expect(await page('BOND_STATUS_BONDED', { limit: 2n })).toEqual([[FIRST, SECOND], `0x14${THIRD.slice(2)}`, 0n])
    expect(await page('BOND_STATUS_BONDED', { key: `0x14${THIRD.slice(2)}` })).toEqual([[THIRD], '0x', 0n])
    expect(await page('', { offset: 1n, limit: 1n, countTotal: true })).toEqual([[SECOND], `0x14${THIRD.slice(2)}`, 3n])
    expect(await page('', { limit: 2n, reverse: true })).toEqual([[THIRD, SECOND], `0x14${FIRST.slice(2)}`, 0n])
    expect(await page('', { key: '0x00', limit: 1n })).toEqual([[FIRST], `0x14${SECOND.slice(2)}`, 0n])
    expect(await page('', { offset: 2n ** 64n - 1n, limit: 2n ** 64n - 1n })).toEqual([[], '0x', 0n])
    expect(await page('BOND_STATUS_UNBONDED', {})).toEqual([[], '0x', 0n])
    for (const status of ['bonded', 'BOND_STATUS_UNSPECIFIED']) {
      expect(await page(status, {})).toBe(`rpc error: code = InvalidArgument desc = invalid validator status ${status}`)
    }
    expect(await page('', { key: '0x01', offset: 1n })).toMatch(/either offset or key is expected, got both/)
    expect(await page('', { key: '0x0102' })).toMatch(/invalid pagination key/)
  })

  it('are empty where there is none', async () => {
    expect((await chain.read('staking', 'validator', [BOB])).result).toMatchObject({
      operatorAddress: '',
      tokens: 0n,
      status: 0,
    })
    expect((await chain.read('staking', 'validator', [zeroAddress])).reason).toBe(
      `invalid validator address: ${zeroAddress}`,
    )
    expect(await delegation(BOB, FIRST)).toEqual([0n, { denom: 'acoin', amount: 0n }])
  })
})

/** Accounts and entries that are not as they were. */
function changedKeys(before: ReadonlyMap<string, string>): string[] {
  const after = chain.snapshot()
  return [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key))
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
