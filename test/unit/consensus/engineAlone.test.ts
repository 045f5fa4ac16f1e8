import { describe, expect, it } from 'vitest'
import { encodeBlock } from '../../../src/chain/comet/block.ts'
import { createPartSet } from '../../../src/chain/comet/partSet.ts'
import { encodedTxSize } from '../../../src/chain/comet/wire.ts'
import { HEADER_LENGTH } from '../../../src/consensus/walSegment.ts'
import { checkChain } from '../../support/consensus/checkChain.ts'
import {
  CHAIN,
  createSolo,
  KEY,
  KEYS,
  type NodeSettings,
  runUntil,
  type TestNode,
  WAL,
} from '../../support/consensus/consensusHarness.ts'
import type { FakeApplication } from '../../support/consensus/fakeApplication.ts'
import { MemoryDisk } from '../../support/consensus/memoryDisk.ts'

const FIRST = `${WAL}/00000001.wal`
const tx = (byte: number, length = 100) => new Uint8Array(length).fill(byte)

/** A settled chain of that many blocks, and the node that made it, stopped. */
async function chainOf(heights: number, settings: Partial<NodeSettings> = {}): Promise<TestNode> {
  const node = createSolo(settings)
  node.application.txsFor = ({ height }) => [tx(height), tx(height + 1)]
  return await runUntil(node, heights)
}

/** The same key on a copy of the disk, with the application as of an earlier height. */
function restarted(node: TestNode, application: FakeApplication, settings: Partial<NodeSettings> = {}): TestNode {
  return createSolo({ disk: node.disk.copy('all'), application, ...settings })
}

/** Starts and runs until the node halts. */
async function haltOf(node: TestNode): Promise<string> {
  await node.start()
  await node.settings.network.until(() => node.halted !== undefined)
  return node.halted!.message
}

describe('blocks of one validator', () => {
  it('follow each other by the rules of consensus, with one sync of the log each', async () => {
    const node = createSolo()
    let syncs = 0
    node.disk.before = (operation) => {
      if (operation === 'datasync') syncs++
    }
    await runUntil(node, 12)
    checkChain(node.application)
    expect(node.events.every(({ decided }) => decided.seenCommit.round === 0)).toBe(true)
    expect(syncs).toBe(node.height)
  })

  it('ask the application with the time, parent and room that the block has', async () => {
    const node = createSolo()
    const requests: Parameters<FakeApplication['txsFor']>[0][] = []
    node.application.txsFor = (request) => {
      requests.push(request)
      return []
    }
    await runUntil(node, 3)
    expect(requests.slice(0, 3)).toEqual(
      node.application.blocks.slice(0, 3).map(({ block }, index, blocks) => ({
        height: index + 1,
        timeMs: block.header.timeMs,
        proposerAddress: KEY.address,
        parentConsensusHash: blocks[index - 1]?.blockId.hash ?? CHAIN.genesisHash,
        maxBytes: CHAIN.params.maxBytes,
        lastCommit: block.lastCommit,
        evidence: [],
        refusals: 0,
      })),
    )
  })

  it('of the largest size are logged in parts and replayed', async () => {
    const node = createSolo({ segmentBytes: 1 << 20 })
    const room = CHAIN.params.maxBytes - 1000
    node.application.txsFor = ({ height }) => (height === 2 ? [tx(1, room)] : [])
    expect(encodedTxSize(room)).toBeLessThan(CHAIN.params.maxBytes)
    await runUntil(node, 2)
    const behind = restarted(node, node.application.at(1))
    await runUntil(behind, 2)
    expect(behind.events[0]?.source).toBe('log')
    const [bytes, replayedBytes] = [node, behind].map(({ application }) => encodeBlock(application.blocks[1]!.block))
    expect(Buffer.compare(bytes!, replayedBytes!)).toBe(0)
    expect(createPartSet(bytes!).header.total).toBeGreaterThan(25)
  })

  it('keep their time rising when the clock is set back', async () => {
    const node = createSolo()
    node.application.before = (_, height) => {
      if (height === 5) node.settings.network.clock.setBack(10_000)
    }
    await runUntil(node, 10)
    checkChain(node.application)
    expect(node.events.every(({ decided }) => decided.seenCommit.round === 0)).toBe(true)
  })

  it('begin after the genesis time', async () => {
    const node = createSolo()
    const { clock } = node.settings.network
    clock.setBack(3_001_000)
    await runUntil(node, 1)
    expect(node.application.blocks[0]!.block.header.timeMs).toBe(CHAIN.genesisTimeMs + 1)
    expect(clock.monotonicMs()).toBe(3_000_001)
  })

  it('are waited for, however long the application takes', async () => {
    const node = createSolo()
    node.application.before = (step) => {
      if (step === 'prepareProposal') node.settings.network.clock.advance(5000)
    }
    await runUntil(node, 5)
    expect(node.events.every(({ decided }) => decided.seenCommit.round === 0)).toBe(true)
  })
})

