import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWalletClient, type Hex, http, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesToAmount } from '../../../explorer/database/amount.ts'
import { openReader } from '../../../explorer/database/open.ts'
import type { RunningExplorer } from '../../../explorer/startExplorer.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, freshAddress, viemChain } from '../devChain.ts'
import { startQuickDevnet } from '../quickDevnet.ts'
import { mined, rpc, until } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'
import { startTestExplorer } from './startTestExplorer.ts'

/** Blocks of state and blocks that the node keeps: a few seconds. */
const [STATES, BLOCKS] = [30, 40]

let node: TestNode
let explorer: RunningExplorer | undefined
let directory: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-pruned-explorer-'))
  node = await startQuickDevnet({ environment: { PRUNING: String(STATES), BLOCK_HISTORY: String(BLOCKS) } })
})
afterAll(async () => {
  explorer?.stop()
  await explorer?.ended
  await node?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const heightOf = async (): Promise<number> => Number(await rpc<Hex>(node.url, 'eth_blockNumber'))

describe('an explorer of a node that has dropped its oldest blocks', () => {
  it('begins with one that it still has, with the balances of then', async () => {
    const send = async (): Promise<void> => {
      const writer = createWalletClient({
        chain: viemChain(node.url),
        transport: http(node.url),
        account: ACCOUNTS[1]!,
      })
      await mined(node.url, await writer.sendTransaction({ to: freshAddress(), value: 5n }))
    }
    await send()
    await until('blocks that are dropped', async () => (await heightOf()) > BLOCKS + 10, 60_000)
    await send()
    const database = join(directory, 'index.sqlite')
    explorer = await startTestExplorer(node.url, directory)
    await send()
    const height = await heightOf()
    const status = async () =>
      (await (await fetch(`${explorer!.url}api/v1/status`)).json()) as { height: number | null; firstHeight: number }
    await until('the index', async () => ((await status()).height ?? 0) >= height, 60_000)
    expect((await status()).firstHeight).toBeGreaterThan(1)

    const reader = openReader(database)
    // In one query: the index goes on.
    const balances = await reader.queries
      .selectFrom(['coin_balance', 'ingest'])
      .select(['coin_balance.address', 'coin_balance.amount', 'ingest.height'])
      .execute()
    await reader.close()
    expect(balances.length).toBeGreaterThan(10)
    for (const { address, amount, height: at } of balances) {
      const balance = await rpc<Hex>(node.url, 'eth_getBalance', bytesToHex(address), numberToHex(at))
      expect(`${bytesToHex(address)} ${bytesToAmount(amount)}`).toBe(`${bytesToHex(address)} ${BigInt(balance)}`)
    }
  })
})
