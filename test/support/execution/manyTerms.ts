import { privateKeyToAccount } from 'viem/accounts'
import { forEachLogEntry } from '../../../src/chain/indexes/logIndex.ts'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import type { WriteBatch } from '../../../src/storage/batch.ts'
import type { Database } from '../../../src/storage/database.ts'
import { WALLET_KEY } from './testChain.ts'

/** Emits 1,100 logs whose four topics are a number that no other has. */
const MANY_LOGS = '0x61044c5b808080805f5fa4600190038060035700'

/** The wallet's first transaction: its block has thousands of terms of logs. */
export async function manyLogs(): Promise<Uint8Array> {
  const fees = { chainId: 76287, type: 'eip1559', gas: 4_000_000n, maxFeePerGas: 10n ** 10n } as const
  return hexToBytes(await privateKeyToAccount(WALLET_KEY).signTransaction({ ...fees, nonce: 0, data: MANY_LOGS }))
}

/** Gives the terms of block 1 the form that an older version wrote: an entry for each. */
export function separateTerms(batch: WriteBatch, database: Database): void {
  const receipts = openChainReader(database).receipts(1)!
  const logs = receipts.flatMap((receipt) => receipt.logs)
  forEachLogEntry(1, logs, true, (key) => batch.del(key))
  forEachLogEntry(1, logs, false, (key, value) => batch.put(key, value))
}
