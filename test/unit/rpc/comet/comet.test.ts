import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConsensusBlock } from '../../../../src/chain/consensus/block.ts'
import { answerCometGet, answerCometPost } from '../../../../src/rpc/comet/answer.ts'
import { createStatusMethod, healthMethod, type StatusOptions } from '../../../../src/rpc/comet/status.ts'
import { CometError, createCometTable } from '../../../../src/rpc/comet/table.ts'
import { createMemoryNode } from '../memoryNode.ts'
import { createTestThread, startTestServer, type TestServer } from '../rpcTestServer.ts'

const logged: unknown[] = []
const log = { error: (fields: unknown) => void logged.push(fields) }

const identity = {
  id: '5d0a3f3b0f8f1b2c3d4e5f60718293a4b5c6d7e8',
  chainId: 'coin_76287-1',
  moniker: 'node0',
  version: '0.1.0',
  listenAddress: 'tcp://0.0.0.0:26656',
  rpcAddress: 'https://rpc.example.org',
}

describe('status', () => {
  let head = 0
  let decoded = 0
  const chain = {
    get headHeight() {
      return head
    },
    oldestBlock: 0,
    consensusBlock: (height: number) => {
      decoded++
      const header = { appHash: new Uint8Array(32).fill(0xa0 + height), timeMs: 1_700_000_000_000 + height * 350 }
      return { header } as unknown as ConsensusBlock
    },
    blockId: (height: number) => ({
      hash: new Uint8Array(32).fill(height),
      partSetHeader: { total: 1, hash: new Uint8Array(32) },
    }),
  }
  const options: StatusOptions = {
    identity,
    validator: () => ({
      address: new Uint8Array(20).fill(0x0f),
      publicKey: new Uint8Array(32).fill(1),
      power: 1_000_000n,
    }),
    withChain: (read) => read(chain),
    isCatchingUp: () => false,
  }
  const status = createStatusMethod(options)

  test('before the first block the height is "0"', () => {
    expect(status.run({})).toMatchObject({
      sync_info: {
        latest_block_hash: '',
        latest_block_height: '0',
        latest_block_time: '0001-01-01T00:00:00Z',
        earliest_block_height: '0',
      },
    })
  })

  test("CometBFT's shape", () => {
    head = 2
    expect(status.run({})).toEqual({
      node_info: {
        protocol_version: { p2p: '8', block: '11', app: '0' },
        id: identity.id,
        listen_addr: 'tcp://0.0.0.0:26656',
        network: 'coin_76287-1',
        version: '0.1.0',
        channels: '40202122233038606100',
        moniker: 'node0',
        other: { tx_index: 'on', rpc_address: 'https://rpc.example.org' },
      },
      sync_info: {
        latest_block_hash: '02'.repeat(32),
        latest_app_hash: 'A2'.repeat(32),
        latest_block_height: '2',
        latest_block_time: '2023-11-14T22:13:20.7Z',
        earliest_block_hash: '01'.repeat(32),
        earliest_app_hash: 'A1'.repeat(32),
        earliest_block_height: '1',
        earliest_block_time: '2023-11-14T22:13:20.35Z',
        catching_up: false,
      },
      validator_info: {
        address: '0F'.repeat(20),
        pub_key: { type: 'tendermint/PubKeyEd25519', value: 'AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=' },
        voting_power: '1000000',
      },
    })
  })

  test('a block is decoded once', () => {
    head = 3
    status.run({})
    const before = decoded
    for (let i = 0; i < 10; i++) status.run({})
    expect(decoded).toBe(before)
    head = 4
    expect(status.run({})).toMatchObject({
      sync_info: { latest_block_height: '4', latest_block_time: '2023-11-14T22:13:21.4Z' },
    })
  })
})

