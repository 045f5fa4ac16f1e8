import { open } from 'node:fs/promises'
import type { ChainConfig } from '../chain/chainConfig.ts'
import { encodeBlock } from '../chain/consensus/blockCodec.ts'
import { headerHash } from '../chain/consensus/headerCodec.ts'
import { createPartSet } from '../chain/consensus/partSet.ts'
import { equalBlockId, type ValidatorSet } from '../chain/consensus/types.ts'
import { validatorSetHash } from '../chain/consensus/validatorSet.ts'
import { verifyCommit } from '../chain/consensus/verifyCommit.ts'
import type { Application } from '../consensus/application.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { type BlockFileEntry, BlockFileError, readBlockFile } from './blockFile.ts'

export interface ImportRequest {
  readonly application: Application
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisHash'>
  readonly validators: ValidatorSet
  readonly path: string
  readonly onBlock?: (height: number) => void
}

/**
 * Verifies and executes the blocks of a file from where the chain stands; blocks that it has already are passed over.
 * @returns the first and last height that were executed (`to` < `from` when there was none)
 * @throws BlockFileError when a block is not the chain's next one or its commit is not valid
 */
export async function importBlocks(request: ImportRequest): Promise<{ readonly from: number; readonly to: number }> {
  const { application, chain, path } = request
  const file = await open(path, 'r')
  try {
    const from = (await application.info()).height + 1
    let next = from
    for await (const entry of readBlockFile(file, chain.genesisHash)) {
      const { height } = entry.block.header
      if (height < next) continue
      if (height > next) throw new BlockFileError(`block ${next} is missing: the file goes on with block ${height}`)
      const decided = { block: entry.block, blockId: checkedBlockId(entry, request), seenCommit: entry.commit }
      await checkAncestry(entry, application)
      await application.finalizeBlock(decided)
      request.onBlock?.(height)
      next++
    }
    return { from, to: next - 1 }
  } finally {
    await file.close()
  }
}

/** The block's ID, if more than two thirds of the validators signed it. */
function checkedBlockId({ block, commit }: BlockFileEntry, { chain, validators }: ImportRequest) {
  const { height, chainId, validatorsHash } = block.header
  const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(encodeBlock(block)).header }
  if (chainId !== chain.chainId) throw new BlockFileError(`block ${height} is of the chain ${chainId}`)
  if (!equalBytes(validatorsHash, validatorSetHash(validators))) {
    throw new BlockFileError(`block ${height} names other validators than the genesis`)
  }
  const verdict = verifyCommit({ chainId, height, blockId, validators }, commit)
  if (!verdict.valid) throw new BlockFileError(`block ${height} is not decided by its commit: ${verdict.reason}`)
  return blockId
}

async function checkAncestry({ block: { header } }: BlockFileEntry, application: Application): Promise<void> {
  const { lastBlockId, lastResultsHash } = await application.info()
  if (lastBlockId !== undefined && !equalBlockId(lastBlockId, header.lastBlockId)) {
    throw new BlockFileError(`block ${header.height} does not follow this chain's block ${header.height - 1}`)
  }
  if (!equalBytes(lastResultsHash, header.lastResultsHash)) {
    throw new BlockFileError(`block ${header.height} was decided on other results of block ${header.height - 1}`)
  }
}
