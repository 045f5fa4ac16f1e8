import { describe, expect, it } from 'vitest'
import type { Transaction } from '../../../src/chain/block/transaction.ts'
import type { Authority } from '../../../src/evm/authorization.ts'
import type { AccountState } from '../../../src/mempool/types.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { COIN, createPool, GWEI, makeTransaction, outcomeOf, senderOf } from '../../support/mempool/poolFixture.ts'

const SENDER = senderOf(0)
const CHECKSUMMED = '0x0000000000000000000000000000000000000001'
const AUTHORIZATION = { chainId: 76287n, address: senderOf(9), nonce: 0n, yParity: 0n, r: 1n, s: 1n }

interface Case {
  readonly name: string
  readonly transaction: Transaction
  readonly expected: string
  readonly account?: Partial<AccountState>
  /** admitted before */
  readonly before?: readonly Transaction[]
}

const transfer = makeTransaction()

// Texts as geth's txpool and ethapi packages print them.
const CASES: readonly Case[] = [
  { name: 'a transfer', transaction: transfer, expected: 'accepted' },
  { name: 'a legacy transaction', transaction: makeTransaction({ type: 0, gasPrice: GWEI }), expected: 'accepted' },
  { name: 'an access list', transaction: makeTransaction({ type: 1, gasPrice: GWEI }), expected: 'accepted' },
  {
    name: 'a delegation',
    transaction: makeTransaction({ type: 4, gasLimit: 46_000n, authorizationList: [AUTHORIZATION] }),
    expected: 'accepted',
  },
  { name: 'the same again', transaction: transfer, before: [transfer], expected: 'already known' },
  {
    name: 'no replay protection',
    transaction: makeTransaction({ type: 0, chainId: undefined, gasPrice: GWEI }),
    expected: 'only replay-protected (EIP-155) transactions allowed over RPC',
  },
  {
    name: 'a blob transaction',
    transaction: makeTransaction({ type: 3 }),
    expected: 'transaction type not supported: tx type 3 not supported by this pool',
  },
  {
    name: 'too many bytes',
    transaction: makeTransaction({ data: new Uint8Array(131_072) }),
    expected: 'oversized data: transaction size 131126, limit 131072',
  },
  {
    name: 'too much init code',
    transaction: makeTransaction({ to: undefined, data: new Uint8Array(49_153) }),
    expected: 'max initcode size exceeded: code size 49153 limit 49152',
  },
  {
    name: 'more gas than a transaction may have',
    transaction: makeTransaction({ gasLimit: 16_777_217n }),
    expected: 'transaction gas limit too high (cap: 16777216, tx: 16777217)',
  },
  {
    name: 'a tip above the fee cap',
    transaction: makeTransaction({ maxFeePerGas: GWEI, maxPriorityFeePerGas: 2n * GWEI }),
    expected: 'max priority fee per gas higher than max fee per gas',
  },
  {
    name: 'another chain',
    transaction: makeTransaction({ chainId: 1n }),
    expected: 'invalid sender: invalid chain id for signer: have 1 want 76287',
  },
  { name: 'the last nonce', transaction: makeTransaction({ nonce: 2n ** 64n - 1n }), expected: 'nonce has max value' },
  {
    name: 'too little gas',
    transaction: makeTransaction({ gasLimit: 20_999n }),
    expected: 'intrinsic gas too low: gas 20999, minimum needed 21000',
  },
  {
    name: 'too little gas to create',
    transaction: makeTransaction({ to: undefined, gasLimit: 53_000n, data: Uint8Array.of(0x60) }),
    expected: 'intrinsic gas too low: gas 53000, minimum needed 53018',
  },
  {
    name: 'too little gas for an access list',
    transaction: makeTransaction({
      accessList: [{ address: SENDER, storageKeys: [new Uint8Array(32), new Uint8Array(32)] }],
    }),
    expected: 'intrinsic gas too low: gas 21000, minimum needed 27200',
  },
  {
    name: 'too little gas for the data floor',
    transaction: makeTransaction({ gasLimit: 60_000n, data: new Uint8Array(1_000).fill(1) }),
    expected: 'insufficient gas for floor data gas cost: gas 60000, minimum needed 61000',
  },
  {
    name: 'no tip',
    transaction: makeTransaction({ maxPriorityFeePerGas: 0n }),
    expected: 'transaction gas price below minimum: gas tip cap 0, minimum needed 1',
  },
  {
    name: 'a fee cap that no block can take',
    transaction: makeTransaction({ maxFeePerGas: GWEI - 1n, maxPriorityFeePerGas: 1n }),
    expected: `max fee per gas less than block base fee: address ${CHECKSUMMED}, maxFeePerGas: 999999999, baseFee: 1000000000`,
  },
  {
    name: 'no authorization',
    transaction: makeTransaction({ type: 4 }),
    expected: 'set code tx must have at least one authorization tuple',
  },
  {
    name: 'a contract as sender',
    transaction: transfer,
    account: { code: 'contract' },
    expected: `sender not an eoa: address ${CHECKSUMMED}`,
  },
  {
    name: 'a used nonce',
    transaction: transfer,
    account: { nonce: 3n },
    expected: 'nonce too low: next nonce 3, tx nonce 0',
  },
  {
    name: 'no funds',
    transaction: makeTransaction({ value: COIN }),
    account: { balance: COIN },
    expected: `insufficient funds for gas * price + value: balance ${COIN}, tx cost ${COIN + 210_000n * GWEI}, overshot ${210_000n * GWEI}`,
  },
  {
    name: 'funds that earlier transactions may take',
    before: [makeTransaction({ value: COIN })],
    transaction: makeTransaction({ nonce: 1n }),
    account: { balance: COIN + 300_000n * GWEI },
    expected: `insufficient funds for gas * price + value: balance ${COIN + 300_000n * GWEI}, queued cost ${COIN + 210_000n * GWEI}, tx cost ${210_000n * GWEI}, overshot ${120_000n * GWEI}`,
  },
  {
    name: 'a replacement that costs too much more',
    before: [transfer],
    transaction: makeTransaction({ maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 2n * GWEI }),
    account: { balance: 420_000n * GWEI },
    expected: 'accepted',
  },
  {
    name: 'a replacement that together with later ones costs too much',
    before: [transfer, makeTransaction({ nonce: 1n })],
    transaction: makeTransaction({ maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 2n * GWEI }),
    account: { balance: 420_000n * GWEI },
    expected: `insufficient funds for gas * price + value: balance ${420_000n * GWEI}, queued cost ${420_000n * GWEI}, tx bumped ${210_000n * GWEI}, overshot ${210_000n * GWEI}`,
  },
  {
    name: 'a replacement with a higher fee cap alone',
    before: [transfer],
    transaction: makeTransaction({ maxFeePerGas: 20n * GWEI }),
    expected: 'replacement transaction underpriced',
  },
  {
    name: 'a replacement that adds 9.99 %',
    before: [transfer],
    transaction: makeTransaction({ maxFeePerGas: 11n * GWEI, maxPriorityFeePerGas: 1_099_999_999n }),
    expected: 'replacement transaction underpriced',
  },
  {
    name: 'a replacement that adds 10 %',
    before: [transfer],
    transaction: makeTransaction({ maxFeePerGas: 11n * GWEI, maxPriorityFeePerGas: 1_100_000_000n }),
    expected: 'accepted',
  },
  {
    name: 'a replacement of a waiting transaction',
    before: [makeTransaction({ nonce: 5n })],
    transaction: makeTransaction({ nonce: 5n, value: 1n }),
    expected: 'replacement transaction underpriced',
  },
]

