import { beforeAll, describe, expect, test } from 'vitest'
import { ExecutionTimeout } from '../../../../src/evm/engine.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { getLogs } from '../../../../src/rpc/eth/logs.ts'
import { getLogsWithCursor } from '../../../../src/rpc/eth/logsWithCursor.ts'
import type { RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTER } from '../../../support/rpc/testContracts.ts'

const alice = testAccount('alice')
const one = `0x${'c1'.repeat(20)}`
const two = `0x${'c2'.repeat(20)}`
/** Logs of each block, by the contracts in turn. */
const LOGS = [0, 2, 0, 1, 3, 1, 0, 0, 5, 1, 1]

let node: MemoryNode
beforeAll(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 20n },
      { address: hexToBytes(one), nonce: 1n, code: COUNTER },
      { address: hexToBytes(two), nonce: 1n, code: COUNTER },
    ],
  })
  let nonce = 0n
  for (const count of LOGS.slice(1)) {
    await node.produce(
      Array.from({ length: count }, (_, i) => alice.sign({ nonce: nonce++, to: hexToBytes(i % 2 === 0 ? one : two) })),
    )
  }
})

interface Log {
  readonly blockNumber: string
  readonly logIndex: string
}
interface Answer {
  readonly logs: readonly Log[]
  readonly cursor?: string
}

const ask = async (context: RpcContext, request: object): Promise<Answer> =>
  (await invoke(getLogsWithCursor, context, request)) as Answer
const limited = (limits: object, more: Partial<RpcContext> = {}) =>
  node.context({ limits: { ...TEST_LIMITS, ...limits }, ...more })

/** The logs of all answers, each answer a list. */
async function pages(context: RpcContext, filter: object): Promise<(readonly Log[])[]> {
  const found: (readonly Log[])[] = []
  let cursor: string | undefined
  do {
    const answer = await ask(context, cursor === undefined ? filter : { ...filter, cursor })
    found.push(answer.logs)
    cursor = answer.cursor
    expect(found.length).toBeLessThan(200)
  } while (cursor !== undefined)
  return found
}

describe('pages', () => {
  test.each([1, 2, 3, 4, 7, 100])('of at most %i logs have each log once and whole blocks', async (logResults) => {
    for (const filter of [{}, { address: two }, { topics: [`0x${'11'.repeat(32)}`] }]) {
      const whole = { ...filter, fromBlock: '0x0', toBlock: 'latest' }
      const found = await pages(limited({ logResults }), whole)
      expect(found.flat()).toEqual(await invoke(getLogs, node.context(), whole))
      const blocks = found.flatMap((page) => [...new Set(page.map(({ blockNumber }) => blockNumber))])
      expect(new Set(blocks).size).toBe(blocks.length)
      for (const page of found) {
        const ofOneBlock = new Set(page.map(({ blockNumber }) => blockNumber)).size === 1
        if (!ofOneBlock) expect(page.length).toBeLessThanOrEqual(logResults)
      }
    }
  })

  test('of short scans follow one another', async () => {
    const whole = { fromBlock: '0x0', address: one }
    const found = await pages(limited({ logBlockRange: 2 }), whole)
    expect(found).toEqual([await invoke(getLogs, node.context(), whole)])
  })

  test('end with half of the time, on the clock of the calls', async () => {
    let nowMs = 0
    const execution = { ...node.context().execution!, yieldUntil: () => async () => undefined }
    const context = limited({ logBlockRange: 2 }, { monotonicMs: () => (nowMs += 1_000), execution })
    // Two steps of two blocks: the clock is read at the start, for the scan, and before each further step.
    const answer = await ask(context, { fromBlock: '0x0' })
    expect(answer).toMatchObject({ cursor: '0x4' })
    expect(answer.logs).toHaveLength(3)
    const found = await pages(context, { fromBlock: '0x0' })
    expect(found.length).toBe(3)
    expect(found.flat()).toHaveLength(LOGS.reduce((sum, count) => sum + count))
  })

  test('end where the time of a scan has passed, with what was found', async () => {
    const withPauses = (pauses: number) => {
      let left = pauses
      const yieldUntil = () => async () => {
        if (left-- === 0) throw new ExecutionTimeout('deadline')
      }
      return node.context({ execution: { ...node.context().execution!, yieldUntil } })
    }
    expect(await ask(withPauses(3), { fromBlock: '0x0' })).toMatchObject({ cursor: '0x5', logs: { length: 6 } })
    const none = await invokeError(getLogsWithCursor, withPauses(0), { fromBlock: '0x0' })
    expect(none).toEqual({ code: -32002, message: 'request timed out' })
  })

  test('cover a bounded number of blocks, though no log matches', async () => {
    const { cursor, logs } = await ask(far(2_000), { fromBlock: '0x0', address: `0x${'99'.repeat(20)}` })
    expect(logs).toEqual([])
    expect(cursor).toBe('0xc8')
  })

  /** A node with more blocks, of which only the index is asked, 2 blocks at a time. */
  function far(headHeight: number): RpcContext {
    const view = node.view()
    const chain = { ...view.chain, headHeight, logHeights: async function* () {} }
    return limited({ logBlockRange: 2 }, { view: { ...view, chain } as RpcContext['view'] })
  }
})

test('a block, a short range, and one that is complete have no cursor', async () => {
  const blockHash = bytesToHex(node.blocks[4]!.hash)
  expect(await ask(node.context(), { blockHash })).toEqual({
    logs: await invoke(getLogs, node.context(), { blockHash }),
  })
  expect(await ask(node.context(), { fromBlock: '0x2', toBlock: '0x2' })).toEqual({ logs: [] })
  expect(await ask(node.context(), { fromBlock: '0x0', cursor: '0xb' })).toEqual({ logs: [] })
})

test('a page has the logs of one block at least, unless these are too large for an answer', async () => {
  expect((await ask(limited({ logResults: 1 }), { fromBlock: '0x8' })).logs).toHaveLength(5)
  const tooLarge = await invokeError(getLogsWithCursor, limited({ responseBytes: 1_500 }), { fromBlock: '0x8' })
  expect(tooLarge).toEqual({ code: -32003, message: 'response too large' })
  const small = await pages(limited({ responseBytes: 4_500 }), { fromBlock: '0x0', toBlock: '0xa' })
  expect(small.map(({ length }) => length)).toEqual([7, 7])
})

describe('refuses', () => {
  test.each<[object, string]>([
    [{ cursor: 5 }, 'invalid argument 0: json: cannot unmarshal number into Go value of type string'],
    [{ cursor: 'x' }, 'invalid argument 0: invalid cursor: send one as an answer had it'],
    [{ fromBlock: '0x3', cursor: '0x2' }, 'the cursor is before fromBlock'],
    [
      { blockHash: `0x${'99'.repeat(32)}`, cursor: '0x2' },
      'invalid argument 0: cannot specify both BlockHash and cursor',
    ],
    [{ fromBlock: '0x3', toBlock: '0x1' }, 'invalid block range params'],
    [{ fromBlock: '0x0', toBlock: '0xff' }, 'block range extends beyond current head block'],
  ])('%j', async (request, message) => {
    expect(await invokeError(getLogsWithCursor, node.context(), request)).toEqual({ code: -32602, message })
  })

  test('to leave out blocks that are no longer there', async () => {
    const context = node.context({ view: node.view({ oldestBlock: 6 }) })
    expect(await invokeError(getLogsWithCursor, context, { fromBlock: 'earliest', cursor: '0x4' })).toMatchObject({
      code: 4444,
    })
  })
})
