import { NO_BLOCK_EVENTS } from '../chain/block/entries.ts'
import { ethereumHeaderHash } from '../chain/block/ethereumBlock.ts'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import { readMoved } from '../chain/segments/moveBlocks.ts'
import { openChainReader } from '../chain/store/chainReader.ts'
import { isRepairUnfinished } from '../chain/store/mendable.ts'
import { writeValidators } from '../chain/store/validatorRecords.ts'
import { readHeadRecord, writeBlock, writeHeadRecord } from '../chain/store/writeBlock.ts'
import { bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { Journal } from '../state/journal.ts'
import type { StateStore } from '../state/stateStore.ts'
import { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes, readHeight } from '../storage/columns.ts'
import { damagedContents } from '../storage/damage.ts'
import type { DatabaseError, WritableDatabase } from '../storage/database.ts'
import { encodeFormat, FORMAT_KEY, GENESIS_HASH_KEY } from '../storage/format.ts'
import { type ChainHead, genesisHeadValidators, loadChainHead } from './chainHead.ts'
import { resultsHashOf } from './executedBlock.ts'
import { applyGenesis, type GenesisState, genesisHeader } from './genesisBlock.ts'

/** The database belongs to a chain with another genesis. */
class GenesisMismatch extends Error {
  override readonly name = 'GenesisMismatch'
}

/**
 * Opens the chain in `database`; an empty database gets block 0 first, for which alone `genesis` is
 * asked.
 * @throws GenesisMismatch; DatabaseError when blocks are missing
 */
export async function openChain(
  database: WritableDatabase,
  state: StateStore,
  chain: ChainConfig,
  genesis: () => GenesisState,
): Promise<ChainHead> {
  const stored = database.get(GENESIS_HASH_KEY)
  if (stored === undefined) {
    // The rest of a damaged database must not become part of the genesis state.
    if (readHeadRecord(database) !== undefined) throw missingBlock(0)
    await writeGenesis(database, state, chain, genesis())
  } else if (!equalBytes(stored, chain.genesisHash)) {
    throw new GenesisMismatch(
      `${database.location} holds a chain with the genesis hash ${bytesToHex(stored)}, but genesis.json has ` +
        `${bytesToHex(chain.genesisHash)}: put the original genesis.json back, or use another HOMEDIR for the new chain`,
    )
  }
  checkComplete(database)
  const record = readHeadRecord(database)
  if (record === undefined) throw damagedContents('it has no head')
  await checkBlocks(database, readMoved(database), record.height)
  return loadChainHead(openChainReader(database), record, chain)
}

/** `Database.open` has compared the number of the format, if there is one. A repair removes its mark at the end. */
function checkComplete(database: WritableDatabase): void {
  if (database.get(FORMAT_KEY) === undefined) {
    throw damagedContents('it has no format number')
  }
  if (isRepairUnfinished(database)) throw damagedContents('its repair was not finished')
}

async function writeGenesis(
  database: WritableDatabase,
  state: StateStore,
  chain: ChainConfig,
  genesis: GenesisState,
): Promise<void> {
  const world = new Journal(state.reader())
  applyGenesis(world, genesis)
  const pending = await state.apply(world.changes(), 0)
  const header = genesisHeader(chain, pending.root)
  const batch = new WriteBatch()
  pending.write(batch)
  writeBlock(batch, {
    header,
    hash: ethereumHeaderHash(header),
    consensus: undefined,
    entries: [],
    events: NO_BLOCK_EVENTS,
    isIndexed: true,
  })
  const validators = genesisHeadValidators(genesis.validators)
  writeValidators(batch, database, { height: 1, set: validators.next, isChanged: true })
  writeValidators(batch, database, { height: 2, set: validators.afterNext, isChanged: false })
  writeHeadRecord(batch, { height: 0, decided: undefined, resultsHash: resultsHashOf([]) })
  batch.put(GENESIS_HASH_KEY, chain.genesisHash)
  batch.put(FORMAT_KEY, encodeFormat())
  await database.write(batch, { sync: true })
  pending.publish()
}

/** More blocks than can be in LevelDB's logs and not yet in a table file: two logs of 16 MB, with more than 3 KB a block. */
const CHECKED_BLOCKS = 12_000

/**
 * Checks that no block from `lowest` to the head is missing. A block and its state are one batch, and LevelDB skips damaged batches of its log,
 * so a missing block means that the state is wrong.
 * @throws DatabaseError
 */
async function checkBlocks(
  database: Pick<WritableDatabase, 'entries'>,
  lowest: number,
  headHeight: number,
): Promise<void> {
  let expected = Math.max(lowest, headHeight - CHECKED_BLOCKS)
  const range = {
    start: columnKey(Column.header, heightBytes(expected)),
    end: columnKey(Column.header, heightBytes(headHeight + 1)),
  }
  for await (const [key] of database.entries(range)) {
    if (readHeight(key, 1) !== expected) break
    expected++
  }
  if (expected > headHeight) return
  throw missingBlock(expected)
}

function missingBlock(height: number): DatabaseError {
  return damagedContents(`block ${height} is missing, but later blocks are present`)
}