describe('admission', () => {
  it.each(CASES)('$name: $expected', ({ transaction, expected, account, before = [] }) => {
    const fixture = createPool()
    if (account !== undefined) fixture.setAccount(SENDER, account)
    for (const earlier of before) expect(outcomeOf(fixture.pool, earlier, SENDER)).toBe('accepted')
    const { pool } = fixture
    const content = pool.content()
    expect(outcomeOf(pool, transaction, SENDER)).toBe(expected)
    if (expected !== 'accepted') expect(pool.content()).toEqual(content)
  })

  it('refuses more gas than a block has', () => {
    const { pool } = createPool({
      head: { height: 1, baseFeePerGas: GWEI, minimumBaseFee: GWEI, gasLimit: 1_000_000n },
    })
    expect(outcomeOf(pool, makeTransaction({ gasLimit: 1_000_001n }), SENDER)).toBe('exceeds block gas limit')
  })

  it('takes transactions without a chain ID where both chain and operator do', () => {
    const transaction = makeTransaction({ type: 0, chainId: undefined, gasPrice: GWEI })
    const chain = { evmChainId: 76287n, forks: [{ height: 0, fork: 'osaka' as const }] }
    const outcomes = [true, false].flatMap((allowsUnprotected) =>
      [true, false].map((acceptsUnprotected) => {
        const { pool } = createPool({ chain: { ...chain, allowsUnprotected }, limits: { acceptsUnprotected } })
        return outcomeOf(pool, transaction, SENDER)
      }),
    )
    const refusal = 'only replay-protected (EIP-155) transactions allowed over RPC'
    expect(outcomes).toEqual(['accepted', refusal, refusal, refusal])
  })

  it('refuses types of later forks', () => {
    const { pool } = createPool({
      chain: {
        evmChainId: 76287n,
        allowsUnprotected: false,
        forks: [{ height: 0, fork: 'cancun' }],
      },
    })
    const delegation = makeTransaction({ type: 4, gasLimit: 46_000n, authorizationList: [AUTHORIZATION] })
    expect(outcomeOf(pool, delegation, SENDER)).toBe(
      'transaction type not supported: type 4 rejected, pool not yet in Prague',
    )
  })
})

