import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import { Database } from '../../../src/storage/database.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../support/execution/testChain.ts'

const STATES = 4
const BODIES = 6
/** By then both windows are full, and every block drops something. */
const FULL = 10

const account = privateKeyToAccount(WALLET_KEY)

let chain: TestChain
let nonce: number
beforeEach(async () => {
  nonce = 0
  chain = await createTestChain({}, { pruning: STATES, blockHistory: BODIES })
  while (height() < FULL) await produceTransfer()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await chain.close()
})

const height = (): number => chain.executor.head().header.number

async function produceTransfer(): Promise<void> {
  const fields = { chainId: 76287, type: 'eip1559', gas: 21_000n, maxFeePerGas: 10n ** 10n } as const
  const raw = await account.signTransaction({ ...fields, nonce, to: account.address, value: 1n })
  await chain.produce([hexToBytes(raw)])
  nonce++
}

/** What a reader finds: the oldest block with transactions, and the wallet's nonce in each state that is kept. */
async function readHistory(): Promise<{ oldestBlock: number; oldestState: number; nonces: (bigint | undefined)[] }> {
  const database = await Database.open(chain.location, { readOnly: true })
  try {
    const view = openView(database, createViewCaches())
    const { oldestBlock, headHeight } = openChainReader(database)
    const { oldestState } = view
    const nonces = []
    for (let at = oldestState; at <= headHeight; at++) nonces.push(view.stateAt(at).getAccount(WALLET)?.nonce)
    return { oldestBlock, oldestState, nonces }
  } finally {
    await database.close()
  }
}

/** Each block has one transaction of the wallet, whose nonce is then the block's height. */
function historyAt(head: number) {
  const oldestState = head - STATES
  const nonces = Array.from({ length: STATES + 1 }, (_, index) => BigInt(oldestState + index))
  return { oldestBlock: head - BODIES, oldestState, nonces }
}

it('drops what is too old in the one synced batch of the next block', async () => {
  const write = vi.spyOn(Database.prototype, 'write')
  for (let block = 1; block <= 3; block++) {
    await produceTransfer()
    expect(write.mock.calls.map(([, { sync }]) => sync)).toEqual(Array(block).fill(true))
    expect(await readHistory()).toEqual(historyAt(FULL + block))
  }
  await new Promise((resolve) => setImmediate(resolve))
  expect(write).toHaveBeenCalledTimes(3)
})

it('has dropped nothing of a block that a crash kept from the disk, and goes on after a restart', async () => {
  vi.spyOn(Database.prototype, 'write').mockRejectedValueOnce(new Error('killed'))
  await expect(produceTransfer()).rejects.toThrow('killed')
  expect(await readHistory()).toEqual(historyAt(FULL))
  chain = await chain.reopen()
  expect(await readHistory()).toEqual(historyAt(FULL))
  await produceTransfer()
  expect(await readHistory()).toEqual(historyAt(FULL + 1))
})
