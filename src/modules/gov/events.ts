import { type Address, toBech32 } from '../../primitives/address.ts'
import type { WorldState } from '../../state/world.ts'
import { type Coin, coinsText } from '../coin.ts'
import { event } from '../context.ts'
import type { WeightedVoteOption } from './types.ts'

/** Events of x/gov/types/events.go, with the attributes in the SDK's order. */

type Emitter = Pick<WorldState, 'emitEvent'>

export function emitSubmitted(world: Emitter, id: bigint, proposer: Address, typeUrls: readonly string[]): void {
  world.emitEvent(
    event('submit_proposal', {
      proposal_id: id.toString(),
      proposal_proposer: toBech32(proposer),
      // each URL after a comma, the first one too
      proposal_messages: typeUrls.map((url) => `,${url}`).join(''),
    }),
  )
}

export function emitVotingStarted(world: Emitter, type: 'submit_proposal' | 'proposal_deposit', id: bigint): void {
  world.emitEvent(event(type, { voting_period_start: id.toString() }))
}

export function emitDeposit(world: Emitter, id: bigint, depositor: Address, amount: readonly Coin[]): void {
  world.emitEvent(
    event('proposal_deposit', {
      depositor: toBech32(depositor),
      amount: coinsText(amount),
      proposal_id: id.toString(),
    }),
  )
}

export function emitVote(world: Emitter, id: bigint, voter: Address, options: readonly WeightedVoteOption[]): void {
  world.emitEvent(
    event('proposal_vote', {
      voter: toBech32(voter),
      option: JSON.stringify(options.map(({ option, weight }) => ({ option, weight }))),
      proposal_id: id.toString(),
    }),
  )
}

/** @param sender the proposer as the message named it */
export function emitCancelled(world: Emitter, id: bigint, sender: string): void {
  world.emitEvent(event('cancel_proposal', { sender, proposal_id: id.toString() }))
}

export function emitDropped(world: Emitter, id: bigint): void {
  world.emitEvent(event('inactive_proposal', { proposal_id: id.toString(), proposal_result: 'proposal_dropped' }))
}

export function emitTallied(world: Emitter, id: bigint, result: string, log: string): void {
  world.emitEvent(event('active_proposal', { proposal_id: id.toString(), proposal_result: result, proposal_log: log }))
}