describe('pacing', () => {
  it('is 400 ms on average, however long single blocks take', async () => {
    const node = createSolo()
    const { clock } = node.settings.network
    // Building and execution together: 0 to 760 ms, 380 ms on average.
    node.application.before = (step, height) => {
      if (step === 'finalizeBlock') clock.advance(((height * 7) % 20) * 30)
      else if (step === 'prepareProposal') clock.advance((height % 20) * 10)
    }
    await runUntil(node, 101)
    const times = node.application.blocks.map(({ block }) => block.header.timeMs)
    expect(Math.abs((times[100]! - times[0]!) / 100 - 400)).toBeLessThan(10)
  })

  it('does not race after a long pause', async () => {
    const node = createSolo()
    node.application.before = (step, height) => {
      if (step === 'finalizeBlock' && height === 5) node.settings.network.clock.advance(3_600_000)
    }
    await node.start()
    await node.settings.network.until(() => node.height >= 10, 4_000_000)
    await node.stop()
    const times = node.application.blocks.map(({ block }) => block.header.timeMs)
    expect(times[5]! - times[4]!).toBe(3_600_000)
    expect(times.slice(6, 10).map((time, i) => time - times[i + 5]!)).toEqual([400, 400, 400, 400])
  })
})

describe('a restart', () => {
  it('goes on where the chain ended', async () => {
    const node = await chainOf(5)
    await runUntil(node, node.height + 5)
    expect(node.events.every(({ source }) => source === 'consensus')).toBe(true)
    checkChain(node.application)
    expect(node.warnings).toEqual([])
  })

  it.each([1, 3, 6])('gives the application the %d blocks that it lost', async (lost) => {
    const node = createSolo({ segmentBytes: 2000 })
    node.application.txsFor = ({ height }) => [tx(height)]
    node.application.durableLag = 100
    await runUntil(node, 6)
    const behind = restarted(node, node.application.at(node.height - lost), { segmentBytes: 2000 })
    await runUntil(behind, node.height + 2)
    const replayed = behind.events.filter(({ source }) => source === 'log')
    expect(replayed.map(({ decided }) => decided.block.header.height)).toEqual(
      Array.from({ length: lost }, (_, i) => node.height - lost + 1 + i),
    )
    expect(behind.application.blocks.slice(0, node.height)).toEqual(node.application.blocks)
    checkChain(behind.application)
  })

  it('after a crash at any byte of a height decides one block, the signed one if one was', async () => {
    const node = await chainOf(3)
    const bytes = node.disk.content(FIRST)
    const begins = batches(bytes)
    const height = node.height
    const decidedId = node.application.blocks[height - 1]!.blockId
    const outcomes = { same: 0, other: 0 }
    for (let length = begins[height - 1]!; length <= bytes.length; length++) {
      const disk = new MemoryDisk()
      disk.put(FIRST, bytes.subarray(0, length))
      const again = createSolo({ disk, application: node.application.at(height - 1) })
      // The clock has moved on, so a block built anew differs.
      again.settings.network.clock.advance(3_600_000)
      await runUntil(again, height)
      const { blockId } = again.application.blocks[height - 1]!
      const same = Buffer.compare(blockId.hash, decidedId.hash) === 0
      outcomes[same ? 'same' : 'other']++
      // Once the proposal is in the log every longer log leads to the same block.
      if (outcomes.same > 0) expect(same).toBe(true)
      if (length % 50 === 0) checkChain(again.application)
    }
    expect(outcomes.same).toBeGreaterThan(300)
    expect(outcomes.other).toBeGreaterThan(300)
  }, 60_000)

  it('with a log cut anywhere never signs a height that the application has', async () => {
    const node = await chainOf(4)
    const bytes = node.disk.content(FIRST)
    for (let length = HEADER_LENGTH; length < bytes.length; length += 31) {
      const disk = new MemoryDisk()
      disk.put(FIRST, bytes.subarray(0, length))
      const again = createSolo({ disk, application: node.application.at(node.height) })
      await runUntil(again, node.height + 1)
      expect(again.events.every(({ decided }) => decided.block.header.height > node.height)).toBe(true)
      expect(again.application.blocks.slice(0, node.height)).toEqual(node.application.blocks)
      checkChain(again.application)
    }
  }, 60_000)

  it('without a log warns and goes on, as nobody can tell what was signed', async () => {
    const node = await chainOf(3)
    const again = createSolo({ application: node.application })
    await runUntil(again, 5)
    expect(again.warnings).toEqual([
      'write-ahead log ends before the last block',
      'this validator may sign twice for a height: it is the only validator, so no peer can tell it what it signed',
    ])
  })

  it('does not warn where the log cannot have the last block, because it came with a snapshot', async () => {
    const node = await chainOf(3)
    const restored = node.application.at(node.height)
    const info = restored.info.bind(restored)
    restored.info = async () => ({ ...(await info()), isFromSnapshot: true })
    const again = createSolo({ application: restored })
    await runUntil(again, 5)
    expect(again.warnings).not.toContain('write-ahead log ends before the last block')
  })

  it('drops segments that the application has made durable', async () => {
    const node = await chainOf(40, { segmentBytes: 4000 })
    expect(node.disk.names().length).toBeLessThan(4)
    expect(node.disk.names()).not.toContain(FIRST)
    const behind = restarted(node, node.application.at(node.height - node.application.durableLag))
    await runUntil(behind, node.height + 2)
    expect(behind.application.blocks.slice(0, node.height)).toEqual(node.application.blocks)
  })
})

