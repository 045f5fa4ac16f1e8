import {
  bytes,
  decimal,
  defineMessage,
  embedded,
  integer,
  message,
  repeated,
  type ValueOf,
} from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { tallyKey } from './keys.ts'
import { WeightedVoteOption } from './types.ts'

/** A bonded validator as it was when the tally began. */
const TallyValidator = defineMessage('coind.gov.TallyValidator', {
  operator: bytes(1),
  tokens: integer(2),
  delegatorShares: decimal(3),
  /** shares of delegators who voted themselves */
  deductions: decimal(4),
  /** the operator's own vote, none while it was not counted */
  vote: repeated(message(5, WeightedVoteOption)),
})

/**
 * A tally that has not counted all votes yet. Voting powers are those of the block in which it began: validators are
 * copied here, and who changes a delegation is counted before (see `beforeStakeChanges`).
 */
export const Tally = defineMessage('coind.gov.Tally', {
  validators: repeated(embedded(1, TallyValidator)),
  yes: decimal(2),
  abstain: decimal(3),
  no: decimal(4),
  noWithVeto: decimal(5),
  /** of all that was counted */
  totalPower: decimal(6),
  /** acoin that was bonded, at validators that are not above too */
  bondedTokens: integer(7),
})
export type Tally = ValueOf<typeof Tally>
export type TallyValidator = ValueOf<typeof TallyValidator>

/** The tally that is under way; undefined before voting ended. */
export function getTally(native: Pick<NativeStore, 'get'>, id: bigint): Tally | undefined {
  const value = native.get(tallyKey(id))
  return value && Tally.decode(value)
}

export function putTally(native: Pick<NativeStore, 'set'>, id: bigint, tally: Tally): void {
  native.set(tallyKey(id), Tally.encode(tally))
}

export function deleteTally(native: Pick<NativeStore, 'delete'>, id: bigint): void {
  native.delete(tallyKey(id))
}
