import type { ConsensusEngine } from '../../src/consensus/engine.ts'

/** What a node needs of the engine: the real one, or one that a test has damaged. */
export type EngineLike = Pick<
  ConsensusEngine,
  | 'start'
  | 'stop'
  | 'receive'
  | 'peerJoined'
  | 'peerLeft'
  | 'receiveDecided'
  | 'fetchFailed'
  | 'built'
  | 'validated'
  | 'finalized'
  | 'isDeciding'
  | 'resumeSigning'
  | 'roundState'
  | 'state'
>
