/**
 * - `waiting`: the node has started and waits for a first peer
 * - `syncing`: it fetches decided blocks; consensus is off and nothing is signed
 * - `consensus`: it takes part in consensus, or follows it without a vote
 */
export type SyncMode = 'waiting' | 'syncing' | 'consensus'

/** The node's mode and its height compared with its peers'. Shown by eth_syncing, /rpc/status and the heartbeat. */
export interface SyncStatus {
  readonly mode: SyncMode
  /** of the newest block when this mode began */
  readonly startingHeight: number
  /** of the newest block that is executed */
  readonly currentHeight: number
  /** of the best believed peer; never below `currentHeight` */
  readonly highestHeight: number
}
