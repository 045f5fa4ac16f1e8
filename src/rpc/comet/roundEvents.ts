import type { RoundEvent } from '../../consensus/roundEvents.ts'
import { STEPS, type Step } from '../../consensus/roundStateView.ts'
import { bytesToUpperHex } from '../../primitives/bytes.ts'
import { type EventQuery, eventValues, meetsCondition } from '../events/eventQuery.ts'
import type { CometEvent } from './blockEvents.ts'
import { voteJson } from './json/evidence.ts'
import { blockIdJson } from './json/values.ts'

/** Events of a round, which come before its block. */
const ROUND_EVENT_KINDS: readonly RoundEvent['kind'][] = ['NewRound', 'NewRoundStep', 'CompleteProposal', 'Vote']

/** Their names in JSON (CometBFT 0.38, types/events.go). */
const TYPE_NAMES = {
  NewRound: 'tendermint/event/NewRound',
  NewRoundStep: 'tendermint/event/RoundState',
  CompleteProposal: 'tendermint/event/CompleteProposal',
  Vote: 'tendermint/event/Vote',
} as const satisfies Record<RoundEvent['kind'], string>

/** consensus/types.RoundStepType.String */
const STEP_NAMES: ReadonlyMap<Step, string> = new Map(
  Object.entries(STEPS).map(([name, step]) => [step, `RoundStep${name[0]!.toUpperCase()}${name.slice(1)}`]),
)

/** Events of rounds have no attributes of their own. */
const valuesOf = (kind: RoundEvent['kind']): CometEvent['values'] => eventValues([], { 'tm.event': kind })

/** Whether events of rounds may match a query. */
export function wantsRoundEvents({ conditions }: Pick<EventQuery, 'conditions'>): boolean {
  return ROUND_EVENT_KINDS.some((kind) => conditions.every((condition) => meetsCondition(condition, valuesOf(kind))))
}

/** Returns the event in the form for clients of CometBFT. */
export function cometEventOf(event: RoundEvent): CometEvent {
  return {
    values: valuesOf(event.kind),
    data: () => ({ type: TYPE_NAMES[event.kind], value: valueJson(event) }),
  }
}

function valueJson(event: RoundEvent): unknown {
  if (event.kind === 'Vote') return { Vote: voteJson(event.vote) }
  const { height, round, step } = event
  const position = { height: String(height), round, step: STEP_NAMES.get(step) }
  switch (event.kind) {
    case 'NewRound': {
      const { address, index } = event.proposer
      return { ...position, proposer: { address: bytesToUpperHex(address), index } }
    }
    case 'CompleteProposal':
      return { ...position, block_id: blockIdJson(event.blockId) }
    case 'NewRoundStep':
      return position
  }
}
