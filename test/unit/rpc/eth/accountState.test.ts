import { fromRlp } from 'viem'
import { beforeAll, describe, expect, test } from 'vitest'
import { bytesToHex, hexToBytes, toQuantity } from '../../../../src/primitives/bytes.ts'
import {
  getAccount,
  getBalance,
  getCode,
  getProof,
  getStorageAt,
  getStorageValues,
  getTransactionCount,
} from '../../../../src/rpc/eth/accountState.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTER } from '../../../support/rpc/testContracts.ts'

const alice = testAccount('alice')
const counter = `0x${'c1'.repeat(20)}`
const ABSENT = `0x${'99'.repeat(20)}`
const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`

let node: MemoryNode

beforeAll(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 20n },
      { address: hexToBytes(counter), nonce: 1n, code: COUNTER, storage: { 0: 7n } },
    ],
  })
  await node.produce([alice.sign({ nonce: 0n, to: hexToBytes(counter) })])
})

test('balance, nonce, code and storage at each block', async () => {
  const context = node.context()
  expect(await invoke(getBalance, context, alice.hex, '0x0')).toBe('0x56bc75e2d63100000')
  expect(BigInt((await invoke(getBalance, context, alice.hex)) as string)).toBeLessThan(10n ** 20n)
  expect(await invoke(getTransactionCount, context, alice.hex, 'earliest')).toBe('0x0')
  expect(await invoke(getTransactionCount, context, alice.hex, null)).toBe('0x1')
  expect(await invoke(getCode, context, counter, 'safe')).toBe(bytesToHex(COUNTER))
  expect(await invoke(getStorageAt, context, counter, '0x0', '0x0')).toBe(word(7))
  expect(await invoke(getStorageAt, context, counter, '0', { blockHash: bytesToHex(node.blocks[1]!.hash) })).toBe(
    word(8),
  )
})

test('an absent account', async () => {
  const context = node.context()
  expect(await invoke(getBalance, context, ABSENT)).toBe('0x0')
  expect(await invoke(getTransactionCount, context, ABSENT)).toBe('0x0')
  expect(await invoke(getCode, context, ABSENT)).toBe('0x')
  expect(await invoke(getCode, context, alice.hex)).toBe('0x')
  expect(await invoke(getStorageAt, context, ABSENT, '0x5')).toBe(word(0))
})

test('the pending nonce counts the pool', async () => {
  for (const nonce of [1n, 2n]) {
    const { transaction, sender } = alice.sign({ nonce, to: alice.address })
    await node.pool.add({ raw: transaction.raw, sender, hash: transaction.hash, authorizations: 0 }, '')
  }
  const context = node.context()
  expect(await invoke(getTransactionCount, context, alice.hex, 'pending')).toBe('0x3')
  expect(await invoke(getTransactionCount, context, alice.hex, 'latest')).toBe('0x1')
  node.pool.drain()
  expect(await invoke(getTransactionCount, context, alice.hex, 'pending')).toBe('0x1')
})

test('many slots at once', async () => {
  const context = node.context()
  expect(await invoke(getStorageValues, context, { [counter]: [word(0), word(1)], [ABSENT]: [word(0)] })).toEqual({
    [counter]: [word(8), word(0)],
    [ABSENT]: [word(0)],
  })
  expect(await invokeError(getStorageValues, context, {})).toEqual({ code: -32602, message: 'empty request' })
  expect(await invokeError(getStorageValues, context, { [counter]: Array(1025).fill(word(0)) })).toEqual({
    code: -38026,
    message: 'too many slots (max 1024)',
  })
})

test.each(['0x0', `0x${'00'.repeat(31)}`, `0x${'00'.repeat(33)}`])(
  'a key of many slots has 32 bytes, which %s has not',
  async (key) => {
    expect(await invokeError(getStorageValues, node.context(), { [counter]: [key] })).toMatchObject({ code: -32602 })
  },
)

describe('errors', () => {
  test.each([
    ['0x5', 'header not found'],
    [`0x${'99'.repeat(32)}`, 'header for hash not found'],
  ])('state of %s', async (block, message) => {
    const context = node.context()
    expect(await invokeError(getBalance, context, alice.hex, block)).toEqual({ code: -32000, message })
    expect(await invokeError(getProof, context, alice.hex, [], block)).toEqual({ code: -32000, message })
  })

  test('state beyond the pruning window', async () => {
    const context = node.context({ view: node.view({ oldestState: 1 }) })
    const error = {
      code: -32000,
      message: 'historical state of block 0 is not available: the oldest block with state is 1',
    }
    expect(await invokeError(getBalance, context, alice.hex, '0x0')).toEqual(error)
    expect(await invokeError(getProof, context, alice.hex, [], '0x0')).toEqual(error)
    expect(await invoke(getTransactionCount, context, alice.hex, 'earliest')).toBe('0x1')
  })
})

test('an account as it is in the trie, by viem’s reading of its proof', async () => {
  const context = node.context()
  for (const block of ['0x0', 'latest']) {
    const proof = (await invoke(getProof, context, counter, [], block)) as { accountProof: `0x${string}`[] }
    const [, leaf] = fromRlp(proof.accountProof.at(-1)!, 'hex') as [string, `0x${string}`]
    const [nonce, balance, storageRoot, codeHash] = fromRlp(leaf, 'hex') as string[]
    expect(await invoke(getAccount, context, counter, block)).toEqual({
      nonce: toQuantity(BigInt(nonce!)),
      balance: balance === '0x' ? '0x0' : balance,
      storageRoot,
      codeHash,
    })
  }
  expect(await invoke(getAccount, context, ABSENT)).toBeNull()
  expect(await invokeError(getAccount, context, ABSENT, '0x9')).toMatchObject({ message: 'header not found' })
})

describe('proof', () => {
  test('keys are echoed when they are whole words, and are quantities otherwise', async () => {
    const proof = (await invoke(getProof, node.context(), counter, ['0x00', word(0), '0x5'])) as {
      storageProof: { key: string; value: string; proof: string[] }[]
    }
    expect(proof).toMatchObject({ address: counter, nonce: '0x1', balance: '0x0' })
    expect(proof.storageProof.map(({ key, value }) => [key, value])).toEqual([
      ['0x0', '0x8'],
      [word(0), '0x8'],
      ['0x5', '0x0'],
    ])
    expect(proof.storageProof[0]!.proof).toHaveLength(1)
  })

  test('an absent account', async () => {
    expect(await invoke(getProof, node.context(), ABSENT, ['0x0'])).toMatchObject({
      balance: '0x0',
      nonce: '0x0',
      codeHash: '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470',
      storageHash: '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421',
      storageProof: [{ key: '0x0', value: '0x0', proof: [] }],
    })
  })

  test('at most 1024 keys', async () => {
    expect(await invokeError(getProof, node.context(), counter, Array(1025).fill(word(0)))).toMatchObject({
      code: -38026,
    })
  })
})
