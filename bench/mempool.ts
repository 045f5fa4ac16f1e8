/**
 * Speed and memory of the transaction pool alone: admission of 100,000 transactions from 20,000 senders (signatures
 * apart), selection for a block, following a block, and the memory of a full pool. Run it with
 * `node --expose-gc bench/mempool.ts`.
 */
import {
  buildTransaction,
  decodeTransaction,
  encodeTransaction,
  type Transaction,
} from '../src/chain/block/transaction.ts'
import { TransactionPool } from '../src/mempool/pool.ts'
import { toPooledTransaction } from '../src/mempool/poolEntry.ts'
import type { PoolLimits } from '../src/mempool/types.ts'
import type { Address } from '../src/primitives/address.ts'

const GWEI = 10n ** 9n
const CHAIN_ID = 76287n

function senderOf(index: number): Address {
  const address = new Uint8Array(20)
  new DataView(address.buffer).setUint32(16, index)
  return address
}

function transactionOf(sender: number, nonce: number): Transaction {
  const tip = GWEI + BigInt((sender * 7919 + nonce * 104729) % 5000) * 1_000_000n
  const unsigned = buildTransaction({
    type: 2,
    chainId: CHAIN_ID,
    nonce: BigInt(nonce),
    gasLimit: 21_000n,
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: tip,
    to: senderOf(sender + 1),
    value: 10n ** 15n + BigInt(sender),
  })
  const r = 2n ** 255n + BigInt(sender)
  return decodeTransaction(encodeTransaction(unsigned, { v: 1n, r, s: r }))
}

function createPool(limits: Partial<PoolLimits> = {}): TransactionPool {
  return new TransactionPool({
    chain: {
      evmChainId: CHAIN_ID,
      allowsUnprotected: false,
      forks: [{ height: 0, fork: 'osaka' }],
    },
    head: { height: 1, baseFeePerGas: GWEI, minimumBaseFee: GWEI, gasLimit: 150_000_000n },
    readAccount: () => ({ nonce: 0n, balance: 10n ** 24n, code: 'none' }),
    authoritiesOf: () => [],
    checkNativeState: () => undefined,
    nativeGas: ({ intrinsicGas }) => intrinsicGas,
    now: () => performance.now(),
    limits,
  })
}

function timed<T>(label: string, count: number, run: () => T): T {
  const start = performance.now()
  const result = run()
  const ms = performance.now() - start
  console.log(`${label}: ${ms.toFixed(1)} ms, ${Math.round((count / ms) * 1000).toLocaleString('en')} /s`)
  return result
}

function memoryUsed(): number {
  gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const SENDERS = 20_000
const transactions: { readonly transaction: Transaction; readonly sender: Address }[] = []
for (let nonce = 0; nonce < 5; nonce++) {
  for (let sender = 0; sender < SENDERS; sender++) {
    transactions.push({ transaction: transactionOf(sender, nonce), sender: senderOf(sender) })
  }
}
const pool = createPool()
timed('admit 100,000 of 20,000 senders', transactions.length, () => {
  for (const { transaction, sender } of transactions) {
    const admission = pool.add(transaction, sender)
    if (!admission.accepted) throw new Error(admission.reason)
  }
})
const request = { baseFeePerGas: GWEI, gasLimit: 147_000_000n, nativeGasLimit: 7_500_000n, maxBytes: 2_000_000 }
const chosen = timed('select 7,000', 7_000, () => Array.from(pool.candidates(request), toPooledTransaction))
const nonces = new Map<string, { readonly address: Address; count: bigint }>()
for (const { sender } of chosen) {
  const known = nonces.get(sender.join()) ?? { address: sender, count: 0n }
  known.count++
  nonces.set(sender.join(), known)
}
timed(`follow a block of ${chosen.length}`, chosen.length, () =>
  pool.headChanged({
    height: 2,
    baseFeePerGas: GWEI,
    minimumBaseFee: GWEI,
    gasLimit: 150_000_000n,
    accounts: Array.from(nonces.values(), ({ address, count }) => [
      address,
      { nonce: count, balance: 10n ** 24n, code: 'none' as const },
    ]),
    included: chosen.map(({ hash }) => hash),
  }),
)
console.log('status', pool.status())

for (const perSender of [1, 100]) {
  const before = memoryUsed()
  const full = createPool()
  const admitted = timed(`fill with ${perSender} a sender, 260,000 offered`, 260_000, () => {
    let count = 0
    for (let i = 0; i < 260_000; i++) {
      const sender = Math.floor(i / perSender)
      if (full.add(transactionOf(sender, i % perSender), senderOf(sender)).accepted) count++
    }
    return count
  })
  const { pending, queued } = full.status()
  const held = memoryUsed() - before
  console.log(
    `  accepted ${admitted}, held ${pending + queued}; counted ${(full.bytes / 2 ** 20).toFixed(0)} MiB, ` +
      `measured ${(held / 2 ** 20).toFixed(0)} MiB (${Math.round(held / (pending + queued))} bytes each)`,
  )
}
