import type { Json } from '../../primitives/protoScalars.ts'
import { type NodeClient, NodeRequestError } from '../nodeClient.ts'

/** A transaction was refused, or failed in its block. The message is a line for the operator. */
export class TransactionFailed extends Error {
  override readonly name = 'TransactionFailed'
}

const POLL_MS = 200
/** Milliseconds to wait for the block of a transaction. Only a full network takes longer. */
const INCLUSION_MS = 60_000

/**
 * Returns an error that says how to find out: the transaction may have arrived, and sending it
 * again could pay twice.
 */
export function inDoubt(hash: string, error: NodeRequestError): NodeRequestError {
  const advice = `${hash} may have arrived: check with coind query tx ${hash} before you send again`
  return new NodeRequestError(`${error.message}. ${advice}`, error.status, { cause: error })
}

/**
 * Waits until a transaction is in a block, and returns its `tx_response`.
 * @throws TransactionFailed when it failed there, or did not get into a block within a minute
 * @throws NodeRequestError when the node did not answer at the minute's end
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
    // The node may be restarting: keep asking.
    silence = response instanceof NodeRequestError ? response : undefined
    if (response === undefined || response instanceof NodeRequestError) continue
    const { code, codespace, raw_log: log } = response
    if (code === 0) return response
    throw new TransactionFailed(`${hash} failed in block ${String(response['height'])}: ${log} (${codespace}/${code})`)
  }
  if (silence !== undefined) throw inDoubt(hash, silence)
  throw new TransactionFailed(`${hash} is not in a block after a minute: check later with coind query tx ${hash}`)
}

type TxResponse = { readonly [name: string]: Json } & {
  readonly code: number
  readonly codespace: string
  readonly raw_log: string
}

/** Returns undefined when the node does not know the transaction, and the error when the node did not answer. */
async function findTransaction(hash: string, client: NodeClient): Promise<TxResponse | NodeRequestError | undefined> {
  try {
    return ((await client.get(`/cosmos/tx/v1beta1/txs/${hash}`)) as { readonly tx_response: TxResponse }).tx_response
  } catch (error) {
    if (!(error instanceof NodeRequestError)) throw error
    return error.status === 404 ? undefined : error
  }
}
