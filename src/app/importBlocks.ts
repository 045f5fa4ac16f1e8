import { open } from 'node:fs/promises'
import type { ChainConfig } from '../chain/chainConfig.ts'
import { encodeBlock, headerHash } from '../chain/consensus/block.ts'
import { verifyCommit } from '../chain/consensus/commit.ts'
import { createPartSet } from '../chain/consensus/partSet.ts'
import { equalBlockId } from '../chain/consensus/types.ts'
import { validatorSetHash } from '../chain/consensus/validatorSet.ts'
import type { Application, ApplicationInfo } from '../consensus/application.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { Progress } from '../telemetry/progress.ts'
import { type BlockFileEntry, BlockFileError, readBlockFile } from './blockFile.ts'

export interface ImportRequest {
  readonly application: Application
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisHash'>
  readonly path: string
  /** ends the import before the next block */
  readonly signal?: AbortSignal
  /** is told how many of the file's bytes are done */
  readonly progress?: Pick<Progress, 'update'>
  readonly onBlock?: (height: number) => void
}

/**
 * Verifies and executes the blocks of a file that follow the newest block of the chain; earlier ones are skipped. The last ones may
 * not be on stable storage before the executor is closed.
 * @returns the first and last height that were executed (`to` < `from` when there was none)
 * @throws BlockFileError when a block is not the chain's next one or its commit is not valid
 */
export async function importBlocks(request: ImportRequest): Promise<{ readonly from: number; readonly to: number }> {
  const { application, chain, path, signal } = request
  const file = await open(path, 'r')
  try {
    let info = await application.info()
    const from = info.height + 1
    const { size } = await file.stat()
    for await (const entry of readBlockFile(file, chain.genesisHash)) {
      if (signal?.aborted) break
      request.progress?.update(entry.offset, size)
      const { height } = entry.block.header
      const next = info.height + 1
      if (height < next) continue
      if (height > next) throw new BlockFileError(`block ${next} is missing: the file goes on with block ${height}`)
      const blockId = checkedBlockId(entry, chain, info)
      checkAncestry(entry, info)
      await application.finalizeBlock({ block: entry.block, blockId, seenCommit: entry.commit, catchingUp: true })
      request.onBlock?.(height)
      info = await application.info()
    }
    return { from, to: info.height }
  } finally {
    await file.close()
  }
}

/** The block's ID, if more than two thirds of the height's validators signed it. */
function checkedBlockId(
  { block, commit }: BlockFileEntry,
  chain: ImportRequest['chain'],
  { validators, nextValidators }: ApplicationInfo,
) {
  const { height, chainId, validatorsHash, nextValidatorsHash } = block.header
  const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(encodeBlock(block)).header }
  if (chainId !== chain.chainId) throw new BlockFileError(`block ${height} is of the chain ${chainId}`)
  if (!equalBytes(validatorsHash, validatorSetHash(validators))) {
    throw new BlockFileError(`block ${height} names other validators than this chain has at its height`)
  }
  if (!equalBytes(nextValidatorsHash, validatorSetHash(nextValidators))) {
    throw new BlockFileError(`block ${height} names other validators for block ${height + 1} than this chain has`)
  }
  const verdict = verifyCommit({ chainId, height, blockId, validators }, commit)
  if (!verdict.valid) throw new BlockFileError(`block ${height} is not decided by its commit: ${verdict.reason}`)
  return blockId
}

function checkAncestry({ block: { header } }: BlockFileEntry, { lastBlockId, lastResultsHash }: ApplicationInfo): void {
  if (lastBlockId !== undefined && !equalBlockId(lastBlockId, header.lastBlockId)) {
    throw new BlockFileError(`block ${header.height} does not follow this chain's block ${header.height - 1}`)
  }
  if (!equalBytes(lastResultsHash, header.lastResultsHash)) {
    throw new BlockFileError(`block ${header.height} was decided on other results of block ${header.height - 1}`)
  }
}
