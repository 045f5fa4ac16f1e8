import { encodeBlock } from '../../src/chain/comet/block.ts'
import { type ChainReader, openChainReader } from '../../src/chain/store/chainReader.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { Database } from '../../src/storage/database.ts'

/** Reads the chain of a node that does not run. */
export async function readChain<T>(homedir: string, read: (chain: ChainReader) => T): Promise<T> {
  const database = await Database.open(dataPaths(homedir).db, { readOnly: true })
  try {
    return read(openChainReader(database))
  } finally {
    await database.close()
  }
}

/** Head, hashes, roots and results of every block, as text. */
export function describeChain(chain: ChainReader): readonly string[] {
  const lines: string[] = []
  for (let height = 1; height <= chain.headHeight; height++) {
    const { stateRoot, receiptsRoot } = chain.header(height)!
    lines.push(
      JSON.stringify(
        {
          height,
          hash: chain.hash(height),
          stateRoot,
          receiptsRoot,
          block: encodeBlock(chain.consensusBlock(height)!),
          blockId: chain.blockId(height),
          entries: chain.entryResults(height),
          events: chain.blockEvents(height),
        },
        (_, value: unknown) =>
          value instanceof Uint8Array ? bytesToHex(value) : typeof value === 'bigint' ? String(value) : value,
      ),
    )
  }
  return lines
}
