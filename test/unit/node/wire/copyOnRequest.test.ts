import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { createCopyChannel, publishCopies, readCopies } from '../../../../src/node/wire/copyOnRequest.ts'

const undo: (() => void)[] = []

afterEach(() => {
  for (const step of undo.splice(0).reverse()) step()
})

function setUp(periodMs: number) {
  const channel = createCopyChannel(periodMs)
  let made = 0
  undo.push(publishCopies(channel, () => ++made))
  const readers = [0, 1].map(() => readCopies<number>(channel))
  undo.push(...readers.map((reader) => reader.close))
  return { readers, made: () => made }
}

test('no copy is made while nobody asks, and one for all who ask', async () => {
  const { readers, made } = setUp(600_000)
  await sleep(20)
  expect(made()).toBe(0)
  const copies = await Promise.all(Array.from({ length: 1_000 }, (_, index) => readers[index % 2]!.read()))
  expect(new Set(copies)).toEqual(new Set([1]))
  // Those who ask later get the copy that has arrived.
  await readers[0]!.read()
  expect(made()).toBe(1)
})

test('an older copy is not shown', async () => {
  const { readers } = setUp(5)
  await readers[0]!.read()
  let copy = 0
  while (copy < 3) copy = await readers[1]!.read()
  expect(copy).toBe(3)
})

test('an error goes to those who asked, and the next copy is made', async () => {
  const channel = createCopyChannel(5)
  let made = 0
  undo.push(
    publishCopies(channel, () => {
      if (++made === 1) throw new Error('no round')
      return made
    }),
  )
  const reader = readCopies<number>(channel)
  undo.push(reader.close)
  await expect(reader.read()).rejects.toThrow('no round')
  expect(await reader.read()).toBe(2)
})

test('who waits when its thread stops gets an error', async () => {
  const reader = readCopies(createCopyChannel())
  const read = reader.read()
  reader.close()
  await expect(read).rejects.toThrow('the thread stops')
})
