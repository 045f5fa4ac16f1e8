import { afterEach, beforeEach, expect, test } from 'vitest'
import type { OlderBlock } from '../../../src/chain/store/olderBlocks.ts'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import type { OlderBlocksSource } from '../../../src/p2p/headerExchange.ts'
import { BLOCK_ANSWERS, LIMITS, REQUEST_LIMITS } from '../../../src/p2p/limits.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { closeNodes, connectedPair, until } from '../../support/p2p/testNode.ts'

afterEach(closeNodes)

let open: number
beforeEach(() => {
  open = 0
})

/** Blocks from 5 to 1,000 with as many bytes. */
const blocksOf =
  (bytes: number): OlderBlocksSource =>
  () => {
    open++
    return {
      read: (height): OlderBlock | undefined => {
        if (height < 5 || height > 1_000) return undefined
        const validators = height % 100 === 0 ? Uint8Array.of(height / 100) : undefined
        return { block: new Uint8Array(bytes).fill(height), header: Uint8Array.of(1), validators }
      },
      below: (lowest) => (lowest === 701 ? Uint8Array.of(9) : undefined),
      close: async () => {
        open--
      },
    }
  }

test('a peer gives blocks from a height down, as many as it has, are asked for, and fit into an answer', async () => {
  const [server, client] = await connectedPair({ olderBlocks: blocksOf(100) })
  const fetch = (highest: number, count: number) =>
    client.network.fetchOlderBlocks(server.network.id, { highest, count })
  const { blocks, below } = await fetch(703, 3)
  expect(blocks.map(({ block }) => block[0])).toEqual([703 & 0xff, 702 & 0xff, 701 & 0xff])
  expect([blocks.map(({ validators }) => validators), below]).toEqual([
    [undefined, undefined, undefined],
    Uint8Array.of(9),
  ])
  const changed = await fetch(601, 2)
  expect([changed.blocks.map(({ validators }) => validators), changed.below]).toEqual([
    [undefined, Uint8Array.of(6)],
    undefined,
  ])
  expect((await fetch(10, 500)).blocks).toHaveLength(6)
  expect((await fetch(900, 1_000_000)).blocks).toHaveLength(LIMITS.headersPerAnswer)
  for (const highest of [4, 1_001, Number.MAX_SAFE_INTEGER]) {
    expect(await fetch(highest, 10)).toEqual({ blocks: [], below: undefined })
  }
  expect(open).toBe(0)
})

test('an answer ends with the block that makes it too long', async () => {
  const [server, client] = await connectedPair({ olderBlocks: blocksOf(LIMITS.bytesPerAnswer / 4) })
  const { blocks } = await client.network.fetchOlderBlocks(server.network.id, { highest: 900, count: 100 })
  expect(blocks).toHaveLength(4)
})

test('who sends more than was asked for, or another thing, is banned, and so is who asks for nonsense', async () => {
  const tooLong = blocksOf(LIMITS.headerFrameBytes + 1)
  const [server, client] = await connectedPair({ olderBlocks: tooLong })
  const asked = { highest: 900, count: 1 }
  await expect(client.network.fetchOlderBlocks(server.network.id, asked)).rejects.toThrow(/a frame of/)
  await until('it is banned', () => client.log.some(({ msg }) => msg === 'peer banned'))
  const [other, attacker] = await connectedPair({ olderBlocks: blocksOf(10) })
  const stream = await attacker.sessions.get(other.network.id)!.connection.newStream(PROTOCOLS.headers)
  stream.send(encodeFrame(new ProtobufWriter().varint(1, -1n).varint(2, 1).finish()))
  await until('it is banned', () => other.log.some(({ msg }) => msg === 'peer banned'))
  expect([...server.defects, ...client.defects, ...other.defects]).toEqual([])
  expect(open).toBe(0)
})

test('a few answers are under way at a time, however much is asked and however little is read', async () => {
  const [server, attacker] = await connectedPair({ olderBlocks: blocksOf(LIMITS.bytesPerAnswer / 4) })
  const { connection } = attacker.sessions.get(server.network.id)!
  for (let request = 0; request < REQUEST_LIMITS.headers.inFlight; request++) {
    const stream = await connection.newStream(PROTOCOLS.headers)
    stream.pause()
    stream.send(encodeFrame(new ProtobufWriter().varint(1, 900).varint(2, 100).finish()))
  }
  await until('answers are under way', () => open === BLOCK_ANSWERS.perPeer)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(open).toBe(BLOCK_ANSWERS.perPeer)
})
