import type { z } from 'zod'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { keccak256, sha256 } from '../../src/primitives/hash.ts'
import type { Api } from '../api/api.ts'
import type { EthereumTransaction, Hex } from '../node/answers.ts'
import { isEvm } from '../node/readAnswers.ts'
import { mempool } from './shapes.ts'

/** Waiting transactions that are shown, as shapes.ts says. The node shows 100 at most. */
const SHOWN = 50
const MAX_AGE_MS = 500

interface Unconfirmed {
  readonly total: string
  readonly total_bytes: string
  /** base64 */
  readonly txs: readonly string[] | null
}

/** Transactions in the node's pool that wait for a block. */
export function addMempool(app: Api['app'], { node, cache }: Pick<Api, 'node' | 'cache'>): void {
  app.get(
    '/mempool',
    {
      schema: { tags: ['transactions'], summary: 'Transactions waiting for a block', response: { 200: mempool } },
    },
    () => cache.get('mempool', MAX_AGE_MS, () => ask(node)),
  )
}

async function ask(node: Api['node']): Promise<z.infer<typeof mempool>> {
  const [[status], [unconfirmed]] = await Promise.all([
    node.ethereum([{ method: 'txpool_status', params: [] }]) as Promise<
      readonly [{ readonly pending: Hex; readonly queued: Hex }]
    >,
    node.comet([{ method: 'unconfirmed_txs', params: { limit: String(SHOWN) } }]) as Promise<readonly [Unconfirmed]>,
  ])
  const waiting = (unconfirmed.txs ?? []).slice(0, SHOWN).map((base64) => {
    const bytes = Buffer.from(base64, 'base64')
    const kind = isEvm(bytes) ? ('evm' as const) : ('native' as const)
    return { kind, size: bytes.length, hash: bytesToHex(kind === 'evm' ? keccak256(bytes) : sha256(bytes)) }
  })
  const evm = waiting.filter(({ kind }) => kind === 'evm')
  const found = (await node.ethereum(
    evm.map(({ hash }) => ({ method: 'eth_getTransactionByHash', params: [hash] })),
  )) as readonly (EthereumTransaction | null)[]
  const byHash = new Map(evm.map(({ hash }, index) => [hash, found[index]]))
  return {
    total: Number(unconfirmed.total),
    bytes: Number(unconfirmed.total_bytes),
    pending: Number(status.pending),
    queued: Number(status.queued),
    items: waiting.map((own) => ({ ...own, ...fieldsOf(byHash.get(own.hash)) })),
  }
}

function fieldsOf(transaction: EthereumTransaction | null | undefined) {
  const { from, to, value, nonce, gas, maxFeePerGas, gasPrice } = transaction ?? {}
  const spelled = (address: Hex | null | undefined) =>
    address === null || address === undefined ? null : toChecksumAddress(hexToBytes(address))
  const decimal = (quantity: Hex | undefined) => (quantity === undefined ? null : BigInt(quantity).toString())
  return {
    from: spelled(from),
    to: spelled(to),
    value: decimal(value),
    nonce: nonce === undefined ? null : Number(nonce),
    gasLimit: gas === undefined ? null : Number(gas),
    maxFeePerGas: decimal(maxFeePerGas ?? gasPrice),
  }
}
