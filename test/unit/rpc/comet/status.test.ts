import { describe, expect, it } from 'vitest'
import { ed25519Address } from '../../../../src/primitives/ed25519.ts'
import { createCometTest, IDENTITY } from '../../../support/rpc/comet/cometNode.ts'
import { createSignedChain, testKey } from '../../../support/rpc/comet/signedChain.ts'

describe('status', () => {
  it('before the first block the height is "0"', async () => {
    const { get } = createCometTest(createSignedChain([]))
    expect((await get('status')).sync_info).toMatchObject({
      latest_block_hash: '',
      latest_block_height: '0',
      latest_block_time: '0001-01-01T00:00:00Z',
      earliest_block_height: '0',
    })
  })

  it('says who the node is, where the chain stands and what the node may sign', async () => {
    const chain = createSignedChain([{}, {}])
    const { get } = createCometTest(chain)
    const status = await get('status')
    expect(status.node_info).toEqual({
      protocol_version: { p2p: '8', block: '11', app: '0' },
      id: IDENTITY.id,
      listen_addr: '192.0.2.1:26656',
      network: 'coin_76287-1',
      version: '0.38.19',
      channels: '40202122233038606100',
      moniker: 'node0',
      other: { tx_index: 'on', rpc_address: 'https://rpc.example.org', coind_version: '0.1.0' },
    })
    expect(status.sync_info).toMatchObject({
      latest_block_hash: Buffer.from(chain.blockId(2)!.hash).toString('hex').toUpperCase(),
      latest_app_hash: '01'.repeat(32),
      latest_block_height: '2',
      latest_block_time: '2026-01-01T00:00:00.8Z',
      earliest_app_hash: 'A0'.repeat(32),
      earliest_block_height: '1',
      earliest_block_time: '2026-01-01T00:00:00.4Z',
      catching_up: false,
    })
    expect(status.validator_info).toMatchObject({ pub_key: { type: 'tendermint/PubKeyEd25519' }, voting_power: '40' })
  })

  it('the earliest block is the lowest that is kept with its transactions', async () => {
    const chain = createSignedChain([{}, {}, {}])
    const { get } = createCometTest(chain)
    expect((await get('status')).sync_info.earliest_block_height).toBe('1')
    chain.oldestBlock = 2
    const { sync_info } = await get('status')
    expect(sync_info).toMatchObject({
      earliest_block_hash: Buffer.from(chain.blockId(2)!.hash).toString('hex').toUpperCase(),
      earliest_app_hash: Buffer.from(chain.consensusBlock(2)!.header.appHash).toString('hex').toUpperCase(),
      earliest_block_height: '2',
      earliest_block_time: '2026-01-01T00:00:00.8Z',
    })
    expect((await get('block?height=2')).block.header.height).toBe('2')
    // A chain that a snapshot brought has no block with results yet.
    chain.oldestBlock = 4
    expect((await get('status')).sync_info.earliest_block_height).toBe('3')
  })

  it('the power is that for the block that is being decided', async () => {
    const { publicKey } = testKey(0)
    const chain = createSignedChain([{ updates: [{ publicKey, power: 7n }] }, {}])
    const { get } = createCometTest(chain)
    expect((await get('status')).validator_info.voting_power).toBe('7')
    const before = createCometTest(chain, { isCatchingUp: () => true })
    expect((await before.get('status')).validator_info.voting_power).toBe('40')
  })

  it('a node without a vote has the power 0', async () => {
    const other = { address: new Uint8Array(20).fill(9), publicKey: new Uint8Array(32).fill(9) }
    const { get } = createCometTest(createSignedChain([{}]), { validator: [other] })
    expect((await get('status')).validator_info).toMatchObject({ address: '09'.repeat(20), voting_power: '0' })
  })

  it('of two keys it shows the one in the set', async () => {
    const { publicKey } = testKey(0)
    const next = { address: new Uint8Array(20).fill(9), publicKey: new Uint8Array(32).fill(9) }
    const present = { address: ed25519Address(publicKey), publicKey }
    const { get } = createCometTest(createSignedChain([{}]), { validator: [next, present] })
    expect((await get('status')).validator_info).toMatchObject({
      address: Buffer.from(present.address).toString('hex').toUpperCase(),
      voting_power: '40',
    })
  })

  it('says that the node is catching up as long as it is', async () => {
    let behind = true
    const { get } = createCometTest(createSignedChain([{}]), { isCatchingUp: () => behind })
    expect((await get('status')).sync_info.catching_up).toBe(true)
    behind = false
    expect((await get('status')).sync_info.catching_up).toBe(false)
  })

  it('decodes a block once', async () => {
    const chain = createSignedChain([{}, {}])
    let reads = 0
    const counted = {
      ...chain,
      consensusBlock: (height: number) => {
        reads++
        return chain.consensusBlock(height)
      },
    }
    const { get } = createCometTest(counted)
    await get('status')
    const before = reads
    for (let i = 0; i < 5; i++) await get('status')
    expect([before, reads]).toEqual([2, 2])
  })
})
