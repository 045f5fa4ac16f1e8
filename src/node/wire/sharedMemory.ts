import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { SyncStatus as RpcSyncStatus } from '../../rpc/jsonrpc/method.ts'
import type { SyncStatus } from '../../sync/blocks/syncStatus.ts'

/*
 * Memory that threads share instead of messages. One thread writes values that others read at any time: published height, peers
 * and sync status, number of watchers of pending transactions, whether the pool is empty. At the gate, threads wait for the database.
 */

/**
 * Height of the newest published block. The executor raises it when a block is in the database, and so does a thread that finds
 * the block there a moment before. A thread that reads it before it answers never shows an older head than another thread has shown.
 * Threads that want to know of new blocks wait for it; the others are not woken.
 */
export type PublishedHeight = BigInt64Array<SharedArrayBuffer>

export function createPublishedHeight(): PublishedHeight {
  return new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
}

/** Sets the published height, unless it is there already or above. */
export function raisePublishedHeight(cell: PublishedHeight, height: number): void {
  const value = BigInt(height)
  for (let known = Atomics.load(cell, 0); known < value; ) {
    const found = Atomics.compareExchange(cell, 0, known, value)
    if (found === known) Atomics.notify(cell, 0)
    known = found === known ? value : found
  }
}

/** Resolves when the published height is another than `height`. Keeps neither the thread nor the process alive. */
export async function untilPublished(cell: PublishedHeight, height: number): Promise<void> {
  await Atomics.waitAsync(cell, 0, BigInt(height)).value
}

export function getPublishedHeight(cell: PublishedHeight): number {
  return Number(Atomics.load(cell, 0))
}

/**
 * What clients may ask about the node at any time: connected peers, and whether and how far the node is behind. Written by the
 * main thread.
 */
export type NodeState = BigInt64Array<SharedArrayBuffer>

const NODE_CELLS = { peers: 0, isCatchingUp: 1, startingHeight: 2, highestHeight: 3 } as const

/** Creates the state of a node that has not heard from the network yet: it counts as catching up. */
export function createNodeState(): NodeState {
  const cells = Object.keys(NODE_CELLS).length
  const state = new BigInt64Array(new SharedArrayBuffer(cells * BigInt64Array.BYTES_PER_ELEMENT))
  Atomics.store(state, NODE_CELLS.isCatchingUp, 1n)
  return state
}

export function setPeerCount(state: NodeState, peers: number): void {
  Atomics.store(state, NODE_CELLS.peers, BigInt(peers))
}

export function getPeerCount(state: NodeState): number {
  return Number(Atomics.load(state, NODE_CELLS.peers))
}

export function setSyncStatus(state: NodeState, { mode, startingHeight, highestHeight }: SyncStatus): void {
  Atomics.store(state, NODE_CELLS.startingHeight, BigInt(startingHeight))
  Atomics.store(state, NODE_CELLS.highestHeight, BigInt(highestHeight))
  // Last: a reader that sees the node catching up finds the heights that belong to it.
  Atomics.store(state, NODE_CELLS.isCatchingUp, mode === 'consensus' ? 0n : 1n)
}

export function isCatchingUp(state: NodeState): boolean {
  return Atomics.load(state, NODE_CELLS.isCatchingUp) !== 0n
}

/**
 * Returns the answer to eth_syncing; undefined when the node is not catching up.
 * @param headHeight the newest block that the same client sees
 */
export function getSyncStatus(state: NodeState, headHeight: number): RpcSyncStatus | undefined {
  if (!isCatchingUp(state)) return undefined
  return {
    startingBlock: Math.min(Number(Atomics.load(state, NODE_CELLS.startingHeight)), headHeight),
    currentBlock: headHeight,
    highestBlock: Math.max(Number(Atomics.load(state, NODE_CELLS.highestHeight)), headHeight),
  }
}

/**
 * How many subscriptions and filters want what another thread announces (pending transactions, events of rounds), one cell for each
 * socket thread: without any, the other thread announces nothing.
 */
export type Watchers = Int32Array<SharedArrayBuffer>

export function createWatchers(socketThreads: number): Watchers {
  return new Int32Array(new SharedArrayBuffer(socketThreads * Int32Array.BYTES_PER_ELEMENT))
}

/** Adds a watcher (1) of a socket thread or removes one (-1). */
export function countWatchers(watch: Watchers, thread: number, change: 1 | -1): void {
  Atomics.add(watch, thread, change)
}

/** Removes the watchers of a thread that has ended. */
export function forgetWatchers(watch: Watchers, thread: number): void {
  Atomics.store(watch, thread, 0)
}

export function isWatched(watch: Watchers): boolean {
  for (let thread = 0; thread < watch.length; thread++) if (Atomics.load(watch, thread) > 0) return true
  return false
}

/** Whether the pool may have transactions: while it is empty, the executor does not wake its thread to ask for some. */
export type PoolFilling = Int32Array<SharedArrayBuffer>

/** Creates the memory for an empty pool. */
export function createPoolFilling(): PoolFilling {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

/** Stores whether the pool is empty, before the sender of a transaction has an answer. */
export function setPoolEmpty(filling: PoolFilling, isEmpty: boolean): void {
  Atomics.store(filling, 0, isEmpty ? 0 : 1)
}

export function isPoolEmpty(filling: PoolFilling): boolean {
  return Atomics.load(filling, 0) === 0
}

/**
 * Where threads wait until the executor has opened the database. They load their modules before, all at the same time. It also
 * counts them, because a thread must not be ended before it is there (see {@link untilWaiting}).
 */
export type Gate = Int32Array<SharedArrayBuffer>

const GATE_CELLS = { state: 0, waiting: 1 } as const
const CLOSED = 0
const OPEN = 1

const POLL_MS = 5

export function createGate(): Gate {
  return new Int32Array(new SharedArrayBuffer(Object.keys(GATE_CELLS).length * Int32Array.BYTES_PER_ELEMENT))
}

export function openGate(gate: Gate): void {
  Atomics.store(gate, GATE_CELLS.state, OPEN)
  Atomics.notify(gate, GATE_CELLS.state)
}

/** Blocks this thread, which has nothing else to do yet, until the gate is open. */
export async function waitAtGate(gate: Gate): Promise<void> {
  // A thread that is ended while it waits in a microtask of its modules' loading crashes the process.
  await setImmediate()
  Atomics.add(gate, GATE_CELLS.waiting, 1)
  Atomics.wait(gate, GATE_CELLS.state, CLOSED)
}

/**
 * Resolves when as many threads as `living` says wait at the gate, or after `timeoutMs`. A thread must not be ended earlier: to end it
 * while it loads one of Node.js's native modules crashes the whole process.
 * @param living how many may still come, or are there: one that died before the gate never comes
 */
export async function untilWaiting(gate: Gate, living: () => number, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (Atomics.load(gate, GATE_CELLS.waiting) < living() && performance.now() < deadline) await sleep(POLL_MS)
}
