import type { Config } from './config.ts'
import { ConfigError } from './configError.ts'

/** How to get a trust point; completes a line for the operator. */
export const TRUST_POINT_ADVICE =
  'set TRUST_HEIGHT and TRUST_HASH to the height and hash of a block of the last days, from a source that you trust: an explorer, or /rpc/commit of a node that you know (signed_header.commit.block_id.hash)'

/** The settings that decide how a node gets the chain. */
interface SyncConfig {
  readonly joining: Pick<Config['joining'], 'syncMode' | 'forceSnapshotRestore' | 'trustPoint' | 'trustPeriodMs'>
  readonly pruning: Config['pruning']
}

/** Times in a genesis that say how long its validators can be trusted. */
export interface GenesisTimes {
  readonly timeMs: number
  readonly unbondingMs: number
}

/** How a node without blocks gets the chain. */
export type SyncDecision =
  /** executes all blocks; `warning` is a line for the log, where there is something to report */
  | { readonly kind: 'blocks'; readonly warning: string | undefined }
  /** restores a snapshot, which a light client verifies; without one, the start fails if `isRequired`, else it takes `blocks` */
  | { readonly kind: 'snapshot'; readonly isRequired: boolean }

/**
 * Whether a node that has no blocks yet may restore a snapshot. Without a trust point the light client begins at the genesis validators,
 * who must still have something at stake.
 * @throws ConfigError when the operator demands a snapshot that nothing could be trusted for
 */
export function decideSync({ joining, pruning }: SyncConfig, genesis: GenesisTimes, nowMs: number): SyncDecision {
  const periodMs = trustPeriodOf(joining, genesis)
  const demand = demandedBy(joining)
  // No snapshot has all the states that an archive wants.
  const takesBlocks = joining.syncMode === 'blocks' || pruning === 'archive'
  if (demand === undefined && takesBlocks) return { kind: 'blocks', warning: undefined }
  const isTooOld = joining.trustPoint === undefined && genesis.timeMs + periodMs <= nowMs
  if (!isTooOld) return { kind: 'snapshot', isRequired: demand !== undefined }
  const why = `the genesis is older than TRUST_PERIOD (${periodMs / MS_PER_HOUR} hours), so its validators prove no snapshot`
  if (demand !== undefined) throw new ConfigError(`${demand} is set, but ${why}: ${TRUST_POINT_ADVICE}`)
  return { kind: 'blocks', warning: `all blocks are executed: ${why}; to restore a snapshot, ${TRUST_POINT_ADVICE}` }
}

const MS_PER_HOUR = 3_600_000

/**
 * Returns how long a header is trusted: TRUST_PERIOD, by default two thirds of the unbonding time.
 * The rest is for the time that it takes to punish validators who signed two chains.
 * @throws ConfigError when TRUST_PERIOD is not shorter than the unbonding time
 */
export function trustPeriodOf(
  { trustPeriodMs }: Pick<SyncConfig['joining'], 'trustPeriodMs'>,
  { unbondingMs }: Pick<GenesisTimes, 'unbondingMs'>,
): number {
  if (trustPeriodMs === undefined) return Math.floor((unbondingMs * 2) / 3)
  if (trustPeriodMs < unbondingMs) return trustPeriodMs
  throw new ConfigError(
    `TRUST_PERIOD is ${trustPeriodMs / MS_PER_HOUR} hours: it must be shorter than the unbonding time of this network, ${unbondingMs / MS_PER_HOUR} hours, after which validators have nothing at stake`,
  )
}

/** Returns the setting that demands a snapshot, if one does. @throws ConfigError when another one forbids it */
function demandedBy({ syncMode, forceSnapshotRestore }: SyncConfig['joining']): string | undefined {
  if (forceSnapshotRestore && syncMode === 'blocks') {
    throw new ConfigError('FORCE_SNAPSHOT_RESTORE is set, but SYNC_MODE is blocks: unset one of the two')
  }
  if (forceSnapshotRestore) return 'FORCE_SNAPSHOT_RESTORE'
  return syncMode === 'snapshot' ? 'SYNC_MODE=snapshot' : undefined
}
