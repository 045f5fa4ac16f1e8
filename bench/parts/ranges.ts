import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { assemble, creationCode } from '../code/assemble.ts'
import { deploy } from '../contracts/deploy.ts'
import { runLoad } from '../load/httpLoad.ts'
import { batchCall, blockParameter, call, requestBody, waitForReceipt } from '../load/rpc.ts'
import { type Account, FUNDER, GWEI, type Signed, sign } from '../load/sign.ts'
import type { Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { nonceOf, noncesOf } from './accounts.ts'
import { latencyRows } from './throughput.ts'

/** Blocks of the range, and the logs in it. */
const BLOCKS = 1_000
const HITS = 200
const TRANSACTIONS = 200
const TRANSFER_GAS = 21_000n
/** Attempts to get so many transactions into one block. */
const ATTEMPTS = 20
const POLL_MS = 5
/** Where addresses begin that have no code. */
const FIRST_SILENT = 1_000_000
const WARM_UP = 200

/** Creation code of a contract that logs each call. */
const CREATE_LOGGER = creationCode(assemble('1 32 0 LOG1 STOP'))

interface RangeOptions {
  /** requests of each kind */
  readonly count: number
  readonly inFlight: number
}

/** Reads of large answers: logs of many blocks, and a block of many transactions. `accounts` have coins, at least 200 of them. */
export async function measureRanges(
  target: Target,
  accounts: readonly Account[],
  { count, inFlight }: RangeOptions,
): Promise<Row[]> {
  const full = blockParameter(await makeFullBlock(target, accounts.slice(0, TRANSACTIONS)))
  const filter = await makeLogs(target)
  // A second address, which logs nothing, makes each search another one.
  const unlike = (index: number): object => ({
    ...filter,
    address: [filter.address, `0x${(FIRST_SILENT + index).toString(16).padStart(40, '0')}`],
  })
  const reads: readonly (readonly [string, string, (index: number) => readonly unknown[], number])[] = [
    [`eth_getLogs (${HITS} in ${BLOCKS} blocks)`, 'eth_getLogs', (index) => [unlike(index)], HITS],
    [`eth_getLogs (the same ${HITS})`, 'eth_getLogs', () => [filter], HITS],
    [`eth_getBlockByNumber (${TRANSACTIONS} hashes)`, 'eth_getBlockByNumber', () => [full, false], TRANSACTIONS],
    [`eth_getBlockByNumber (${TRANSACTIONS} transactions)`, 'eth_getBlockByNumber', () => [full, true], TRANSACTIONS],
    [`eth_getBlockReceipts (${TRANSACTIONS})`, 'eth_getBlockReceipts', () => [full], TRANSACTIONS],
  ]
  const rows: Row[] = []
  for (const [label, method, params, expected] of reads) {
    const answer = await call<readonly unknown[] | { readonly transactions: readonly unknown[] }>(
      target.url,
      method,
      params(0),
    )
    const { length } = 'transactions' in answer ? answer.transactions : answer
    if (length !== expected) throw new Error(`${label} of ${target.name} gave ${length} entries`)
    const bodies = Array.from({ length: count }, (_, index) => requestBody(index, method, params(index)))
    await runLoad({ port: target.port, bodies: bodies.slice(0, WARM_UP), inFlight })
    const result = await runLoad({ port: target.port, bodies, inFlight })
    if (result.errors > 0) throw new Error(`${label}: ${result.firstError}`)
    rows.push({ name: label, unit: '/s', value: (count / result.elapsedMs) * 1_000 }, ...latencyRows(label, result))
  }
  return rows
}

/** Makes a block that holds so many transfers and nothing else, and returns its number. */
async function makeFullBlock(target: Target, senders: readonly Account[]): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const signed =
      target.name === 'geth' ? await transfersOfOne(target, senders[0]!) : await transfersOf(target, senders)
    await batchCall(
      target.url,
      signed.map(({ raw }) => ['eth_sendRawTransaction', [raw]] as const),
    )
    const receipts = await Promise.all(signed.map(({ hash }) => waitForReceipt(target.url, hash)))
    const numbers = new Set(receipts.map(({ blockNumber }) => Number(blockNumber)))
    if (numbers.size === 1) return [...numbers][0]!
  }
  throw new Error(`${target.name} put ${senders.length} transactions into no block together`)
}

async function transfersOf(target: Target, senders: readonly Account[]): Promise<readonly Signed[]> {
  const nonces = await noncesOf(target, senders)
  return senders.map((sender, index) => transfer(sender, nonces[index]!))
}

/**
 * Returns transfers with the first nonce last: geth makes a block as soon as a transaction can be
 * in one, and then all others can be in it.
 */
async function transfersOfOne(target: Target, sender: Account): Promise<readonly Signed[]> {
  const nonce = await nonceOf(target, sender)
  return Array.from({ length: TRANSACTIONS }, (_, index) => transfer(sender, nonce + TRANSACTIONS - 1 - index))
}

function transfer(sender: Account, nonce: number): Signed {
  return sign(sender, { nonce: BigInt(nonce), to: FUNDER.address, gasLimit: TRANSFER_GAS, maxFeePerGas: 500n * GWEI })
}

/** Makes a filter that finds {@link HITS} logs in {@link BLOCKS} blocks; the newest is the range's last. */
async function makeLogs(target: Target): Promise<Readonly<Record<string, string>>> {
  const { address } = await deploy(target, CREATE_LOGGER)
  const first = Number(await call<string>(target.url, 'eth_blockNumber')) + 1
  for (let hit = 0; hit < HITS; hit++) {
    await sendOf(target, address)
    await advanceTo(target, first + ((hit + 1) * BLOCKS) / HITS - 1)
  }
  return {
    address: bytesToHex(address),
    fromBlock: blockParameter(first),
    toBlock: blockParameter(first + BLOCKS - 1),
  }
}

/** Waits until the chain has a block of this height; makes blocks where none come without transactions. */
async function advanceTo(target: Target, height: number): Promise<void> {
  for (;;) {
    const head = Number(await call<string>(target.url, 'eth_blockNumber'))
    if (head >= height) return
    if (target.name === 'anvil') await call(target.url, 'anvil_mine', [blockParameter(height - head)])
    else if (target.name === 'geth') await sendOf(target, FUNDER.address)
    else await sleep(POLL_MS)
  }
}

/** Sends a transaction of {@link FUNDER} and waits until it is in a block. */
async function sendOf(target: Target, to: Address): Promise<void> {
  const nonce = BigInt(await nonceOf(target, FUNDER))
  const { raw, hash } = sign(FUNDER, { nonce, to, gasLimit: 100_000n, maxFeePerGas: 500n * GWEI })
  await call(target.url, 'eth_sendRawTransaction', [raw])
  if (target.name === 'anvil') await call(target.url, 'anvil_mine', ['0x1'])
  await waitForReceipt(target.url, hash, POLL_MS)
}