describe('JSON-RPC', () => {
  const table = createCometTable([
    healthMethod,
    { name: 'echo', run: (params) => params },
    { name: 'fail', run: () => Promise.reject(new TypeError('secret')) },
    {
      name: 'refuse',
      run: () => {
        throw new CometError(-32602, 'Invalid params', 'no height')
      },
    },
  ])
  const post = async (text: string): Promise<unknown> => {
    const { status, json } = await answerCometPost(table, text, log)
    return [status, json === '' ? '' : JSON.parse(json)]
  }
  const ok = (id: unknown, result: unknown) => ({ jsonrpc: '2.0', id, result })
  const bad = (id: unknown, error: unknown) => ({ jsonrpc: '2.0', id, error })
  const invalid = bad(-1, { code: -32600, message: 'Invalid Request', data: 'expected a method and an id' })

  test.each([
    ['{"jsonrpc":"2.0","id":1,"method":"health"}', [200, ok(1, {})]],
    ['{"jsonrpc":"2.0","id":"x","method":"echo","params":{"a":1}}', [200, ok('x', { a: 1 })]],
    ['{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}', [200, ok(1, [1])]],
    ['{"jsonrpc":"2.0","id":1,"method":"echo","params":null}', [200, ok(1, {})]],
    ['[{"id":1,"method":"health"},{"id":2,"method":"health"}]', [200, [ok(1, {}), ok(2, {})]]],
    ['{"method":"health"}', [200, '']],
    ['{"id":1,"method":"toString"}', [200, bad(1, { code: -32601, message: 'Method not found' })]],
    ['{"id":1,"method":"refuse"}', [200, bad(1, { code: -32602, message: 'Invalid params', data: 'no height' })]],
    ['{"id":1,"method":"fail"}', [200, bad(1, { code: -32603, message: 'Internal error' })]],
    ['{"id":{},"method":"health"}', [200, invalid]],
    ['7', [200, invalid]],
    ['{', [500, bad(-1, { code: -32700, message: 'Parse error. Invalid JSON', data: 'the request is not JSON' })]],
    [
      `[${'1,'.repeat(100)}1]`,
      [500, bad(-1, { code: -32600, message: 'Invalid Request', data: 'more than 100 requests' })],
    ],
  ])('%s', async (text, expected) => {
    expect(await post(text)).toEqual(expected)
  })

  test('GET gives errors the status 500', async () => {
    const refused = await answerCometGet(table.get('refuse')!, {}, log)
    expect([refused.status, JSON.parse(refused.json)]).toEqual([
      500,
      bad(-1, { code: -32602, message: 'Invalid params', data: 'no height' }),
    ])
  })

  test('only what is unexpected is logged', () => {
    expect(logged).toHaveLength(1)
  })
})

describe('over HTTP', () => {
  let server: TestServer

  beforeAll(async () => {
    const node = await createMemoryNode()
    server = await startTestServer(node, createTestThread(node))
  })
  afterAll(() => server.close())

  test('GET /rpc/status', async () => {
    const response = await fetch(`${server.url}/rpc/status`)
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    expect(await response.json()).toMatchObject({
      jsonrpc: '2.0',
      id: -1,
      result: { node_info: { id: 'ab'.repeat(20) }, sync_info: { latest_block_height: '0' } },
    })
  })

  test('POST /rpc without a content type', async () => {
    const body = new Uint8Array(Buffer.from('{"jsonrpc":"2.0","id":5,"method":"status","params":{}}'))
    for (const path of ['/rpc', '/rpc/']) {
      const response = await fetch(server.url + path, { method: 'POST', body })
      expect(await response.json()).toMatchObject({ id: 5, result: { validator_info: { voting_power: '7' } } })
    }
  })

  test('GET /rpc lists the methods', async () => {
    expect(await (await fetch(`${server.url}/rpc`)).text()).toBe('/rpc/status\n/rpc/health\n')
    expect((await fetch(`${server.url}/rpc/block`)).status).toBe(404)
    expect((await fetch(`${server.url}/rpc`, { method: 'DELETE' })).status).toBe(405)
  })
})
