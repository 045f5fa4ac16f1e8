import { encodeFunctionData, type Hex, numberToHex } from 'viem'
import { bytesToAmount } from '../../explorer/database/amount.ts'
import { openReader } from '../../explorer/database/open.ts'
import { TX_KINDS } from '../../explorer/transactions/tables.ts'
import { BECH32_OPERATOR, toBech32 } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { getJson } from '../e2e/native/nativeChain.ts'
import { type RpcCall, rpcBatch } from '../e2e/rpc.ts'
import type { EvmTraffic } from './evmTraffic.ts'

/* What an index says, compared with what its node says of the same block. */

const BATCH = 200
/** Differences that are told of one kind. */
const TOLD = 5

/** What was compared, how often, and what differs. */
export interface Comparison {
  readonly name: string
  readonly compared: number
  readonly differences: readonly string[]
}

interface Row {
  readonly what: string
  readonly index: string
  readonly node: string
}

function compared(name: string, rows: readonly Row[]): Comparison {
  const differences = rows
    .filter(({ index, node }) => index !== node)
    .map(({ what, index, node }) => `${what}: the index says ${index}, the node ${node}`)
  return { name, compared: rows.length, differences: differences.slice(0, TOLD) }
}

/** An index that stands still, and its node at the index's height. */
interface Pair {
  readonly queries: ReturnType<typeof openReader>['queries']
  readonly url: string
  readonly height: number
  readonly ask: Ask
}

/** Asks the node in batches. */
type Ask = (calls: readonly RpcCall[]) => Promise<unknown[]>

/**
 * Compares an index that stands still with its node.
 * @param url of a node that keeps all states
 * @param traffic accounts and tokens that must be in the index
 */
export async function compareIndex(
  database: string,
  url: string,
  traffic: Pick<EvmTraffic, 'workers' | 'tokens'>,
): Promise<readonly Comparison[]> {
  const { queries, close } = openReader(database)
  try {
    const { height } = await queries.selectFrom('ingest').select('height').executeTakeFirstOrThrow()
    const ask: Ask = async (calls) => {
      const answers: unknown[] = []
      for (let at = 0; at < calls.length; at += BATCH)
        answers.push(...(await rpcBatch(url, calls.slice(at, at + BATCH))))
      return answers
    }
    const pair: Pair = { queries, url, height, ask }
    return [
      ...(await compareBalances(pair)),
      await compareSenders(pair, traffic.workers),
      ...(await compareTokens(pair, traffic)),
      await compareStake(pair),
      await compareBlocks(pair),
      await compareLogs(pair),
    ]
  } finally {
    await close()
  }
}

async function compareBalances({ queries, url, height, ask }: Pair): Promise<readonly Comparison[]> {
  const balances = await queries.selectFrom('coin_balance').select(['address', 'amount']).execute()
  const ofNode = await ask(
    balances.map(({ address }) => ({ method: 'eth_getBalance', params: [bytesToHex(address), numberToHex(height)] })),
  )
  const rows = balances.map(({ address, amount }, at) => ({
    what: bytesToHex(address),
    index: String(bytesToAmount(amount)),
    node: String(BigInt(ofNode[at] as Hex)),
  }))
  // Together all there are: no account is missing.
  const { amount: supply } = (
    await getJson({ url }, '/cosmos/bank/v1beta1/supply/by_denom?denom=acoin', BigInt(height))
  ).amount as { amount: string }
  const total = balances.reduce((sum, { amount }) => sum + bytesToAmount(amount), 0n)
  return [
    compared('balances of accounts', rows),
    compared('supply of coins', [{ what: 'all accounts', index: String(total), node: supply }]),
  ]
}

