import { beforeEach, describe, expect, test } from 'vitest'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { buildBlockV1, commitBlockV1 } from '../../../../src/rpc/testingNamespace/buildBlock.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'

const alice = testAccount('alice')
const ATTRIBUTES = {
  timestamp: '0x7fffffff',
  prevRandao: `0x${'11'.repeat(32)}`,
  suggestedFeeRecipient: `0x${'22'.repeat(20)}`,
  withdrawals: [],
  parentBeaconBlockRoot: `0x${'33'.repeat(32)}`,
}

let node: MemoryNode
beforeEach(async () => {
  node = await createMemoryNode({ accounts: [{ address: alice.address, balance: 10n ** 18n }] })
})

const head = (): string => bytesToHex(node.blocks.at(-1)!.hash)
const signed = (nonce: bigint): string => bytesToHex(alice.sign({ nonce, to: alice.address }).transaction.raw)

describe('testing_buildBlockV1', () => {
  const build = (...params: unknown[]) => invoke(buildBlockV1, node.context(), ...params) as Promise<Built>
  interface Built {
    readonly executionPayload: Readonly<Record<string, unknown>>
  }

  test('has the given transactions in their order, and changes nothing', async () => {
    const before = head()
    const transactions = [signed(0n), signed(1n)]
    const { executionPayload } = await build(before, ATTRIBUTES, transactions, '0x6162')
    expect(executionPayload).toMatchObject({
      parentHash: before,
      blockNumber: '0x1',
      timestamp: ATTRIBUTES.timestamp,
      feeRecipient: ATTRIBUTES.suggestedFeeRecipient,
      prevRandao: ATTRIBUTES.prevRandao,
      extraData: '0x6162',
      gasUsed: '0xa410',
      transactions,
    })
    expect(head()).toBe(before)
    expect((await build(before, ATTRIBUTES, [])).executionPayload).toMatchObject({ gasUsed: '0x0', extraData: '0x' })
  })

  test('has those of the pool where none are given, without those that cannot start', async () => {
    for (const nonce of [0n, 5n]) {
      const { transaction, sender } = alice.sign({ nonce, to: alice.address })
      await node.pool.add({ raw: transaction.raw, sender, hash: transaction.hash, authorizations: 0 }, '')
    }
    expect((await build(head(), ATTRIBUTES, null)).executionPayload.transactions).toEqual([signed(0n)])
  })

  test.each([
    [[`0x${'44'.repeat(32)}`, ATTRIBUTES, []], 'parentHash is not current head'],
    [['head', ATTRIBUTES, [signed(7n)]], 'nonce too high'],
    [['head', ATTRIBUTES, [], `0x${'55'.repeat(33)}`], 'more than 32 bytes'],
    [['head', { ...ATTRIBUTES, withdrawals: [{}] }, []], 'withdrawals must be empty'],
    [['head', { ...ATTRIBUTES, timestamp: '0x1' }, []], 'before that of the parent'],
    [['head', { timestamp: '0x1' }, []], 'payload attributes need'],
    [['head', ATTRIBUTES, ['0x05c0']], 'transaction type not supported'],
  ])('%j is refused', async (params, why) => {
    const [parent, ...others] = params
    const error = await invokeError(buildBlockV1, node.context(), parent === 'head' ? head() : parent, ...others)
    expect((error as Error).message).toContain(why)
  })
})

describe('testing_commitBlockV1', () => {
  test('gives the block that has the transactions', async () => {
    const answer = invoke(commitBlockV1, node.context(), ATTRIBUTES, [signed(0n), signed(1n)])
    await new Promise(setImmediate)
    await node.produce()
    expect(await answer).toBe(head())
    expect(node.blocks.at(-1)!.transactions).toHaveLength(2)
  })

  test('gives the next block where there are none', async () => {
    const answer = invoke(commitBlockV1, node.context(), ATTRIBUTES, null)
    await new Promise(setImmediate)
    await node.produce()
    expect(await answer).toBe(head())
  })

  test('says so when a transaction is in no block for long', async () => {
    const context = node.context({ nextView: async () => undefined })
    const error = await invokeError(commitBlockV1, context, ATTRIBUTES, [signed(1n)])
    expect((error as Error).message).toBe('not all transactions were in blocks after 20 s')
  })
})
