import { entryHash } from '../../chain/entries.ts'
import { ConfigError } from '../../config/configError.ts'
import { coinsOf } from '../../modules/coin.ts'
import { signTransaction } from '../../modules/tx/signTransaction.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { type Decimal, parseDecimal, roundUp } from '../../primitives/decimal.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { type NodeClient, NodeRequestError } from '../nodeClient.ts'

/** A transaction was refused, or failed in its block. The message is a line for the operator. */
class TransactionFailed extends Error {
  override readonly name = 'TransactionFailed'
}

/** What the command line says about a transaction; the node fills in what is undefined. */
export interface TransactionRequest {
  readonly chainId: string | undefined
  readonly sequence: bigint | undefined
  readonly gasLimit: bigint | undefined
  /** factor of the simulated gas */
  readonly gasAdjustment: Decimal
  /** acoin in all */
  readonly feeAcoin: bigint | undefined
  /** acoin per gas */
  readonly gasPriceAcoin: bigint | undefined
  readonly memo: string
  readonly timeoutHeight: bigint
  readonly feeGranter: string
}

/** A key that signs on this machine. */
export interface Signer {
  readonly address: Address
  /** 32 bytes */
  readonly privateKey: Uint8Array
}

/** Everything that is signed besides the messages. */
interface TransactionTerms {
  readonly chainId: string
  readonly sequence: bigint
  readonly gasLimit: bigint
  readonly feeAcoin: bigint
  readonly memo: string
  /** 0: none */
  readonly timeoutHeight: bigint
  /** `coin1…` of the account whose fee allowance pays; empty: the sender pays */
  readonly feeGranter: string
}

/** The base fee may rise by this factor before the transaction is in a block. */
const BASE_FEE_ROOM = 2n
/** Added to the base fee, 1 gwei: what other transactions offer. */
const PRIORITY_ACOIN = 10n ** 9n
const POLL_MS = 200
/** Milliseconds to wait for the block of a transaction. Only a full network takes longer. */
const INCLUSION_MS = 60_000

/** Completes a request with what the node knows: chain ID, sequence, gas by simulation, fee from the base fee. */
export async function completeTerms(
  messages: readonly AnyValue[],
  request: TransactionRequest,
  signer: Signer,
  client: NodeClient,
): Promise<TransactionTerms> {
  const chainId = request.chainId ?? (await networkOf(client))
  const sequence = request.sequence ?? (await sequenceOf(signer.address, client))
  const { memo, timeoutHeight, feeGranter } = request
  const fixed = { chainId, sequence, memo, timeoutHeight, feeGranter }
  const gasLimit = request.gasLimit ?? (await estimateGas(messages, fixed, signer, request.gasAdjustment, client))
  const feeAcoin = request.feeAcoin ?? gasLimit * (request.gasPriceAcoin ?? (await gasPriceOf(client)))
  return { ...fixed, gasLimit, feeAcoin }
}

/** The bytes of the signed transaction. */
export function sign(messages: readonly AnyValue[], terms: TransactionTerms, { privateKey }: Signer): Uint8Array {
  const { chainId, sequence, feeAcoin, ...rest } = terms
  return signTransaction({ messages, fee: coinsOf(feeAcoin), ...rest }, [{ privateKey, sequence }], chainId)
}

/**
 * Sends a signed transaction to the node.
 * @returns its hash
 * @throws TransactionFailed when the node refuses it
 * @throws NodeRequestError when it does not answer, or fails. It may still have the transaction, so the message has the hash
 */
export async function broadcast(raw: Uint8Array, client: NodeClient): Promise<string> {
  const answer = await sendRaw(raw, client)
  if (answer.code !== 0) throw new TransactionFailed(`refused: ${answer.log} (${answer.codespace}/${answer.code})`)
  return answer.hash
}

interface BroadcastAnswer {
  readonly code: number
  readonly codespace: string
  readonly log: string
  readonly hash: string
}

async function sendRaw(raw: Uint8Array, client: NodeClient): Promise<BroadcastAnswer> {
  try {
    const answer = await client.comet('broadcast_tx_sync', { tx: Buffer.from(raw).toString('base64') })
    return answer as unknown as BroadcastAnswer
  } catch (error) {
    const hash = bytesToHex(entryHash(raw)).slice(2).toUpperCase()
    const isRefused = error instanceof NodeRequestError && error.status !== undefined && error.status < 500
    throw error instanceof NodeRequestError && !isRefused ? inDoubt(hash, error) : error
  }
}

