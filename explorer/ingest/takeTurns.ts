import { isDatabaseAway } from '../database/databaseAway.ts'
import type { IndexDatabase, IndexLock } from '../database/indexDatabase.ts'
import { NodeError } from '../node/nodeClient.ts'
import { type IngestOptions, ingest, latestHeight, pause } from './ingest.ts'

interface TurnOptions extends Omit<IngestOptions, 'database'> {
  readonly database: Pick<IndexDatabase, 'queries' | 'lock'>
  /** Called when this process starts to be the one that writes, and when it stops. */
  readonly onTurn: (isOurs: boolean) => void
}

/** How often a process that does not write checks for new blocks, and whether it can write now. */
const POLL_MS = 500
/** Pauses while the database is away: the first, and the longest. */
const FIRST_PAUSE_MS = 500
const LAST_PAUSE_MS = 15_000

/**
 * Writes the index while no other process does, until it is stopped. While another process writes, it reports that process's blocks. When
 * the database fails (a restart, a full disk), it starts again with a new lock as soon as the database responds.
 * @throws what {@link ingest} throws, except errors of a database that is away
 */
export async function takeTurns(options: TurnOptions): Promise<void> {
  const { logger, stop } = options
  let pauseMs = FIRST_PAUSE_MS
  let told = ''
  const follower = createFollower(options)
  const onBack = (): void => {
    if (told !== '') logger.info('the database responds again')
    told = ''
    pauseMs = FIRST_PAUSE_MS
  }
  while (!stop.aborted) {
    let lock: IndexLock | undefined
    try {
      lock = await options.database.lock()
      if (lock === undefined) {
        await follower.look()
        onBack()
        await pause(POLL_MS, stop)
      } else {
        logger.info('this process now writes the index')
        options.onTurn(true)
        const onIndexed: IngestOptions['onIndexed'] = (indexed) => {
          onBack()
          options.onIndexed(indexed)
        }
        await ingest({ ...options, database: lock, onIndexed })
      }
    } catch (error) {
      if (stop.aborted || !(isDatabaseAway(error) || lock?.isLost() === true)) throw error
      const reason = (error as Error).message || (error as NodeJS.ErrnoException).code
      if (told !== reason) logger.warn({ reason }, 'waiting for the database')
      told = String(reason)
      await pause(pauseMs, stop)
      pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS)
    } finally {
      if (lock !== undefined) options.onTurn(false)
      await lock?.close()
    }
  }
}

/** Reports the blocks that another process writes. */
function createFollower({ database, node, logger, stop, onIndexed }: TurnOptions) {
  let before: number | undefined
  let nodeHeight = 0
  let isAsking = false

  /** The node may take long to answer, or not answer at all: nothing waits for it. */
  const askNode = async (): Promise<void> => {
    if (isAsking) return
    isAsking = true
    try {
      nodeHeight = await latestHeight(node)
    } catch (error) {
      if (!(stop.aborted || error instanceof NodeError)) logger.warn({ error }, 'the height of the node is not known')
    } finally {
      isAsking = false
    }
  }

  return {
    look: async (): Promise<void> => {
      if (before === undefined)
        logger.info(
          'another process writes the index; this process serves requests, and takes over when the other ends',
        )
      void askNode()
      const own = await database.queries.selectFrom('ingest').select('height').executeTakeFirst()
      const height = own?.height ?? 0
      if (height > (before ?? height)) {
        onIndexed({ height, nodeHeight: Math.max(nodeHeight, height) })
      }
      before = height
    },
  }
}
