import { Comet38Client, connectComet } from '@cosmjs/tendermint-rpc'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCometTest } from '../../../support/rpc/comet/cometNode.ts'
import { createSignedChain } from '../../../support/rpc/comet/signedChain.ts'
import { createMemoryNode } from '../../../support/rpc/memoryNode.ts'
import { createTestThread, NO_COSMOS, startTestServer, type TestServer } from '../../../support/rpc/rpcTestServer.ts'

const chain = createSignedChain([{}, { txs: [Uint8Array.of(1, 2, 3)], absent: [3] }, {}])
let server: TestServer

beforeAll(async () => {
  const node = await createMemoryNode()
  server = await startTestServer(node, createTestThread(node), {
    cosmos: { ...NO_COSMOS, comet: createCometTest(chain).table },
  })
})
afterAll(() => server.close())

describe('/rpc over HTTP', () => {
  it('GET /rpc/status', async () => {
    const response = await fetch(`${server.url}/rpc/status`)
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    expect(await response.json()).toMatchObject({
      jsonrpc: '2.0',
      id: -1,
      result: { node_info: { network: 'coin_76287-1' }, sync_info: { latest_block_height: '3' } },
    })
  })

  it.each(['/rpc', '/rpc/'])('POST %s without a content type', async (path) => {
    const body = new Uint8Array(Buffer.from('{"jsonrpc":"2.0","id":5,"method":"status","params":{}}'))
    const response = await fetch(server.url + path, { method: 'POST', body })
    expect(await response.json()).toMatchObject({ id: 5, result: { validator_info: { voting_power: '40' } } })
  })

  it('an error has the status 500 in answer to GET, 200 to POST', async () => {
    expect((await fetch(`${server.url}/rpc/block?height=9`)).status).toBe(500)
    const body = '{"jsonrpc":"2.0","id":5,"method":"block","params":{"height":"9"}}'
    expect((await fetch(`${server.url}/rpc`, { method: 'POST', body })).status).toBe(200)
  })

  it.each(['/rpc', '/rpc/'])('GET %s lists the methods', async (path) => {
    const list = await (await fetch(`${server.url}${path}`)).text()
    expect(list).toContain('/rpc/status\n')
    expect(list).toContain('/rpc/validators?height=_&page=_&per_page=_\n')
  })

  it('POST without a body lists them too', async () => {
    expect(await (await fetch(`${server.url}/rpc`, { method: 'POST' })).text()).toContain('/rpc/status\n')
  })

  it.each<[string, URLSearchParams | string | undefined, string]>([
    ['block?height=2', undefined, '2'],
    ['block', new URLSearchParams({ height: '2' }), '2'],
    ['block?height=1', new URLSearchParams({ height: '2' }), '1'],
    ['block', '{"height":"2"}', '3'],
  ])('POST /rpc/%s is answered like GET, with parameters in a form too: %s', async (path, body, height) => {
    const response = await fetch(`${server.url}/rpc/${path}`, { method: 'POST', ...(body && { body }) })
    expect(await response.json()).toMatchObject({ id: -1, result: { block: { header: { height } } } })
  })

  it('a form has a hundred fields at most', async () => {
    const post = async (fields: string[]): Promise<[number, unknown]> => {
      const body = new URLSearchParams(fields.map((name): [string, string] => [name, '2']))
      const response = await fetch(`${server.url}/rpc/block`, { method: 'POST', body })
      return [response.status, await response.json()]
    }
    const others = Array.from({ length: 99 }, (_, i) => `field${i}`)
    expect(await post(['height', ...others])).toMatchObject([200, { result: { block: { header: { height: '2' } } } }])
    expect(await post(['height', ...others, 'one more'])).toMatchObject([500, { id: -1, error: { code: -32602 } }])
  })

  it.each(['subscribe', 'unsubscribe', 'unsubscribe_all'])('%s is a method of WebSockets only', async (name) => {
    const response = await fetch(`${server.url}/rpc/${name}`)
    expect([response.status, await response.json()]).toMatchObject([404, { id: -1, error: { code: -32601 } }])
  })

  it('other paths and verbs are not there', async () => {
    expect((await fetch(`${server.url}/rpc/nothing`)).status).toBe(404)
    expect((await fetch(`${server.url}/rpc`, { method: 'DELETE' })).status).toBe(405)
  })
})

describe('CosmJS', () => {
  let client: Comet38Client
  beforeAll(async () => {
    client = await Comet38Client.connect(`${server.url}/rpc`)
  })
  afterAll(() => client.disconnect())

  it('chooses its decoder by the version', async () => {
    const chosen = await connectComet(`${server.url}/rpc`)
    expect(chosen).toBeInstanceOf(Comet38Client)
    chosen.disconnect()
  })

  it('reads status', async () => {
    const { nodeInfo, syncInfo, validatorInfo } = await client.status()
    expect([nodeInfo.network, syncInfo.latestBlockHeight, syncInfo.catchingUp]).toEqual(['coin_76287-1', 3, false])
    expect([validatorInfo?.votingPower, nodeInfo.protocolVersion.block]).toEqual([40n, 11])
  })

  it('reads block and blockchain', async () => {
    const { block, blockId } = await client.block(2)
    expect([block.header.height, block.txs, block.evidence]).toEqual([2, [Uint8Array.of(1, 2, 3)], []])
    expect(blockId.hash).toEqual(new Uint8Array(chain.blockId(2)!.hash))
    expect((await client.blockchain(1, 2)).blockMetas.map(({ header }) => header.height)).toEqual([2, 1])
  })

  it('reads commit', async () => {
    const { commit, canonical } = await client.commit(2)
    expect([commit.height, commit.signatures.length, canonical]).toEqual([2, 4, true])
  })

  it('reads validators', async () => {
    const { validators, total } = await client.validators({ height: 2, page: 1, per_page: 3 })
    expect([validators.map(({ votingPower }) => votingPower), total]).toEqual([[40n, 30n, 20n], 4])
    expect((await client.validatorsAll(2)).validators).toHaveLength(4)
  })

  it('reads genesis and health', async () => {
    const genesis = await client.genesis()
    expect([genesis.chainId, genesis.validators.length, genesis.consensusParams.block?.maxGas]).toEqual([
      'coin_76287-1',
      1,
      100_000_000,
    ])
    expect(await client.health()).toBeNull()
  })

  it('shows an error', async () => {
    await expect(client.block(9)).rejects.toThrow(/must be less than or equal to the current blockchain height 3/)
  })
})
