import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPartSet, PART_SIZE } from '../../../src/chain/comet/partSet.ts'
import { ConsensusDecodingError } from '../../../src/chain/comet/wire.ts'
import { createBitSet } from '../../../src/consensus/bitSet.ts'
import {
  decodeConsensusMessage,
  encodeConsensusMessage,
  MAX_MESSAGE_LENGTH,
  messageHeight,
  peekMessage,
  type StatusMessage,
} from '../../../src/consensus/messages.ts'
import { bytesToHex, concatBytes, hexToBytes } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'
import { messages, statuses } from '../../support/consensus/consensusArbitraries.ts'

const status: StatusMessage = {
  kind: 'status',
  height: 0x123456789a,
  round: 3,
  step: 6,
  hasProposal: true,
  parts: { total: 2, hash: new Uint8Array(32).fill(0xaa), have: createBitSet(2, [1]) },
  prevotes: createBitSet(4, [0, 3]),
  precommits: createBitSet(4, [1]),
  pol: { round: 2, prevotes: createBitSet(4, [0, 1, 2]) },
  lastCommit: {
    round: 7,
    precommits: createBitSet(9, [8]),
    otherPrevotes: createBitSet(9, [0]),
    otherPrecommits: createBitSet(9, [1]),
  },
  directValidators: createBitSet(4, [2]),
}
const statusHex =
  `0x0100123456789a000000030 60f0004090204000 2${'aa'.repeat(32)}02000000020700000007000900 01 0100 0200`.replaceAll(
    ' ',
    '',
  )

/** What the decoder makes of bytes: a message, or undefined when it refuses them as it should. */
function decode(bytes: Uint8Array) {
  try {
    return decodeConsensusMessage(bytes)
  } catch (error) {
    if (error instanceof ConsensusDecodingError) return undefined
    throw error
  }
}

