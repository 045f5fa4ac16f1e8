import { beforeAll, describe, expect, test } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../../src/primitives/hash.ts'
import { getRawBlock, getRawHeader, getRawReceipts, getRawTransaction } from '../../../../src/rpc/debug/raw.ts'
import {
  getBlockByHash,
  getBlockByNumber,
  getBlockTransactionCountByHash,
  getBlockTransactionCountByNumber,
  getHeaderByHash,
  getHeaderByNumber,
  getUncleByBlockHashAndIndex,
  getUncleCountByBlockHash,
  getUncleCountByBlockNumber,
} from '../../../../src/rpc/eth/blocks.ts'
import {
  getBlockReceipts,
  getRawTransactionByBlockNumberAndIndex,
  getRawTransactionByHash,
  getTransactionByBlockHashAndIndex,
  getTransactionByBlockNumberAndIndex,
  getTransactionByHash,
  getTransactionReceipt,
} from '../../../../src/rpc/eth/transactions.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import type { MemoryBlock } from '../../../support/rpc/memoryChain.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTED, COUNTER } from '../../../support/rpc/testContracts.ts'

const alice = testAccount('alice')
const counter = hexToBytes(`0x${'c1'.repeat(20)}`)
const ABSENT = `0x${'99'.repeat(32)}`
const EMPTY_LIST_HASH = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

let node: MemoryNode
let block: MemoryBlock
let blockHash: string
let hashes: string[]

beforeAll(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 20n },
      { address: counter, nonce: 1n, code: COUNTER },
    ],
  })
  block = await node.produce([
    alice.sign({ nonce: 0n, to: counter }),
    alice.sign({ nonce: 1n, gasPrice: 2_000_000_000n, value: 5n, to: alice.address, gasLimit: 21_000n }),
    alice.sign({
      nonce: 2n,
      type: 1,
      gasPrice: 2_000_000_000n,
      to: counter,
      accessList: [{ address: counter, storageKeys: [] }],
    }),
    alice.sign({ nonce: 3n, data: hexToBytes('0x00') }),
  ])
  blockHash = bytesToHex(block.hash)
  hashes = block.transactions.map(({ transaction }) => bytesToHex(transaction.hash))
  await node.produce([])
})

const ask = (...args: [Parameters<typeof invoke>[0], ...unknown[]]) => {
  const [method, ...params] = args
  return invoke(method, node.context(), ...params)
}