async function compareSenders({ queries, height, ask }: Pair, workers: EvmTraffic['workers']): Promise<Comparison> {
  const nonces = await ask(
    workers.map(({ address }) => ({ method: 'eth_getTransactionCount', params: [address, numberToHex(height)] })),
  )
  const sent = await queries
    .selectFrom('tx')
    .select(['sender', ({ fn }) => fn.countAll<number>().as('count')])
    .where('kind', '=', TX_KINDS.evm)
    .groupBy('sender')
    .execute()
  const sentBy = new Map(sent.map(({ sender, count }) => [bytesToHex(sender), String(count)]))
  const rows = workers.map(({ address }, at) => ({
    what: address,
    index: sentBy.get(address) ?? '0',
    node: String(BigInt(nonces[at] as Hex)),
  }))
  return compared('transactions by sender', rows)
}

async function compareTokens(
  pair: Pair,
  { workers, tokens }: Pick<EvmTraffic, 'workers' | 'tokens'>,
): Promise<readonly Comparison[]> {
  const parts: TokenRows[] = []
  for (const token of tokens) parts.push(await rowsOfToken(pair, workers, token))
  return [
    compared(
      'balances of tokens',
      parts.flatMap(({ balances }) => balances),
    ),
    compared(
      'holders and supplies',
      parts.flatMap(({ sums }) => sums),
    ),
  ]
}

interface TokenRows {
  readonly balances: readonly Row[]
  readonly sums: readonly Row[]
}

async function rowsOfToken(
  { queries, height, ask }: Pair,
  workers: EvmTraffic['workers'],
  { address, abi, kind }: EvmTraffic['tokens'][number],
): Promise<TokenRows> {
  const bytes = hexToBytes(address)
  const read = (functionName: string, args: readonly unknown[]): RpcCall => ({
    method: 'eth_call',
    params: [{ to: address, data: encodeFunctionData({ abi, functionName, args }) }, numberToHex(height)],
  })
  const rows = await queries.selectFrom('token_balance').selectAll().where('token', '=', bytes).execute()
  const own = rows.filter(({ token_id }) => (kind === 'erc1155' ? token_id.length > 0 : token_id.length === 0))
  // Also those who have none by the index: a balance that it missed is a difference too.
  const ids = kind === 'erc1155' ? [...new Set(own.map(({ token_id }) => bytesToHex(token_id)))] : ['0x' as Hex]
  const keyOf = (holder: Hex, id: Hex) => `${holder} ${id}`
  const amounts = new Map(workers.flatMap(({ address: holder }) => ids.map((id) => [keyOf(holder, id), 0n])))
  for (const { holder, token_id, amount } of own)
    amounts.set(keyOf(bytesToHex(holder), bytesToHex(token_id)), bytesToAmount(amount))
  const asked = [...amounts].map(([key, amount]) => {
    const [holder, id] = key.split(' ') as [Hex, Hex]
    return { holder, id, amount }
  })
  const values = await ask(
    asked.map(({ holder, id }) => read('balanceOf', kind === 'erc1155' ? [holder, BigInt(id)] : [holder])),
  )
  const balances: Row[] = []
  const sums: Row[] = []
  const holders = new Set<Hex>()
  let sum = 0n
  for (const [at, { holder, id, amount }] of asked.entries()) {
    const value = BigInt(values[at] as Hex)
    if (value > 0n) holders.add(holder)
    sum += value
    const what = `${kind} ${address} of ${holder} ${kind === 'erc1155' ? id : ''}`
    balances.push({ what, index: String(amount), node: String(value) })
  }
  if (kind === 'erc721') {
    const items = rows.filter(({ token_id }) => token_id.length > 0)
    const owners = await ask(items.map(({ token_id }) => read('ownerOf', [BigInt(bytesToHex(token_id))])))
    for (const [at, { holder, token_id }] of items.entries()) {
      const node = `0x${String(owners[at]).slice(-40)}`
      balances.push({ what: `owner of ${bytesToHex(token_id)}`, index: bytesToHex(holder), node })
    }
    sums.push({ what: `items of ${address}`, index: String(items.length), node: String(sum) })
  }
  const token = await queries.selectFrom('token').selectAll().where('address', '=', bytes).executeTakeFirstOrThrow()
  sums.push({ what: `holders of ${address}`, index: String(token.holders), node: String(holders.size) })
  sums.push({ what: `is ${address} exact`, index: String(token.is_exact), node: '1' })
  if (kind === 'erc20') {
    const node = String(BigInt((await ask([read('totalSupply', [])]))[0] as Hex))
    sums.push({ what: `supply of ${address}`, index: String(bytesToAmount(token.supply)), node })
    // Together all there is: no holder is missing.
    const all = own.reduce((total, { amount }) => total + bytesToAmount(amount), 0n)
    sums.push({ what: `all of ${address}`, index: String(all), node })
  }
  return { balances, sums }
}

