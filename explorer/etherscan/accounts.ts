import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { bytesToHex, concatBytes, EMPTY_BYTES, toQuantity } from '../../src/primitives/bytes.ts'
import type { PageRows, Placed } from '../api/cursors.ts'
import { viewAmount } from '../api/views.ts'
import { CALL_KINDS, CREATION_KINDS } from '../contracts/tables.ts'
import { findUntraced, firstIndexedHeight, type UntracedState } from '../contracts/untraced.ts'
import { beginPosition, endPosition } from '../database/position.ts'
import { NodeRefusal } from '../node/nodeClient.ts'
import { TOKEN_KINDS } from '../tokens/tables.ts'
import { TX_KINDS } from '../transactions/tables.ts'
import { type Action, actionsOf, type EtherscanContext, failed, listed, listedInPart, ok, tooMuch } from './action.ts'
import { feesOf } from './blocks.ts'
import { type HeightRange, type ListPart, type Parameters, RequestError } from './parameters.ts'
import { boundsOf, newestHeight, partBetween } from './places.ts'
import { transactionFacts } from './transactionFacts.ts'
import { tokenTransfersOf } from './transfers.ts'
import { MAX_READ, walk } from './walk.ts'

/** Addresses of one question, as at Etherscan. */
const MAX_ADDRESSES = 20
const NO_TRANSACTIONS = 'No transactions found'

const balance: Action = async (parameters, context) => {
  const address = parameters.address('address')
  const tag = parameters.text('tag')?.toLowerCase() ?? 'latest'
  if (['latest', 'pending', 'safe', 'finalized'].includes(tag)) return ok(await newestBalance(context, address))
  return ok(await balanceAt(context, address, tag === 'earliest' ? 0 : parameters.height('tag')))
}

const balancemulti: Action = async (parameters, context) => {
  const addresses = parameters.addresses('address', MAX_ADDRESSES)
  const result: { account: string; balance: string }[] = []
  for (const address of addresses) {
    result.push({ account: bytesToHex(address), balance: await newestBalance(context, address) })
  }
  return ok(result)
}

const balancehistory: Action = async (parameters, context) =>
  ok(await balanceAt(context, parameters.address('address'), parameters.height('blockno')))

async function newestBalance({ queries }: EtherscanContext, address: Uint8Array): Promise<string> {
  const row = await queries
    .selectFrom('coin_balance')
    .select('amount')
    .where('address', '=', address)
    .executeTakeFirst()
  return row === undefined ? '0' : viewAmount(row.amount)
}

/** The index has the newest balances; the node may have retained older ones. */
async function balanceAt({ node, takeTurn }: EtherscanContext, address: Uint8Array, height: number): Promise<string> {
  const call = { method: 'eth_getBalance', params: [bytesToHex(address), toQuantity(height)] }
  try {
    const [answer] = await takeTurn(() => node.ethereum([call]))
    return BigInt(answer as string).toString()
  } catch (error) {
    if (!(error instanceof NodeRefusal)) throw error
    throw new RequestError(`Error! The balance of block ${height} is not known: ${error.reason}`)
  }
}

