import type { WithChain } from './chain.ts'
import { validatorSetJson } from './json/validatorJson.ts'
import type { CometNode } from './nodePort.ts'
import { type CometMethod, cometFailure, defineCometMethod } from './table.ts'

/** Milliseconds for which an answer about the present round is given again: consensus is not asked for every client. */
const KEPT_MS = 100

/** `consensus_state` and `dump_consensus_state` (rpc/core/consensus.go). */
export function createConsensusStateMethods(
  node: Pick<CometNode, 'roundState' | 'network'>,
  withChain: WithChain,
  nowMs: () => number,
): readonly CometMethod[] {
  const simple = remembered(() => node.roundState('simple'), nowMs)
  const full = remembered(() => node.roundState('full'), nowMs)
  return [
    defineCometMethod({
      name: 'consensus_state',
      params: [],
      run: async () => ({ round_state: await present(simple) }),
    }),
    defineCometMethod({
      name: 'dump_consensus_state',
      params: [],
      run: async () => {
        const state = await present(full)
        // Whose precommits `last_commit` shows; of the first height there are none.
        const last = withChain((chain) => chain.validatorsAt(Number(state.height) - 1))
        const round_state = { ...state, last_validators: last === undefined ? null : validatorSetJson(last) }
        const { peers } = await node.network()
        // What a peer has of the round stays with the gossip that needs it; null stands for a peer without a known state.
        const shown = peers.map(({ node: { id, listenAddress } }) => ({
          node_address: `${id}@${listenAddress}`,
          peer_state: null,
        }))
        return { round_state, peers: shown }
      },
    }),
  ]
}

async function present<T>(read: () => Promise<T | undefined>): Promise<T> {
  const state = await read()
  if (state === undefined) throw cometFailure('consensus does not run: the node is catching up')
  return state
}

function remembered<T>(read: () => Promise<T>, nowMs: () => number): () => Promise<T> {
  let known: { readonly untilMs: number; readonly value: Promise<T> } | undefined
  return () => {
    const now = nowMs()
    if (known === undefined || now >= known.untilMs) known = { untilMs: now + KEPT_MS, value: read() }
    return known.value
  }
}
