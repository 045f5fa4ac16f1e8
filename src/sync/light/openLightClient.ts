import { createValidatorSet } from '../../chain/comet/validatorSet.ts'
import { genesisValidators } from '../../chain/genesis/genesis.ts'
import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import type { Config } from '../../config/config.ts'
import { type GenesisTimes, trustPeriodOf } from '../../config/syncDecision.ts'
import { parseDuration } from '../../primitives/timeText.ts'
import { LightClient, type LightClientOptions, MAX_CLOCK_DRIFT_MS } from './lightClient.ts'
import type { TrustRoot } from './trustRoot.ts'

interface OpenLightClientOptions extends Pick<LightClientOptions, 'sources' | 'nowMs' | 'onWarning'> {
  readonly joining: Pick<Config['joining'], 'trustPoint' | 'trustPeriodMs'>
  /** whose hash the operator or the node itself has checked */
  readonly genesis: Genesis
}

/**
 * Opens the light client of a network: it begins at TRUST_HEIGHT where that is set, else at the
 * validators of the genesis.
 * @throws ConfigError when TRUST_PERIOD does not fit the genesis
 */
export function openLightClient({ joining, genesis, sources, nowMs, onWarning }: OpenLightClientOptions): LightClient {
  const times = genesisTimes(genesis)
  const root: TrustRoot =
    joining.trustPoint === undefined
      ? { kind: 'genesis', timeMs: times.timeMs, validators: createValidatorSet(genesisValidators(genesis)) }
      : { kind: 'point', ...joining.trustPoint }
  const rules = {
    chainId: genesis.chain_id,
    trustingPeriodMs: trustPeriodOf(joining, times),
    maxClockDriftMs: MAX_CLOCK_DRIFT_MS,
  }
  return new LightClient({ rules, root, sources, nowMs, onWarning })
}

/**
 * Returns the times that decide how long the genesis validators are trusted. Governance may change
 * the unbonding time later; this is the first one.
 */
export function genesisTimes({ genesis_time, app_state }: Genesis): GenesisTimes {
  // The schema has checked both.
  const unbonding = parseDuration(app_state.staking.params.unbonding_time)!
  return { timeMs: Date.parse(genesis_time), unbondingMs: Number(unbonding / 1_000_000n) }
}
