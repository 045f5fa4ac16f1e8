import { beforeAll, describe, expect, test } from 'vitest'
import type { PooledTransaction, TxPort } from '../../../src/mempool/types.ts'
import { toChecksumAddress } from '../../../src/primitives/address.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { RawJson, type RpcContext, type RpcMethod, readArguments } from '../../../src/rpc/method.ts'
import { textOf } from '../../../src/rpc/resultText.ts'
import { content, contentFrom, inspect, pendingTransactions, status } from '../../../src/rpc/txpool.ts'
import { invokeError } from './invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from './memoryNode.ts'
import { testAccount } from './testAccount.ts'

let node: MemoryNode

beforeAll(async () => {
  node = await createMemoryNode()
})

describe('txpool', () => {
  const [alice, bob] = [testAccount('alice'), testAccount('bob')]
  const to = new Uint8Array(20).fill(0xab)
  const pool = (...pending: PooledTransaction[]): TxPort => ({
    ...node.pool,
    status: async () => ({ pending: pending.length, queued: 1 }),
    content: async () => ({ pending, queued: [queued] }),
    contentFrom: async () => ({ pending: pending.slice(0, 2), queued: [] }),
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

  test('a pool that does not fit an answer is refused, if possible before it is copied', async () => {
    const error = { code: -32003, message: 'response too large' }
    const limits = { ...TEST_LIMITS, responseBytes: 1_300 }
    expect(await invokeError(content, node.context({ txs: pool(first, second), limits }))).toEqual(error)
    const untouchable = { ...pool(first, second, second, second), content: () => Promise.reject(new Error('copied')) }
    expect(await invokeError(content, node.context({ txs: untouchable, limits }))).toEqual(error)
  })
})
