import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, GWEI, type Signed, sign } from '../../bench/load/sign.ts'
import type { UnsignedTransaction } from '../../src/chain/block/transaction.ts'
import { concatBytes, hexToBytes } from '../../src/primitives/bytes.ts'
import { mined, rpc } from '../e2e/rpc.ts'
import type { Run } from './attack.ts'

/** EIP-7825: no transaction has more. */
export const MOST_GAS = 16_777_216n
/** More than others offer; all the gas of a transaction costs less than the limit of a node's RPC. */
export const REPEATED_FEES = { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 3n * GWEI } as const
/** Transactions of one account that wait in the pool. */
const AHEAD = 12n
const LOOK_MS = 200

export const urlOf = ({ target }: Run): string => `http://${target.host}:${target.rpcPort}/`

/** Code that calls `target` with the calldata that it was called with, again and again, until 300,000 gas are left. */
function repeatingCode(target: string): Uint8Array {
  const loop = `36 5f 5f 37 5b 5f 5f 36 5f 5f 73 ${target.slice(2)} 5a f1 50 62 0493e0 5a 11 60 04 57 00`
  return hexToBytes(`0x${loop.replaceAll(' ', '')}`)
}

/** Init code that deploys code of at most 255 bytes. */
const deploying = (code: Uint8Array): Uint8Array =>
  concatBytes(hexToBytes(`0x60${code.length.toString(16).padStart(2, '0')}8060095f395ff3`), code)

/** Deploys a contract that repeats calls of `target`. @returns its address */
export async function deployRepeater(run: Run, account: Account, target: string): Promise<string> {
  const url = urlOf(run)
  const nonce = BigInt(await rpc<string>(url, 'eth_getTransactionCount', addressOf(account), 'latest'))
  const { raw, hash } = sign(account, { nonce, gasLimit: 500_000n, data: deploying(repeatingCode(target)) })
  await rpc(url, 'eth_sendRawTransaction', raw)
  await mined(url, hash, 120_000)
  const { contractAddress } = await rpc<{ contractAddress: string }>(url, 'eth_getTransactionReceipt', hash)
  return contractAddress
}

export function addressOf({ address }: Account): string {
  return `0x${Buffer.from(address).toString('hex')}`
}

/** Keeps transactions of each account in the pool, the next nonces first, until the attack ends. */
export async function keepSending(
  run: Run,
  accounts: readonly Account[],
  make: (account: Account, nonce: bigint) => Signed,
  send: (raw: string) => Promise<unknown> = (raw) => rpc(urlOf(run), 'eth_sendRawTransaction', raw),
): Promise<void> {
  const url = urlOf(run)
  const next = new Map<Account, bigint>()
  while (!run.signal.aborted) {
    for (const account of accounts) {
      try {
        const mined = BigInt(await rpc<string>(url, 'eth_getTransactionCount', addressOf(account), 'latest'))
        const first = next.get(account) ?? mined
        for (let nonce = first > mined ? first : mined; nonce < mined + AHEAD; nonce++) {
          await send(make(account, nonce).raw)
          run.count('accepted')
          next.set(account, nonce + 1n)
        }
      } catch (error) {
        run.count(error instanceof Error ? error.message.replaceAll(/[0-9]+/g, '#').slice(0, 60) : 'failed')
      }
    }
    await sleep(LOOK_MS)
  }
}

/** Keeps full transactions that repeat one call in the pool. */
export function keepRepeating(
  run: Run,
  accounts: readonly Account[],
  { repeater, data }: { readonly repeater: string; readonly data: string },
): Promise<void> {
  const fields: Partial<UnsignedTransaction> = {
    to: hexToBytes(repeater as `0x${string}`) as NonNullable<UnsignedTransaction['to']>,
    data: hexToBytes(data as `0x${string}`),
    gasLimit: MOST_GAS,
    ...REPEATED_FEES,
  }
  return keepSending(run, accounts, (account, nonce) => sign(account, { ...fields, nonce }))
}
