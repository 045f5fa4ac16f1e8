import type { SyncStatus as RpcSyncStatus } from '../rpc/method.ts'
import type { SyncStatus } from '../sync/syncStatus.ts'

/**
 * What clients may ask about the node at any time, in memory that all threads share: connected peers, and whether and how far the
 * node is behind. Written by the main thread.
 */
export type NodeState = BigInt64Array<SharedArrayBuffer>

const CELLS = { peers: 0, isCatchingUp: 1, startingHeight: 2, highestHeight: 3 } as const

/** Of a node that has not heard from the network yet: it counts as catching up. */
export function createNodeState(): NodeState {
  const state = new BigInt64Array(new SharedArrayBuffer(Object.keys(CELLS).length * BigInt64Array.BYTES_PER_ELEMENT))
  Atomics.store(state, CELLS.isCatchingUp, 1n)
  return state
}

export function setPeerCount(state: NodeState, peers: number): void {
  Atomics.store(state, CELLS.peers, BigInt(peers))
}

export function getPeerCount(state: NodeState): number {
  return Number(Atomics.load(state, CELLS.peers))
}

export function setSyncStatus(state: NodeState, { mode, startingHeight, highestHeight }: SyncStatus): void {
  Atomics.store(state, CELLS.startingHeight, BigInt(startingHeight))
  Atomics.store(state, CELLS.highestHeight, BigInt(highestHeight))
  Atomics.store(state, CELLS.isCatchingUp, mode === 'consensus' ? 0n : 1n)
}

export function isCatchingUp(state: NodeState): boolean {
  return Atomics.load(state, CELLS.isCatchingUp) !== 0n
}

/**
 * How far the node has caught up; undefined when it does not have to.
 * @param headHeight that the same client sees
 */
export function getSyncStatus(state: NodeState, headHeight: number): RpcSyncStatus | undefined {
  if (!isCatchingUp(state)) return undefined
  return {
    startingBlock: Math.min(Number(Atomics.load(state, CELLS.startingHeight)), headHeight),
    currentBlock: headHeight,
    highestBlock: Math.max(Number(Atomics.load(state, CELLS.highestHeight)), headHeight),
  }
}
