import { encodeFunctionData, type Hex, numberToHex } from 'viem'
import { bytesToAmount } from '../../explorer/database/amount.ts'
import { openReader } from '../../explorer/database/open.ts'
import { TX_KINDS } from '../../explorer/database/schema.ts'
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

/**
 * Compares an index that stands still with its node.
 * @param url of a node that keeps all states
 * @param accounts that must be in the index
 */
export async function compareIndex(
  database: string,
  url: string,
  { workers, tokens }: Pick<EvmTraffic, 'workers' | 'tokens'>,
): Promise<readonly Comparison[]> {
  const { queries, close } = await openReader(database)
  try {
    const { height } = await queries.selectFrom('ingest').select('height').executeTakeFirstOrThrow()
    const block = numberToHex(height)
    const ask = async (calls: readonly RpcCall[]): Promise<unknown[]> => {
      const answers: unknown[] = []
      for (let at = 0; at < calls.length; at += BATCH)
        answers.push(...(await rpcBatch(url, calls.slice(at, at + BATCH))))
      return answers
    }
    const call = (to: Hex, data: Hex): RpcCall => ({ method: 'eth_call', params: [{ to, data }, block] })

    const balances = await queries.selectFrom('coin_balance').select(['address', 'amount']).execute()
    const ofNode = await ask(
      balances.map(({ address }) => ({ method: 'eth_getBalance', params: [bytesToHex(address), block] })),
    )
    const balanceRows = balances.map(({ address, amount }, at) => ({
      what: bytesToHex(address),
      index: String(bytesToAmount(amount)),
      node: String(BigInt(ofNode[at] as Hex)),
    }))
    // Together all there are: no account is missing.
    const { amount: supply } = (
      await getJson({ url }, '/cosmos/bank/v1beta1/supply/by_denom?denom=acoin', BigInt(height))
    ).amount as { amount: string }
    const total = balances.reduce((sum, { amount }) => sum + bytesToAmount(amount), 0n)

    const nonces = await ask(
      workers.map(({ address }) => ({ method: 'eth_getTransactionCount', params: [address, block] })),
    )
    const sent = await queries
      .selectFrom('tx')
      .select(['sender', ({ fn }) => fn.countAll<number>().as('count')])
      .where('kind', '=', TX_KINDS.evm)
      .groupBy('sender')
      .execute()
    const sentBy = new Map(sent.map(({ sender, count }) => [bytesToHex(sender), String(count)]))

    const tokenRows: Row[] = []
    const holderRows: Row[] = []
    for (const { address, abi, kind } of tokens) {
      const bytes = hexToBytes(address)
      const rows = await queries.selectFrom('token_balance').selectAll().where('token', '=', bytes).execute()
      const own = rows.filter(({ token_id }) => (kind === 'erc1155' ? token_id.length > 0 : token_id.length === 0))
      const read = (functionName: string, args: readonly unknown[]) =>
        call(address, encodeFunctionData({ abi, functionName, args }))
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
      const holders = new Set<Hex>()
      let sum = 0n
      for (const [at, { holder, id, amount }] of asked.entries()) {
        const value = BigInt(values[at] as Hex)
        if (value > 0n) holders.add(holder)
        sum += value
        const what = `${kind} ${address} of ${holder} ${kind === 'erc1155' ? id : ''}`
        tokenRows.push({ what, index: String(amount), node: String(value) })
      }
      if (kind === 'erc721') {
        const items = rows.filter(({ token_id }) => token_id.length > 0)
        const owners = await ask(items.map(({ token_id }) => read('ownerOf', [BigInt(bytesToHex(token_id))])))
        for (const [at, { holder, token_id }] of items.entries()) {
          const node = `0x${String(owners[at]).slice(-40)}`
          tokenRows.push({ what: `owner of ${bytesToHex(token_id)}`, index: bytesToHex(holder), node })
        }
        holderRows.push({ what: `items of ${address}`, index: String(items.length), node: String(sum) })
      }
      const token = await queries.selectFrom('token').selectAll().where('address', '=', bytes).executeTakeFirstOrThrow()
      holderRows.push({ what: `holders of ${address}`, index: String(token.holders), node: String(holders.size) })
      holderRows.push({ what: `is ${address} exact`, index: String(token.is_exact), node: '1' })
      if (kind === 'erc20') {
        const [supply] = await ask([read('totalSupply', [])])
        holderRows.push({
          what: `supply of ${address}`,
          index: String(bytesToAmount(token.supply)),
          node: String(BigInt(supply as Hex)),
        })
        // Together all there is: no holder is missing.
        const all = own.reduce((total, { amount }) => total + bytesToAmount(amount), 0n)
        holderRows.push({ what: `all of ${address}`, index: String(all), node: String(BigInt(supply as Hex)) })
      }
    }

    const { validators } = await getJson({ url }, '/cosmos/staking/v1beta1/validators', BigInt(height))
    const inIndex = await queries.selectFrom('validator').selectAll().where('status', '!=', 'removed').execute()
    const stakeRows: Row[] = []
    for (const validator of validators as NodeValidator[]) {
      const row = inIndex.find(({ operator }) => toBech32(operator, BECH32_OPERATOR) === validator.operator_address)
      const index = row === undefined ? 'nothing' : `${bytesToAmount(row.tokens)} ${row.is_jailed === 1}`
      stakeRows.push({ what: validator.operator_address, index, node: `${validator.tokens} ${validator.jailed}` })
      const path = `/cosmos/staking/v1beta1/validators/${validator.operator_address}/delegations?pagination.limit=10000`
      const { delegation_responses: delegations } = await getJson({ url }, path, BigInt(height))
      const ofIndex = await queries
        .selectFrom('delegation')
        .selectAll()
        .where('validator', '=', row?.operator ?? new Uint8Array(20))
        .execute()
      const shares = new Map(ofIndex.map(({ delegator, shares }) => [toBech32(delegator), bytesToAmount(shares)]))
      stakeRows.push({
        what: `delegators of ${validator.operator_address}`,
        index: `${ofIndex.length} ${row?.delegators}`,
        node: `${delegations.length} ${delegations.length}`,
      })
      for (const { delegation } of delegations as NodeDelegation[]) {
        stakeRows.push({
          what: `shares of ${delegation.delegator_address}`,
          index: String(shares.get(delegation.delegator_address)),
          node: String(BigInt(delegation.shares.replace('.', ''))),
        })
      }
    }

    const blocks = await queries.selectFrom('block').select(['height', 'evm_count', 'hash']).orderBy('height').execute()
    const headers = await ask(
      blocks.map(({ height: at }) => ({ method: 'eth_getBlockByNumber', params: [numberToHex(at), false] })),
    )
    const logs = await queries
      .selectFrom('log')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return [
      compared('balances of accounts', balanceRows),
      compared('supply of coins', [{ what: 'all accounts', index: String(total), node: supply }]),
      compared(
        'transactions by sender',
        workers.map(({ address }, at) => ({
          what: address,
          index: sentBy.get(address) ?? '0',
          node: String(BigInt(nonces[at] as Hex)),
        })),
      ),
      compared('balances of tokens', tokenRows),
      compared('holders and supplies', holderRows),
      compared('stake', stakeRows),
      compared(
        'blocks',
        blocks.map(({ height: at, evm_count, hash }, place) => {
          const { hash: own, transactions } = headers[place] as { hash: Hex; transactions: unknown[] }
          return {
            what: `block ${at}`,
            index: `${bytesToHex(hash)} ${evm_count}`,
            node: `${own} ${transactions.length}`,
          }
        }),
      ),
      compared('logs', [{ what: 'all', index: String(logs.count), node: String(await logCount(ask, blocks.length)) }]),
    ]
  } finally {
    await close()
  }
}

interface NodeValidator {
  readonly operator_address: string
  readonly tokens: string
  readonly jailed: boolean
}
interface NodeDelegation {
  readonly delegation: { readonly delegator_address: string; readonly shares: string }
}

/** Logs of all blocks, as the node has them in its receipts. */
async function logCount(ask: (calls: readonly RpcCall[]) => Promise<unknown[]>, height: number): Promise<number> {
  let count = 0
  const SPAN = 20
  for (let at = 1; at <= height; at += SPAN) {
    const calls = Array.from({ length: Math.min(SPAN, height - at + 1) }, (_, index) => ({
      method: 'eth_getBlockReceipts',
      params: [numberToHex(at + index)],
    }))
    for (const receipts of (await ask(calls)) as { logs: unknown[] }[][]) {
      for (const { logs } of receipts) count += logs.length
    }
  }
  return count
}
