import { expect } from 'vitest'
import { dataHash, encodeBlock, headerHash } from '../../../src/chain/comet/block.ts'
import { verifyCommit } from '../../../src/chain/comet/commit.ts'
import { createPartSet } from '../../../src/chain/comet/partSet.ts'
import { CHAIN } from './consensusHarness.ts'
import type { FakeApplication } from './fakeApplication.ts'

/** Every rule that a block and its commit have to keep towards the block before. */
export function checkChain(application: FakeApplication): void {
  for (const [index, { block, blockId, seenCommit }] of application.blocks.entries()) {
    const { header } = block
    const previous = application.blocks[index - 1]
    expect(header.height).toBe(index + 1)
    expect(blockId.hash).toEqual(headerHash(header))
    expect(blockId.partSetHeader).toEqual(createPartSet(encodeBlock(block)).header)
    expect(header.dataHash).toEqual(dataHash(block.txs))
    expect(header.timeMs).toBeGreaterThan(previous?.block.header.timeMs ?? application.genesisTimeMs)
    const height = index + 1
    const target = { chainId: CHAIN.chainId, height, blockId, validators: application.validatorsAt(height) }
    expect(verifyCommit(target, seenCommit)).toEqual({ valid: true })
    if (previous === undefined) {
      expect(block.lastCommit.signatures).toEqual([])
      expect(header.lastBlockId.hash).toHaveLength(0)
      continue
    }
    expect(header.lastBlockId).toEqual(previous.blockId)
    expect(header.appHash).toEqual(previous.appHash)
    const lastTarget = { chainId: CHAIN.chainId, height: height - 1, blockId: previous.blockId }
    const validators = application.validatorsAt(height - 1)
    expect(verifyCommit({ ...lastTarget, validators }, block.lastCommit)).toEqual({ valid: true })
  }
}
