import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesInSocket, createUnreadBytes, type UnreadMessage } from '../../../../src/rpc/transport/unreadBytes.ts'

test('a part that several messages share counts once, as long as one of them waits', () => {
  const unread = createUnreadBytes()
  const shared = Buffer.alloc(1_000_000)
  const messages = Array.from({ length: 100 }, (): UnreadMessage => ({ ownBytes: 100, shared }))
  for (const message of messages) unread.add(message)
  const own = 100 * bytesInSocket({ ownBytes: 100, shared: undefined })
  expect(unread.total).toBe(1_000_000 + own)
  expect(bytesInSocket(messages[0]!) * 100).toBe(100_000_000 + own)
  for (const message of messages.slice(1)) unread.remove(message)
  expect(unread.total).toBe(1_000_000 + own / 100)
  unread.remove(messages[0]!)
  expect(unread.total).toBe(0)
})

test('the total is that of what waits, in whatever order messages come and go', () => {
  const parts = [undefined, Buffer.alloc(20_000), Buffer.alloc(20_000), Buffer.alloc(70_000)]
  const steps = fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 1_000 }), fc.nat()), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (all) => {
      const unread = createUnreadBytes()
      const waiting: UnreadMessage[] = []
      for (const [part, ownBytes, choice] of all) {
        if (choice % 3 === 0 && waiting.length > 0) {
          unread.remove(waiting.splice(choice % waiting.length, 1)[0]!)
        } else {
          const message = { ownBytes, shared: parts[part] }
          waiting.push(message)
          unread.add(message)
        }
        const own = waiting.reduce((sum, one) => sum + bytesInSocket({ ...one, shared: undefined }), 0)
        const shared = [...new Set(waiting.map((one) => one.shared))].reduce((sum, one) => sum + (one?.length ?? 0), 0)
        expect(unread.total).toBe(own + shared)
      }
    }),
  )
})
