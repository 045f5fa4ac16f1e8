import type { ChainReader } from '../chain/store.ts'

/** What executing a block reads of the chain. */
export type ExecutionReader = Pick<ChainReader, 'hash' | 'consensusBlock' | 'validatorSetAt'>

/** Opens the reader, which decodes the head record, when somebody reads: most blocks ask for no block hash and have no evidence. */
export function lazyChainReader(open: () => ExecutionReader): ExecutionReader {
  let opened: ExecutionReader | undefined
  const reader = (): ExecutionReader => {
    opened ??= open()
    return opened
  }
  return {
    hash: (height) => reader().hash(height),
    consensusBlock: (height) => reader().consensusBlock(height),
    validatorSetAt: (height) => reader().validatorSetAt(height),
  }
}
