/**
 * - `waiting`: the node has started and waits to hear from a first peer
 * - `syncing`: it fetches decided blocks; consensus is off and nothing is signed
 * - `consensus`: it takes part in consensus, or follows it without a vote
 */
export type SyncMode = 'waiting' | 'syncing' | 'consensus'

/** Where the node stands between its own chain and its peers': eth_syncing, /rpc/status and the heartbeat show it. */
export interface SyncStatus {
  readonly mode: SyncMode
  /** of the newest block when this mode began */
  readonly startingHeight: number
  /** of the newest block that is executed */
  readonly currentHeight: number
  /** of the best peer that is believed; never below `currentHeight` */
  readonly highestHeight: number
}