describe('delegated accounts', () => {
  const nonce = (value: bigint) => makeTransaction({ nonce: value })

  it('may have one executable transaction, which can be replaced', () => {
    const fixture = createPool()
    fixture.setAccount(SENDER, { code: 'delegation' })
    const { pool } = fixture
    expect(outcomeOf(pool, nonce(1n), SENDER)).toBe('gapped-nonce tx from delegated accounts')
    expect(outcomeOf(pool, nonce(0n), SENDER)).toBe('accepted')
    expect(outcomeOf(pool, nonce(1n), SENDER)).toBe('in-flight transaction limit reached for delegated accounts')
    const higher = makeTransaction({ maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 2n * GWEI })
    expect(outcomeOf(pool, higher, SENDER)).toBe('accepted')
  })

  it('are those too whose authorization is pooled', () => {
    const authority = senderOf(1)
    const { pool } = createPool({ authoritiesOf: () => [{ address: authority, nonce: 0n }] })
    const delegation = makeTransaction({ type: 4, gasLimit: 46_000n, authorizationList: [AUTHORIZATION] })
    expect(outcomeOf(pool, delegation, SENDER)).toBe('accepted')
    expect(outcomeOf(pool, nonce(0n), authority)).toBe('accepted')
    expect(outcomeOf(pool, nonce(1n), authority)).toBe('in-flight transaction limit reached for delegated accounts')
  })

  it('are free again when the authorization is gone', () => {
    const authority = senderOf(1)
    const fixture = createPool({ authoritiesOf: () => [{ address: authority, nonce: 0n }] })
    const delegation = makeTransaction({ type: 4, gasLimit: 46_000n, authorizationList: [AUTHORIZATION] })
    fixture.pool.add(delegation, SENDER)
    fixture.publish([[SENDER, { nonce: 1n }]], { included: [delegation.hash] })
    expect(outcomeOf(fixture.pool, nonce(0n), authority)).toBe('accepted')
    expect(outcomeOf(fixture.pool, nonce(1n), authority)).toBe('accepted')
  })

  it('are not those whose authorization was used before, which anybody can send again', () => {
    const authority = senderOf(1)
    const fixture = createPool({ authoritiesOf: () => [{ address: authority, nonce: 4n }] })
    fixture.setAccount(authority, { nonce: 5n })
    const delegation = makeTransaction({ type: 4, gasLimit: 46_000n, authorizationList: [AUTHORIZATION] })
    for (const value of [5n, 6n]) expect(outcomeOf(fixture.pool, nonce(value), authority)).toBe('accepted')
    expect(outcomeOf(fixture.pool, delegation, SENDER)).toBe('accepted')
    expect(outcomeOf(fixture.pool, nonce(7n), authority)).toBe('accepted')
  })

  it('cannot come from accounts with more than one pooled transaction', () => {
    const authority = senderOf(1)
    const { pool } = createPool({ authoritiesOf: () => [{ address: authority, nonce: 0n }] })
    const delegation = makeTransaction({ type: 4, gasLimit: 46_000n, authorizationList: [AUTHORIZATION] })
    pool.add(nonce(0n), authority)
    pool.add(nonce(1n), authority)
    expect(outcomeOf(pool, delegation, SENDER)).toBe('authority already reserved')
  })
})

