import { describe, expect, it } from 'vitest'
import { isNativeEntry } from '../../../src/chain/block/entries.ts'
import type { PoolEntry } from '../../../src/mempool/poolEntry.ts'
import type { NativeTransaction } from '../../../src/modules/tx/nativeTransaction.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bytesToHex, keyBytes } from '../../../src/primitives/bytes.ts'
import {
  COIN,
  createPool,
  GWEI,
  makeNative,
  makeTransaction,
  nativeOutcomeOf,
  outcomeOf,
  senderOf,
} from '../../support/mempool/poolFixture.ts'

const SENDER = senderOf(0)
const ROOM = { baseFeePerGas: GWEI, gasLimit: 30_000_000n, nativeGasLimit: 7_500_000n, maxBytes: 1_000_000 }

/** `evm 3` or `native 3`: the kind and the nonce */
function names(entries: Iterable<PoolEntry>): string[] {
  return Array.from(entries, ({ kind, nonce, raw }) => {
    expect(isNativeEntry(keyBytes(raw))).toBe(kind === 'native')
    return `${kind} ${nonce}`
  })
}

function evm(nonce: bigint, fields = {}) {
  return makeTransaction({ nonce, ...fields })
}

describe('an account that sends both kinds', () => {
  it('has them in the order of its nonces, whatever order they come in', () => {
    const { pool, admitted } = createPool()
    const hashes: string[] = []
    for (const nonce of [5n, 3n, 0n, 4n, 1n, 2n]) {
      const transaction = nonce % 2n === 0n ? evm(nonce) : makeNative({ sequence: nonce })
      hashes[Number(nonce)] = bytesToHex(transaction.hash)
      const admission = 'value' in transaction ? pool.add(transaction, SENDER) : pool.addNative(transaction)
      expect(admission.accepted).toBe(true)
    }
    expect(names(pool.candidates(ROOM))).toEqual(['evm 0', 'native 1', 'evm 2', 'native 3', 'evm 4', 'native 5'])
    expect(admitted).toEqual(hashes)
    expect(pool.pendingNonce(SENDER)).toBe(6n)
    expect(pool.status()).toEqual({ pending: 3, queued: 0 })
    expect(pool.nativeStatus()).toEqual({ pending: 3, queued: 0 })
  })

  it('shows Ethereum methods its EVM transactions only', () => {
    const { pool } = createPool()
    const [first, native, gapped] = [evm(0n), makeNative({ sequence: 1n }), evm(3n)]
    pool.add(first, SENDER)
    pool.addNative(native)
    pool.add(gapped, SENDER)
    expect(pool.content().pending.map(({ raw }) => raw)).toEqual([first.raw])
    expect(pool.contentFrom(SENDER).queued.map(({ raw }) => raw)).toEqual([gapped.raw])
    expect(pool.get(native.hash)).toBeUndefined()
    expect(pool.get(first.hash)?.raw).toEqual(first.raw)
    expect(pool.senderOf(native.hash)).toEqual(SENDER)
    const all = [first, native, gapped].map(({ raw }) => raw)
    const bytes = all.reduce((sum, { length }) => sum + length, 0)
    expect(pool.unconfirmed(10)).toEqual({ count: 3, bytes, transactions: all })
    expect(pool.unconfirmed(2)).toEqual({ count: 3, bytes, transactions: all.slice(0, 2) })
  })

  it('waits behind a gap of either kind until it is filled', () => {
    const { pool, admitted } = createPool()
    pool.addNative(makeNative({ sequence: 1n }))
    pool.add(evm(2n), SENDER)
    expect(names(pool.candidates(ROOM))).toEqual([])
    expect([pool.status(), pool.nativeStatus()]).toEqual([
      { pending: 0, queued: 1 },
      { pending: 0, queued: 1 },
    ])
    expect(pool.pendingNonce(SENDER)).toBe(0n)
    pool.addNative(makeNative())
    expect(names(pool.candidates(ROOM))).toEqual(['native 0', 'native 1', 'evm 2'])
    expect(admitted.length).toBe(3)
  })

  it('follows the head: what a block used goes, and what it left unpayable', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    const included = makeNative()
    pool.addNative(included)
    pool.add(evm(1n), SENDER)
    pool.addNative(makeNative({ sequence: 2n }))
    pool.add(evm(3n), SENDER)
    fixture.publish([[SENDER, { nonce: 2n }]], { included: [included.hash] })
    expect(dropped.map(({ reason }) => reason)).toEqual(['included', 'stale'])
    expect(names(pool.candidates(ROOM))).toEqual(['native 2', 'evm 3'])
    fixture.publish([[SENDER, { balance: 100_000n * 10n * GWEI }]])
    expect(names(pool.candidates(ROOM))).toEqual(['native 2'])
    expect(dropped.map(({ reason }) => reason)).toEqual(['included', 'stale', 'unpaid'])
    fixture.publish([[SENDER, { balance: COIN }]])
    expect(names(pool.candidates(ROOM))).toEqual(['native 2'])
  })

  it('loses its last transaction of either kind first when the pool is full', () => {
    const { pool } = createPool({ limits: { count: 3, fairShare: 1 } })
    pool.add(evm(0n), SENDER)
    pool.addNative(makeNative({ sequence: 1n }))
    pool.add(evm(2n), SENDER)
    for (const from of [1, 2]) {
      expect(nativeOutcomeOf(pool, makeNative({ from: senderOf(from), gasPrice: 50n * GWEI }))).toBe('accepted')
    }
    expect(pool.status()).toEqual({ pending: 1, queued: 0 })
    expect(pool.pendingNonce(SENDER)).toBe(1n)
  })
})

