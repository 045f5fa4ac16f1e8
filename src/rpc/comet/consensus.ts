import type { RankedValidatorSet, ValidatorSet } from '../../chain/comet/types.ts'
import type { NodeView } from '../../state/view.ts'
import type { JsonObject } from '../format/json.ts'
import { placeOf } from '../jsonrpc/place.ts'
import type { ViewPool } from '../jsonrpc/runMethod.ts'
import {
  type CometChain,
  type CometNode,
  lowestHeader,
  readHeight,
  readLightHeight,
  readPage,
  type WithChain,
} from './env.ts'
import { type ConsensusParamsConfig, type ConsensusParamsView, consensusParamsJson } from './json/consensusParams.ts'
import type { RoundStateJson } from './json/roundState.ts'
import { validatorJson, validatorSetJson } from './json/values.ts'
import { type CometMethod, cometFailure, defineCometMethod, int, int64 } from './method.ts'
import { callView, viewMethod } from './viewMethod.ts'

/** Runs `read` on the newest published blocks and their state. */
export type WithView = <T>(read: (view: NodeView) => T) => T

/**
 * Creates `validators` (rpc/core/consensus.go), with their priorities in round 0 of the height. The
 * default height is that of the block being decided; while the node catches up, that of the newest
 * block.
 */
export function createValidatorsMethod(withChain: WithChain, isCatchingUp: () => boolean): CometMethod {
  return defineCometMethod({
    name: 'validators',
    params: [
      { name: 'height', type: int64 },
      { name: 'page', type: int },
      { name: 'per_page', type: int },
    ],
    run: (requested, page, perPage) =>
      withChain((chain) => {
        const latest = latestValidators(chain, isCatchingUp())
        const height = readLightHeight(chain, requested, latest)
        const set =
          height < chain.base
            ? unranked(chain.lightBlock(height)?.validators)
            : (chain.validatorsAt(height) ?? unranked(chain.validatorSetAt(height)))
        if (set === undefined) {
          const { oldestBlock } = chain
          throw cometFailure(`could not find validator set for height #${height}: the oldest block is ${oldestBlock}`)
        }
        const total = set.validators.length
        const { start, end } = readPage(page, perPage, total)
        const shown = set.validators.slice(start, end).map((_, index) => validatorJson(set, start + index))
        return {
          block_height: String(height),
          validators: shown,
          count: String(shown.length),
          total: String(total),
        }
      }),
  })
}

/**
 * Returns the set with priorities of zero. The priorities of some old blocks are not stored, or
 * were never known: no hash covers them, and no light client reads them.
 */
function unranked(set: ValidatorSet | undefined): RankedValidatorSet | undefined {
  return set && { ...set, priorities: set.validators.map(() => 0n), proposer: 0 }
}

/** Creates `consensus_params` (rpc/core/consensus.go), up to those of the block being decided. */
export function createConsensusParamsMethod(
  config: ConsensusParamsConfig,
  withView: WithView,
  isCatchingUp: () => boolean,
  views: ViewPool,
): CometMethod {
  return defineCometMethod({
    name: 'consensus_params',
    params: [{ name: 'height', type: int64 }],
    run: (requested, scope) => {
      return withView((view) => {
        const { chain } = view
        const height = readHeight(requested, latestHeight(chain.headHeight, isCatchingUp()), lowestHeader(chain))
        const place = placeOf('socket', { part: 'header', oldest: height }, chain)
        return place === 'socket'
          ? paramsAt(view, config, height)
          : callView(views, place, PARAMS_OF_OLD_BLOCK, [height], scope)
      })
    },
  })
}

const PARAMS_OF_OLD_BLOCK = 'comet/consensus_params'

/** The view threads' part of `consensus_params`. */
export const consensusParamsViewMethod = viewMethod(PARAMS_OF_OLD_BLOCK, 'heavy', ({ view, chain }, height: number) =>
  paramsAt(view, chain, height),
)

function paramsAt(view: ConsensusParamsView, config: ConsensusParamsConfig, height: number): JsonObject {
  return { block_height: String(height), consensus_params: consensusParamsJson(view, config, height) }
}

/** Returns the newest height whose validators and parameters matter to clients. */
export function latestHeight(headHeight: number, isCatchingUp: boolean): number {
  return isCatchingUp ? headHeight : headHeight + 1
}

/**
 * Returns the height of the validators that clients see by default, see {@link latestHeight}. Those
 * of a snapshot's block have no priorities, so right after a restore the next ones are shown.
 */
export function latestValidators(
  { headHeight, validatorsAt }: Pick<CometChain, 'headHeight' | 'validatorsAt'>,
  isCatchingUp: boolean,
): number {
  const isUnranked = isCatchingUp && headHeight > 0 && validatorsAt(headHeight) === undefined
  return isUnranked ? headHeight + 1 : latestHeight(headHeight, isCatchingUp)
}

/** Creates `consensus_state` and `dump_consensus_state` (rpc/core/consensus.go). */
export function createConsensusStateMethods(
  node: Pick<CometNode, 'roundState' | 'network'>,
  withChain: WithChain,
): readonly CometMethod[] {
  return [
    defineCometMethod({
      name: 'consensus_state',
      params: [],
      run: async () => ({ round_state: (await requireRunning(node)).simple }),
    }),
    defineCometMethod({
      name: 'dump_consensus_state',
      params: [],
      run: async () => {
        const { full: state } = await requireRunning(node)
        // The validators whose precommits are in `last_commit`; the first height does not have any.
        const lastValidators = withChain((chain) => chain.validatorsAt(Number(state.height) - 1))
        const round_state = {
          ...state,
          last_validators: lastValidators === undefined ? null : validatorSetJson(lastValidators),
        }
        const { peers } = await node.network()
        // Only the gossip knows the state of peers; CometBFT shows null for an unknown one.
        const shown = peers.map(({ node: { id, listenAddress } }) => ({
          node_address: `${id}@${listenAddress}`,
          peer_state: null,
        }))
        return { round_state, peers: shown }
      },
    }),
  ]
}

async function requireRunning(node: Pick<CometNode, 'roundState'>): Promise<RoundStateJson> {
  const state = await node.roundState()
  if (state === undefined) throw cometFailure('consensus does not run: the node is catching up')
  return state
}
