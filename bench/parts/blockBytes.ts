import type { Address } from '../../src/primitives/address.ts'
import { creationCode } from '../code/assemble.ts'
import { deploy } from '../contracts/deploy.ts'
import { nextBlock, untilIncluded } from '../load/inBlocks.ts'
import { blockParameter, call } from '../load/rpc.ts'
import { type Account, GWEI, sign } from '../load/sign.ts'
import type { Report, Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { endless } from '../worstCase/program.ts'
import { noncesOf } from './accounts.ts'
import { gasOfBlocks, MOST_TRANSACTION_GAS, place } from './worstBlocks.ts'

/** A block that is full of one kind of bytes. */
interface Content {
  readonly name: string
  /** what its transactions call; an account without code by default */
  readonly place?: (target: Target) => Promise<Address>
  readonly transactions: number
  readonly gasLimit: number
  /** of each transaction, by its number */
  readonly data: (index: number) => Uint8Array
}

const UNUSED_ACCOUNT = new Uint8Array(20).fill(0xdd) as Address
/** The pool takes at most 128 KiB of one transaction. */
const CALLDATA_BYTES = 126_000
/** Slots and topics of a transaction, which no other has. */
const INDEXES_OF_TRANSACTION = 100_000
/** Of a log that costs most bytes for its gas, memory included. */
const LOG_BYTES = 32_768

/** Returns 32 bytes that no other transaction has. */
function freshIndex(index: number): Uint8Array {
  const data = new Uint8Array(32)
  new DataView(data.buffer).setUint32(28, 1 + index * INDEXES_OF_TRANSACTION)
  return data
}

const program =
  (body: string, setup: string, reserve: number, unroll = 16) =>
  async (target: Target): Promise<Address> =>
    (await deploy(target, creationCode(endless(body, { setup, reserve, unroll })))).address

function contents(blockGas: number): readonly Content[] {
  const inBlock = Math.ceil(blockGas / MOST_TRANSACTION_GAS)
  const full = { transactions: inBlock, gasLimit: Math.floor(blockGas / inBlock), data: freshIndex }
  return [
    { ...full, name: 'logs of 32 KB', place: program(`${LOG_BYTES} PUSH0 LOG0`, '', 400_000, 1) },
    { ...full, name: 'logs without data', place: program('PUSH0 PUSH0 LOG0', '', 50_000) },
    {
      ...full,
      name: 'logs with four new topics',
      place: program('1 ADD DUP1 DUP1 NOT DUP2 64 SHL DUP2 128 SHL PUSH0 PUSH0 LOG4', 'PUSH0 CALLDATALOAD', 80_000),
    },
    { ...full, name: 'new slots', place: (target) => place(target, 'SSTORE of new slots') },
    {
      name: 'calldata',
      transactions: 15,
      gasLimit: 6_000_000,
      data: (index) => new Uint8Array(CALLDATA_BYTES).map((_, at) => 1 + ((at * 31 + index * 17) % 255)),
    },
  ]
}

/**
 * Measures full blocks of only logs, calldata or new slots: bytes of the block, of the database's
 * batches and of the answers to clients, and the time of each. The target's interval is long, so
 * that one block holds all transactions.
 * @param senders with funds
 */
export async function measureBlockBytes(
  target: Target,
  senders: readonly Account[],
  { blockGas, only }: { readonly blockGas: number; readonly only: string },
  report: Report,
): Promise<void> {
  const chosen = contents(blockGas).filter(({ name }) => name.includes(only))
  for (const content of chosen) report.add(target.name, await fill(target, senders, content))
}

async function fill(target: Target, senders: readonly Account[], content: Content): Promise<Row[]> {
  const { name, transactions, gasLimit, data } = content
  const { url } = target
  const to = (await content.place?.(target)) ?? UNUSED_ACCOUNT
  const nonces = await noncesOf(target, senders)
  const raws = Array.from({ length: transactions }, (_, index) => {
    const sender = index % senders.length
    const fields = { nonce: BigInt(nonces[sender]!++), to, data: data(index), gasLimit: BigInt(gasLimit) }
    return sign(senders[sender]!, { ...fields, maxFeePerGas: 500n * GWEI }).raw
  })
  const first = await nextBlock(url)
  const before = await batchBytes(target)
  target.takeBlocks()
  for (const raw of raws) await call(url, 'eth_sendRawTransaction', [raw])
  const last = await untilIncluded(url, first, transactions)
  const written = (await batchBytes(target)) - before
  const timings = (target.takeBlocks() ?? []).filter(({ txs }) => txs > 0)
  const gas = await gasOfBlocks(target, first, last)
  const fullest = first + gas.indexOf(Math.max(...gas))
  const number = blockParameter(fullest)
  const most = (values: readonly number[]): number => Math.max(...values)
  const label = `block of ${name}`
  return [
    { name: `${label}: gas`, unit: 'Mgas', value: most(gas) / 1e6, note: `${timings.length} blocks with transactions` },
    { name: `${label}: build max`, unit: 'ms', value: most(timings.map(({ buildMs }) => buildMs)) },
    { name: `${label}: finalize max`, unit: 'ms', value: most(timings.map(({ finalizeMs }) => finalizeMs)) },
    { name: `${label}: bytes over the network`, unit: 'MB', value: (await blockBytes(url, fullest)) / 1e6 },
    { name: `${label}: bytes for the database`, unit: 'MB', value: written / 1e6 },
    ...(await answer(url, label, 'eth_getBlockReceipts', [number])),
    ...(await answer(url, label, 'eth_getTransactionReceipt', [await firstTransaction(url, number)])),
    ...(await answer(url, label, 'eth_getLogs', [{ fromBlock: number, toBlock: number }])),
    ...(await answer(new URL('/rpc', url).href, label, 'block_results', { height: String(fullest) })),
  ]
}

/** Returns the bytes of all batches that were written to the database so far. */
async function batchBytes({ metricsUrl }: Target): Promise<number> {
  const page = await (await fetch(metricsUrl!)).text()
  return Number(/^coind_db_batch_bytes_sum(?:\{[^}]*\})? (\S+)$/m.exec(page)?.[1] ?? 0)
}

async function blockBytes(url: string, height: number): Promise<number> {
  const { result } = (await (
    await fetch(new URL(`/rpc/blockchain?minHeight=${height}&maxHeight=${height}`, url))
  ).json()) as {
    readonly result: { readonly block_metas: readonly { readonly block_size: string }[] }
  }
  return Number(result.block_metas[0]!.block_size)
}

async function firstTransaction(url: string, number: string): Promise<string> {
  const block = await call<{ readonly transactions: readonly string[] }>(url, 'eth_getBlockByNumber', [number, false])
  return block.transactions[0]!
}

/** Returns size and time of an answer, or why it was refused. */
async function answer(url: string, label: string, method: string, params: unknown): Promise<Row[]> {
  const beganMs = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await response.text()
  const ms = performance.now() - beganMs
  const refusal = text.length < 1_000 ? /"message":"([^"]*)"/.exec(text)?.[1] : undefined
  const note = refusal === undefined ? {} : { note: refusal }
  return [
    { name: `${label}: bytes of ${method}`, unit: 'MB', value: text.length / 1e6, ...note },
    { name: `${label}: time of ${method}`, unit: 'ms', value: ms },
  ]
}
