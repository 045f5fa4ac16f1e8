import { encodeFunctionData, erc20Abi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entryHash } from '../../../src/chain/block/entries.ts'
import { MsgSend } from '../../../src/modules/bank/messages.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { getLogs } from '../../../src/rpc/eth/logs.ts'
import { parseEventQuery } from '../../../src/rpc/events/eventQuery.ts'
import { findBlocks, findTransactions, locateTransaction } from '../../../src/rpc/events/search.ts'
import type { RpcContext } from '../../../src/rpc/jsonrpc/method.ts'
import { createViewCaches, type NodeView, openView } from '../../../src/state/view.ts'
import { Column, prefixEnd } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { anyOf, signTestTransaction, testAccount } from '../../native/signTransaction.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../support/execution/testChain.ts'
import { invoke } from '../../support/rpc/invoke.ts'
import { TEST_LIMITS } from '../../support/rpc/memoryNode.ts'
import { step } from '../../support/step.ts'

const TOKEN = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
const wallet = privateKeyToAccount(WALLET_KEY)
const [first, second] = [testAccount(7), testAccount(8)]
/** What INDEX was for blocks 1 and on. */
const PLAN = ['all', 'all', 'all', 'off', 'off', 'off', 'off', 'all', 'all', 'all'] as const
const SWITCHED_ON = 8

/** Of block `height`: a transfer by the ERC-20 contract, which has a log, and a native one; every third block is empty. */
async function transactionsOf(height: number, nonce: number): Promise<readonly Uint8Array[]> {
  if (height % 3 === 0) return []
  const to = height % 2 === 0 ? first : second
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [bytesToHex(to.address), 9n] })
  const fields = { chainId: 76287, type: 'eip1559', gas: 100_000n, maxFeePerGas: 10n ** 10n } as const
  const message = {
    fromAddress: toBech32(WALLET),
    toAddress: to.bech32,
    amount: [{ denom: 'acoin', amount: BigInt(height) }],
  }
  return [
    hexToBytes(await wallet.signTransaction({ ...fields, nonce, to: TOKEN, data })),
    signTestTransaction({
      messages: [anyOf(MsgSend, message)],
      signers: [{ privateKey: hexToBytes(WALLET_KEY), sequence: nonce + 1 }],
      gasLimit: 100_000n,
    }),
  ]
}

interface Built {
  readonly chain: TestChain
  /** by height */
  readonly txs: readonly (readonly Uint8Array[])[]
}

/** The blocks of the plan, up to `blocks`, and where `switched` with the index as the plan says. */
async function build(blocks: number, switched: boolean): Promise<Built> {
  let chain = await createTestChain()
  const txs: (readonly Uint8Array[])[] = [[]]
  let nonce = 0
  let index: (typeof PLAN)[number] = 'all'
  for (let height = 1; height <= blocks; height++) {
    const wanted = switched ? PLAN[height - 1]! : 'all'
    if (wanted !== index) chain = await chain.reopen({ index: wanted })
    index = wanted
    txs.push(await transactionsOf(height, nonce))
    nonce += txs[height]!.length
    await chain.produce(txs[height])
  }
  return { chain, txs }
}

async function readView<T>({ chain }: Built, read: (view: NodeView) => T | Promise<T>): Promise<T> {
  const database = await Database.open(chain.location, { readOnly: true })
  try {
    return await read(openView(database, createViewCaches()))
  } finally {
    await database.close()
  }
}

const pause = async (): Promise<void> => undefined
const transactionsBy = async (view: NodeView, query: string) =>
  (await findTransactions(view.chain, parseEventQuery(query), { pause })).map(
    ({ height, position }) => `${height}.${position}`,
  )
const blocksBy = async (view: NodeView, query: string) => {
  const { count, heightAt } = await findBlocks(view.chain, parseEventQuery(query), { pause })
  return Array.from({ length: count }, (_, index) => heightAt(index))
}

/** Answers of eth_getLogs to all ranges, for filters that find something and some that do not. */
async function logsOf(built: Built): Promise<readonly unknown[]> {
  return readView(built, async (view) => {
    const context = { view, limits: TEST_LIMITS, monotonicMs: () => performance.now() } as unknown as RpcContext
    const [transfer] = view.chain.receipts(1)![0]!.logs[0]!.topics.map(bytesToHex)
    const recipient = `0x${'00'.repeat(12)}${bytesToHex(first.address).slice(2)}`
    const filters = [
      {},
      { address: TOKEN.toLowerCase() },
      { address: bytesToHex(WALLET) },
      { topics: [transfer] },
      { address: [TOKEN.toLowerCase(), bytesToHex(WALLET)], topics: [[transfer], null, recipient] },
      { topics: [recipient] },
      { topics: [null, null, [recipient, transfer]] },
    ]
    const answers: unknown[] = []
    for (const filter of filters) {
      for (let from = 0; from <= view.chain.headHeight; from++) {
        for (let to = from; to <= view.chain.headHeight; to++) {
          const range = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }
          answers.push(await invoke(getLogs, context, { ...filter, ...range }))
        }
      }
    }
    return answers
  })
}

/** How many entries there are in each index. */
async function indexEntries({ chain }: Built): Promise<readonly number[]> {
  const database = await Database.open(chain.location, { readOnly: true })
  const counts: number[] = []
  for (const column of [Column.logTerm, Column.eventTerm]) {
    const range = { start: Uint8Array.of(column), end: prefixEnd(Uint8Array.of(column)) }
    counts.push((await Array.fromAsync(database.entries(range))).length)
  }
  await database.close()
  return counts
}

