import { BroadcastChannel } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { type BlockId, SIGNED_MESSAGE_TYPES } from '../../../../src/chain/comet/types.ts'
import type { RoundEvent } from '../../../../src/consensus/roundEvents.ts'
import { STEPS } from '../../../../src/consensus/roundStateView.ts'
import {
  createRoundEventChannel,
  followRoundEvents,
  publishRoundEvents,
} from '../../../../src/node/wire/roundEvents.ts'
import { forgetWatchers } from '../../../../src/node/wire/sharedMemory.ts'

const undo: (() => void)[] = []
afterEach(() => {
  for (const step of undo.splice(0).reverse()) step()
})

/** Bytes within a large buffer, as decoded messages have them. */
const within = (length: number, fill: number): Uint8Array =>
  new Uint8Array(1_000_000).subarray(5, 5 + length).fill(fill)
const blockId: BlockId = { hash: within(32, 1), partSetHeader: { total: 1, hash: within(32, 2) } }
const position = { height: 9, round: 2 }
const EVENTS: readonly RoundEvent[] = [
  { kind: 'NewRound', ...position, step: STEPS.newRound, proposer: { address: within(20, 3), index: 4 } },
  { kind: 'NewRoundStep', ...position, step: STEPS.propose },
  { kind: 'CompleteProposal', ...position, step: STEPS.propose, blockId },
  {
    kind: 'Vote',
    vote: {
      type: SIGNED_MESSAGE_TYPES.prevote,
      ...position,
      blockId,
      timestampMs: 1_767_225_600_120,
      validatorAddress: within(20, 3),
      validatorIndex: 4,
      signature: within(64, 5),
    },
  },
]

test('what happens in a turn is one small message to all socket threads, and they read what was written', async () => {
  const channel = createRoundEventChannel(2)
  const main = publishRoundEvents(channel)
  const sockets = [0, 1].map((index) => followRoundEvents(channel, index))
  const raw = new BroadcastChannel(channel.name)
  undo.push(main.close, () => raw.close(), ...sockets.map(({ close }) => close))
  const heard = sockets.map(({ onEvents }) => new Promise<readonly RoundEvent[]>((resolve) => onEvents(resolve)))
  let messages = 0
  let bytes = 0
  const seen = Promise.withResolvers<void>()
  raw.onmessage = (event) => {
    messages++
    seen.resolve()
    for (const each of (event as { data: Record<string, unknown>[] }).data)
      if (each.vote instanceof Uint8Array) bytes += each.vote.buffer.byteLength
  }
  for (const event of EVENTS) main.publish(event)
  for (const events of await Promise.all(heard)) expect(events).toEqual(EVENTS.map((event) => structuredClone(event)))
  await seen.promise
  await new Promise((resolve) => setImmediate(resolve))
  expect(messages).toBe(1)
  expect(bytes).toBeLessThan(300)
})

test('they are wanted while a socket thread that lives has subscriptions; none of these is a message to the main thread', async () => {
  const channel = createRoundEventChannel(2)
  const main = publishRoundEvents(channel)
  const sockets = [0, 1].map((index) => followRoundEvents(channel, index))
  const raw = new BroadcastChannel(channel.name)
  undo.push(main.close, () => raw.close(), ...sockets.map(({ close }) => close))
  raw.onmessage = () => expect.fail('a socket thread posts nothing')
  expect(main.isWanted()).toBe(false)
  for (let count = 0; count < 1_000; count++) sockets[1]!.watch(1)
  expect(main.isWanted()).toBe(true)
  for (let count = 0; count < 1_000; count++) sockets[1]!.watch(-1)
  expect(main.isWanted()).toBe(false)
  sockets[0]!.watch(1)
  forgetWatchers(channel.watchers, 0)
  expect(main.isWanted()).toBe(false)
  await new Promise((resolve) => setImmediate(resolve))
})

test('a message has at most 1,024 of them', async () => {
  const channel = createRoundEventChannel(1)
  const main = publishRoundEvents(channel)
  const raw = new BroadcastChannel(channel.name)
  undo.push(main.close, () => raw.close())
  const heard = new Promise<unknown[]>((resolve) => {
    raw.onmessage = (event) => resolve((event as { readonly data: unknown[] }).data)
  })
  for (let count = 0; count < 3_000; count++) main.publish(EVENTS[1]!)
  expect(await heard).toHaveLength(1_024)
})