const txlist: Action = async (parameters, { queries, functionNames }) => {
  const address = parameters.address('address')
  const [heights, part] = [parameters.heights('startblock', 'endblock'), parameters.part()]
  // The transaction that created a contract is in its list, too.
  const creation = await queries
    .selectFrom('contract')
    .select('position')
    .where('address', '=', address)
    .where('kind', '=', CREATION_KINDS.transaction)
    .executeTakeFirst()
  const rows = await walk(
    (bounds, limit, direction) => {
      const own: PageRows<'account_tx'> = queries
        .selectFrom('account_tx')
        .selectAll()
        .where('address', '=', address)
        .where('position', '>', bounds.after.position)
        .where('position', '<', bounds.before.position)
        .orderBy('position', direction)
        .limit(limit)
      // Only what the filter needs: many rows may be before those of the page.
      return queries
        .selectFrom(own.as('account_tx'))
        .innerJoin('tx', 'tx.position', 'account_tx.position')
        .select(['account_tx.position', 'tx.kind', sql.lit(0).as('ordinal')])
        .select(({ eb, or }) => or([eb('sender', '=', address), eb('recipient', '=', address)]).as('is_side'))
        .orderBy('account_tx.position', direction)
        .execute()
    },
    boundsOf(heights),
    part,
    ({ position, kind, is_side: isSide }) =>
      kind === TX_KINDS.evm && (Boolean(isSide) || position === creation?.position),
  )
  const positions = rows.map(({ position }) => position)
  const [facts, newest] = await Promise.all([transactionFacts(queries, positions), newestHeight(queries)])
  const nameOf = await functionNames([...facts.values()])
  const result = positions.map((position) => {
    const own = facts.get(position)!
    return {
      blockNumber: String(own.height),
      blockHash: own.blockHash,
      timeStamp: String(own.time),
      hash: own.hash,
      nonce: String(own.nonce),
      transactionIndex: String(own.index),
      from: own.from,
      to: own.to,
      value: own.value,
      gas: String(own.gas),
      gasPrice: own.gasPrice,
      input: own.input,
      methodId: own.to === '' ? '0x' : own.input.slice(0, 10),
      functionName: nameOf(own),
      contractAddress: own.contractAddress,
      cumulativeGasUsed: String(own.cumulativeGasUsed),
      txreceipt_status: own.isOk ? '1' : '0',
      gasUsed: String(own.gasUsed),
      confirmations: String(newest - own.height + 1),
      isError: own.isOk ? '0' : '1',
    }
  })
  return listed(result, NO_TRANSACTIONS)
}

interface CallRow extends Placed {
  readonly kind: number
  readonly sender: Uint8Array
  readonly recipient: Uint8Array | null
  readonly value: Uint8Array
  readonly gas: number
  readonly gas_used: number
  readonly is_ok: number
  readonly error: string | null
}

const CALL_NAMES = Object.fromEntries(Object.entries(CALL_KINDS).map(([name, kind]) => [kind, name])) as Readonly<
  Record<number, keyof typeof CALL_KINDS>
>
const CREATIONS: ReadonlySet<number> = new Set([CALL_KINDS.create, CALL_KINDS.create2])

const txlistinternal: Action = async (parameters, { queries }) => {
  const [hash, address] = [parameters.optionalHash('txhash'), parameters.optionalAddress('address')]
  const part = parameters.part()
  const { rows, missing } =
    hash !== undefined
      ? await callsOfTransaction(queries, hash, part)
      : address === undefined
        ? await callsOfBlocks(queries, requiredHeights(parameters), part)
        : await callsOfAccount(queries, address, parameters.heights('startblock', 'endblock'), part)
  const facts = await transactionFacts(
    queries,
    rows.map(({ position }) => position),
  )
  const result = rows.map((row) => {
    const own = facts.get(row.position)!
    const isCreation = CREATIONS.has(row.kind)
    const other = row.recipient === null ? '' : bytesToHex(row.recipient)
    return {
      blockNumber: String(own.height),
      timeStamp: String(own.time),
      ...(hash === undefined ? { hash: own.hash } : {}),
      from: bytesToHex(row.sender),
      to: isCreation ? '' : other,
      value: viewAmount(row.value),
      contractAddress: isCreation ? other : '',
      input: '',
      type: CALL_NAMES[row.kind]!,
      gas: String(row.gas),
      gasUsed: String(row.gas_used),
      ...(hash === undefined ? { traceId: String(row.ordinal) } : {}),
      isError: row.is_ok === 1 ? '0' : '1',
      errCode: row.error ?? '',
    }
  })
  return missing === undefined ? listed(result, NO_TRANSACTIONS) : listedInPart(result, missing)
}

/** A page of internal calls. */
interface CallPage {
  readonly rows: readonly CallRow[]
  /** why the page may lack calls; undefined: it lacks none */
  readonly missing: string | undefined
}

const REASONS: Readonly<Record<UntracedState, string>> = {
  notKept: 'the node no longer had the state of that block',
  refused: 'the node did not trace it: the trace is too large or takes too long',
  unsupported: 'the node has no debug methods',
}