describe('authorizations', () => {
  const make = (count: number, fields = {}) =>
    makeTransaction({
      type: 4,
      gasLimit: 21_000n + 25_000n * BigInt(count),
      authorizationList: new Array(count).fill(AUTHORIZATION),
      ...fields,
    })

  it('are asked for after all other checks, and not twice', () => {
    const asked: Uint8Array[] = []
    const known = new Map<string, Authority[]>()
    const fixture = createPool({
      limits: { count: 2 },
      authoritiesOf: ({ hash }) => {
        asked.push(hash)
        return known.get(bytesToHex(hash))
      },
    })
    const { pool } = fixture
    const refused = [
      [make(65), 'too many authorizations: 65, limit 64'],
      [make(1, { nonce: 1n }), 'gapped-nonce tx with authorizations'],
      [make(1, { gasLimit: 30_000n }), 'intrinsic gas too low: gas 30000, minimum needed 46000'],
      [make(1, { value: 2_000n * 10n ** 18n }), /^insufficient funds/],
    ] as const
    for (const [transaction, reason] of refused) expect(outcomeOf(pool, transaction, SENDER)).toMatch(reason)
    expect(asked).toEqual([])

    const transaction = make(2)
    expect(pool.add(transaction, SENDER)).toMatchObject({ accepted: false, needsAuthorities: true })
    expect(pool.unconfirmed(9).count).toBe(0)
    expect(pool.check(transaction, SENDER).accepted).toBe(true)
    known.set(
      bytesToHex(transaction.hash),
      [1, 2].map((n) => ({ address: senderOf(n), nonce: 0n })),
    )
    expect(outcomeOf(pool, transaction, SENDER)).toBe('accepted')
    expect(outcomeOf(pool, transaction, SENDER)).toBe('already known')
    expect(outcomeOf(pool, makeTransaction(), senderOf(3))).toBe('accepted')
    // No room: asked for nothing.
    const times = asked.length
    const cheap = make(1, { maxPriorityFeePerGas: 1n, maxFeePerGas: 2n * GWEI })
    expect(pool.add(cheap, senderOf(4))).toMatchObject({ accepted: false, reason: 'transaction underpriced' })
    expect(asked.length).toBe(times + 1)
    expect(pool.add(cheap, senderOf(4))).not.toHaveProperty('needsAuthorities')
  })

  it('have a limit in all', () => {
    const { pool } = createPool({
      limits: { authorities: 3 },
      authoritiesOf: () => [8, 9].map((n) => ({ address: senderOf(n), nonce: 0n })),
    })
    expect(outcomeOf(pool, make(2), SENDER)).toBe('accepted')
    expect(outcomeOf(pool, make(2, { value: 1n }), senderOf(1))).toBe('txpool is full')
  })
})