describe('blocks', () => {
  test('a block with hashes has exactly geth’s keys', async () => {
    const { header } = block
    expect(await ask(getBlockByNumber, '0x1', false)).toEqual({
      number: '0x1',
      hash: blockHash,
      parentHash: bytesToHex(node.blocks[0]!.hash),
      nonce: '0x0000000000000000',
      mixHash: bytesToHex(header.mixHash),
      sha3Uncles: EMPTY_LIST_HASH,
      logsBloom: bytesToHex(header.logsBloom),
      stateRoot: bytesToHex(header.stateRoot),
      miner: `0x${'00'.repeat(20)}`,
      difficulty: '0x0',
      extraData: '0x636f696e64',
      gasLimit: '0x1c9c380',
      gasUsed: `0x${header.gasUsed.toString(16)}`,
      timestamp: '0x6553f100',
      transactionsRoot: bytesToHex(header.transactionsRoot),
      receiptsRoot: bytesToHex(header.receiptsRoot),
      baseFeePerGas: '0x3b9aca00',
      withdrawalsRoot: EMPTY_ROOT,
      blobGasUsed: '0x0',
      excessBlobGas: '0x0',
      parentBeaconBlockRoot: bytesToHex(node.chain.genesisHash),
      requestsHash: '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      size: `0x${block.encoded.length.toString(16)}`,
      transactions: hashes,
      uncles: [],
      withdrawals: [],
    })
  })

  test('hash, raw header and raw block agree', async () => {
    const raw = (await ask(getRawHeader, '0x1')) as string
    expect(bytesToHex(keccak256(hexToBytes(raw)))).toBe(blockHash)
    expect(hexToBytes((await ask(getRawBlock, { blockHash })) as string)).toHaveLength(block.encoded.length)
    expect(await ask(getRawReceipts, blockHash)).toHaveLength(4)
  })

  test('full blocks hold the transactions that the look-ups give', async () => {
    const full = (await ask(getBlockByHash, blockHash, true)) as { transactions: unknown[] }
    expect(await Promise.all(hashes.map((hash) => ask(getTransactionByHash, hash)))).toEqual(full.transactions)
    expect(await ask(getTransactionByBlockHashAndIndex, blockHash, '0x1')).toEqual(full.transactions[1])
    expect(await ask(getTransactionByBlockNumberAndIndex, '0x1', '0x2')).toEqual(full.transactions[2])
    expect(await ask(getTransactionByBlockNumberAndIndex, 'latest', '0x0')).toBeNull()
  })

  test.each(['latest', 'safe', 'finalized', '0x2'])('%s is the head', async (tag) => {
    const head = await ask(getBlockByNumber, tag, false)
    expect(head).toMatchObject({ number: '0x2', hash: bytesToHex(node.blocks[2]!.hash), transactions: [] })
    const {
      size: _size,
      transactions: _transactions,
      uncles: _uncles,
      withdrawals: _w,
      ...header
    } = head as object & Record<string, unknown>
    expect(await ask(getHeaderByNumber, tag)).toEqual(header)
    expect(await ask(getHeaderByHash, header.hash)).toEqual(header)
  })

  test('earliest is the genesis block', async () => {
    expect(await ask(getBlockByNumber, 'earliest', true)).toMatchObject({ number: '0x0', transactions: [] })
  })

  test('pending is the next block without hash, nonce and miner', async () => {
    const pending = await ask(getBlockByNumber, 'pending', true)
    expect(pending).toMatchObject({
      number: '0x3',
      hash: null,
      nonce: null,
      miner: null,
      parentHash: bytesToHex(node.blocks[2]!.hash),
      transactions: [],
    })
    expect(Object.keys(pending as object).sort()).toEqual(
      Object.keys((await ask(getBlockByNumber, '0x2', true)) as object).sort(),
    )
  })

  test('unknown blocks are null', async () => {
    expect(await ask(getBlockByNumber, '0x3', false)).toBeNull()
    expect(await ask(getBlockByHash, ABSENT, false)).toBeNull()
    expect(await ask(getHeaderByNumber, '0x3')).toBeNull()
    expect(await ask(getBlockReceipts, '0x3')).toBeNull()
    expect(await ask(getBlockTransactionCountByHash, ABSENT)).toBeNull()
    expect(await ask(getUncleCountByBlockNumber, '0x3')).toBeNull()
  })

  test('counts', async () => {
    expect(await ask(getBlockTransactionCountByNumber, '0x1')).toBe('0x4')
    expect(await ask(getBlockTransactionCountByHash, blockHash)).toBe('0x4')
    expect(await ask(getUncleCountByBlockHash, blockHash)).toBe('0x0')
    expect(await ask(getUncleByBlockHashAndIndex, blockHash, '0x0')).toBeNull()
  })

  test('errors', async () => {
    const context = node.context()
    expect(await invokeError(getBlockByNumber, context, '0x1')).toEqual({
      code: -32602,
      message: 'missing value for required argument 1',
    })
    expect(await invokeError(getRawBlock, context, '0x7')).toEqual({ code: -32000, message: 'block #7 not found' })
    const pruned = node.context({ view: node.view({ oldestBlock: 2 }) })
    expect(await invokeError(getBlockByNumber, pruned, '0x1', false)).toEqual({
      code: 4444,
      message: 'pruned history unavailable: the oldest block is 2',
    })
    expect(await invoke(getHeaderByNumber, pruned, '0x1')).toMatchObject({ hash: blockHash })
    expect(await invoke(getBlockByNumber, pruned, 'earliest', false)).toMatchObject({ number: '0x2' })
    const restored = node.context({ view: node.view({ base: 2, oldestBlock: 2 }) })
    const before = { code: 4444, message: 'pruned history unavailable: the oldest block is 2' }
    expect(await invokeError(getHeaderByNumber, restored, '0x1')).toEqual(before)
    expect(await invokeError(getBlockByNumber, restored, '0x1', false)).toEqual(before)
    expect(await invoke(getBlockByNumber, restored, 'earliest', false)).toMatchObject({ number: '0x2' })
  })
})

