import { bytesToHex } from '../../src/primitives/bytes.ts'
import { call, waitForReceipt } from '../load/rpc.ts'
import { type Account, accountOf, FUNDER, type Signed, sign } from '../load/sign.ts'
import type { Target } from '../targets/target.ts'

const FUNDS_ACOIN = 1_000n * 10n ** 18n

/** The accounts that send the load. */
export function benchAccounts(count: number): Account[] {
  return Array.from({ length: count }, (_, index) => accountOf(`bench ${index}`))
}

export async function nonceOf(target: Target, account: Account): Promise<number> {
  return Number(await call<string>(target.url, 'eth_getTransactionCount', [bytesToHex(account.address), 'pending']))
}

/** Sends transactions one after the other and waits for the last one's receipt. */
export async function sendAll(target: Target, transactions: readonly Signed[]): Promise<void> {
  for (const { raw } of transactions) await call(target.url, 'eth_sendRawTransaction', [raw])
  const last = transactions.at(-1)
  if (last !== undefined) await waitForReceipt(target.url, last.hash)
}

/** Gives every account its funds. */
export async function fund(target: Target, accounts: readonly Account[]): Promise<void> {
  const first = await nonceOf(target, FUNDER)
  await sendAll(
    target,
    accounts.map(({ address }, index) =>
      sign(FUNDER, { nonce: BigInt(first + index), to: address, value: FUNDS_ACOIN }),
    ),
  )
}