/** The transaction may have arrived, and sending it again could pay twice: the message says how to find out. */
function inDoubt(hash: string, error: NodeRequestError): NodeRequestError {
  const advice = `${hash} may have arrived all the same: before you send again, look with coind query tx tx ${hash}`
  return new NodeRequestError(`${error.message}. ${advice}`, error.status, { cause: error })
}

/**
 * Waits until a transaction is in a block, and gives its `tx_response`.
 * @throws TransactionFailed when it failed there, or did not come into a block for a minute
 * @throws NodeRequestError when the node did not answer at the end of that minute
 */
export async function waitForBlock(
  hash: string,
  client: NodeClient,
  now: () => number = () => performance.now(),
): Promise<Json> {
  let silence: NodeRequestError | undefined
  for (
    const endMs = now() + INCLUSION_MS;
    now() < endMs;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  ) {
    const response = await findTransaction(hash, client)
    // The node may be restarting: go on asking.
    silence = response instanceof NodeRequestError ? response : undefined
    if (response === undefined || response instanceof NodeRequestError) continue
    const { code, codespace, raw_log: log } = response
    if (code === 0) return response
    throw new TransactionFailed(`${hash} failed in block ${String(response['height'])}: ${log} (${codespace}/${code})`)
  }
  if (silence !== undefined) throw inDoubt(hash, silence)
  throw new TransactionFailed(`${hash} is in no block after a minute: look later with coind query tx tx ${hash}`)
}

type TxResponse = { readonly [name: string]: Json } & {
  readonly code: number
  readonly codespace: string
  readonly raw_log: string
}

/** Undefined when the node knows no such transaction; the error when it did not answer. */
async function findTransaction(hash: string, client: NodeClient): Promise<TxResponse | NodeRequestError | undefined> {
  try {
    return ((await client.get(`/cosmos/tx/v1beta1/txs/${hash}`)) as { readonly tx_response: TxResponse }).tx_response
  } catch (error) {
    if (!(error instanceof NodeRequestError)) throw error
    return error.status === 404 ? undefined : error
  }
}

async function networkOf(client: NodeClient): Promise<string> {
  const status = (await client.comet('status', {})) as { readonly node_info: { readonly network: string } }
  return status.node_info.network
}

/** @throws ConfigError when the chain does not know the account */
async function sequenceOf(address: Address, client: NodeClient): Promise<bigint> {
  try {
    const answer = (await client.get(`/cosmos/auth/v1beta1/accounts/${toBech32(address)}`)) as {
      readonly account: { readonly sequence: string }
    }
    return BigInt(answer.account.sequence)
  } catch (error) {
    if (error instanceof NodeRequestError && error.status === 404) {
      throw new ConfigError(`${toBech32(address)} has no coins on this chain: send it some first`)
    }
    throw error
  }
}

async function estimateGas(
  messages: readonly AnyValue[],
  fixed: Omit<TransactionTerms, 'gasLimit' | 'feeAcoin'>,
  signer: Signer,
  adjustment: Decimal,
  client: NodeClient,
): Promise<bigint> {
  const raw = sign(messages, { ...fixed, gasLimit: 0n, feeAcoin: 0n }, signer)
  const answer = (await client.post('/cosmos/tx/v1beta1/simulate', {
    tx_bytes: Buffer.from(raw).toString('base64'),
  })) as { readonly gas_info: { readonly gas_used: string } }
  return roundUp(BigInt(answer.gas_info.gas_used) * adjustment)
}

/** acoin per gas that is enough even when the base fee doubles. */
async function gasPriceOf(client: NodeClient): Promise<bigint> {
  const answer = (await client.get('/cosmos/evm/feemarket/v1/base_fee')) as { readonly base_fee: string }
  const baseFee = parseDecimal(answer.base_fee)
  if (baseFee === undefined) throw new NodeRequestError(`${client.url} tells no base fee: give --gas-price`, 200)
  return roundUp(baseFee) * BASE_FEE_ROOM + PRIORITY_ACOIN
}
