import { describe, expect, it } from 'vitest'
import { exampleGenesis } from '../../../../scripts/exampleGenesis.ts'
import { canonicalJson, genesisHash, parseGenesis } from '../../../../src/chain/genesis/genesis.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { createCometTest } from '../../../support/rpc/comet/cometNode.ts'
import { createSignedChain } from '../../../support/rpc/comet/signedChain.ts'

const GENESIS = parseGenesis(exampleGenesis())
const chain = createSignedChain([])

describe('net_info', () => {
  it('shows the peers, with whole totals', async () => {
    const peer = {
      node: {
        id: 'ab'.repeat(20),
        listenAddress: '192.0.2.7:26656',
        network: 'coin_76287-1',
        version: '0.1.0',
        moniker: 'seven',
        rpcAddress: '',
      },
      isOutbound: true,
      remoteIp: '192.0.2.7',
      connectedMs: 60_000,
      receivedBytes: 600,
      sentBytes: 1_200,
      queuedBytes: 0,
      validatorAddress: undefined,
    }
    const { get } = createCometTest(createSignedChain([]), {
      node: {
        roundState: async () => undefined,
        network: async () => ({ listening: true, listeners: ['0.0.0.0:26656'], peers: [peer, peer] }),
        addEvidence: () => undefined,
      },
      nowMs: () => 1_767_225_660_000,
    })
    const { listening, listeners, n_peers, peers } = await get('net_info')
    expect([listening, listeners, n_peers]).toEqual([true, ['Listener(@0.0.0.0:26656)'], '2'])
    expect(peers[0]).toMatchObject({
      node_info: { id: 'ab'.repeat(20), moniker: 'seven', network: 'coin_76287-1' },
      is_outbound: true,
      remote_ip: '192.0.2.7',
      connection_status: {
        Duration: '60000000000',
        SendMonitor: { Start: '2026-01-01T00:00:00Z', Bytes: '1200', AvgRate: '20' },
        RecvMonitor: { Bytes: '600', AvgRate: '10' },
      },
    })
  })
})

describe('genesis', () => {
  it('has the genesis hash without what CometBFT repeats', async () => {
    const { genesis } = await createCometTest(chain).get('genesis')
    const { consensus_params, validators, ...file } = genesis
    expect(sha256(new TextEncoder().encode(canonicalJson(file)))).toEqual(genesisHash(GENESIS))
    // CometBFT has no such section.
    const { validator_ranks: _, ...params } = GENESIS.consensus.params
    expect([consensus_params, validators]).toEqual([params, GENESIS.consensus.validators])
  })

  it('is a genesis file as it is', async () => {
    const { genesis } = await createCometTest(chain).get('genesis')
    expect(parseGenesis(JSON.stringify(genesis))).toEqual(GENESIS)
  })

  it.each(['validators', 'consensus_params'])('is no genesis file with other %s', async (name) => {
    const { genesis } = await createCometTest(chain).get('genesis')
    expect(() => parseGenesis(JSON.stringify({ ...genesis, [name]: [] }))).toThrow(/Unrecognized/)
  })

  it('is read for the first request and kept', async () => {
    let reads = 0
    const { get } = createCometTest(chain, {
      readGenesis: () => {
        reads++
        return GENESIS
      },
    })
    expect(reads).toBe(0)
    await get('genesis')
    await get('genesis_chunked')
    expect(reads).toBe(1)
  })

  it('in chunks of 16 MiB where it is larger', async () => {
    const staking = GENESIS.app_state.staking
    const large = {
      ...GENESIS,
      app_state: {
        ...GENESIS.app_state,
        staking: { ...staking, delegations: Array(130_000).fill(staking.delegations[0]) },
      },
    }
    const { get } = createCometTest(chain, { readGenesis: () => large })
    expect((await get('genesis')).error.data).toBe(
      'genesis response is large, please use the genesis_chunked API instead',
    )
    const chunks = [await get('genesis_chunked'), await get('genesis_chunked?chunk=1')]
    expect(chunks.map(({ chunk, total }) => [chunk, total])).toEqual([
      ['0', '2'],
      ['1', '2'],
    ])
    const bytes = Buffer.concat(chunks.map(({ data }) => Buffer.from(data, 'base64')))
    const { consensus_params, validators, ...file } = JSON.parse(bytes.toString())
    expect(canonicalJson(file)).toBe(canonicalJson(large))
    expect((await get('genesis_chunked?chunk=2')).error.data).toBe('there are 1 chunks, 2 is invalid')
  })
})
