import { Comet38Client } from '@cosmjs/tendermint-rpc'
import { beforeAll, expect, it } from 'vitest'
import { dataPaths } from '../../../src/app/dataDirectory.ts'
import { readGenesisFile } from '../../../src/app/initNode.ts'
import { genesisHash, parseGenesis } from '../../../src/chain/genesis.ts'
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

  it('one validator has no peers and is not behind', async () => {
    expect(await ask('net_info')).toMatchObject({ n_peers: '0', peers: [] })
    expect(await rpc(node.url, 'net_peerCount')).toBe('0x0')
    expect(await rpc(node.url, 'eth_syncing')).toBe(false)
  })
}