describe('a stop', () => {
  /** Stops the node while the application is in this step of the next height. */
  async function stopDuring(node: TestNode, step: 'prepareProposal' | 'finalizeBlock'): Promise<void> {
    const entered = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    node.application.before = (begun) => {
      if (begun !== step) return
      entered.resolve()
      return release.promise
    }
    await node.start()
    const run = node.settings.network.until(() => node.service === undefined)
    await entered.promise
    const stopped = node.stop()
    release.resolve()
    await Promise.all([stopped, run])
  }

  it('finishes the height that is decided, and no other', async () => {
    const node = await chainOf(2)
    const { height } = node
    await stopDuring(node, 'finalizeBlock')
    expect(node.height).toBe(height + 1)
    expect(node.events.at(-1)!.decided.block.header.height).toBe(height + 1)
  })

  it('drops a block that is not signed yet', async () => {
    const node = await chainOf(2)
    const { height } = node
    await stopDuring(node, 'prepareProposal')
    expect(node.height).toBe(height)
    node.application.before = () => {}
    await runUntil(node, height + 1)
    checkChain(node.application)
  })

  it('and a start of the engine alone go on with what was signed', async () => {
    const node = createSolo()
    await node.start()
    const { network } = node.settings
    await network.until(() => node.height >= 3)
    for (let round = 0; round < 20; round++) {
      await node.service!.stopEngine()
      expect(node.service!.engine).toBeUndefined()
      node.service!.startEngine()
      const { height } = node
      await network.until(() => node.height > height)
    }
    await node.stop()
    checkChain(node.application)
  })
})

