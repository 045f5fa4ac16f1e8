import { beforeAll, describe, expect, test } from 'vitest'
import { METHODS } from '../../../src/rpc/methods.ts'
import { pauseUntilDeadline } from '../../../src/rpc/native/query.ts'
import { invoke } from './invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from './memoryNode.ts'
import { testAccount } from './testAccount.ts'

const MONOTONIC_MS = 5_000
const alice = testAccount('alice')
let node: MemoryNode

beforeAll(async () => {
  node = await createMemoryNode({ accounts: [{ address: alice.address, balance: 10n ** 24n }] })
  await node.produce([alice.sign({ to: alice.address })])
})

describe('a change of the system clock', () => {
  const call = { from: alice.hex, to: alice.hex }

  test.each([
    ['eth_call', [call, 'latest']],
    ['eth_call', [call, 'pending']],
    ['eth_estimateGas', [call]],
    ['eth_createAccessList', [call]],
    ['eth_getLogs', [{ fromBlock: 'earliest' }]],
    ['eth_feeHistory', [2, 'latest', [50]]],
    ['debug_traceCall', [call, 'latest']],
    ['debug_traceBlockByNumber', ['latest']],
    ['txpool_content', []],
    ['txpool_inspect', []],
  ])('does not move the deadline of %s', async (name, params) => {
    const deadlines: number[] = []
    const { execution, now } = node.context()
    const context = node.context({
      now: () => now() + 3_600_000,
      monotonicMs: () => MONOTONIC_MS,
      execution: {
        ...execution!,
        yieldUntil: (deadlineMs) => {
          deadlines.push(deadlineMs)
          return async () => undefined
        },
      },
    })
    await invoke(METHODS.get(name)!, context, ...params)
    expect(new Set(deadlines)).toEqual(new Set([MONOTONIC_MS + TEST_LIMITS.callTimeoutMs]))
  })

  test('does not end a query', async () => {
    let nowMs = 0
    const context = node.context({ now: () => (nowMs += 3_600_000), monotonicMs: () => MONOTONIC_MS })
    const pause = pauseUntilDeadline(context)
    await pause()
    await pause()
    expect(nowMs).toBe(0)
  })
})
