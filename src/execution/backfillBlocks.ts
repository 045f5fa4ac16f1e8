import { decodeBlock } from '../chain/comet/block.ts'
import { encodeValidatorSet } from '../chain/comet/lightBlock.ts'
import { needsOlderBlocks, readCompleteFrom } from '../chain/retention/completeBlocks.ts'
import type { HeaderRules } from '../chain/retention/headerRetention.ts'
import { firstOfSegment } from '../chain/segments/segments.ts'
import { openChainReader } from '../chain/store/chainReader.ts'
import { type BlockLink, linkBefore } from '../chain/store/linkedBlocks.ts'
import type { VerifiedBlock } from '../chain/store/olderBlocks.ts'
import { sharesValidatorIndex } from '../chain/store/validatorRecords.ts'
import { writeOlderBlocks } from '../chain/store/writeOlderBlocks.ts'
import { WriteBatch } from '../storage/batch.ts'
import type { DatabaseReader } from '../storage/database.ts'

/** The blocks to fetch next, from the highest down, and the hashes that they must match. */
export interface MissingBlocks {
  /** highest height and number */
  readonly highest: number
  readonly count: number
  /** to the highest of them */
  readonly link: BlockLink
  /** tendermint.types.ValidatorSet of the block above it */
  readonly validators: Uint8Array
}

export interface Backfill {
  /**
   * `complete`: there is nothing to fetch. `wait`: ask later, since too much is still to be
   * written, or the chain must advance first.
   */
  missing(): MissingBlocks | 'complete' | 'wait'
  /** Takes the blocks that {@link missing} named, or some of them, to be written with the next blocks of the chain. */
  add(blocks: readonly VerifiedBlock[]): void
  /**
   * Prepares a bounded part of the added blocks for the next block's batch. Called once the block
   * before is stored, when no caller waits.
   */
  prepare(): void
  /** Adds the prepared part to a block's batch. */
  write(batch: WriteBatch): void
}

/** Blocks that are asked for at once. */
const ASKED_AT_ONCE = 256
/** Bytes that wait to be written: no more is fetched meanwhile. */
const WAITING_BYTES = 4 << 20
/** Bytes of older blocks that are written with one block: a few milliseconds. */
const BYTES_PER_BLOCK = 512 << 10

/**
 * Writes older blocks, which other threads have fetched and verified, in small parts, each with the
 * batch of a block of the chain. This takes no sync of its own, and after a crash the chain is
 * whole from its base on. Waiting blocks are lost with a crash, and are fetched again.
 */
export function createBackfill(database: DatabaseReader, rules: HeaderRules | undefined): Backfill {
  /** from the highest down */
  let waiting: VerifiedBlock[] = []
  let waitingBytes = 0
  /** link and validators for the block below the lowest waiting one */
  let tip: OlderBlocksTip | undefined
  let ready: WriteBatch | undefined

  /** Takes a part of the waiting blocks. */
  const take = (): readonly VerifiedBlock[] => {
    let bytes = 0
    let count = 0
    for (; count < waiting.length && (count === 0 || bytes < BYTES_PER_BLOCK); count++)
      bytes += bytesOf(waiting[count]!)
    waitingBytes -= bytes
    const taken = waiting.slice(0, count)
    waiting = waiting.slice(count)
    return taken
  }
  return {
    missing: () => {
      if (tip === undefined) {
        if (!needsOlderBlocks(database, rules)) return 'complete'
        const { headHeight } = openChainReader(database)
        if (sharesValidatorIndex(readCompleteFrom(database), headHeight)) return 'wait'
        tip = olderBlocksTip(database)
      }
      const highest = tip.link.height
      // Whether the next segment's blocks are needed is known only when the block above the segment
      // is there.
      const isWritten = readCompleteFrom(database) <= highest + 1
      if (isWritten && !needsOlderBlocks(database, rules)) {
        tip = undefined
        return 'complete'
      }
      const isSegmentDone = highest === 0 || firstOfSegment(highest + 1) === highest + 1
      if (waitingBytes > WAITING_BYTES || (!isWritten && isSegmentDone)) return 'wait'
      const lowest = Math.max(1, firstOfSegment(highest))
      return { ...tip, highest, count: Math.min(ASKED_AT_ONCE, highest - lowest + 1) }
    },
    add: (blocks) => {
      if (tip === undefined || blocks[0]?.height !== tip.link.height) {
        throw new Error('the received blocks are not the missing older blocks')
      }
      tip = tipBelow(tip, blocks)
      waiting.push(...blocks)
      waitingBytes += blocks.reduce((sum, block) => sum + bytesOf(block), 0)
    },
    prepare: () => {
      if (ready !== undefined || waiting.length === 0) return
      ready = new WriteBatch()
      writeOlderBlocks(ready, database, take())
    },
    write: (batch) => {
      if (ready !== undefined) batch.append(ready)
      ready = undefined
    },
  }
}

export type OlderBlocksTip = Pick<MissingBlocks, 'link' | 'validators'>

/**
 * Returns the link and validators for the block below these.
 * @param tip the same for the block above them
 */
export function tipBelow(tip: OlderBlocksTip, blocks: readonly VerifiedBlock[]): OlderBlocksTip {
  const changed = blocks.findLast(({ validators }) => validators !== undefined)
  return {
    link: copyLink(linkBefore(decodeBlock(blocks.at(-1)!.block))),
    validators: changed?.validators?.slice() ?? tip.validators,
  }
}

/** Returns the link and validators for the block below the lowest complete one. */
export function olderBlocksTip(database: DatabaseReader): OlderBlocksTip {
  const from = readCompleteFrom(database)
  const chain = openChainReader(database)
  const lowest = chain.consensusBlock(from)
  const validators = chain.validatorSetAt(from)
  if (lowest === undefined || validators === undefined) throw new Error(`block ${from} is incomplete`)
  return { link: copyLink(linkBefore(lowest)), validators: encodeValidatorSet(validators) }
}

/** A view on the bytes of many blocks would send all of them to the other thread. */
function copyLink({ height, blockId, ethereumHash }: BlockLink): BlockLink {
  const { hash, partSetHeader } = blockId
  return {
    height,
    blockId: { hash: hash.slice(), partSetHeader: { ...partSetHeader, hash: partSetHeader.hash.slice() } },
    ethereumHash: ethereumHash.slice(),
  }
}

function bytesOf({ block, header }: VerifiedBlock): number {
  return block.length + header.length
}