const beginsAt = (height: number): string => `the index starts at block ${height}`

type Queries = EtherscanContext['queries']

function requiredHeights(parameters: Parameters): HeightRange {
  if (parameters.text('startblock') === undefined || parameters.text('endblock') === undefined) {
    throw new RequestError('Error! Missing address, txhash, or startblock and endblock')
  }
  return parameters.heights('startblock', 'endblock')
}

async function callsOfTransaction(queries: Queries, hash: Uint8Array, part: ListPart): Promise<CallPage> {
  const row = await queries.selectFrom('tx').select('position').where('hash', '=', hash).executeTakeFirst()
  if (row === undefined) {
    const first = await firstIndexedHeight(queries)
    const missing =
      first === 0 ? undefined : `Internal transactions of this transaction are not known: ${beginsAt(first)}`
    return { rows: [], missing }
  }
  const { position } = row
  const untraced = await findUntraced(queries, { from: position, to: position }, 'asc')
  if (untraced !== undefined) {
    const reason = REASONS[untraced.trace]
    return { rows: [], missing: `Internal transactions of this transaction are not known: ${reason}` }
  }
  const rows = await queries
    .selectFrom('internal_call')
    .selectAll()
    .where('position', '=', position)
    .orderBy('ordinal', part.direction)
    .offset(part.skip)
    .limit(part.count)
    .execute()
  return { rows, missing: undefined }
}

async function callsOfBlocks(queries: Queries, heights: HeightRange, part: ListPart): Promise<CallPage> {
  const rows = await walk<CallRow>(
    (bounds, limit, direction) => partBetween(queries, 'internal_call', bounds, limit, direction).execute(),
    boundsOf(heights),
    part,
  )
  return { rows, missing: await missingOf(queries, heights, part, rows) }
}

async function callsOfAccount(
  queries: Queries,
  address: Uint8Array,
  heights: HeightRange,
  part: ListPart,
): Promise<CallPage> {
  const rows = await walk<CallRow>(
    (bounds, limit, direction) => {
      const own = partBetween(queries, 'account_call', bounds, limit, direction).where('address', '=', address)
      return queries
        .selectFrom(own.as('account_call'))
        .innerJoin('internal_call', (join) =>
          join
            .onRef('internal_call.position', '=', 'account_call.position')
            .onRef('internal_call.ordinal', '=', 'account_call.ordinal'),
        )
        .selectAll('internal_call')
        .orderBy('account_call.position', direction)
        .orderBy('account_call.ordinal', direction)
        .execute()
    },
    boundsOf(heights),
    part,
  )
  return { rows, missing: await missingOf(queries, heights, part, rows) }
}

/**
 * Returns what a page lacks: a transaction with unknown calls between the start of the range and the page's last row, or blocks there
 * that are not in the index. Rows after a full page belong to later pages.
 */
async function missingOf(
  queries: Queries,
  heights: HeightRange,
  { count, direction }: ListPart,
  rows: readonly CallRow[],
): Promise<string | undefined> {
  const last = rows.length === count ? rows.at(-1)?.position : undefined
  let [from, to] = [beginPosition(heights.from), endPosition(heights.to)]
  if (last !== undefined) {
    if (direction === 'asc') to = last
    else from = last
  }
  const first = await firstIndexedHeight(queries)
  if (from < beginPosition(first))
    return `Internal transactions of blocks before ${first} are not known: ${beginsAt(first)}`
  const untraced = await findUntraced(queries, { from, to }, direction)
  if (untraced === undefined) return undefined
  const { height, transaction, trace } = untraced
  return `Some internal transactions within this block range are not known: those of ${transaction} in block ${height}, ${REASONS[trace]}`
}

const tokenTransfers =
  (kind: number): Action =>
  async (parameters, context) => {
    const filter = {
      kind,
      address: parameters.optionalAddress('address'),
      token: parameters.optionalAddress('contractaddress'),
    }
    const heights = parameters.heights('startblock', 'endblock')
    return listed(await tokenTransfersOf(context, filter, heights, parameters.part()), NO_TRANSACTIONS)
  }