describe('messages on the consensus stream', () => {
  it('come back as they were sent, with kind and height in front', () => {
    fc.assert(
      fc.property(messages, (message) => {
        const bytes = encodeConsensusMessage(message)
        expect(bytes.length).toBeLessThanOrEqual(MAX_MESSAGE_LENGTH)
        expect(decodeConsensusMessage(bytes)).toEqual(message)
        expect(peekMessage(bytes)).toEqual({ kind: message.kind, height: messageHeight(message) })
      }),
      { numRuns: runs(500) },
    )
  })

  it('have one encoding: whatever is accepted encodes to the same bytes', () => {
    const mutations = fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        byte: fc.integer({ min: 0, max: 255 }),
        how: fc.constantFrom('set', 'insert', 'delete'),
      }),
      { minLength: 1, maxLength: 3 },
    )
    let accepted = 0
    fc.assert(
      fc.property(messages, mutations, (message, changes) => {
        let bytes = [...encodeConsensusMessage(message)]
        for (const { at, byte, how } of changes) {
          const index = Math.floor(at * bytes.length)
          bytes = how === 'delete' ? bytes.toSpliced(index, 1) : bytes.toSpliced(index, how === 'set' ? 1 : 0, byte)
        }
        const mutated = Uint8Array.from(bytes)
        const decoded = decode(mutated)
        if (decoded === undefined) return
        accepted++
        expect(encodeConsensusMessage(decoded)).toEqual(mutated)
      }),
      { numRuns: runs(3000) },
    )
    expect(accepted).toBeGreaterThan(100)
  })

  it('refuses arbitrary bytes with nothing but its own error', () => {
    const kinds = fc.integer({ min: 0, max: 6 })
    fc.assert(
      fc.property(kinds, fc.uint8Array({ maxLength: 300 }), (kind, rest) => {
        decode(rest)
        decode(concatBytes(Uint8Array.of(kind), rest))
        decode(concatBytes(Uint8Array.of(kind, 0, 0, 0, 0, 0, 1), rest))
      }),
      { numRuns: runs(5000) },
    )
  })

  it('refuses every beginning of a message, and one with a byte too many', () => {
    fc.assert(
      fc.property(messages, (message) => {
        const bytes = encodeConsensusMessage(message)
        for (let length = 0; length < bytes.length; length++) expect(decode(bytes.subarray(0, length))).toBeUndefined()
        expect(decode(concatBytes(bytes, Uint8Array.of(0)))).toBeUndefined()
      }),
      { numRuns: runs(30) },
    )
  })

  it('has a fixed layout for a status', () => {
    expect(bytesToHex(encodeConsensusMessage(status))).toBe(statusHex)
    expect(decodeConsensusMessage(hexToBytes(statusHex))).toEqual(status)
  })

  it.each<[string, (bytes: Uint8Array) => void]>([
    ['a round over 2^31 - 1', (bytes) => bytes.set([0x80], 7)],
    ['step 0', (bytes) => bytes.set([0], 11)],
    ['step 9', (bytes) => bytes.set([9], 11)],
    ['an unknown flag', (bytes) => bytes.set([0x1f], 12)],
    ['no validators', (bytes) => bytes.set([0, 0], 13)],
    ['more validators than there can be', (bytes) => bytes.set([0x27, 0x11], 13)],
    ['a bit beyond the set', (bytes) => bytes.set([0x19], 15)],
    ['no parts', (bytes) => bytes.set([0, 0], 18)],
    ['more parts than a block has', (bytes) => bytes.set([6, 0x42], 18)],
    ['a proof of lock of its own round', (bytes) => bytes.set([0, 0, 0, 3], 53)],
    ['height 0', (bytes) => bytes.set([0, 0, 0, 0, 0, 0], 1)],
    ['kind 0', (bytes) => bytes.set([0], 0)],
    ['kind 5', (bytes) => bytes.set([5], 0)],
  ])('refuses a status with %s', (_, change) => {
    const bytes = hexToBytes(statusHex)
    change(bytes)
    expect(() => decodeConsensusMessage(bytes)).toThrow(ConsensusDecodingError)
  })

  it('refuses a message whose header names another height', () => {
    fc.assert(
      fc.property(messages, (message) => {
        if (message.kind === 'status' || message.kind === 'part') return
        const bytes = encodeConsensusMessage(message)
        bytes[6]! ^= 1
        expect(decode(bytes)).toBeUndefined()
      }),
    )
  })

  it('carries the largest parts, and checks lengths before it decodes', () => {
    const { parts } = createPartSet(new Uint8Array(PART_SIZE * 3 + 5).fill(7))
    const bytes = encodeConsensusMessage({ kind: 'part', height: 9, round: 0, part: parts[0]! })
    expect(bytes.length).toBeLessThanOrEqual(MAX_MESSAGE_LENGTH)
    expect(decodeConsensusMessage(bytes)).toEqual({ kind: 'part', height: 9, round: 0, part: parts[0]! })
    for (const kind of [1, 2, 3, 4]) {
      const long = new Uint8Array(MAX_MESSAGE_LENGTH + 1)
      long.set([kind, 0, 0, 0, 0, 0, 1])
      expect(() => peekMessage(long)).toThrow(/has \d+ bytes/)
    }
  })

  it('does not send what others would refuse', () => {
    const [part] = createPartSet(new Uint8Array(10)).parts
    const long = { ...part!, bytes: new Uint8Array(PART_SIZE + 2000) }
    expect(() => encodeConsensusMessage({ kind: 'part', height: 1, round: 0, part: long })).toThrow(RangeError)
    expect(() => encodeConsensusMessage({ ...status, height: 2 ** 48 })).toThrow(RangeError)
    expect(() => encodeConsensusMessage({ ...status, precommits: createBitSet(5) })).toThrow(RangeError)
    expect(() => encodeConsensusMessage({ ...status, parts: { ...status.parts!, total: 3 } })).toThrow(RangeError)
  })

  it('never keeps more of a status than its bytes', () => {
    fc.assert(
      fc.property(statuses, (message) => {
        const bytes = encodeConsensusMessage(message)
        const decoded = decodeConsensusMessage(bytes)
        expect(decoded.kind === 'status' && decoded.prevotes.bytes.buffer).toBe(bytes.buffer)
      }),
      { numRuns: runs(10) },
    )
  })
})
