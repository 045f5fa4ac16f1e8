import { Comet38Client } from '@cosmjs/tendermint-rpc'
import { beforeAll, expect, it } from 'vitest'
import { genesisHash, parseGenesis } from '../../../src/chain/genesis/genesis.ts'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { readGenesisFile } from '../../../src/datadir/initNode.ts'
import { verifyNode } from '../../independent/verifyNode.ts'
import { rpc } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'

const HEIGHTS = 6

let node: TestNode

/** Clients of CometBFT's RPC, against a devnet. */
export function cometRpcTests(devnet: () => TestNode): void {
  beforeAll(async () => {
    node = devnet()
    const deadline = Date.now() + 30_000
    while (Number(await rpc(node.url, 'eth_blockNumber')) < HEIGHTS && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })

  /** The result of GET /rpc/<path>, whatever its shape. */
  async function ask(path: string) {
    const response = await fetch(new URL(`rpc/${path}`, node.url))
    return JSON.parse(await response.text()).result
  }

  it('an independent light client verifies every commit, and app_hash is the Ethereum hash', async () => {
    await verifyNode(node.url, 1, HEIGHTS)
  })

  it('CosmJS reads status, block, commit, validators and genesis', async () => {
    const client = await Comet38Client.connect(new URL('rpc', node.url).href)
    const { nodeInfo, syncInfo } = await client.status()
    expect([nodeInfo.network, syncInfo.catchingUp]).toEqual(['coin_76287-1', false])
    const { block, blockId } = await client.block(3)
    expect((await client.commit(3)).commit.blockId).toEqual(blockId)
    const { validators } = await client.validatorsAll(3)
    expect(validators.map(({ address }) => address)).toContainEqual(block.header.proposerAddress)
    expect((await client.genesis()).chainId).toBe('coin_76287-1')
    client.disconnect()
  })

  it('/rpc/genesis gives the genesis file', async () => {
    const { genesis } = await ask('genesis')
    const file = readGenesisFile(dataPaths(node.homedir).genesis)
    expect(genesisHash(parseGenesis(JSON.stringify(genesis)))).toEqual(genesisHash(file))
  })

  it('a block is found by its hash, and not by the Ethereum one', async () => {
    const { block_id } = await ask('block?height=2')
    expect((await ask(`block_by_hash?hash=0x${block_id.hash}`)).block.header.height).toBe('2')
    expect((await ask(`header_by_hash?hash=0x${block_id.hash}`)).header.height).toBe('2')
    const { hash } = (await rpc(node.url, 'eth_getBlockByNumber', '0x2', false)) as { hash: string }
    expect((await ask(`block_by_hash?hash=${hash}`)).block).toBeNull()
  })

  it('shows the round that is being decided', async () => {
    const { round_state } = await ask('consensus_state')
    const [height] = round_state['height/round/step'].split('/')
    expect(Number(height)).toBeGreaterThan(HEIGHTS)
    expect(round_state.height_vote_set[0].prevotes).toHaveLength(1)
    expect(Date.parse(round_state.start_time)).toBeGreaterThan(Date.UTC(2026, 0, 1))
  })

  it('reports rounds and votes to subscribers, in the shapes of CometBFT', async () => {
    const socket = new WebSocket(new URL('rpc/websocket', node.wsUrl.replace(/ws$/, '')))
    await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
    const kinds = ['NewRound', 'NewRoundStep', 'CompleteProposal', 'Vote']
    const heard = new Map<string, { data: { type: string; value: Record<string, unknown> } }[]>()
    const gathered = Promise.withResolvers<void>()
    socket.addEventListener('message', ({ data }) => {
      const { result } = JSON.parse(String(data))
      const kind = result?.events?.['tm.event']?.[0]
      if (kind === undefined) return
      heard.set(kind, [...(heard.get(kind) ?? []), result])
      if (kinds.every((each) => (heard.get(each)?.length ?? 0) >= 4)) gathered.resolve()
    })
    for (const [id, kind] of kinds.entries()) {
      const params = { query: `tm.event='${kind}'` }
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'subscribe', params }))
    }
    await gathered.promise
    socket.close()
    const { validators } = await ask('validators')
    const { address } = validators[0]
    const votes = heard.get('Vote')!.map(({ data }) => data.value.Vote as Record<string, unknown>)
    expect(new Set(votes.map(({ type }) => type))).toEqual(new Set([1, 2]))
    for (const vote of votes) expect(vote).toMatchObject({ validator_address: address, validator_index: 0, round: 0 })
    expect(heard.get('NewRound')![0]!.data).toMatchObject({
      type: 'tendermint/event/NewRound',
      value: { round: 0, step: 'RoundStepNewRound', proposer: { address, index: 0 } },
    })
    expect(heard.get('CompleteProposal')![0]!.data.value).toMatchObject({ round: 0, block_id: { parts: { total: 1 } } })
    const steps = heard.get('NewRoundStep')!.map(({ data }) => data.value.step)
    expect(steps).toContain('RoundStepPropose')
  })

  it('a long answer comes compressed to clients that ask for it, and to no other', async () => {
    for (const path of ['rpc/genesis', 'cosmos/staking/v1beta1/validators', 'rpc/validators']) {
      const plain = await fetch(new URL(path, node.url), { headers: { 'accept-encoding': 'identity' } })
      expect([path, plain.headers.get('content-encoding')]).toEqual([path, null])
      const text = await plain.text()
      for (const form of ['gzip', 'br', 'zstd']) {
        const response = await fetch(new URL(path, node.url), { headers: { 'accept-encoding': form } })
        const isLong = text.length >= 4_096
        expect([path, response.headers.get('content-encoding')]).toEqual([path, isLong ? form : null])
        expect(response.headers.get('vary')).toBe(isLong ? 'accept-encoding' : null)
        expect((await response.text()).length).toBe(text.length)
      }
    }
  })

  it('one validator has no peers and is not behind', async () => {
    expect(await ask('net_info')).toMatchObject({ n_peers: '0', peers: [] })
    expect(await rpc(node.url, 'net_peerCount')).toBe('0x0')
    expect(await rpc(node.url, 'eth_syncing')).toBe(false)
  })
}
