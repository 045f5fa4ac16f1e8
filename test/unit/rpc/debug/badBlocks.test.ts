import { expect, test } from 'vitest'
import { getBadBlocks, traceBadBlock } from '../../../../src/rpc/debug/badBlocks.ts'
import { getBlockAccessList, getRawBlockAccessList } from '../../../../src/rpc/eth/blockAccessLists.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode } from '../../../support/rpc/memoryNode.ts'

const UNKNOWN = `0x${'99'.repeat(32)}`
const NOT_FOUND = { code: -32001, message: 'Resource not found' }

test('there are no bad blocks, and none can be traced', async () => {
  const context = (await createMemoryNode()).context()
  expect(await invoke(getBadBlocks, context)).toEqual([])
  expect(await invokeError(traceBadBlock, context, UNKNOWN, { tracer: 'callTracer' })).toEqual({
    code: -32000,
    message: `bad block ${UNKNOWN} not found`,
  })
})

test('blocks before Amsterdam have no access list', async () => {
  const context = (await createMemoryNode()).context()
  for (const block of ['0x0', 'latest', 'earliest']) {
    expect(await invokeError(getBlockAccessList, context, block)).toEqual(NOT_FOUND)
    expect(await invokeError(getRawBlockAccessList, context, block)).toEqual(NOT_FOUND)
  }
  for (const block of ['0x5', 'pending', UNKNOWN]) {
    expect(await invoke(getBlockAccessList, context, block)).toBeNull()
    expect(await invokeError(getRawBlockAccessList, context, block)).toEqual(NOT_FOUND)
  }
})
