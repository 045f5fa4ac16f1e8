import { describe, expect, it } from 'vitest'
import type { AccountState } from '../../../src/mempool/types.ts'
import type { NativeTransaction } from '../../../src/modules/tx/nativeTransaction.ts'
import {
  COIN,
  createPool,
  GWEI,
  makeNative,
  makeTransaction,
  nativeOutcomeOf,
  outcomeOf,
  type PoolFixture,
  senderOf,
} from '../../support/mempool/poolFixture.ts'

const SENDER = senderOf(0)
const known = makeNative()

interface Case {
  readonly name: string
  readonly transaction: NativeTransaction
  readonly expected: string
  readonly account?: Partial<AccountState>
  readonly before?: (fixture: PoolFixture) => void
}

const CASES: readonly Case[] = [
  { name: 'a transaction', transaction: makeNative(), expected: 'accepted' },
  { name: 'a later sequence', transaction: makeNative({ sequence: 7n }), expected: 'accepted' },
  {
    name: 'the same again',
    transaction: known,
    before: ({ pool }) => pool.addNative(known),
    expected: 'sdk/19 already known: tx already in mempool',
  },
  {
    name: 'a used sequence',
    transaction: makeNative({ sequence: 3n }),
    account: { nonce: 5n },
    expected: 'sdk/32 account sequence mismatch, expected 5, got 3: incorrect account sequence',
  },
  {
    name: 'too many bytes',
    transaction: makeNative({ raw: new Uint8Array(131_073) }),
    expected: 'sdk/21 Tx too large. Max size is 131072, but got 131073: tx too large',
  },
  {
    name: 'more gas than the native lane of a block has',
    transaction: makeNative({ intrinsicGas: 7_500_001n, gasLimit: 8_000_000n, gasPrice: GWEI }),
    expected: 'sdk/41 tx uses 7500001 gas, a block has 7500000 for native transactions: invalid gas limit',
  },
  {
    name: 'all gas that the lane has, under a higher limit',
    transaction: makeNative({ intrinsicGas: 7_500_000n, gasLimit: 40_000_000n, gasPrice: GWEI }),
    expected: 'accepted',
  },
  {
    name: 'a priority price of nothing',
    transaction: makeNative({ maxPriorityPrice: 0n }),
    expected: 'sdk/13 priority price 0, minimum needed 1: insufficient fee',
  },
  {
    name: 'no funds for the fee',
    transaction: makeNative({ feeAcoin: COIN }),
    account: { balance: COIN - 1n },
    expected: `sdk/5 spendable balance ${COIN - 1n}acoin is smaller than ${COIN}acoin: insufficient funds`,
  },
  {
    name: 'funds that an EVM transaction may take',
    transaction: makeNative({ sequence: 1n, feeAcoin: COIN }),
    account: { balance: COIN + 100n },
    before: ({ pool }) => pool.add(makeTransaction({ value: 1n, gasPrice: GWEI, type: 0 }), SENDER),
    expected: `sdk/5 spendable balance ${COIN + 100n}acoin is smaller than ${COIN + 21_000n * GWEI + 1n}acoin, of which ${21_000n * GWEI + 1n}acoin for pooled transactions: insufficient funds`,
  },
  {
    name: 'more than a sender may have',
    transaction: makeNative({ sequence: 3n }),
    before: ({ pool }) => {
      pool.addNative(makeNative())
      pool.add(makeTransaction({ nonce: 1n }), SENDER)
      pool.addNative(makeNative({ sequence: 2n }))
    },
    expected: 'sdk/20 account limit exceeded: pooled 3 txs: mempool is full',
  },
  {
    name: 'a second transaction of an account with code',
    transaction: makeNative({ sequence: 1n }),
    account: { code: 'delegation' },
    before: ({ pool }) => pool.add(makeTransaction(), SENDER),
    expected: 'sdk/20 in-flight transaction limit reached for delegated accounts: mempool is full',
  },
  {
    name: 'a gap before that of an account with code',
    transaction: makeNative({ sequence: 1n }),
    account: { code: 'delegation' },
    expected: 'sdk/32 gapped-nonce tx from delegated accounts: incorrect account sequence',
  },
]