const BY_RECIPIENT = `transfer.recipient='${first.bech32}'`

describe('a node whose index is off', () => {
  let plain: Built
  let off: Built
  beforeAll(async () => {
    plain = await build(5, false)
    off = await build(5, true)
  })
  afterAll(async () => {
    await plain.chain.close()
    await off.chain.close()
  })

  it('has the same blocks', () => {
    expect(off.chain.executor.head().hash).toEqual(plain.chain.executor.head().hash)
  })

  it('writes no terms, but for the hashes of EVM transactions', async () => {
    const before = await indexEntries(off)
    await off.chain.produce(await transactionsOf(7, 8))
    const [logs, events] = await indexEntries(off)
    expect([logs! - before[0]!, events! - before[1]!]).toEqual([0, 1])
    await plain.chain.produce(await transactionsOf(7, 8))
  })

  it('answers eth_getLogs as one that has an index', async () => {
    const expected = await logsOf(plain)
    expect(expected.filter((logs) => (logs as unknown[]).length > 0).length).toBeGreaterThan(50)
    expect(await logsOf(off)).toEqual(expected)
  })

  it('refuses searches by events as CometBFT without an indexer, and says why', async () => {
    await readView(off, async (view) => {
      for (const query of [BY_RECIPIENT, `${BY_RECIPIENT} AND tx.height>3`, "tm.event='Tx'", 'tx.height>1']) {
        await expect(transactionsBy(view, query)).rejects.toMatchObject({
          name: 'SearchError',
          reason: 'not indexed',
          message: expect.stringMatching(/^transaction indexing is disabled: .*INDEX=off/),
        })
      }
      await expect(blocksBy(view, 'mint.amount EXISTS')).rejects.toThrow(/^block indexing is disabled: .*INDEX=off/)
    })
  })

  it('looks into a single block, and finds blocks by height', async () => {
    await readView(off, async (view) => {
      expect(await transactionsBy(view, 'tx.height=5')).toEqual(['5.0', '5.1'])
      expect(await transactionsBy(view, 'tx.height=3')).toEqual([])
      expect(await transactionsBy(view, `${BY_RECIPIENT} AND tx.height=4`)).toEqual(['4.0', '4.1'])
      expect(await transactionsBy(view, `${BY_RECIPIENT} AND tx.height=5`)).toEqual([])
      expect(await blocksBy(view, 'block.height>3 AND block.height<6')).toEqual([4, 5])
    })
  })

  it('finds transactions by each of their hashes', async () => {
    await readView(off, async (view) => {
      const [evm, native] = off.txs[5]!
      for (const [hash, position] of [
        [entryHash(evm!), 0],
        [sha256(evm!), 0],
        [entryHash(native!), 1],
      ] as const) {
        expect(await locateTransaction(view.chain, hash)).toEqual({ height: 5, position })
        const text = bytesToHex(hash).slice(2)
        expect(await transactionsBy(view, `tx.hash='${text}'`)).toEqual([`5.${position}`])
      }
      // Clients poll until a transaction is in a block: that is no error.
      expect(await transactionsBy(view, `tx.hash='${'12'.repeat(32)}'`)).toEqual([])
    })
  })
})

describe('a node whose index was off for a while', () => {
  let plain: Built
  let switched: Built
  beforeAll(async () => {
    plain = await build(PLAN.length, false)
    switched = await build(PLAN.length, true)
  })
  afterAll(async () => {
    await plain.chain.close()
    await switched.chain.close()
  })

  it('answers for all blocks that it has', async () => {
    await step('eth_getLogs as a node whose index was always on', async () => {
      expect(await logsOf(switched)).toEqual(await logsOf(plain))
    })
    await step('searches by events from the block on where it was switched on', searchEvents)
    await step('after another start, without the terms of dropped blocks', dropBlocks)
  })

  async function searchEvents(): Promise<void> {
    await readView(switched, async (view) => {
      const query = `${BY_RECIPIENT} AND tx.height>=${SWITCHED_ON}`
      expect(await transactionsBy(view, query)).toEqual(['8.0', '8.1', '10.0', '10.1'])
      expect(await readView(plain, (other) => transactionsBy(other, query))).toEqual(await transactionsBy(view, query))
      for (const refused of [BY_RECIPIENT, `${BY_RECIPIENT} AND tx.height>=${SWITCHED_ON - 1}`, 'tx.height<3']) {
        await expect(transactionsBy(view, refused)).rejects.toThrow(
          /^blocks below 8 are in no index of events of this node: search from there on \(tx\.height>=8\), .*coind reindex/,
        )
      }
      await expect(blocksBy(view, 'mint.amount EXISTS')).rejects.toThrow(/block\.height>=8/)
      expect(await transactionsBy(view, 'tx.height=4')).toEqual(['4.0', '4.1'])
    })
  }

  async function dropBlocks(): Promise<void> {
    const again = { ...switched, chain: await switched.chain.reopen({ blockHistory: 2 }) }
    Object.assign(switched, again)
    await readView(switched, (view) => expect(view.chain.indexedFrom).toBe(SWITCHED_ON))
    for (let block = 0; block < 6; block++) await switched.chain.produce()
    await readView(switched, async (view) => {
      expect(view.chain.oldestBlock).toBe(14)
      // The hole is below the oldest block now.
      expect(await transactionsBy(view, BY_RECIPIENT)).toEqual([])
    })
    expect(await indexEntries(switched)).toEqual([0, 0])
  }
})
