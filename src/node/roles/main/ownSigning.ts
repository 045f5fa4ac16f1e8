import type { ConsensusBlock } from '../../../chain/comet/block.ts'
import { BLOCK_ID_FLAGS, type ValidatorSet } from '../../../chain/comet/types.ts'
import { hasKeyIn } from '../../../consensus/doubleSignGuard.ts'
import type { SigningState } from '../../../modules/slashing/signingState.ts'
import { equalBytes } from '../../../primitives/bytes.ts'
import type { ValidatorMetrics } from '../../../telemetry/metrics.ts'

interface OwnSigningOptions {
  /** consensus addresses of this node's validator */
  readonly addresses: readonly Uint8Array[]
  readonly metrics: ValidatorMetrics
  /** reads the newest state */
  readonly readState: (addresses: readonly Uint8Array[]) => Promise<SigningState>
  /** called when the state cannot be read: the metrics keep their values */
  readonly onError: (error: unknown) => void
}

/** How this node's own validator signs, for its metrics: by the commits of decided blocks, and by the state. */
export interface OwnSigning {
  /** Takes the newest state of consensus, before a block was decided. */
  begin(state: Sets): void
  /** Takes a decided block and the state after it. Blocks that come from peers count too. */
  decided(block: Pick<ConsensusBlock, 'lastCommit'>, state: Sets): void
  /** Reads the state, for each page of metrics. */
  refresh(): Promise<void>
}

interface Sets {
  readonly lastHeight: number
  /** that signed the last block */
  readonly lastValidators: ValidatorSet
  /** of the next block */
  readonly validators: ValidatorSet
}

/** Costs a walk over one validator set and one commit per block, and a few reads per page of metrics. */
export function createOwnSigning({ addresses, metrics, readState, onError }: OwnSigningOptions): OwnSigning {
  const isOwn = (address: Uint8Array): boolean => addresses.some((own) => equalBytes(own, address))
  /** the newest block and those that were to sign it */
  let last: { readonly height: number; readonly validators: ValidatorSet } | undefined
  const begin = ({ lastHeight, lastValidators, validators }: Sets): void => {
    last = { height: lastHeight, validators: lastValidators }
    const own = validators.validators.find(({ address }) => isOwn(address))
    metrics.active.set(own === undefined ? 0 : 1)
    metrics.power.set(own === undefined ? 0 : Number(own.power))
  }
  return {
    begin,
    decided: ({ lastCommit }, state) => {
      const { height, signatures } = lastCommit
      // As slashing counts: a vote for nil is a signature.
      const signature = signatures.find(({ flag, validatorAddress }) => {
        return flag !== BLOCK_ID_FLAGS.absent && isOwn(validatorAddress)
      })
      if (signature !== undefined) metrics.signedHeight.set(height)
      else if (last?.height === height && hasKeyIn(last.validators, addresses)) metrics.missedTotal.inc()
      begin(state)
    },
    refresh: async () => {
      try {
        const state = await readState(addresses)
        metrics.known.set(Number(state.isKnown))
        metrics.jailed.set(Number(state.isJailed))
        metrics.tombstoned.set(Number(state.isTombstoned))
        metrics.missed.set(state.missed)
        metrics.missedLimit.set(state.missedLimit)
        metrics.window.set(state.window)
        metrics.position.set(state.position)
      } catch (error) {
        onError(error)
      }
    },
  }
}
