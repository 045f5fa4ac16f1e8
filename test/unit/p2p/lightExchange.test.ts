import { afterEach, expect, test } from 'vitest'
import { decodeLightBlock, verifyLightBlock } from '../../../src/chain/comet/lightBlock.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { databaseLightBlocks } from '../../../src/p2p/lightExchange.ts'
import { LIMITS } from '../../../src/p2p/limits.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { Database } from '../../../src/storage/database.ts'
import { networkGenesis, openNetworkNode, proposeBlock } from '../../support/execution/testNetwork.ts'
import { closeNodes, connectedPair, until } from '../../support/p2p/testNode.ts'

afterEach(closeNodes)

test('a peer gives light blocks that verify, the newest for height 0, and none above its head', async () => {
  const node = await openNetworkNode(networkGenesis(4))
  let state = await node.state()
  for (let i = 0; i < 3; i++) {
    const decided = await proposeBlock(node, state)
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
  }
  const database = await Database.open(node.location, { readOnly: true })
  const [server, client] = await connectedPair({ lightBlocks: databaseLightBlocks(database) })
  try {
    for (const [asked, given] of [
      [0, 3],
      [1, 1],
      [2, 2],
      [3, 3],
    ] as const) {
      const bytes = await client.network.fetchLightBlock(server.network.id, asked)
      const block = decodeLightBlock(bytes!)
      expect(block.header.height).toBe(given)
      expect(verifyLightBlock(block, node.chain.chainId)).toBeUndefined()
    }
    expect(await client.network.fetchLightBlock(server.network.id, 4)).toBeUndefined()
    expect(await client.network.fetchLightBlock(server.network.id, Number.MAX_SAFE_INTEGER)).toBeUndefined()
  } finally {
    await closeNodes()
    await database.close()
    await node.close()
  }
})

test('a peer that asks for a negative height is banned, and one that sends too much is given up', async () => {
  const [server, client] = await connectedPair({ lightBlocks: () => new Uint8Array(LIMITS.lightBlockBytes + 1) })
  await expect(client.network.fetchLightBlock(server.network.id, 5)).rejects.toThrow(/a frame of/)
  await until('it is banned', () => client.log.some(({ msg }) => msg === 'peer banned'))
  const [other, attacker] = await connectedPair()
  const stream = await attacker.sessions.get(other.network.id)!.connection.newStream(PROTOCOLS.light)
  stream.send(encodeFrame(Uint8Array.of(0x08, ...new Array(9).fill(0xff), 1)))
  await until('it is banned', () => other.log.some(({ msg }) => msg === 'peer banned'))
  expect([...server.defects, ...client.defects, ...other.defects]).toEqual([])
})
