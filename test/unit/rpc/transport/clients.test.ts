import { Contract, JsonRpcProvider, WebSocketProvider } from 'ethers'
import { createPublicClient, type Hash, http, type Log, webSocket } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Web3 } from 'web3'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../../support/rpc/rpcTestServer.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTED, COUNTER } from '../../../support/rpc/testContracts.ts'

/** Stock clients on the real server: what they do by themselves around a call is part of the test. */
const alice = testAccount('alice')
const CONTRACT = new Uint8Array(20).fill(0xcc)
const contract = bytesToHex(CONTRACT)

let node: MemoryNode
let thread: TestThread
let server: TestServer
let nonce = 0n

beforeAll(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 24n },
      { address: CONTRACT, code: COUNTER },
    ],
  })
  thread = createTestThread(node)
  server = await startTestServer(node, thread)
})

afterAll(async () => {
  await server.close()
  expect(thread.logged).toEqual([])
})

/** Makes a block with one log and publishes it; gives its hash. */
async function publish(): Promise<Hash> {
  const { hash } = await node.produce([alice.sign({ to: CONTRACT, nonce: nonce++ })])
  thread.feed.head(node.view())
  return bytesToHex(hash)
}

/** What `subscribe` is given first after a block was published; publishes until the client listens. */
async function firstAfter<T>(subscribe: (got: (value: T) => void) => void): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  subscribe(resolve)
  const timer = setInterval(() => void publish(), 100)
  try {
    return await promise
  } finally {
    clearInterval(timer)
  }
}

describe('viem', () => {
  test('over HTTP: a batch, a log filter that is polled', async () => {
    const client = createPublicClient({ transport: http(server.url, { batch: true }), pollingInterval: 50 })
    const [id, number, block] = await Promise.all([client.getChainId(), client.getBlockNumber(), client.getBlock()])
    expect([id, number]).toEqual([7628, block.number])
    let stop: (() => void) | undefined
    const logs = await firstAfter<Log[]>((got) => {
      stop = client.watchEvent({ address: contract, onLogs: got })
    })
    stop?.()
    expect(logs[0]).toMatchObject({ address: contract, topics: [COUNTED], removed: false })
  })

  test('over WebSocket: blocks and logs', async () => {
    const client = createPublicClient({ transport: webSocket(server.wsUrl) })
    let stop: (() => void) | undefined
    const block = await firstAfter<{ hash: Hash | null }>((got) => {
      stop = client.watchBlocks({ onBlock: got })
    })
    stop?.()
    expect(node.blocks.map(({ hash }) => bytesToHex(hash))).toContain(block.hash)
    const logs = await firstAfter<Log[]>((got) => {
      stop = client.watchEvent({ address: contract, onLogs: got })
    })
    stop?.()
    expect(logs[0]).toMatchObject({ address: contract, topics: [COUNTED] })
    const transport = await client.transport.getRpcClient()
    transport.close()
  })
})

describe('ethers', () => {
  test('over HTTP: what it batches', async () => {
    const provider = new JsonRpcProvider(server.url)
    const [network, balance, count] = await Promise.all([
      provider.getNetwork(),
      provider.getBalance(alice.hex),
      provider.getTransactionCount(alice.hex, 'pending'),
    ])
    expect([network.chainId, balance > 0n, BigInt(count)]).toEqual([7628n, true, nonce])
    provider.destroy()
  })

  test('over WebSocket: blocks and events', async () => {
    const provider = new WebSocketProvider(server.wsUrl)
    const number = await firstAfter<number>((got) => void provider.once('block', got))
    expect((await provider.getBlock(number))?.hash).toBe(bytesToHex(node.blocks[number]!.hash))
    const counter = new Contract(contract, ['event Anything()'], provider)
    const event = await firstAfter<unknown>((got) => void counter.once('*', got))
    expect(event).toMatchObject({ log: { address: expect.stringMatching(/^0xcccc/i) } })
    await provider.destroy()
  })
})

describe('web3', () => {
  test('over WebSocket: blocks and logs', async () => {
    const web3 = new Web3(server.wsUrl)
    expect(await web3.eth.getChainId()).toBe(7628n)
    const heads = await web3.eth.subscribe('newBlockHeaders')
    const head = await firstAfter<{ hash?: unknown }>((got) => void heads.on('data', got))
    expect(node.blocks.map(({ hash }) => bytesToHex(hash))).toContain(head.hash)
    await heads.unsubscribe()
    const logs = await web3.eth.subscribe('logs', { address: contract })
    expect(await firstAfter((got) => void logs.on('data', got))).toMatchObject({ topics: [COUNTED] })
    await logs.unsubscribe()
    web3.provider?.disconnect()
  })
})
