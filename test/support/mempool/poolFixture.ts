import { entryHash } from '../../../src/chain/block/entries.ts'
import {
  buildTransaction,
  decodeTransaction,
  encodeTransaction,
  type Transaction,
  type UnsignedTransaction,
} from '../../../src/chain/block/transaction.ts'
import { type PoolOptions, TransactionPool } from '../../../src/mempool/pool.ts'
import { toPooledTransaction } from '../../../src/mempool/poolEntry.ts'
import type { AccountState, DropReason, PoolHeadUpdate } from '../../../src/mempool/types.ts'
import type { NativeTransaction } from '../../../src/modules/tx/nativeTransaction.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bytesKey, bytesToHex, keyBytes } from '../../../src/primitives/bytes.ts'

export const GWEI = 10n ** 9n
export const COIN = 10n ** 18n
const CHAIN_ID = 76287n
const RECIPIENT: Address = new Uint8Array(20).fill(0xaa)

/** The sender number `index`; nothing is signed in these tests. */
export function senderOf(index: number): Address {
  const address = new Uint8Array(20)
  new DataView(address.buffer).setUint32(16, index + 1)
  return address
}

/** A dynamic-fee transfer (or what `fields` say), as decoded from its encoding. */
export function makeTransaction(
  fields: Partial<UnsignedTransaction> & { readonly gasPrice?: bigint } = {},
): Transaction {
  const unsigned = buildTransaction({
    type: 2,
    chainId: CHAIN_ID,
    gasLimit: 21_000n,
    to: RECIPIENT,
    ...(fields.gasPrice === undefined ? { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI } : {}),
    ...fields,
  })
  const v = unsigned.type !== 0 ? 0n : unsigned.chainId === undefined ? 27n : 35n + 2n * unsigned.chainId
  return decodeTransaction(encodeTransaction(unsigned, { v, r: 1n, s: 1n }))
}

interface NativeFields extends Partial<NativeTransaction> {
  /** of a signer who signs first */
  readonly from?: Address
  /** acoin per gas in place of the fee */
  readonly gasPrice?: bigint
}

let madeNative = 0

/** A native transaction with the intrinsic gas of a small one. Each is another; its bytes are of the right kind, but nothing more. */
export function makeNative({
  from = senderOf(0),
  gasPrice = 10n * GWEI,
  ...fields
}: NativeFields = {}): NativeTransaction {
  const { sequence = 0n, gasLimit = 100_000n } = fields
  const raw = new Uint8Array(200)
  raw[0] = 0x0a
  new DataView(raw.buffer).setUint32(1, madeNative++)
  return {
    raw,
    hash: entryHash(raw),
    messages: [],
    signers: [{ address: from, sequence, publicKey: undefined, signatures: [] }],
    sender: from,
    sequence,
    memo: '',
    timeoutHeight: 0,
    gasLimit,
    feeAcoin: gasPrice * gasLimit,
    maxPriorityPrice: undefined,
    feePayer: from,
    feeGranter: undefined,
    signatureCounts: { ethSecp256k1: 1, secp256k1: 0 },
    keyCount: 1,
    messageGas: [12_000n],
    intrinsicGas: 20_000n,
    ...fields,
  }
}

export interface PoolFixture {
  readonly pool: TransactionPool
  readonly accounts: Map<string, AccountState>
  readonly admitted: string[]
  readonly dropped: { readonly hash: string; readonly reason: DropReason }[]
  /** moved by the test */
  readonly clock: { nowMs: number }
  setAccount(address: Address, state: Partial<AccountState>): void
  /** publishes a block that changed these accounts */
  publish(accounts: readonly (readonly [Address, Partial<AccountState>])[], update?: Partial<PoolHeadUpdate>): void
}

/** A pool over accounts in a map; every account holds 1,000 COIN unless set. */
export function createPool(options: Partial<PoolOptions> = {}): PoolFixture {
  const accounts = new Map<string, AccountState>()
  const clock = { nowMs: 0 }
  const admitted: string[] = []
  const dropped: { hash: string; reason: DropReason }[] = []
  const stateOf = (address: Address): AccountState =>
    accounts.get(bytesKey(address)) ?? { nonce: 0n, balance: 1_000n * COIN, code: 'none' }
  let head: PoolHeadUpdate = {
    height: 1,
    baseFeePerGas: GWEI,
    minimumBaseFee: GWEI,
    gasLimit: 30_000_000n,
    accounts: [],
    included: [],
    ...options.head,
  }
  const fixture: PoolFixture = {
    accounts,
    admitted,
    dropped,
    clock,
    setAccount: (address, state) => void accounts.set(bytesKey(address), { ...stateOf(address), ...state }),
    publish(changes, update = {}) {
      for (const [address, state] of changes) fixture.setAccount(address, state)
      head = {
        ...head,
        height: head.height + 1,
        included: [],
        ...update,
        accounts: changes.map(([address]) => [address, stateOf(address)] as const),
      }
      fixture.pool.headChanged(head)
    },
    pool: new TransactionPool({
      chain: {
        evmChainId: CHAIN_ID,
        allowsUnprotected: true,
        forks: [{ height: 0, fork: 'osaka' }],
      },
      head,
      readAccount: stateOf,
      authoritiesOf: () => [],
      checkNativeState: () => undefined,
      nativeGas: ({ intrinsicGas }) => intrinsicGas,
      now: () => clock.nowMs,
      onAdmitted: (entry) => void admitted.push(bytesToHex(toPooledTransaction(entry).hash)),
      onDropped: ({ hashKey }, reason) => void dropped.push({ hash: bytesToHex(keyBytes(hashKey)), reason }),
      ...options,
    }),
  }
  return fixture
}

/** `accepted`, or the reason for the refusal. */
export function outcomeOf(pool: TransactionPool, transaction: Transaction, sender: Address): string {
  const admission = pool.add(transaction, sender)
  return admission.accepted ? 'accepted' : admission.reason
}

/** The same for a native transaction, with the code of a refusal. */
export function nativeOutcomeOf(pool: TransactionPool, transaction: NativeTransaction): string {
  const admission = pool.addNative(transaction)
  if (admission.accepted) return 'accepted'
  return `${admission.error!.codespace}/${admission.error!.code} ${admission.reason}`
}

/** Nonces of a sender's EVM transactions in the pool, executable and waiting. */
export function noncesOf(pool: TransactionPool, sender: Address): { pending: bigint[]; queued: bigint[] } {
  const { pending, queued } = pool.contentFrom(sender)
  return {
    pending: pending.map(({ raw }) => decodeTransaction(raw).nonce),
    queued: queued.map(({ raw }) => decodeTransaction(raw).nonce),
  }
}