async function compareStake({ queries, url, height }: Pair): Promise<Comparison> {
  const { validators } = await getJson({ url }, '/cosmos/staking/v1beta1/validators', BigInt(height))
  const inIndex = await queries.selectFrom('validator').selectAll().where('status', '!=', 'removed').execute()
  const rows: Row[] = []
  for (const validator of validators as NodeValidator[]) {
    const row = inIndex.find(({ operator }) => toBech32(operator, BECH32_OPERATOR) === validator.operator_address)
    const index = row === undefined ? 'nothing' : `${bytesToAmount(row.tokens)} ${row.is_jailed === 1}`
    rows.push({ what: validator.operator_address, index, node: `${validator.tokens} ${validator.jailed}` })
    const path = `/cosmos/staking/v1beta1/validators/${validator.operator_address}/delegations?pagination.limit=10000`
    const { delegation_responses: delegations } = await getJson({ url }, path, BigInt(height))
    const ofIndex = await queries
      .selectFrom('delegation')
      .selectAll()
      .where('validator', '=', row?.operator ?? new Uint8Array(20))
      .execute()
    const shares = new Map(ofIndex.map(({ delegator, shares }) => [toBech32(delegator), bytesToAmount(shares)]))
    rows.push({
      what: `delegators of ${validator.operator_address}`,
      index: `${ofIndex.length} ${row?.delegators}`,
      node: `${delegations.length} ${delegations.length}`,
    })
    for (const { delegation } of delegations as NodeDelegation[]) {
      rows.push({
        what: `shares of ${delegation.delegator_address}`,
        index: String(shares.get(delegation.delegator_address)),
        node: String(BigInt(delegation.shares.replace('.', ''))),
      })
    }
  }
  return compared('stake', rows)
}

interface NodeValidator {
  readonly operator_address: string
  readonly tokens: string
  readonly jailed: boolean
}
interface NodeDelegation {
  readonly delegation: { readonly delegator_address: string; readonly shares: string }
}

async function compareBlocks({ queries, ask }: Pair): Promise<Comparison> {
  const blocks = await queries.selectFrom('block').select(['height', 'evm_count', 'hash']).orderBy('height').execute()
  const headers = await ask(
    blocks.map(({ height }) => ({ method: 'eth_getBlockByNumber', params: [numberToHex(height), false] })),
  )
  const rows = blocks.map(({ height, evm_count, hash }, place) => {
    const { hash: own, transactions } = headers[place] as { hash: Hex; transactions: unknown[] }
    return {
      what: `block ${height}`,
      index: `${bytesToHex(hash)} ${evm_count}`,
      node: `${own} ${transactions.length}`,
    }
  })
  return compared('blocks', rows)
}

/** Blocks whose receipts are asked for at once. */
const SPAN = 20

async function compareLogs({ queries, height, ask }: Pair): Promise<Comparison> {
  const { logs } = await queries
    .selectFrom('log')
    .select(({ fn }) => fn.countAll<number>().as('logs'))
    .executeTakeFirstOrThrow()
  let count = 0
  for (let at = 1; at <= height; at += SPAN) {
    const calls = Array.from({ length: Math.min(SPAN, height - at + 1) }, (_, index) => ({
      method: 'eth_getBlockReceipts',
      params: [numberToHex(at + index)],
    }))
    for (const receipts of (await ask(calls)) as { logs: unknown[] }[][]) {
      for (const receipt of receipts) count += receipt.logs.length
    }
  }
  return compared('logs', [{ what: 'all', index: String(logs), node: String(count) }])
}
