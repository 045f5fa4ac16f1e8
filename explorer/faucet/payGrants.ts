import type { Kysely } from 'kysely'
import { bytesToHex, toQuantity } from '../../src/primitives/bytes.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { bytesToAmount } from '../database/amount.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import type { ServiceQueries } from '../database/services.ts'
import type { EthereumBlock, Hex } from '../node/answers.ts'
import { type NodeClient, NodeRefusal } from '../node/nodeClient.ts'
import type { FaucetKey } from './faucetKey.ts'
import { endGrant, forgetPayment, type Grant, listGrants, storePayment } from './grants.ts'
import { signTransfer } from './signTransfer.ts'

/*
 * Pays grants, each once. The transaction of a grant is signed, stored durably, and only then sent; whatever is killed, the same bytes
 * are sent again until the index has them in a block. Another one is signed only when the index has all blocks up to a height at which
 * the nonce is used up, and no block has the transaction: then no later block can have it. Only stored data decide this, so two
 * processes at once could do no more than send the same bytes.
 */

/** Chains that may have a faucet: the EVM chain ID of testnet and devnet. */
const FAUCET_CHAIN_ID = 76287
/** Transactions that may be under way. */
const IN_FLIGHT = 16
/** How long a transaction that was sent is waited for before it is sent again: the node may have forgotten it. */
const RESEND_MS = 3_000
/** Nothing new is signed while the index is farther behind the node. */
const MAX_LAG = 5
/** A payment's highest gas price in base fees, which can rise that much meanwhile. */
const FEE_ROOM = 8n
/** acoin per gas for the validators. */
const TIP = 10n ** 9n
/** Code that runs when an account gets coins may take this much gas. */
const MAX_GAS = 100_000n
/** The node's error codes for a call that fails: it reverts, or ends in another way. Other codes mean that the node is busy or too slow. */
const CALL_FAILED: ReadonlySet<number> = new Set([3, -32000])

export interface Payer {
  readonly queries: Kysely<Tables>
  readonly services: ServiceQueries
  readonly node: Pick<NodeClient, 'ethereum'>
  readonly key: FaucetKey
  readonly logger: Pick<Logger, 'info' | 'warn'>
  /** milliseconds of a clock that does not go back */
  readonly nowMs: () => number
  /** by number of a grant, when its transaction was sent last by this process */
  readonly sentAtMs: Map<number, number>
}

/** Why nothing is paid now; undefined: grants are paid. */
export type Obstacle = 'otherChain' | 'indexBehind' | 'empty' | undefined

/** Whether the chain with this EVM chain ID may have a faucet. */
export function hasFaucet(evmChainId: number): boolean {
  return evmChainId === FAUCET_CHAIN_ID
}

/**
 * Does what can be done for the grants now.
 * @throws NodeError, or what the database throws: then the next call continues where this one ended
 */
export async function payGrants(payer: Payer): Promise<Obstacle> {
  const { queries, services, node, key } = payer
  const chain = await queries.selectFrom('ingest').selectAll().executeTakeFirst()
  if (chain === undefined) return 'indexBehind'
  const [chainId, head] = (await node.ethereum([
    { method: 'eth_chainId', params: [] },
    { method: 'eth_blockNumber', params: [] },
  ])) as readonly [Hex, Hex]
  if (!hasFaucet(chain.evm_chain_id) || Number(chainId) !== chain.evm_chain_id) return 'otherChain'
  if (Number(head) - chain.height > MAX_LAG || chain.height < chain.first_height) return 'indexBehind'
  const at = toQuantity(chain.height)
  const account = bytesToHex(key.address)
  const [count, balance, block] = (await node.ethereum([
    { method: 'eth_getTransactionCount', params: [account, at] },
    { method: 'eth_getBalance', params: [account, at] },
    { method: 'eth_getBlockByNumber', params: [at, false] },
  ])) as readonly [Hex, Hex, EthereumBlock | null]
  if (block === null) return 'indexBehind'
  await settle(payer, Number(count), chain)
  const sent = await listGrants(services, 'sent', IN_FLIGHT)
  await resend(payer, sent)
  const maxFeePerGas = BigInt(block.baseFeePerGas) * FEE_ROOM + TIP
  let left =
    BigInt(balance) - sent.reduce((sum, { amount }) => sum + bytesToAmount(amount) + MAX_GAS * maxFeePerGas, 0n)
  let nonce = Math.max(Number(count), ...sent.map((grant) => grant.nonce! + 1))
  for (const grant of await listGrants(services, 'waiting', IN_FLIGHT - sent.length)) {
    const value = bytesToAmount(grant.amount)
    left -= value + MAX_GAS * maxFeePerGas
    if (left < 0n) return 'empty'
    const gas = await gasFor(payer, grant, value)
    if (gas === undefined) continue
    const fees = { gas, maxFeePerGas, maxPriorityFeePerGas: TIP }
    const signed = signTransfer(
      { chainId: BigInt(chain.evm_chain_id), nonce, to: grant.address, value, ...fees },
      key.privateKey,
    )
    if (!(await storePayment(services, grant.number, { ...signed, nonce, signedHeight: chain.height }))) continue
    nonce++
    await send(payer, { ...grant, ...signed })
  }
  return undefined
}

