import { encodeFunctionData, type Hex, keccak256 } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACCOUNTS, CHAIN_ID, ERC20_ABI, GWEI, NATIVE_TOKEN } from './devChain.ts'
import { startQuickDevnet } from './quickDevnet.ts'
import { mined, rpc, rpcOnce, until } from './rpc.ts'
import type { TestNode } from './startNode.ts'

interface Head {
  readonly number: Hex
  readonly hash: Hex
  readonly transactions?: readonly Hex[]
  readonly transactionsRoot: Hex
}

type Ask = <T>(method: string, ...params: readonly unknown[]) => Promise<T>

const HEADS = 12
const SENDER = ACCOUNTS[1]!
const RECEIVER = ACCOUNTS[9]!

/** Moves one acoin through the native token's contract, so that each transaction has a log. */
async function signedTransfer(nonce: number): Promise<Hex> {
  return SENDER.signTransaction({
    chainId: CHAIN_ID,
    nonce,
    gas: 100_000n,
    maxFeePerGas: 10n * GWEI,
    maxPriorityFeePerGas: GWEI,
    to: NATIVE_TOKEN,
    data: encodeFunctionData({ abi: ERC20_ABI, functionName: 'transfer', args: [RECEIVER.address, 1n] }),
  })
}

/** Everything that a client may read about a head that it was just told of. */
async function readHead(ask: Ask, { number, hash }: Head): Promise<void> {
  const [byNumber, byHash, receipts, logs, logsByNumber, atNumber, atHash, head, traces] = await Promise.all([
    ask<Head | null>('eth_getBlockByNumber', number, false),
    ask<Head | null>('eth_getBlockByHash', hash, false),
    ask<unknown[] | null>('eth_getBlockReceipts', hash),
    ask<unknown[]>('eth_getLogs', { blockHash: hash }),
    ask<unknown[]>('eth_getLogs', { fromBlock: number, toBlock: number }),
    ask<Hex>('eth_getBalance', RECEIVER.address, number),
    ask<Hex>('eth_getBalance', RECEIVER.address, { blockHash: hash }),
    ask<Hex>('eth_blockNumber'),
    ask<unknown[]>('debug_traceBlockByHash', hash, { tracer: 'callTracer' }),
  ])
  const before = await ask<Hex>('eth_getBalance', RECEIVER.address, `0x${(BigInt(number) - 1n).toString(16)}`)
  const called = await ask<Hex>(
    'eth_call',
    {
      to: NATIVE_TOKEN,
      data: encodeFunctionData({ abi: ERC20_ABI, functionName: 'balanceOf', args: [RECEIVER.address] }),
    },
    number,
  )
  const transactions = byNumber?.transactions ?? []
  expect(byNumber).toMatchObject({ number, hash })
  expect(byHash).toEqual(byNumber)
  expect(receipts).toHaveLength(transactions.length)
  expect(logs).toHaveLength(transactions.length)
  expect(logsByNumber).toEqual(logs)
  expect(traces).toHaveLength(transactions.length)
  expect(BigInt(head)).toBeGreaterThanOrEqual(BigInt(number))
  expect(BigInt(atNumber) - BigInt(before)).toBe(BigInt(transactions.length))
  expect(atHash).toBe(atNumber)
  expect(BigInt(called)).toBe(BigInt(atNumber))
  for (const transaction of transactions) {
    const [found, receipt] = await Promise.all([
      ask('eth_getTransactionByHash', transaction),
      ask('eth_getTransactionReceipt', transaction),
    ])
    expect(found).toMatchObject({ blockHash: hash })
    expect(receipt).toMatchObject({ blockHash: hash, status: '0x1' })
  }
}

/** Calls over one WebSocket, beside its notifications. */
function webSocketAsk(socket: WebSocket): Ask {
  let lastId = 0
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as {
      id?: number
      result?: unknown
      error?: { message: string }
    }
    const asked = id === undefined ? undefined : waiting.get(id)
    if (error === undefined) asked?.resolve(result)
    else asked?.reject(new Error(error.message))
  })
  return <T>(method: string, ...params: readonly unknown[]) => {
    const asked = Promise.withResolvers<unknown>()
    waiting.set(++lastId, asked)
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params }))
    return asked.promise as Promise<T>
  }
}

