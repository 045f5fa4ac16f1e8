import { setTimeout as wait } from 'node:timers/promises'
import { backfill } from '../../../sync/blocks/fetchOlderBlocks.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { ConsensusMetrics } from '../../../telemetry/metrics.ts'
import type { Threads } from '../../start/startThreads.ts'
import {
  packOlderBlocks,
  packVerifiedBlocks,
  unpackOlderBlocks,
  unpackVerifiedBlocks,
} from '../../wire/packedOlderBlocks.ts'

export interface BackfillParts {
  readonly chainId: string
  readonly threads: Pick<Threads, 'executor' | 'network' | 'background'>
  readonly isInStep: () => boolean
  readonly metrics: Pick<ConsensusMetrics, 'backfillHeight' | 'backfillBlocksTotal'>
  readonly log: Logger
  /** it cannot continue */
  readonly onFailure: (error: unknown) => void
}

/**
 * Fetches the old blocks that a node lacks which began with a snapshot: the network thread asks for them, the background thread, which
 * has time, verifies them, and the executor writes them.
 * @returns stops it
 */
export function startBackfill({ chainId, threads, isInStep, metrics, log, onFailure }: BackfillParts): () => void {
  const { executor, network, background } = threads
  const stopping = new AbortController()
  const { signal } = stopping
  const fail = (error: unknown): void => {
    if (!signal.aborted) onFailure(error)
  }
  void backfill(
    {
      chainId,
      network: {
        peers: () => network.peers(),
        fetchOlderBlocks: async (peer, asked) => unpackOlderBlocks(await network.fetchOlderBlocks(peer, asked)),
        punish: (peer, what, reason) => void network.punish(peer, what, reason).catch(fail),
      },
      chain: {
        missing: () => executor.missingBlocks(),
        add: (blocks) => executor.addOlderBlocks(packVerifiedBlocks(blocks)),
      },
      verify: async (blocks, start) => {
        const verified = await background.verifyOlderBlocks(packOlderBlocks(blocks), start)
        return typeof verified === 'string' ? verified : unpackVerifiedBlocks(verified)
      },
      isInStep,
      nowMs: () => performance.now(),
      sleep: (ms) => wait(ms, undefined, { signal, ref: false }),
      log: (level, message, fields) => log[level](fields, message),
      onProgress: (lowest, added) => {
        metrics.backfillHeight.set(lowest)
        metrics.backfillBlocksTotal.inc(added)
      },
    },
    signal,
  ).catch(fail)
  // Nothing waits for requests that a peer has not answered yet.
  return () => stopping.abort()
}
