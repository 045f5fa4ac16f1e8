import type { ConsensusBlock } from '../chain/consensus/block.ts'
import type { Part } from '../chain/consensus/partSet.ts'
import type { BlockId, Commit, UnsignedProposal, UnsignedVote, Vote } from '../chain/consensus/types.ts'
import type { DecidedBlock } from './application.ts'
import type { Input, PeerId, Step, Timeout } from './input.ts'

/** What a peer did that no honest peer does. */
export type Misbehaviour = 'bad signature' | 'malformed' | 'invalid block' | 'false height' | 'unresponsive'

/** What consensus wants done. The engine does it in the order given; answers come back as inputs. */
export type Effect =
  /** replaces a timer of the same step; for `newHeight` the engine adds the pace of blocks to `delayMs` */
  | { readonly kind: 'schedule'; readonly timeout: Timeout; readonly delayMs: number }
  /** make a block of the present height; answered by `built` */
  | { readonly kind: 'build'; readonly height: number; readonly round: number; readonly lastCommit: Commit }
  /** ask the application about a block; answered by `validated` */
  | { readonly kind: 'validate'; readonly block: ConsensusBlock; readonly blockId: BlockId }
  /** log the parts, sign, log the proposal; it and the parts come back as inputs without `from` */
  | { readonly kind: 'signProposal'; readonly proposal: UnsignedProposal; readonly parts: readonly Part[] }
  /** sign and log; the vote comes back as an input. Its time is the clock's, but not before `earliestMs`. */
  | {
      readonly kind: 'signVote'
      readonly vote: Omit<UnsignedVote, 'timestampMs'>
      readonly earliestMs: number
    }
  /** log commit and end of height, sync, then hand over to the application; answered by `finalized` */
  | { readonly kind: 'finalize'; readonly decided: DecidedBlock; readonly parts: readonly Part[] }
  /** two votes of one validator that no honest one signs; both verified */
  | { readonly kind: 'equivocation'; readonly first: Vote; readonly second: Vote }
  /** a proposal, part or vote was new and valid: others may be told */
  | { readonly kind: 'accepted'; readonly input: Extract<Input, { readonly kind: 'proposal' | 'part' | 'vote' }> }
  /** height, round or step changed: peers are told */
  | { readonly kind: 'entered'; readonly height: number; readonly round: number; readonly step: Step }
  | { readonly kind: 'misbehaviour'; readonly peer: PeerId; readonly what: Misbehaviour; readonly reason: string }
  /** consensus cannot go on: more than two thirds voted for an invalid block, or decided two */
  | { readonly kind: 'halt'; readonly reason: string }
  /** for the log: why a prevote is nil, why a round failed */
  | { readonly kind: 'note'; readonly message: string; readonly fields: Readonly<Record<string, unknown>> }
