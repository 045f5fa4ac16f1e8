import type { Kysely } from 'kysely'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { delegateOf } from '../contracts/delegateOf.ts'
import { CREATION_KINDS } from '../contracts/tables.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import { type NodeClient, NodeRefusal } from '../node/nodeClient.ts'

/** A contract's code on the chain. */
export interface ChainCode {
  /** empty: there is no contract at this address */
  readonly runtime: Uint8Array
  /** what created it, with the arguments of its constructor; undefined: not known */
  readonly creation: Uint8Array | undefined
  /** where the index has its creation; undefined: the index does not know it */
  readonly created: Creation | undefined
}

export interface Creation {
  readonly position: number
  readonly blockHash: Uint8Array | null
}

type Queries = Kysely<Tables>

/**
 * Reads the current code of a contract from the node, and the code that created it by the index.
 * @throws NodeError when the node cannot be asked
 */
export async function readChainCode(queries: Queries, node: NodeClient, address: Uint8Array): Promise<ChainCode> {
  const [answer] = await node.ethereum([{ method: 'eth_getCode', params: [bytesToHex(address), 'latest'] }])
  const code = answer as string
  const contract = await queries
    .selectFrom('contract')
    .select(['position', 'ordinal', 'kind'])
    .where('address', '=', address)
    .executeTakeFirst()
  const block = contract === undefined ? undefined : await blockHashAt(queries, contract.position)
  return {
    runtime: delegateOf(code) === undefined ? hexToBytes(code) : new Uint8Array(),
    creation: contract === undefined ? undefined : await readCreation(queries, node, address, contract),
    created: contract === undefined ? undefined : { position: contract.position, blockHash: block ?? null },
  }
}

/** Hash of the block of this position; undefined: it is not in the index. */
export async function blockHashAt(queries: Queries, position: number): Promise<Uint8Array | undefined> {
  const row = await queries
    .selectFrom('block')
    .select('hash')
    .where('height', '=', heightOf(position))
    .executeTakeFirst()
  return row?.hash
}

async function readCreation(
  queries: Queries,
  node: NodeClient,
  address: Uint8Array,
  { position, ordinal, kind }: { readonly position: number; readonly ordinal: number; readonly kind: number },
): Promise<Uint8Array | undefined> {
  if (kind === CREATION_KINDS.genesis || kind === CREATION_KINDS.precompile) return undefined
  const transaction = await queries
    .selectFrom('tx')
    .select(['hash', 'detail'])
    .where('position', '=', position)
    .executeTakeFirst()
  if (transaction === undefined) return undefined
  if (kind === CREATION_KINDS.transaction) {
    const { input } = JSON.parse(transaction.detail) as { readonly input: string }
    return hexToBytes(input)
  }
  return findInTrace(await trace(node, transaction.hash), ordinal, bytesToHex(address))
}

/** A call of `callTracer`, as far as it is read here. */
interface TracedCall {
  readonly type?: unknown
  readonly to?: unknown
  readonly input?: unknown
  readonly calls?: unknown
}

/** @returns undefined when the node does not have it any more, or does not trace it */
async function trace(node: NodeClient, hash: Uint8Array): Promise<unknown> {
  try {
    const params = [bytesToHex(hash), { tracer: 'callTracer' }]
    const [answer] = await node.ethereum([{ method: 'debug_traceTransaction', params }])
    return answer
  } catch (error) {
    if (error instanceof NodeRefusal) return undefined
    throw error
  }
}

/** The input of the call with this number in the tree (each caller before its callees), if it created the contract. */
function findInTrace(root: unknown, ordinal: number, address: string): Uint8Array | undefined {
  let left = ordinal
  const open: unknown[] = [root]
  for (let call = open.pop(); call !== undefined; call = open.pop()) {
    const { type, to, input, calls } = call as TracedCall
    if (left === 0) {
      const isCreation = (type === 'CREATE' || type === 'CREATE2') && to === address && typeof input === 'string'
      return isCreation ? hexToBytes(input) : undefined
    }
    left--
    if (Array.isArray(calls)) open.push(...calls.toReversed())
  }
  return undefined
}
