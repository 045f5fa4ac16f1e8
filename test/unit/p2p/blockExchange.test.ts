import { expect, test } from 'vitest'
import { decodeBlock } from '../../../src/chain/comet/block.ts'
import { decodeCommit } from '../../../src/chain/comet/commit.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { databaseBlocks } from '../../../src/p2p/blockExchange.ts'
import { Database } from '../../../src/storage/database.ts'
import { networkGenesis, openNetworkNode, proposeBlock } from '../../support/execution/testNetwork.ts'

test('a block is served with the commit in the next one, the newest with the one that the node saw', async () => {
  const node = await openNetworkNode(networkGenesis(3))
  let state = await node.state()
  const blocks: DecidedBlock[] = []
  for (let height = 1; height <= 4; height++) {
    const decided = await proposeBlock(node, state)
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    blocks.push(decided)
  }
  const database = await Database.open(node.location, { readOnly: true })
  const view = databaseBlocks(database)()
  const read = (height: number) => {
    const found = view.read(height)
    return found && { block: decodeBlock(found.block), commit: decodeCommit(found.commit) }
  }
  const expected = (height: number) => {
    const { block, seenCommit } = blocks[height - 1]!
    return { block, commit: blocks[height]?.block.lastCommit ?? seenCommit }
  }
  for (const height of [1, 2, 3, 4, 2, 4, 3, 1]) expect(read(height)).toEqual(expected(height))
  expect([0, 5].map(read)).toEqual([undefined, undefined])
  await view.close()
  await database.close()
  await node.close()
})