describe('the lanes of a block', () => {
  /** Three senders of each kind, the EVM ones with better tips, and one with both kinds. */
  function mixedPool() {
    const { pool } = createPool()
    for (const sender of [1, 2, 3]) {
      pool.add(evm(0n, { maxPriorityFeePerGas: 5n * GWEI, value: BigInt(sender) }), senderOf(sender))
      pool.addNative(makeNative({ from: senderOf(sender + 3), gasPrice: 3n * GWEI, intrinsicGas: 30_000n }))
    }
    pool.addNative(makeNative({ gasPrice: 2n * GWEI, intrinsicGas: 30_000n }))
    pool.add(evm(1n, { maxPriorityFeePerGas: 9n * GWEI }), SENDER)
    return pool
  }

  it('order both kinds by tip while there is room', () => {
    const order = ['evm 0', 'evm 0', 'evm 0', 'native 0', 'native 0', 'native 0', 'native 0', 'evm 1']
    expect(names(mixedPool().candidates(ROOM))).toEqual(order)
  })

  it('do not hold each other back', () => {
    const pool = mixedPool()
    expect(names(pool.candidates({ ...ROOM, gasLimit: 0n }))).toEqual(['native 0', 'native 0', 'native 0', 'native 0'])
    expect(names(pool.candidates({ ...ROOM, gasLimit: 43_000n }))).toEqual([
      'evm 0',
      'evm 0',
      'native 0',
      'native 0',
      'native 0',
      'native 0',
    ])
    expect(names(pool.candidates({ ...ROOM, nativeGasLimit: 0n }))).toEqual(['evm 0', 'evm 0', 'evm 0'])
    expect(names(pool.candidates({ ...ROOM, nativeGasLimit: 65_000n }))).toEqual([
      'evm 0',
      'evm 0',
      'evm 0',
      'native 0',
      'native 0',
    ])
  })

  it('share the bytes', () => {
    expect(names(mixedPool().candidates({ ...ROOM, maxBytes: 150 }))).toEqual(['evm 0', 'evm 0'])
  })

  it('leave out a native transaction whose fee does not reach the base fee, until it does', () => {
    const { pool } = createPool()
    pool.addNative(makeNative({ feeAcoin: 2n * GWEI * 100_000n - 1n }))
    expect(names(pool.candidates({ ...ROOM, baseFeePerGas: 2n * GWEI }))).toEqual([])
    expect(names(pool.candidates({ ...ROOM, baseFeePerGas: 2n * GWEI - 1n }))).toEqual(['native 0'])
  })

  it('count the gas that the state makes a transaction use', () => {
    const { pool } = createPool({ nativeGas: ({ intrinsicGas }) => 2n * intrinsicGas })
    const large = makeNative({ intrinsicGas: 3_750_001n, gasLimit: 8_000_000n })
    expect(pool.addNative(large)).toMatchObject({ accepted: false, error: { code: 41 } })
    pool.addNative(makeNative({ intrinsicGas: 50_000n }))
    expect(names(pool.candidates({ ...ROOM, nativeGasLimit: 99_999n }))).toEqual([])
    expect(names(pool.candidates({ ...ROOM, nativeGasLimit: 100_000n }))).toEqual(['native 0'])
  })

  it('that become smaller drop what uses more', () => {
    const fixture = createPool()
    fixture.pool.addNative(makeNative({ intrinsicGas: 250_000n, gasLimit: 5_000_000n }))
    fixture.publish([], { gasLimit: 1_000_000n })
    expect(fixture.pool.nativeStatus().pending).toBe(1)
    fixture.publish([], { gasLimit: 999_999n })
    expect(fixture.dropped.map(({ reason }) => reason)).toEqual(['gasLimit'])
  })
})

