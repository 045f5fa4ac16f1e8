import { beforeAll, describe, expect, test } from 'vitest'
import type { ContentSize, PooledTransaction, TxPort } from '../../../../src/mempool/types.ts'
import { toChecksumAddress } from '../../../../src/primitives/address.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { content, contentFrom, inspect, pendingTransactions, status } from '../../../../src/rpc/eth/txpool.ts'
import { RawJson, type RpcContext, type RpcMethod, readArguments } from '../../../../src/rpc/jsonrpc/method.ts'
import { textOf } from '../../../../src/rpc/jsonrpc/resultText.ts'
import { invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'

let node: MemoryNode

beforeAll(async () => {
  node = await createMemoryNode()
})

describe('txpool', () => {
  const [alice, bob] = [testAccount('alice'), testAccount('bob')]
  const to = new Uint8Array(20).fill(0xab)
  let released = 0
  const sizeOf = (all: readonly PooledTransaction[]): ContentSize => ({
    transactions: all.length,
    bytes: all.reduce((sum, { raw }) => sum + raw.length, 0),
  })
  const pool = (...pending: PooledTransaction[]): TxPort => ({
    ...node.pool,
    status: async () => ({ pending: pending.length, queued: 1 }),
    content: async ({ of, most }) => {
      const found = { pending, queued: of === 'all' ? [queued] : [], release: () => void released++ }
      const size = sizeOf([...found.pending, ...found.queued])
      const fits = size.transactions <= most.transactions && size.bytes <= most.bytes
      return fits ? found : { refused: 'size', size }
    },
  })
  const pooled = ({ transaction, sender }: ReturnType<typeof alice.sign>): PooledTransaction => {
    return { raw: transaction.raw, hash: transaction.hash, sender }
  }
  const first = pooled(alice.sign({ nonce: 9n, to, value: 5n }))
  const second = pooled(alice.sign({ nonce: 10n, gasPrice: 7_000_000_000n, data: Uint8Array.of(0xfe) }))
  const queued = pooled(bob.sign({ nonce: 3n, to, gasLimit: 21_000n }))
  const run = async (method: RpcMethod, context: RpcContext, ...params: unknown[]): Promise<unknown> => {
    const result = await method.run(context, readArguments(method, params))
    return result instanceof RawJson ? JSON.parse(textOf(result.text)) : result
  }
  const [a, b] = [toChecksumAddress(alice.address), toChecksumAddress(bob.address)]

  test('status', async () => {
    expect(await run(status, node.context({ txs: pool(first, second) }))).toEqual({ pending: '0x2', queued: '0x1' })
  })

  test('content by checksummed sender and decimal nonce', async () => {
    const fields = { blockHash: null, blockNumber: null, transactionIndex: null }
    expect(await run(content, node.context({ txs: pool(first, second) }))).toMatchObject({
      pending: {
        [a]: {
          9: { ...fields, hash: bytesToHex(first.hash), from: alice.hex, type: '0x2', value: '0x5' },
          10: { ...fields, hash: bytesToHex(second.hash), type: '0x0', to: null },
        },
      },
      queued: { [b]: { 3: { ...fields, nonce: '0x3' } } },
    })
  })

  test('contentFrom has one sender', async () => {
    const result = (await run(contentFrom, node.context({ txs: pool(first, second) }), alice.hex)) as {
      pending: object
    }
    expect(Object.keys(result.pending)).toEqual(['9', '10'])
    expect(result).toMatchObject({ pending: { 9: { hash: bytesToHex(first.hash) } }, queued: {} })
  })

  test('inspect', async () => {
    const target = toChecksumAddress(to)
    expect(await run(inspect, node.context({ txs: pool(first, second) }))).toEqual({
      pending: {
        [a]: {
          9: `${target}: 5 wei + 1000000 gas × 3000000000 wei`,
          10: 'contract creation: 0 wei + 1000000 gas × 7000000000 wei',
        },
      },
      queued: { [b]: { 3: `${target}: 0 wei + 21000 gas × 3000000000 wei` } },
    })
  })

  test('eth_pendingTransactions lists those that can be in the next block', async () => {
    const listed = (await run(pendingTransactions, node.context({ txs: pool(first, second) }))) as { hash: string }[]
    expect(listed.map(({ hash }) => hash)).toEqual([first, second].map(({ hash }) => bytesToHex(hash)))
    expect(listed[0]).toMatchObject({ blockHash: null, from: alice.hex, value: '0x5' })
    expect(await run(pendingTransactions, node.context())).toEqual([])
    const limits = { ...TEST_LIMITS, responseBytes: 900 }
    const context = node.context({ txs: pool(first, second), limits })
    expect(await invokeError(pendingTransactions, context)).toMatchObject({ code: -32003 })
  })

  test('an empty pool', async () => {
    expect(await run(content, node.context())).toEqual({ pending: {}, queued: {} })
    expect(await run(contentFrom, node.context(), alice.hex)).toEqual({ pending: {}, queued: {} })
  })

  test('what does not fit an answer is refused by its size, or where the answer becomes too long', async () => {
    const error = { code: -32003, message: 'response too large' }
    const limits = { ...TEST_LIMITS, responseBytes: 1_300 }
    const long = {
      ...error,
      message: expect.stringMatching(/^response too large: 4 transactions of \d+ bytes in all; ask for/),
    }
    released = 0
    expect(await invokeError(content, node.context({ txs: pool(first, second), limits }))).toEqual(error)
    expect(released).toBe(1)
    expect(await invokeError(content, node.context({ txs: pool(first, second, second), limits }))).toEqual(long)
    expect(released).toBe(1)
  })

  test('the digits of data count before anything is copied', async () => {
    const large = pooled(alice.sign({ nonce: 11n, to, data: new Uint8Array(50_000) }))
    const limits = { ...TEST_LIMITS, responseBytes: 100_000 }
    for (const [method, ...params] of [[content], [contentFrom, alice.hex], [pendingTransactions]] as const) {
      const found = await invokeError(method, node.context({ txs: pool(large), limits }), ...params)
      expect(found).toMatchObject({ code: -32003, message: expect.stringContaining('bytes in all') })
    }
  })

  test('a client hears that too many read the pool', async () => {
    const busy: TxPort = { ...node.pool, content: async () => ({ refused: 'busy', size: sizeOf([]) }) }
    expect(await invokeError(contentFrom, node.context({ txs: busy }), alice.hex)).toMatchObject({ code: -32005 })
  })

  test('what reads the pool waits its turn among heavy calls', () => {
    for (const { runs } of [content, contentFrom, inspect, pendingTransactions]) expect(runs).toBe('heavy')
  })
})