const tokenbalance: Action = async (parameters, { queries }) => {
  const [token, holder] = [parameters.address('contractaddress'), parameters.address('address')]
  const tag = parameters.text('tag')?.toLowerCase() ?? 'latest'
  if (tag !== 'latest')
    return failed('Error! Invalid tag, expected latest: the index has the balances of the latest block only')
  const row = await queries
    .selectFrom('token_balance')
    .select('amount')
    .where('key', '=', concatBytes(token, holder, EMPTY_BYTES))
    .executeTakeFirst()
  return ok(row === undefined ? '0' : viewAmount(row.amount))
}

const holdings =
  (kind: number): Action =>
  async (parameters, { queries }) => {
    const holder = parameters.address('address')
    const { skip, count } = parameters.part()
    const rows = await queries
      .selectFrom('token_balance')
      .innerJoin('token', 'token.address', 'token_balance.token')
      .leftJoin('token_name', 'token_name.address', 'token_balance.token')
      .select(['token_balance.token', 'token_balance.amount', 'name', 'symbol', 'decimals'])
      .where('token_balance.holder', '=', holder)
      .where('token_balance.token_id', '=', EMPTY_BYTES)
      .where('token.kind', '=', kind)
      .orderBy('token_balance.token')
      .offset(skip)
      .limit(count)
      .execute()
    const result = rows.map(({ token, amount, name, symbol, decimals }) => ({
      TokenAddress: bytesToHex(token),
      TokenName: name ?? '',
      TokenSymbol: symbol ?? '',
      TokenQuantity: viewAmount(amount),
      ...(kind === TOKEN_KINDS.erc20 ? { TokenDivisor: String(decimals ?? 0) } : {}),
    }))
    return listed(result, 'No token found')
  }

/** Blocks that a validator of this operator proposed. */
const getminedblocks: Action = async (parameters, { queries }) => {
  const address = parameters.address('address')
  const type = parameters.text('blocktype')?.toLowerCase() ?? 'blocks'
  if (type === 'uncles') return listed([], NO_TRANSACTIONS)
  if (type !== 'blocks') return failed('Error! Invalid blocktype, expected blocks or uncles')
  const { skip, count, direction } = parameters.part()
  // The newest first, unless it is asked for the oldest.
  const order = parameters.text('sort') === undefined ? 'desc' : direction
  const blocks = await queries
    .selectFrom('block')
    .select(['height', 'time', 'evm_count', 'native_count'])
    .where('miner', '=', address)
    .orderBy('height', order)
    .offset(skip)
    .limit(count)
    .execute()
  // Their transactions are read, as the fees are added up.
  if (blocks.reduce((sum, block) => sum + block.evm_count + block.native_count, 0) > MAX_READ) throw tooMuch()
  const result: { blockNumber: string; timeStamp: string; blockReward: string }[] = []
  for (const { height, time, evm_count } of blocks) {
    const blockReward = evm_count === 0 ? '0' : await feesOf(queries, height)
    result.push({ blockNumber: String(height), timeStamp: String(Math.floor(time / 1000)), blockReward })
    // SQLite's queries block this thread: other requests are served between the blocks.
    if (evm_count > 0) await setImmediate()
  }
  return listed(result, NO_TRANSACTIONS)
}

/** This chain has no beacon chain, so nothing is withdrawn from one. */
const txsBeaconWithdrawal: Action = async (parameters) => {
  parameters.address('address')
  return listed([], NO_TRANSACTIONS)
}

/** The module `account`. */
export const ACCOUNT_ACTIONS = actionsOf({
  balance,
  balancemulti,
  balancehistory,
  txlist,
  txlistinternal,
  tokentx: tokenTransfers(TOKEN_KINDS.erc20),
  tokennfttx: tokenTransfers(TOKEN_KINDS.erc721),
  token1155tx: tokenTransfers(TOKEN_KINDS.erc1155),
  tokenbalance,
  addresstokenbalance: holdings(TOKEN_KINDS.erc20),
  addresstokennftbalance: holdings(TOKEN_KINDS.erc721),
  getminedblocks,
  txsBeaconWithdrawal,
})
