import type { DecidedBlock } from '../consensus/application.ts'
import type { BlockRequest, Misbehaviour, PeerId } from '../consensus/transport.ts'
import type { CommitCheck } from './commitCheck.ts'
import type { SyncStatus } from './syncStatus.ts'

/** Everything that the follower does outside of itself; answers come back through its functions, at once or later. */
export interface FollowEnvironment {
  /** milliseconds, never going back */
  nowMs(): number
  /** @returns how to cancel it */
  setTimer(delayMs: number, run: () => void): () => void
  /** answered by `answered` or `failed` */
  request(id: number, peer: PeerId, request: BlockRequest): void
  /** answered by `verified` */
  verify(id: number, checks: readonly CommitCheck[]): void
  /** The block was decided and will be applied soon: what can be computed ahead may be. */
  prepare(decided: DecidedBlock): void
  /** answered by `applied` */
  apply(decided: DecidedBlock): void
  /** From the state after the newest block on; the node votes from now on. */
  startEngine(): void
  /** answered by `engineStopped` */
  stopEngine(): void
  punish(peer: PeerId, what: Misbehaviour, reason: string): void
  publish(status: SyncStatus): void
  /** The node cannot go on. */
  halt(reason: string): void
  log(level: 'info' | 'warn', message: string, fields: Readonly<Record<string, unknown>>): void
}
