import { beforeAll, describe, expect, test } from 'vitest'
import { ExecutionTimeout } from '../../../../src/evm/engine.ts'
import { GRPC_CODES } from '../../../../src/modules/query/queryError.ts'
import { pauseUntilDeadline } from '../../../../src/rpc/cosmos/queryPort.ts'
import { METHODS } from '../../../../src/rpc/jsonrpc/methodTable.ts'
import { invoke } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'

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
    ['eth_getProof', [alice.hex, ['0x0'], 'latest']],
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

  test('does not move the deadline of a query', () => {
    const { execution, now } = node.context()
    const deadlines: number[] = []
    const yieldUntil = (deadlineMs: number) => {
      deadlines.push(deadlineMs)
      return async () => undefined
    }
    const monotonicMs = () => MONOTONIC_MS
    pauseUntilDeadline(
      node.context({ now: () => now() + 3_600_000, monotonicMs, execution: { ...execution!, yieldUntil } }),
    )
    expect(deadlines).toEqual([MONOTONIC_MS + TEST_LIMITS.callTimeoutMs])
  })
})

test('a query that is over its time says how to ask for less', async () => {
  const { execution } = node.context()
  const yieldUntil = () => () => Promise.reject(new ExecutionTimeout('over'))
  const pause = pauseUntilDeadline(node.context({ execution: { ...execution!, yieldUntil } }))
  await expect(pause()).rejects.toMatchObject({ code: GRPC_CODES.deadlineExceeded })
})