/** Ends grants whose transactions are in blocks, and forgets transactions that can never be. */
async function settle(
  { queries, services, logger, sentAtMs }: Payer,
  count: number,
  chain: { readonly height: number; readonly first_height: number },
): Promise<void> {
  for (const grant of await listGrants(services, 'sent', IN_FLIGHT)) {
    const row = await queries
      .selectFrom('tx')
      .select(['position', 'is_ok'])
      .where('hash', '=', grant.hash)
      .executeTakeFirst()
    const { number } = grant
    if (row !== undefined) {
      const height = heightOf(row.position)
      await endGrant(
        services,
        number,
        row.is_ok === 1 ? { state: 'paid', height } : { state: 'failed', height, problem: 'the transaction failed' },
      )
    } else if (grant.nonce! >= count) {
      continue
    } else if (chain.first_height > grant.signed_height! + 1) {
      // The index was made anew and begins later: the blocks that it lacks may have the transaction.
      await endGrant(services, number, { state: 'failed', problem: 'the result of the payment is unknown' })
    } else {
      logger.warn({ grant: number, nonce: grant.nonce }, 'another transaction of the faucet’s account used the nonce')
      await forgetPayment(services, grant)
    }
    sentAtMs.delete(number)
  }
}

async function resend(payer: Payer, sent: readonly Grant[]): Promise<void> {
  for (const grant of sent.toSorted((a, b) => a.nonce! - b.nonce!)) {
    const lastMs = payer.sentAtMs.get(grant.number)
    if (lastMs === undefined || payer.nowMs() - lastMs >= RESEND_MS) await send(payer, grant)
  }
}

async function send(
  { node, sentAtMs, nowMs, logger }: Payer,
  { number, raw }: Pick<Grant, 'number' | 'raw'>,
): Promise<void> {
  sentAtMs.set(number, nowMs())
  try {
    await node.ethereum([{ method: 'eth_sendRawTransaction', params: [bytesToHex(raw!)] }])
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error
    // It has it already, or does not take it now: it is sent again until it is in a block or can never be.
    if (!/already known/i.test(error.reason))
      logger.warn({ grant: number, reason: error.reason }, 'the node rejected a payment')
  }
}

/**
 * Returns the payment's gas; undefined: the recipient refuses coins, and the grant is over.
 * @throws NodeError also when the node does not say now
 */
async function gasFor(
  { node, services, key }: Payer,
  { number, address }: Grant,
  value: bigint,
): Promise<bigint | undefined> {
  const from = bytesToHex(key.address)
  const call = { from, to: bytesToHex(address), value: `0x${value.toString(16)}` }
  // Whatever the faucet's account has by now, the call fails only because of the recipient.
  const rich = { [from]: { balance: `0x${(value * 2n).toString(16)}` } }
  try {
    const params = [call, 'latest', rich]
    const [gas] = (await node.ethereum([{ method: 'eth_estimateGas', params }])) as readonly [Hex]
    if (BigInt(gas) <= MAX_GAS) return BigInt(gas)
  } catch (error) {
    if (!(error instanceof NodeRefusal && CALL_FAILED.has(error.code))) throw error
  }
  await endGrant(services, number, { state: 'failed', problem: 'this address does not accept coins' })
  return undefined
}