describe('transactions', () => {
  test('EIP-1559', async () => {
    const { transaction } = block.transactions[0]!
    expect(await ask(getTransactionByHash, hashes[0])).toEqual({
      blockHash,
      blockNumber: '0x1',
      blockTimestamp: '0x6553f100',
      from: alice.hex,
      gas: '0xf4240',
      gasPrice: '0x4190ab00',
      maxFeePerGas: '0xb2d05e00',
      maxPriorityFeePerGas: '0x5f5e100',
      hash: hashes[0],
      input: '0x',
      nonce: '0x0',
      to: bytesToHex(counter),
      transactionIndex: '0x0',
      value: '0x0',
      type: '0x2',
      accessList: [],
      chainId: '0x1dcc',
      v: `0x${transaction.v.toString(16)}`,
      r: `0x${transaction.r.toString(16)}`,
      s: `0x${transaction.s.toString(16)}`,
      yParity: `0x${transaction.v.toString(16)}`,
    })
  })

  test('legacy', async () => {
    const { transaction } = block.transactions[1]!
    expect(await ask(getTransactionByHash, hashes[1])).toEqual({
      blockHash,
      blockNumber: '0x1',
      blockTimestamp: '0x6553f100',
      from: alice.hex,
      gas: '0x5208',
      gasPrice: '0x77359400',
      hash: hashes[1],
      input: '0x',
      nonce: '0x1',
      to: alice.hex,
      transactionIndex: '0x1',
      value: '0x5',
      type: '0x0',
      chainId: '0x1dcc',
      v: `0x${(7628n * 2n + 35n + BigInt(transaction.yParity)).toString(16)}`,
      r: `0x${transaction.r.toString(16)}`,
      s: `0x${transaction.s.toString(16)}`,
    })
  })

  test('raw bytes', async () => {
    const raw = bytesToHex(block.transactions[0]!.transaction.raw)
    expect(await ask(getRawTransactionByHash, hashes[0])).toBe(raw)
    expect(await ask(getRawTransactionByBlockNumberAndIndex, '0x1', '0x0')).toBe(raw)
    expect(await ask(getRawTransaction, hashes[0])).toBe(raw)
    expect(await ask(getRawTransaction, ABSENT)).toBe('0x')
  })

  test('in the pool', async () => {
    const { transaction, sender } = alice.sign({ nonce: 4n, to: undefined, data: Uint8Array.of(0) })
    await node.pool.add({ raw: transaction.raw, sender, hash: transaction.hash, authorizations: 0 }, '')
    const hash = bytesToHex(transaction.hash)
    expect(await ask(getTransactionByHash, hash)).toMatchObject({
      blockHash: null,
      blockNumber: null,
      blockTimestamp: null,
      transactionIndex: null,
      to: null,
      gasPrice: '0xb2d05e00',
      hash,
    })
    expect(await ask(getRawTransactionByHash, hash)).toBe(bytesToHex(transaction.raw))
    expect(await ask(getTransactionReceipt, hash)).toBeNull()
    node.pool.drain()
    expect(await ask(getTransactionByHash, hash)).toBeNull()
  })
})

describe('receipts', () => {
  test('with a log whose index counts through the block', async () => {
    const receipt = await ask(getTransactionReceipt, hashes[2])
    const third = block.receipts[2]!
    expect(receipt).toEqual({
      blockHash,
      blockNumber: '0x1',
      transactionHash: hashes[2],
      transactionIndex: '0x2',
      from: alice.hex,
      to: bytesToHex(counter),
      gasUsed: `0x${third.gasUsed.toString(16)}`,
      cumulativeGasUsed: `0x${third.cumulativeGasUsed.toString(16)}`,
      contractAddress: null,
      logs: [
        {
          address: bytesToHex(counter),
          topics: [COUNTED],
          data: `0x${'00'.repeat(31)}02`,
          blockNumber: '0x1',
          transactionHash: hashes[2],
          transactionIndex: '0x2',
          blockHash,
          blockTimestamp: '0x6553f100',
          logIndex: '0x1',
          removed: false,
        },
      ],
      logsBloom: bytesToHex(third.logsBloom),
      type: '0x1',
      effectiveGasPrice: '0x77359400',
      status: '0x1',
    })
    expect(third.cumulativeGasUsed).toBeGreaterThan(third.gasUsed)
  })

  test('a creation has its contract’s address and no recipient', async () => {
    const receipt = await ask(getTransactionReceipt, hashes[3])
    expect(receipt).toMatchObject({ to: null, status: '0x1' })
    expect((receipt as { contractAddress: string }).contractAddress).toMatch(/^0x[0-9a-f]{40}$/)
  })

  test.each(['0x1', { blockNumber: '0x1' }])('of a block by %j', async (selector) => {
    const receipts = await ask(getBlockReceipts, selector)
    expect(receipts).toEqual(await Promise.all(hashes.map((hash) => ask(getTransactionReceipt, hash))))
    expect(await ask(getBlockReceipts, blockHash)).toEqual(receipts)
    expect(await ask(getBlockReceipts, { blockHash, requireCanonical: true })).toEqual(receipts)
  })
})
