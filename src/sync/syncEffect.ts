import type { DecidedBlock } from '../consensus/application.ts'
import type { BlockRequest, Misbehaviour, PeerId } from '../consensus/transport.ts'
import type { CommitCheck } from './commitCheck.ts'

/** What block sync wants done; answers come back through its functions. */
export type SyncEffect =
  /** answered by `answered` or `failed` */
  | { readonly kind: 'request'; readonly id: number; readonly peer: PeerId; readonly request: BlockRequest }
  /** answered by `verified` */
  | { readonly kind: 'verify'; readonly id: number; readonly checks: readonly CommitCheck[] }
  /** the block was decided; it will be applied when its turn comes */
  | { readonly kind: 'prepare'; readonly decided: DecidedBlock }
  /** answered by `applied` */
  | { readonly kind: 'apply'; readonly decided: DecidedBlock }
  | { readonly kind: 'punish'; readonly peer: PeerId; readonly what: Misbehaviour; readonly reason: string }
  /** the network decided a block that cannot follow on this node's chain */
  | { readonly kind: 'halt'; readonly reason: string }
