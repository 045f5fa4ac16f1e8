import { describe, expect, it } from 'vitest'
import {
  createNodeState,
  getPeerCount,
  getSyncStatus,
  isCatchingUp,
  setPeerCount,
  setSyncStatus,
} from '../../../../src/node/wire/sharedMemory.ts'
import type { SyncStatus } from '../../../../src/sync/blocks/syncStatus.ts'

const STATUS: SyncStatus = { mode: 'syncing', startingHeight: 10, currentHeight: 20, highestHeight: 100 }

describe('node state', () => {
  it('a node that has not heard from the network catches up and has no peers', () => {
    const state = createNodeState()
    expect([isCatchingUp(state), getPeerCount(state)]).toEqual([true, 0])
    expect(getSyncStatus(state, 7)).toEqual({ startingBlock: 0, currentBlock: 7, highestBlock: 7 })
  })

  it('shows how far it is, by the head that the client sees', () => {
    const state = createNodeState()
    setSyncStatus(state, STATUS)
    expect(getSyncStatus(state, 25)).toEqual({ startingBlock: 10, currentBlock: 25, highestBlock: 100 })
  })

  it('is never behind itself', () => {
    const state = createNodeState()
    setSyncStatus(state, STATUS)
    expect(getSyncStatus(state, 5)).toEqual({ startingBlock: 5, currentBlock: 5, highestBlock: 100 })
    expect(getSyncStatus(state, 101)).toEqual({ startingBlock: 10, currentBlock: 101, highestBlock: 101 })
  })

  it.each([
    ['waiting', true],
    ['syncing', true],
    ['consensus', false],
  ] as const)('%s', (mode, expected) => {
    const state = createNodeState()
    setSyncStatus(state, { ...STATUS, mode })
    expect([isCatchingUp(state), getSyncStatus(state, 25) !== undefined]).toEqual([expected, expected])
  })

  it('is shared with other threads as it is', () => {
    const state = createNodeState()
    const elsewhere = structuredClone(state)
    setPeerCount(state, 3)
    setSyncStatus(state, { ...STATUS, mode: 'consensus' })
    expect([getPeerCount(elsewhere), isCatchingUp(elsewhere)]).toEqual([3, false])
  })
})