describe('a native transaction', () => {
  it('goes when no later block may hold it', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    pool.addNative(makeNative({ timeoutHeight: 3 }))
    pool.add(evm(1n), SENDER)
    fixture.publish([])
    expect(dropped).toEqual([])
    fixture.publish([])
    expect(dropped.map(({ reason }) => reason)).toEqual(['timeout'])
    expect(pool.status()).toEqual({ pending: 0, queued: 1 })
  })

  const [other, granter] = [senderOf(1), senderOf(2)]
  const signedBy = (sequence: bigint, fields: Partial<NativeTransaction> = {}) => {
    const [first, second] = [makeNative().signers[0]!, makeNative({ from: other, sequence }).signers[0]!]
    return makeNative({ signers: [first, second], ...fields })
  }
  const fee = makeNative().feeAcoin

  const mismatch = (expected: number, got: number) =>
    `sdk/32 account sequence mismatch, expected ${expected}, got ${got}: incorrect account sequence`
  it.each<{ name: string; pooled: number; sequence: bigint; expected: string | RegExp }>([
    { name: 'its next one', pooled: 0, sequence: 4n, expected: 'accepted' },
    { name: 'a used one', pooled: 0, sequence: 3n, expected: mismatch(4, 3) },
    { name: 'a later one', pooled: 0, sequence: 5n, expected: mismatch(4, 5) },
    { name: 'the one behind its own transactions', pooled: 2, sequence: 6n, expected: mismatch(4, 6) },
    { name: 'that of its own transaction', pooled: 1, sequence: 4n, expected: /^sdk\/20 the signer coin1.* has tr/ },
  ])('of a further signer may have $name: $expected', ({ pooled, sequence, expected }) => {
    const fixture = createPool()
    fixture.setAccount(other, { nonce: 4n })
    for (let i = 0; i < pooled; i++) fixture.pool.add(evm(4n + BigInt(i)), other)
    const outcome = nativeOutcomeOf(fixture.pool, signedBy(sequence))
    if (typeof expected === 'string') expect(outcome).toBe(expected)
    else expect(outcome).toMatch(expected)
  })

  it('of several signers must be due now, and is its sender’s last one', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    const signers = (from: Address, sequence: bigint, further: readonly Address[]) => [
      makeNative({ from, sequence }).signers[0]!,
      ...further.map((address) => makeNative({ from: address }).signers[0]!),
    ]
    const make = (
      from: Address,
      sequence: bigint,
      further: readonly Address[],
      fields: Partial<NativeTransaction> = {},
    ) => makeNative({ from, sequence, signers: signers(from, sequence, further), ...fields })
    expect(nativeOutcomeOf(pool, make(SENDER, 1n, [other]))).toBe(mismatch(0, 1))
    pool.add(evm(0n), SENDER)
    expect(nativeOutcomeOf(pool, make(SENDER, 1n, [other]))).toBe('accepted')
    // One for each further signer.
    expect(nativeOutcomeOf(pool, make(senderOf(5), 0n, [other]))).toMatch(/^sdk\/20 another transaction that coin1/)
    expect(nativeOutcomeOf(pool, make(senderOf(5), 0n, [granter, senderOf(6)]))).toBe('accepted')
    const behind = /in-flight transaction limit reached for transactions that others sign or pay for/
    expect(outcomeOf(pool, evm(2n), SENDER)).toMatch(behind)
    expect(nativeOutcomeOf(pool, make(SENDER, 0n, [senderOf(8)], { feeAcoin: 10n ** 16n }))).toMatch(behind)
    expect(nativeOutcomeOf(pool, make(SENDER, 1n, [other], { feeAcoin: 10n ** 16n }))).toBe('accepted')
    expect(names(pool.candidates(ROOM))).toEqual(['native 0', 'evm 0', 'native 1'])
    // One transaction of a signer makes one transaction of others worthless.
    fixture.publish([[other, { nonce: 1n }]])
    expect(dropped.map(({ reason }) => reason)).toEqual(['replaced', 'stale'])
  })

  it('goes when it could not start in its turn; what is behind it waits', () => {
    const { pool, dropped } = createPool()
    const [native, next] = [makeNative(), evm(1n)]
    pool.addNative(native)
    pool.add(next, SENDER)
    pool.dropUnexecutable([makeNative().hash, native.hash])
    expect(dropped).toEqual([{ hash: bytesToHex(native.hash), reason: 'unexecutable' }])
    expect(pool.status()).toEqual({ pending: 0, queued: 1 })
    expect(nativeOutcomeOf(pool, makeNative())).toBe('accepted')
    expect(names(pool.candidates(ROOM))).toEqual(['native 0', 'evm 1'])
    pool.dropUnexecutable([next.hash])
    expect(names(pool.candidates(ROOM))).toEqual(['native 0'])
  })

  it('goes when a further signer has used its sequence', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    pool.addNative(signedBy(0n))
    fixture.publish([[other, { balance: COIN }]])
    expect(dropped).toEqual([])
    fixture.publish([[other, { nonce: 1n }]])
    expect(dropped.map(({ reason }) => reason)).toEqual(['stale'])
    expect(pool.unconfirmed(0)).toEqual({ count: 0, bytes: 0, transactions: [] })
  })

  const paidByOther = (sequence: bigint) => {
    const signers = signedBy(0n).signers.map((signer, index) => (index === 0 ? { ...signer, sequence } : signer))
    return makeNative({ sequence, signers, feePayer: other })
  }
  const granted = (sequence: bigint) => makeNative({ sequence, feeGranter: granter })
  it.each<{ name: string; payer: Address; make: (sequence: bigint) => NativeTransaction }>([
    { name: 'another signer', payer: other, make: paidByOther },
    { name: 'a granter', payer: granter, make: granted },
  ])('whose fee is paid by $name costs its sender nothing, and the payer what it has', ({ payer, make }) => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    fixture.setAccount(SENDER, { balance: 0n })
    fixture.setAccount(payer, { balance: fee })
    expect(nativeOutcomeOf(pool, make(0n))).toBe('accepted')
    expect(nativeOutcomeOf(pool, make(1n))).toMatch(/^sdk\/20 another transaction that coin1/)
    expect(pool.nativeStatus()).toEqual({ pending: 1, queued: 0 })
    fixture.publish([[payer, { balance: fee }]])
    expect(dropped).toEqual([])
    fixture.publish([[payer, { balance: fee - 1n }]])
    expect(dropped.map(({ reason }) => reason)).toEqual(['unpaid'])
    expect(nativeOutcomeOf(pool, make(0n))).toMatch(/^sdk\/5 spendable balance/)
    fixture.publish([[payer, { balance: 2n * fee }]])
    expect(nativeOutcomeOf(pool, make(0n))).toBe('accepted')
    expect(outcomeOf(pool, evm(0n, { value: 1n }), SENDER)).toMatch(/^insufficient funds/)
  })

  it('counts the fee of the one that it replaces as free for the payer', () => {
    const fixture = createPool()
    fixture.setAccount(granter, { balance: 2n * fee })
    expect(nativeOutcomeOf(fixture.pool, granted(0n))).toBe('accepted')
    expect(nativeOutcomeOf(fixture.pool, makeNative({ feeGranter: granter, feeAcoin: 2n * fee }))).toBe('accepted')
    expect(nativeOutcomeOf(fixture.pool, makeNative({ feeGranter: granter, feeAcoin: 4n * fee }))).toMatch(/^sdk\/5 /)
  })

  it('that depends on others does not stay for ever', () => {
    const fixture = createPool({ limits: { queuedLifetimeMs: 100_000 } })
    fixture.pool.addNative(granted(0n))
    fixture.pool.addNative(makeNative({ from: other }))
    fixture.clock.nowMs = 100_000
    fixture.publish([])
    expect(fixture.dropped).toEqual([])
    fixture.clock.nowMs = 160_001
    fixture.publish([])
    expect(fixture.dropped.map(({ reason }) => reason)).toEqual(['expired'])
    expect(fixture.pool.nativeStatus()).toEqual({ pending: 1, queued: 0 })
  })
})
