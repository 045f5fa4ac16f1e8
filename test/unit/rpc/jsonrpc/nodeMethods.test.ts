import { beforeAll, describe, expect, test } from 'vitest'
import type { RpcMethod } from '../../../../src/rpc/jsonrpc/method.ts'
import { clientVersion, listening, peerCount, sha3, version } from '../../../../src/rpc/jsonrpc/nodeMethods.ts'
import { invoke } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'

let node: MemoryNode

beforeAll(async () => {
  node = await createMemoryNode()
})

describe('net, web3 and rpc', () => {
  const cases: readonly (readonly [RpcMethod, unknown[], unknown])[] = [
    [version, [], '7628'],
    [listening, [], true],
    [peerCount, [], '0x1a'],
    [clientVersion, [], 'coind/v0.0.0-test'],
    [sha3, ['0x'], '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'],
    [sha3, ['0x68656c6c6f20776f726c64'], '0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad'],
  ]
  test.each(cases)('$name', async (method, params, expected) => {
    expect(await invoke(method, node.context({ peerCount: () => 26 }), ...params)).toEqual(expected)
  })
})
