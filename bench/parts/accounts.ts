import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { callData } from '../contracts/abi.ts'
import { batchCall, call, waitForReceipt } from '../load/rpc.ts'
import { type Account, accountOf, FUNDER, sign } from '../load/sign.ts'
import type { Target } from '../targets/target.ts'

const FUNDS_ACOIN = 1_000n * 10n ** 18n
const TOKEN_SHARE = 10n ** 24n
const SETUP_GAS = 12_000_000n
/** Accounts that one transaction of the distributor serves: new ones take 37,000 gas each. */
const SERVED_AT_ONCE = 250
/** Requests of one batch: nodes limit them. */
const BATCH = 500

interface ContractCall {
  readonly data: Uint8Array
  readonly value?: bigint
}

/** Returns the accounts that send the load. */
export function benchAccounts(count: number): Account[] {
  return Array.from({ length: count }, (_, index) => accountOf(`bench ${index}`))
}

export async function nonceOf(target: Pick<Target, 'url'>, account: Account): Promise<number> {
  return (await noncesOf(target, [account]))[0]!
}

/** Nonces after what is pending. */
export async function noncesOf(target: Pick<Target, 'url'>, accounts: readonly Account[]): Promise<number[]> {
  const nonces: number[] = []
  for (const part of chunks(accounts, BATCH)) {
    const calls = part.map(({ address }) => ['eth_getTransactionCount', [bytesToHex(address), 'pending']] as const)
    nonces.push(...(await batchCall<string>(target.url, calls)).map(Number))
  }
  return nonces
}

/** Sends a transaction of {@link FUNDER} and waits for its receipt. */
export function send(target: Target, to: Address, data: Uint8Array): Promise<void> {
  return sendCalls(target, to, [{ data }])
}

/** Sends several transactions of {@link FUNDER} to one contract and waits for the last one's receipt. */
export async function sendCalls(target: Target, to: Address, calls: readonly ContractCall[]): Promise<void> {
  const first = await nonceOf(target, FUNDER)
  const signed = calls.map((fields, index) =>
    sign(FUNDER, { nonce: BigInt(first + index), to, gasLimit: SETUP_GAS, ...fields }),
  )
  for (const { raw } of signed) await call(target.url, 'eth_sendRawTransaction', [raw])
  await waitForReceipt(target.url, signed.at(-1)!.hash)
}

/** Sends every account coins, through the `Distributor`. */
export async function fund(target: Target, distributor: Address, accounts: readonly Account[]): Promise<void> {
  const calls = chunks(accounts, SERVED_AT_ONCE).map((part) => ({
    data: callData(
      'giveCoins(address[])',
      part.map(({ address }) => address),
    ),
    value: FUNDS_ACOIN * BigInt(part.length),
  }))
  await sendCalls(target, distributor, calls)
}

/** Sends every account tokens of the `Distributor`. */
export async function giveTokens(
  target: Target,
  distributor: Address,
  token: Address,
  accounts: readonly Account[],
): Promise<void> {
  const calls = chunks(accounts, SERVED_AT_ONCE).map((part) => {
    const to = part.map(({ address }) => address)
    return { data: callData('giveTokens(address,address[],uint256)', token, to, TOKEN_SHARE) }
  })
  await sendCalls(target, distributor, calls)
}

export function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