describe('what cannot go on', () => {
  it.each(['prepareProposal', 'finalizeBlock'] as const)('halts when %s fails, and recovers', async (failing) => {
    const node = createSolo()
    node.application.before = (step, height) => {
      if (step === failing && height === 3) throw new Error(`no ${step}`)
    }
    expect(await haltOf(node)).toBe(`no ${failing}`)
    await node.stop()
    expect(node.height).toBe(2)
    node.application.before = () => {}
    const again = restarted(node, node.application)
    await runUntil(again, 5)
    expect(again.events[0]!.source).toBe(failing === 'finalizeBlock' ? 'log' : 'consensus')
    checkChain(again.application)
  })

  it('halts at each operation of the disk that fails, before the block is executed', async () => {
    const intact = createSolo({ segmentBytes: 3000 })
    await runUntil(intact, 6)
    const { operations } = intact.disk
    expect(operations).toBeGreaterThan(20)
    for (let failing = 1; failing <= operations; failing++) {
      const node = createSolo({ segmentBytes: 3000 })
      let durable = 0
      node.disk.before = () => {
        if (node.disk.operations === failing) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      }
      node.application.before = (step, height) => {
        if (step !== 'finalizeBlock') return
        // What the disk would show after a loss of power has the block already.
        durable = Math.max(durable, highestEnd(node.disk.copy('durable')))
        expect(durable).toBeGreaterThanOrEqual(height)
      }
      let failure: Error | undefined
      await runUntil(node, 6).catch((error: Error) => {
        failure = error
      })
      if (failure !== undefined) expect(failure.message).toMatch(/EIO/)
      const { height } = node
      node.kill('durable')
      node.disk.before = () => {}
      await runUntil(node, height + 3)
      checkChain(node.application)
    }
  }, 60_000)

  it('halts when the application proposes more than fits', async () => {
    const node = createSolo()
    node.application.txsFor = () => [tx(1, CHAIN.params.maxBytes)]
    expect(await haltOf(node)).toMatch(/cannot be proposed: it is too large/)
    expect(node.height).toBe(0)
  })

  it('follows without voting when its key is not in the set', async () => {
    const node = createSolo({ key: KEYS[3]! })
    await node.start()
    await expect(node.settings.network.until(() => node.height > 0, 20_000)).rejects.toThrow(/have passed/)
    expect(node.halted).toBeUndefined()
    expect(node.sent).toEqual([])
  })

  it('executes the blocks of the log again where the database was removed alone, or refuses a log that lacks the first ones', async () => {
    const node = await chainOf(5)
    const again = restarted(node, node.application.at(0))
    await runUntil(again, 7)
    checkChain(again.application)
    const hashes = ({ application }: TestNode) => application.blocks.slice(0, 5).map(({ blockId }) => blockId.hash)
    expect(hashes(again)).toEqual(hashes(node))

    const longer = await chainOf(40, { segmentBytes: 2000 })
    await expect(restarted(longer, longer.application.at(0)).open()).rejects.toThrow(/restore both from one backup/)
  })

  it('refuses a log whose blocks begin after the next one', async () => {
    const node = await chainOf(40, { segmentBytes: 2000 })
    const behind = restarted(node, node.application.at(3))
    await expect(behind.open()).rejects.toThrow(/restore both from one backup/)
  })

  it('refuses a log and a database of different copies', async () => {
    const node = await chainOf(3)
    const height = node.height + 1
    const copy = restarted(node, node.application.at(node.height))
    await runUntil(node, height)
    copy.application.txsFor = () => [tx(99)]
    await runUntil(copy, height)
    const mixed = restarted(copy, node.application.at(height))
    await expect(mixed.open()).rejects.toThrow(/different copies/)
  })

  it('refuses a database whose state is not the one that the decided block builds on', async () => {
    const node = await chainOf(3)
    const wrong = node.application.at(node.height - 1)
    const last = wrong.blocks.pop()!
    wrong.blocks.push({ ...last, appHash: new Uint8Array(32).fill(1) })
    await expect(restarted(node, wrong).open()).rejects.toThrow(/does not fit: appHash is/)
  })

  it('refuses a log of another key', async () => {
    const node = await chainOf(3)
    // Without the end of its last height that one is open again.
    const bytes = node.disk.content(FIRST)
    const disk = new MemoryDisk()
    disk.put(FIRST, bytes.subarray(0, bytes.length - 30))
    const settings = { disk, application: node.application.at(node.height - 1), key: KEYS[1]! }
    await expect(createSolo(settings).open()).rejects.toThrow(/signed with another key/)
  })

  it('refuses to sign again what was signed when the block is lost', async () => {
    const node = await chainOf(40, { segmentBytes: 2000 })
    // Only the segment being written is left, and of it only the memory of the signer.
    const path = node.disk.names().at(-1)!
    const bytes = node.disk.content(path)
    const memory = HEADER_LENGTH + 8 + Buffer.from(bytes).readUInt32LE(HEADER_LENGTH + 4)
    const disk = new MemoryDisk()
    disk.put(path, bytes.subarray(0, memory))
    const signedHeight =
      node.application.blocks.findIndex(({ seenCommit }) =>
        Buffer.from(bytes.subarray(0, memory)).includes(Buffer.from(seenCommit.signatures[0]!.signature)),
      ) + 1
    expect(signedHeight).toBeGreaterThan(30)
    const behind = createSolo({ disk: disk.copy('all'), application: node.application.at(signedHeight - 1) })
    await expect(behind.open()).rejects.toThrow(/has signed for height/)
    const level = createSolo({ disk: disk.copy('all'), application: node.application.at(signedHeight) })
    await runUntil(level, signedHeight + 1)
    checkChain(level.application)
  })
})

/** The highest end of a height in the first segments of a disk. */
function highestEnd(disk: MemoryDisk): number {
  let highest = 0
  for (const path of disk.names()) {
    if (!path.endsWith('.wal')) continue
    const bytes = Buffer.from(disk.content(path))
    // A record of 7 bytes, of kind 7, with the height in 6.
    for (let at = HEADER_LENGTH; at + 15 <= bytes.length; at++) {
      if (bytes.readUInt32LE(at + 4) === 7 && bytes[at + 8] === 7)
        highest = Math.max(highest, bytes.readUIntBE(at + 9, 6))
    }
  }
  return highest
}

/** Where the batches of a segment begin: there is a sync mark at each. */
function batches(content: Uint8Array): number[] {
  const bytes = Buffer.from(content)
  const offsets: number[] = []
  for (let at = HEADER_LENGTH; at + 13 <= bytes.length; at++) {
    if (bytes.readUInt32LE(at + 4) === 5 && bytes[at + 8] === 1 && bytes.readUInt32LE(at + 9) === at) offsets.push(at)
  }
  return offsets
}