describe.each([
  ['one socket thread', { RPC_THREADS: '1', VIEW_THREADS: '1' }],
  ['three socket threads', { RPC_THREADS: '3', VIEW_THREADS: '2' }],
] as const)('a node with %s', (_name, environment) => {
  let node: TestNode
  let nonce = 0
  /** over a connection of its own each, so that any socket thread may answer */
  const askOnce: Ask = (method, ...params) => rpcOnce(node.url, method, ...params)
  const askKept: Ask = (method, ...params) => rpc(node.url, method, ...params)

  beforeAll(async () => {
    node = await startQuickDevnet({ environment })
  })
  afterAll(() => node?.stop())

  it('has everything about a head when it announces it, over any connection', async () => {
    const socket = new WebSocket(node.wsUrl)
    await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
    const overSocket = webSocketAsk(socket)
    const reads: Promise<void>[] = []
    const numbers: number[] = []
    let read = 0
    socket.addEventListener('message', ({ data }) => {
      const { params } = JSON.parse(String(data)) as { params?: { result: Head } }
      if (params === undefined) return
      numbers.push(Number(params.result.number))
      for (const ask of [overSocket, askKept, askOnce]) {
        reads.push(readHead(ask, params.result).then(() => void read++))
      }
    })
    await overSocket('eth_subscribe', 'newHeads')
    for (; numbers.length < HEADS; nonce++) {
      const raw = await signedTransfer(nonce)
      expect(await askOnce('eth_sendRawTransaction', raw)).toBe(keccak256(raw))
      expect(Number(await askOnce<Hex>('eth_getTransactionCount', SENDER.address, 'pending'))).toBe(nonce + 1)
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    await Promise.all(reads)
    expect(read).toBeGreaterThanOrEqual(3 * HEADS)
    expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index))
    socket.close()
  })

  it('has everything up to eth_blockNumber, over another connection', async () => {
    for (let round = 0; round < 30; round++) {
      const number = await askOnce<Hex>('eth_blockNumber')
      const block = await askOnce<Head | null>('eth_getBlockByNumber', number, false)
      expect(block).toMatchObject({ number })
      expect(await askOnce('eth_getBlockReceipts', number)).toHaveLength(block!.transactions!.length)
      expect(await askOnce('eth_getLogs', { blockHash: block!.hash })).toHaveLength(block!.transactions!.length)
      expect(await askOnce('eth_getBalance', SENDER.address, number)).toMatch(/^0x/)
      expect(await askOnce('eth_call', { to: NATIVE_TOKEN, data: '0x313ce567' }, number)).toMatch(/12$/)
    }
  })

  it('shows a receipt at once everywhere, and the state behind it', async () => {
    for (let round = 0; round < 3; round++) {
      const hash = await askOnce<Hex>('eth_sendRawTransaction', await signedTransfer(nonce++))
      const { blockNumber } = await mined(node.url, hash)
      for (let repeat = 0; repeat < 6; repeat++) {
        expect(await askOnce('eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber })
        expect(BigInt(await askOnce<Hex>('eth_blockNumber'))).toBeGreaterThanOrEqual(BigInt(blockNumber))
        expect(Number(await askOnce<Hex>('eth_getTransactionCount', SENDER.address, 'latest'))).toBe(nonce)
      }
    }
  })

  it('keeps filters that any connection may read', async () => {
    const blocks = await askOnce<Hex>('eth_newBlockFilter')
    // With a range, so that eth_getFilterLogs finds the logs also when the newest block is empty.
    const logs = await askOnce<Hex>('eth_newFilter', { address: NATIVE_TOKEN, fromBlock: 'earliest' })
    const pending = await askOnce<Hex>('eth_newPendingTransactionFilter')
    const seen: { blocks: Hex[]; logs: { transactionHash: Hex }[]; pending: Hex[] } = {
      blocks: [],
      logs: [],
      pending: [],
    }
    const sent: Hex[] = []
    for (let round = 0; round < 3; round++) {
      const hash = await askOnce<Hex>('eth_sendRawTransaction', await signedTransfer(nonce++))
      sent.push(hash)
      await mined(node.url, hash)
      seen.blocks.push(...(await askOnce<Hex[]>('eth_getFilterChanges', blocks)))
      seen.logs.push(...(await askOnce<{ transactionHash: Hex }[]>('eth_getFilterChanges', logs)))
      seen.pending.push(...(await askOnce<Hex[]>('eth_getFilterChanges', pending)))
    }
    // A filter may lag behind another thread's receipt by a moment, but loses and repeats nothing.
    await until('all of them', async () => {
      seen.blocks.push(...(await askOnce<Hex[]>('eth_getFilterChanges', blocks)))
      seen.logs.push(...(await askOnce<{ transactionHash: Hex }[]>('eth_getFilterChanges', logs)))
      seen.pending.push(...(await askOnce<Hex[]>('eth_getFilterChanges', pending)))
      return seen.logs.length >= sent.length && seen.pending.length >= sent.length
    })
    expect(seen.logs.map(({ transactionHash }) => transactionHash)).toEqual(sent)
    expect(seen.pending).toEqual(sent)
    const heights = await Promise.all(
      seen.blocks.map(async (hash) => Number((await askOnce<Head>('eth_getBlockByHash', hash, false)).number)),
    )
    expect(heights).toEqual(heights.map((_, index) => heights[0]! + index))
    expect(heights.length).toBeGreaterThanOrEqual(sent.length)
    expect(await askOnce<unknown[]>('eth_getFilterLogs', logs)).not.toHaveLength(0)
    for (const filter of [blocks, logs, pending]) {
      expect(await askOnce('eth_uninstallFilter', filter)).toBe(true)
      expect(await askOnce('eth_uninstallFilter', filter)).toBe(false)
      await expect(askOnce('eth_getFilterChanges', filter)).rejects.toThrow('-32000 filter not found')
    }
  })
})