describe('admission of native transactions', () => {
  it.each(CASES)('$name: $expected', ({ transaction, expected, account, before }) => {
    const fixture = createPool({ limits: { perSender: 3 } })
    if (account !== undefined) fixture.setAccount(SENDER, account)
    before?.(fixture)
    const { pool } = fixture
    const held = pool.unconfirmed(10)
    const check = pool.checkNative(transaction)
    expect(check.accepted).toBe(expected === 'accepted')
    expect(pool.unconfirmed(10)).toEqual(held)
    expect(nativeOutcomeOf(pool, transaction)).toBe(expected)
    expect(pool.unconfirmed(0).count).toBe(held.count + (expected === 'accepted' ? 1 : 0))
  })

  it('refuses what the state refuses, and tells it the head', () => {
    const heads: unknown[] = []
    const { pool } = createPool({
      checkNativeState: (_, head) => {
        heads.push(head)
        return { codespace: 'sdk', code: 30, message: 'too late' }
      },
    })
    expect(nativeOutcomeOf(pool, makeNative())).toBe('sdk/30 too late')
    expect(heads).toMatchObject([{ height: 1, baseFeePerGas: GWEI }])
  })

  it('refuses in a full pool what offers no more than others', () => {
    const { pool } = createPool({ limits: { count: 2 } })
    pool.add(makeTransaction({ gasPrice: 5n * GWEI, type: 0 }), senderOf(1))
    pool.addNative(makeNative({ from: senderOf(2), gasPrice: 6n * GWEI }))
    expect(nativeOutcomeOf(pool, makeNative({ gasPrice: 4n * GWEI }))).toBe(
      'sdk/20 transaction underpriced: mempool is full',
    )
    expect(nativeOutcomeOf(pool, makeNative({ gasPrice: 7n * GWEI }))).toBe('accepted')
    expect(pool.status()).toEqual({ pending: 0, queued: 0 })
    expect(pool.nativeStatus()).toEqual({ pending: 2, queued: 0 })
  })

  it('gives EVM transactions the same codes where they have one', () => {
    const { pool } = createPool({ limits: { count: 1 } })
    const transaction = makeTransaction({ gasPrice: 5n * GWEI, type: 0 })
    pool.add(transaction, SENDER)
    const outcomes = [
      pool.add(transaction, SENDER),
      pool.add(makeTransaction(), SENDER),
      pool.add(makeTransaction({ gasPrice: 4n * GWEI, type: 0 }), senderOf(1)),
      pool.check(makeTransaction({ chainId: 1n }), SENDER),
    ]
    expect(outcomes).toEqual([
      { accepted: false, reason: 'already known', error: { codespace: 'sdk', code: 19 } },
      { accepted: false, reason: 'replacement transaction underpriced', error: { codespace: 'sdk', code: 13 } },
      { accepted: false, reason: 'transaction underpriced', error: { codespace: 'sdk', code: 20 } },
      { accepted: false, reason: expect.stringContaining('invalid sender: invalid chain id') },
    ])
  })
})

describe('replacement', () => {
  const evm = (gasPrice: bigint) => makeTransaction({ type: 0, gasPrice })
  const native = (gasPrice: bigint, maxPriorityPrice?: bigint) => makeNative({ gasPrice, maxPriorityPrice })

  it.each([
    { name: 'EVM by native, 9.9 % more', first: evm(1_000n * GWEI), next: native(1_099n * GWEI), isTaken: false },
    { name: 'EVM by native, 10 % more', first: evm(1_000n * GWEI), next: native(1_100n * GWEI), isTaken: true },
    { name: 'native by EVM, 9.9 % more', first: native(1_000n * GWEI), next: evm(1_099n * GWEI), isTaken: false },
    { name: 'native by EVM, 10 % more', first: native(1_000n * GWEI), next: evm(1_100n * GWEI), isTaken: true },
    { name: 'native by native, 10 % more', first: native(1_000n), next: native(1_100n), isTaken: true },
    {
      name: 'native by native, a lower priority price',
      first: native(1_000n),
      next: native(2_000n, 999n),
      isTaken: false,
    },
    {
      name: 'native by native, both prices higher',
      first: native(1_000n, 10n),
      next: native(1_100n, 11n),
      isTaken: true,
    },
  ])('of $name: $isTaken', ({ first, next, isTaken }) => {
    const { pool, dropped } = createPool({ limits: { minimumTip: 0n } })
    const offer = (transaction: typeof first) =>
      'value' in transaction ? outcomeOf(pool, transaction, SENDER) : nativeOutcomeOf(pool, transaction)
    expect(offer(first)).toBe('accepted')
    const refusal =
      'value' in next
        ? 'replacement transaction underpriced'
        : 'sdk/13 replacement transaction underpriced: insufficient fee'
    expect(offer(next)).toBe(isTaken ? 'accepted' : refusal)
    expect(dropped.map(({ reason }) => reason)).toEqual(isTaken ? ['replaced'] : [])
    expect(pool.unconfirmed(9).transactions).toEqual([isTaken ? next.raw : first.raw])
    expect(pool.pendingNonce(SENDER)).toBe(1n)
  })

  it('counts the fee of the replaced transaction as free', () => {
    const fixture = createPool()
    fixture.setAccount(SENDER, { balance: 2_000_000n * GWEI })
    const { pool } = fixture
    expect(nativeOutcomeOf(pool, makeNative({ gasPrice: 15n * GWEI }))).toBe('accepted')
    expect(outcomeOf(pool, makeTransaction({ type: 0, gasPrice: 20n * GWEI, gasLimit: 100_000n }), SENDER)).toBe(
      'accepted',
    )
    expect(nativeOutcomeOf(pool, makeNative({ gasPrice: 23n * GWEI }))).toMatch(/^sdk\/5 /)
  })
})
