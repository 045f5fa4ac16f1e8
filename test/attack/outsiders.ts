import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, accountOf, GWEI } from '../../bench/load/sign.ts'
import { signNative } from '../../bench/load/signNative.ts'
import { MsgSend } from '../../src/modules/bank/messages.ts'
import { toAddress, toBech32 } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import { rpc } from '../e2e/rpc.ts'
import { anyOf } from '../native/signTransaction.ts'
import type { Run } from './attack.ts'
import { addressOf, keepSending, urlOf } from './repeatedCall.ts'

const NAMES = ['1', '2', '4', '5', '5b', '6', '6b', '7', '8', '9', '10', '11', '12', '13'] as const
/** Until many transactions are in blocks, and before one that was refused is sent again. */
const MANY_MS = 120_000
const REFUSED_MS = 200

type Outsider = (typeof NAMES)[number]

/** Who receives what attackers send. */
export const RECEIVER = toAddress(new Uint8Array(20).fill(0xcc))

/** The account of an attack. */
export function outsider(name: Outsider): Account {
  return accountOf(`outsider ${name}`)
}

/** Accounts to which the genesis gives 100 COIN. */
export const OUTSIDERS: readonly Account[] = NAMES.map(outsider)

/** A request of JSON-RPC. */
export const callOf = (method: string, ...params: readonly unknown[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

export async function nonceOf(run: Run, account: Account): Promise<bigint> {
  return BigInt(await rpc<string>(urlOf(run), 'eth_getTransactionCount', addressOf(account), 'latest'))
}

/** A message that sends one acoin from an address. */
export function sendOne(from: Uint8Array): AnyValue {
  return anyOf(MsgSend, {
    fromAddress: toBech32(toAddress(from)),
    toAddress: toBech32(RECEIVER),
    amount: [{ denom: 'acoin', amount: 1n }],
  })
}

/** A signed native transaction; the fee is enough for a busy chain. */
export function nativeOf(
  account: Account,
  sequence: bigint,
  messages: readonly AnyValue[],
  gasLimit = 20_000_000n,
): Uint8Array {
  return signNative(account, { messages, sequence, gasLimit, feeAcoin: gasLimit * 3n * GWEI })
}

/** @throws Error with the log when the node refuses it */
export async function broadcast(run: Run, raw: Uint8Array): Promise<void> {
  const text = Buffer.from(raw).toString('base64')
  const { code, log } = await rpc<{ code: number; log: string }>(`${urlOf(run)}rpc/`, 'broadcast_tx_sync', text)
  if (code !== 0) throw new Error(log)
}

/** Broadcasts a native transaction and waits until its sequence is used. */
export async function sendNative(
  run: Run,
  account: Account,
  messages: readonly AnyValue[],
  gasLimit?: bigint,
): Promise<void> {
  const sequence = await nonceOf(run, account)
  await broadcast(run, nativeOf(account, sequence, messages, gasLimit))
  const endMs = performance.now() + 60_000
  while ((await nonceOf(run, account)) === sequence && performance.now() < endMs) await sleep(200)
}

/**
 * Broadcasts native transactions until the node has taken each of them, and waits until they are in blocks.
 * @param transactions of one account in the order of their sequences
 * @param connections by which they are sent; 1 where their order matters
 * @returns how many are in blocks
 */
export async function broadcastAll(
  run: Run,
  transactions: readonly { readonly account: Account; readonly raw: Uint8Array }[],
  connections = 8,
): Promise<number> {
  const endMs = performance.now() + MANY_MS
  let next = 0
  const send = async (): Promise<void> => {
    for (let index = next++; index < transactions.length; index = next++) {
      const { raw } = transactions[index]!
      for (let isTaken = false; !isTaken; ) {
        isTaken = await broadcast(run, raw).then(
          () => true,
          (error: unknown) => {
            if (performance.now() > endMs) throw error
            return false
          },
        )
        if (!isTaken) await sleep(REFUSED_MS)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, send))
  const last = transactions.at(-1)!.account
  const before = transactions.filter(({ account }) => account === last).length
  while ((await nonceOf(run, last)) < BigInt(before) && performance.now() < endMs) await sleep(REFUSED_MS)
  return transactions.length
}

/** Keeps native transactions of an account in the pool until the attack ends. */
export async function keepBroadcasting(
  run: Run,
  account: Account,
  make: (sequence: bigint) => Uint8Array,
): Promise<void> {
  await keepSending(
    run,
    [account],
    (_, sequence) => {
      const raw = make(sequence)
      return { raw: Buffer.from(raw).toString('base64'), hash: bytesToHex(keccak256(raw)) }
    },
    (raw) => broadcast(run, Buffer.from(raw, 'base64')),
  )
}
