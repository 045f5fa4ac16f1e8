import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { decodeBlock } from '../../../src/chain/consensus/block.ts'
import { decodeCommit } from '../../../src/chain/consensus/commit.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { AnswerSlots, databaseBlocks } from '../../../src/p2p/blockExchange.ts'
import { BLOCK_ANSWERS, LIMITS } from '../../../src/p2p/limits.ts'
import type { Session } from '../../../src/p2p/session.ts'
import { Database } from '../../../src/storage/database.ts'
import { networkGenesis, openNetworkNode, proposeBlock } from '../app/testNetwork.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** Those whose names begin with "v" are validators. */
const createSlots = () => new AnswerSlots(({ id }) => id.startsWith('v'))

/** Asks for a slot; shows when it is taken, or why not. */
function ask(slots: AnswerSlots, id: string): { leave: (() => void) | undefined; error: string | undefined } {
  const asked: ReturnType<typeof ask> = { leave: undefined, error: undefined }
  slots.take({ id } as Session).then(
    (leave) => {
      asked.leave = leave
    },
    (error: Error) => {
      asked.error = error.message
    },
  )
  return asked
}

const settle = () => vi.advanceTimersByTimeAsync(0)

test('a peer has its share, strangers have theirs, and the rest is for validators', async () => {
  const slots = createSlots()
  const names = ['a', 'a', 'a', 'b', 'b', 'c', 'c', 'd', 'v1', 'v1', 'v1', 'v2']
  const asked = names.map((id) => ask(slots, id))
  await settle()
  const served = names.filter((_, i) => asked[i]!.leave !== undefined)
  expect(served).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'v1', 'v1'])
  expect(served).toHaveLength(BLOCK_ANSWERS.total)
})

test('who has to wait is served in turn', async () => {
  const slots = createSlots()
  const served = ['a', 'a', 'b', 'b', 'c', 'c'].map((id) => ask(slots, id))
  const [third, other] = [ask(slots, 'a'), ask(slots, 'd')]
  await settle()
  // One of b's ends: it is not a's turn, who has two.
  served[2]!.leave!()
  await settle()
  expect([third.leave, other.leave]).toEqual([undefined, expect.any(Function)])
  served[0]!.leave!()
  await settle()
  expect(third.leave).toEqual(expect.any(Function))
})

test('two that end at once make room for two, and no more', async () => {
  const slots = createSlots()
  const served = ['a', 'a', 'b', 'b', 'c', 'c'].map((id) => ask(slots, id))
  const waiting = ['d', 'e', 'f'].map((id) => ask(slots, id))
  await settle()
  served[0]!.leave!()
  served[2]!.leave!()
  const late = ask(slots, 'g')
  await settle()
  expect([...waiting, late].map(({ leave }) => leave !== undefined)).toEqual([true, true, false, false])
})

test('who waits too long is told so', async () => {
  const slots = createSlots()
  const served = ['a', 'a'].map((id) => ask(slots, id))
  const late = ask(slots, 'a')
  await vi.advanceTimersByTimeAsync(LIMITS.requestMs)
  expect(late).toEqual({ leave: undefined, error: 'too many answers under way' })
  // Nothing of it remains.
  for (const { leave } of served) leave!()
  const again = ['a', 'a'].map((id) => ask(slots, id))
  await settle()
  expect(again.every(({ leave }) => leave !== undefined)).toBe(true)
})

test('a block is served with the commit in the next one, the newest with the one that the node saw', async () => {
  vi.useRealTimers()
  const node = await openNetworkNode(networkGenesis(3))
  let state = await node.state()
  const blocks: DecidedBlock[] = []
  for (let height = 1; height <= 4; height++) {
    const decided = await proposeBlock(node, state)
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    blocks.push(decided)
  }
  const database = await Database.open(node.location, { readOnly: true })
  const view = databaseBlocks(database)()
  const read = (height: number) => {
    const found = view.read(height)
    return found && { block: decodeBlock(found.block), commit: decodeCommit(found.commit) }
  }
  const expected = (height: number) => {
    const { block, seenCommit } = blocks[height - 1]!
    return { block, commit: blocks[height]?.block.lastCommit ?? seenCommit }
  }
  for (const height of [1, 2, 3, 4, 2, 4, 3, 1]) expect(read(height)).toEqual(expected(height))
  expect([0, 5].map(read)).toEqual([undefined, undefined])
  await view.close()
  await database.close()
  await node.close()
})
