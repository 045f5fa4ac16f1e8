import { readHeight } from './chain.ts'
import {
  type ConsensusParamsConfig,
  type ConsensusParamsView,
  consensusParamsJson,
} from './json/consensusParamsJson.ts'
import { int64 } from './params.ts'
import { type CometMethod, defineCometMethod } from './table.ts'
import { latestHeight } from './validators.ts'

/** Runs `read` on the newest published blocks and their state. */
export type WithView = <T>(read: (view: ConsensusParamsView) => T) => T

/** `consensus_params` (rpc/core/consensus.go), up to those of the block that is being decided. */
export function createConsensusParamsMethod(
  config: ConsensusParamsConfig,
  withView: WithView,
  isCatchingUp: () => boolean,
): CometMethod {
  return defineCometMethod({
    name: 'consensus_params',
    params: [{ name: 'height', type: int64 }],
    run: (asked) =>
      withView((view) => {
        const height = readHeight(asked, latestHeight(view.chain.headHeight, isCatchingUp()), 1)
        return { block_height: String(height), consensus_params: consensusParamsJson(view, config, height) }
      }),
  })
}
