import { entryHash } from '../../chain/block/entries.ts'
import { coinsOf } from '../../modules/coin.ts'
import { Tx, TxBody } from '../../modules/tx/types.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, parseDecimal, roundUp } from '../../primitives/decimal.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import type { Sender } from '../keys/signer.ts'
import { type NodeClient, NodeRequestError } from '../nodeClient.ts'
import { decodeTx, type Placeholder, withPlaceholders } from './signTx.ts'
import { inDoubt, TransactionFailed, waitForBlock } from './waitForBlock.ts'

/** A transaction as the command line describes it; the node fills in undefined fields. */
export interface TransactionRequest {
  readonly sequence: bigint | undefined
  readonly gasLimit: bigint | undefined
  /** factor of the simulated gas */
  readonly gasAdjustment: Decimal
  /** acoin in all */
  readonly feeAcoin: bigint | undefined
  /** acoin per gas, 18 decimals */
  readonly gasPriceAcoin: Decimal | undefined
  readonly memo: string
  /** 0: none */
  readonly timeoutHeight: bigint
  /** `coin1…` of the account that pays the fee; empty: the sender */
  readonly feePayer: string
  /** `coin1…` of the account whose fee allowance pays; empty: none */
  readonly feeGranter: string
}

/** The base fee may rise by this factor before the transaction is in a block. */
const BASE_FEE_ROOM = 2n
/** Added to the base fee, 1 gwei: what other transactions offer. */
const PRIORITY_ACOIN = 10n ** 9n
/**
 * Creates an unsigned transaction. The node supplies what the request leaves open: gas by simulation, the fee from the base fee.
 * @throws ConfigError when it is not valid
 */
export async function createTx(
  messages: readonly AnyValue[],
  request: TransactionRequest,
  sender: Sender,
  client: NodeClient,
): Promise<Tx> {
  const { memo, timeoutHeight, feePayer: payer, feeGranter: granter } = request
  const withFee = (gasLimit: bigint, feeAcoin: bigint): Tx => ({
    body: TxBody.create({ messages, memo, timeoutHeight }),
    authInfo: { signerInfos: [], fee: { amount: coinsOf(feeAcoin), gasLimit, payer, granter }, tip: undefined },
    signatures: [],
  })
  const gasLimit = request.gasLimit ?? (await estimateGas(withFee(0n, 0n), request, sender, client))
  return withFee(
    gasLimit,
    request.feeAcoin ?? roundUp(gasLimit * (request.gasPriceAcoin ?? (await gasPriceOf(client)))),
  )
}

/** Until what a command waits: the block of a transaction, the node's word that it has accepted it, nothing. */
export const BROADCAST_MODES = ['block', 'sync', 'async'] as const
export type BroadcastMode = (typeof BROADCAST_MODES)[number]

/**
 * Sends a signed transaction to the node, and waits as the mode says.
 * @returns its `tx_response`; before it is in a block, its hash alone
 * @throws what {@link broadcast} and {@link waitForBlock} throw
 */
export async function send(
  raw: Uint8Array,
  mode: BroadcastMode,
  client: NodeClient,
  now?: () => number,
): Promise<Json> {
  if (mode === 'async') {
    const { hash } = await sendRaw('broadcast_tx_async', raw, client)
    return { txhash: hash }
  }
  const hash = await broadcast(raw, client)
  return mode === 'sync' ? { txhash: hash } : waitForBlock(hash, client, now)
}

/**
 * Sends a signed transaction to the node.
 * @returns its hash
 * @throws TransactionFailed when the node refuses it
 * @throws NodeRequestError when it does not answer, or fails. It may still have the transaction, so the message has the hash
 */
export async function broadcast(raw: Uint8Array, client: NodeClient): Promise<string> {
  const answer = await sendRaw('broadcast_tx_sync', raw, client)
  if (answer.code !== 0) throw new TransactionFailed(`refused: ${answer.log} (${answer.codespace}/${answer.code})`)
  return answer.hash
}

interface BroadcastAnswer {
  readonly code: number
  readonly codespace: string
  readonly log: string
  readonly hash: string
}

async function sendRaw(
  method: 'broadcast_tx_sync' | 'broadcast_tx_async',
  raw: Uint8Array,
  client: NodeClient,
): Promise<BroadcastAnswer> {
  try {
    return (await client.comet(method, { tx: Buffer.from(raw).toString('base64') })) as unknown as BroadcastAnswer
  } catch (error) {
    const hash = bytesToHex(entryHash(raw)).slice(2).toUpperCase()
    const isRefused = error instanceof NodeRequestError && error.status !== undefined && error.status < 500
    throw error instanceof NodeRequestError && !isRefused ? inDoubt(hash, error) : error
  }
}

/** Asks for the chain ID of the node's network. */
export async function networkOf(client: NodeClient): Promise<string> {
  const status = (await client.comet('status', {})) as { readonly node_info: { readonly network: string } }
  return status.node_info.network
}

/** Asks for the next sequence of an account. @throws TransactionFailed when the chain does not know it */
export async function sequenceOf(address: Address, client: NodeClient): Promise<bigint> {
  try {
    // Not `accounts`, where a vesting account has the sequence elsewhere.
    const answer = (await client.get(`/cosmos/auth/v1beta1/account_info/${toBech32(address)}`)) as {
      readonly info: { readonly sequence: string }
    }
    return BigInt(answer.info.sequence)
  } catch (error) {
    if (error instanceof NodeRequestError && error.status === 404) {
      throw new TransactionFailed(`${toBech32(address)} has no coins on this chain: send coins to it first`)
    }
    throw error
  }
}

async function estimateGas(
  tx: Tx,
  { sequence, gasAdjustment }: TransactionRequest,
  sender: Sender,
  client: NodeClient,
): Promise<bigint> {
  const signers: Placeholder[] = []
  for (const address of decodeTx(tx).signers) {
    const isSender = equalBytes(address, sender.address)
    signers.push({
      publicKey: isSender ? sender.publicKey : undefined,
      sequence: (isSender ? sequence : undefined) ?? (await sequenceOf(address, client)),
    })
  }
  const answer = (await client.post('/cosmos/tx/v1beta1/simulate', {
    tx_bytes: Buffer.from(Tx.encode(withPlaceholders(tx, signers))).toString('base64'),
  })) as { readonly gas_info: { readonly gas_used: string } }
  return roundUp(BigInt(answer.gas_info.gas_used) * gasAdjustment)
}

/** Returns a price in acoin per gas, with 18 decimals, that is enough even when the base fee doubles. */
async function gasPriceOf(client: NodeClient): Promise<Decimal> {
  const answer = (await client.get('/cosmos/evm/feemarket/v1/base_fee')) as { readonly base_fee: string }
  const baseFee = parseDecimal(answer.base_fee)
  if (baseFee === undefined) throw new NodeRequestError(`${client.url} returned no base fee: give --gas-price`, 200)
  return decimalOf(roundUp(baseFee) * BASE_FEE_ROOM + PRIORITY_ACOIN)
}
