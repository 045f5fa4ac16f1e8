import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { dataHash, encodeBlock } from '../../../src/chain/consensus/blockCodec.ts'
import { encodedTxSize, maxDataBytes } from '../../../src/chain/consensus/consensusParams.ts'
import { headerHash } from '../../../src/chain/consensus/headerCodec.ts'
import { createPartSet } from '../../../src/chain/consensus/partSet.ts'
import { verifyCommit } from '../../../src/chain/consensus/verifyCommit.ts'
import { RecoveryError } from '../../../src/consensus/soloRecovery.ts'
import { validatorKey } from '../../../src/consensus/validatorKey.ts'
import type { OpenWalFile } from '../../../src/consensus/wal.ts'
import { HEADER_LENGTH } from '../../../src/consensus/walSegment.ts'
import { FakeApplication } from './fakeApplication.ts'
import {
  CHAIN,
  copyDirectory,
  KEY,
  type RunSettings,
  removeDirectories,
  runSolo,
  runUntil,
  temporaryDirectory,
} from './soloHarness.ts'
import { VirtualClock } from './virtualClock.ts'

afterAll(removeDirectories)

const tx = (byte: number, length = 100) => new Uint8Array(length).fill(byte)

/** Every rule that a block and its commit have to keep towards the block before. */
function checkChain(application: FakeApplication): void {
  for (const [index, { block, blockId, seenCommit }] of application.blocks.entries()) {
    const { header } = block
    const previous = application.blocks[index - 1]
    expect(header.height).toBe(index + 1)
    expect(blockId.hash).toEqual(headerHash(header))
    expect(blockId.partSetHeader).toEqual(createPartSet(encodeBlock(block)).header)
    expect(header.dataHash).toEqual(dataHash(block.txs))
    expect(header.timeMs).toBeGreaterThan(previous?.block.header.timeMs ?? application.genesisTimeMs)
    const target = { chainId: CHAIN.chainId, height: index + 1, blockId, validators: CHAIN.validators }
    expect(verifyCommit(target, seenCommit)).toEqual({ valid: true })
    if (previous === undefined) {
      expect(block.lastCommit.signatures).toEqual([])
      expect(header.lastBlockId.hash).toHaveLength(0)
      continue
    }
    expect(header.lastBlockId).toEqual(previous.blockId)
    expect(header.appHash).toEqual(previous.appHash)
    expect(block.lastCommit).toEqual(previous.seenCommit)
  }
}

/** A settled chain of `heights` blocks with its log. */
async function chainOf(heights: number, settings: Partial<RunSettings> = {}) {
  const directory = temporaryDirectory()
  const application = new FakeApplication()
  application.txsFor = ({ height }) => [tx(height), tx(height + 1)]
  await runUntil(heights, { directory, application, ...settings })
  return { directory, application, heights: application.blocks.length }
}

describe('solo blocks', () => {
  it('follow each other by the rules of consensus', async () => {
    const { application } = await chainOf(12)
    checkChain(application)
  })

  it('ask the application with the time, parent and room that the block has', async () => {
    const application = new FakeApplication()
    const requests: Parameters<FakeApplication['txsFor']>[0][] = []
    application.txsFor = (request) => {
      requests.push(request)
      return []
    }
    await runUntil(3, { directory: temporaryDirectory(), application })
    expect(requests.slice(0, 3)).toEqual(
      application.blocks.slice(0, 3).map(({ block }, index) => ({
        height: index + 1,
        timeMs: block.header.timeMs,
        proposerAddress: KEY.address,
        parentConsensusHash: application.blocks[index - 1]?.blockId.hash ?? CHAIN.genesisHash,
        maxTxBytes: maxDataBytes(CHAIN.params, 1),
      })),
    )
  })

  it('of the largest size are logged in parts and replayed', async () => {
    const directory = temporaryDirectory()
    const application = new FakeApplication()
    application.txsFor = ({ height, maxTxBytes }) => (height === 2 ? [tx(1, maxTxBytes - 4)] : [])
    expect(encodedTxSize(maxDataBytes(CHAIN.params, 1) - 4)).toBe(maxDataBytes(CHAIN.params, 1))
    await runUntil(2, { directory, application, segmentBytes: 1 << 20 })
    const before = application.at(1)
    const run = await runUntil(2, { directory, application: before })
    expect(run.events[0]?.replayed).toBe(true)
    const [bytes, replayedBytes] = [application, before].map(({ blocks }) => encodeBlock(blocks[1]!.block))
    expect(Buffer.compare(bytes!, replayedBytes!)).toBe(0)
    expect(createPartSet(bytes!).header.total).toBeGreaterThan(25)
  })

  it('keep their time rising when the clock is set back', async () => {
    const application = new FakeApplication()
    const clock = new VirtualClock(application.genesisTimeMs + 60_000)
    application.before = (_, height) => {
      if (height === 5) clock.setBack(10_000)
    }
    await runUntil(10, { directory: temporaryDirectory(), application, clock })
    checkChain(application)
  })

  it('begin after the genesis time', async () => {
    const application = new FakeApplication()
    const clock = new VirtualClock(application.genesisTimeMs - 3_600_000)
    await runUntil(1, { directory: temporaryDirectory(), application, clock })
    expect(application.blocks[0]!.block.header.timeMs).toBe(application.genesisTimeMs + 1)
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(3_600_000)
  })
})

describe('pacing', () => {
  it('is 400 ms on average, however long single blocks take', async () => {
    const application = new FakeApplication()
    const clock = new VirtualClock(application.genesisTimeMs + 1000)
    // Building and execution together: 0 to 760 ms, 380 ms on average.
    application.before = (step, height) =>
      clock.advance(step === 'finalizeBlock' ? ((height * 7) % 20) * 30 : (height % 20) * 10)
    await runUntil(101, { directory: temporaryDirectory(), application, clock })
    const times = application.blocks.map(({ block }) => block.header.timeMs)
    expect(Math.abs((times[100]! - times[0]!) / 100 - 400)).toBeLessThan(10)
  })

  it('does not race after a long pause', async () => {
    const application = new FakeApplication()
    const clock = new VirtualClock(application.genesisTimeMs + 1000)
    application.before = (step, height) => {
      if (step === 'finalizeBlock' && height === 5) clock.advance(3_600_000)
    }
    await runUntil(10, { directory: temporaryDirectory(), application, clock })
    const times = application.blocks.map(({ block }) => block.header.timeMs)
    expect(times[5]! - times[4]!).toBe(3_600_000)
    expect(times.slice(6, 10).map((time, i) => time - times[i + 5]!)).toEqual([400, 400, 400, 400])
  })
})

describe('a restart', () => {
  it('goes on where the chain ended', async () => {
    const { directory, application, heights } = await chainOf(5)
    const run = await runUntil(heights + 5, { directory, application })
    expect(run.events.every(({ replayed }) => !replayed)).toBe(true)
    checkChain(application)
  })

  it.each([1, 3, 6])('gives the application the %d blocks that it lost', async (lost) => {
    const directory = temporaryDirectory()
    const application = new FakeApplication()
    application.txsFor = ({ height }) => [tx(height)]
    application.durableLag = 100
    await runUntil(6, { directory, application, segmentBytes: 2000 })
    const heights = application.blocks.length
    const before = application.at(heights - lost)
    const run = await runUntil(heights + 2, { directory, application: before })
    const replayed = run.events.filter((event) => event.replayed)
    expect(replayed.map(({ decided }) => decided.block.header.height)).toEqual(
      Array.from({ length: lost }, (_, i) => heights - lost + 1 + i),
    )
    expect(before.blocks.slice(0, heights)).toEqual(application.blocks)
    checkChain(before)
  })

  it('after a crash at any byte of a height decides one block, the signed one if one was', async () => {
    const { directory, application, heights } = await chainOf(3)
    const file = join(directory, '00000001.wal')
    const bytes = readFileSync(file)
    const begins = batches(bytes)
    const decidedId = application.blocks[heights - 1]!.blockId
    const work = temporaryDirectory()
    const outcomes = { same: 0, other: 0 }
    for (let length = begins[heights - 1]!; length <= bytes.length; length += 3) {
      for (const name of readdirSync(work)) rmSync(join(work, name))
      writeFileSync(join(work, '00000001.wal'), bytes.subarray(0, length))
      const restarted = application.at(heights - 1)
      // The clock has moved on, so a block built anew differs.
      const clock = new VirtualClock(application.genesisTimeMs + 3_600_000)
      await runUntil(heights, { directory: work, application: restarted, openFile: openWithoutSync, clock })
      checkChain(restarted)
      const same = Buffer.compare(restarted.blocks[heights - 1]!.blockId.hash, decidedId.hash) === 0
      outcomes[same ? 'same' : 'other']++
      // Once the proposal is in the log every longer log leads to the same block.
      if (outcomes.same > 0) expect(same).toBe(true)
    }
    expect(outcomes.same).toBeGreaterThan(100)
    expect(outcomes.other).toBeGreaterThan(100)
  }, 60_000)

  it('with a log cut anywhere never signs a height that the application has', async () => {
    const { directory, application, heights } = await chainOf(4)
    const bytes = readFileSync(join(directory, '00000001.wal'))
    for (let length = HEADER_LENGTH; length < bytes.length; length += 97) {
      const work = temporaryDirectory()
      writeFileSync(join(work, '00000001.wal'), bytes.subarray(0, length))
      const restarted = application.at(heights)
      const run = await runUntil(heights + 1, { directory: work, application: restarted, openFile: openWithoutSync })
      expect(run.events.every(({ decided }) => decided.block.header.height > heights)).toBe(true)
      expect(restarted.blocks.slice(0, heights)).toEqual(application.blocks)
      checkChain(restarted)
    }
  }, 30_000)

  it('without a log warns and goes on', async () => {
    const { application, heights } = await chainOf(3)
    const run = await runUntil(heights + 1, { directory: temporaryDirectory(), application })
    expect(run.warnings).toEqual(['write-ahead log ends before the last block'])
  })

  it('drops segments that the application has made durable', async () => {
    const { directory, application } = await chainOf(40, { segmentBytes: 4000 })
    const names = readdirSync(directory)
    expect(names.length).toBeLessThan(4)
    expect(names).not.toContain('00000001.wal')
    const behind = application.at(application.blocks.length - application.durableLag)
    await runUntil(application.blocks.length + 2, { directory, application: behind })
    expect(behind.blocks.slice(0, application.blocks.length)).toEqual(application.blocks)
  })
})

describe('a stop', () => {
  it('while waiting ends at once; a height under way is finished', async () => {
    const { directory, application, heights } = await chainOf(2)
    const entered = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    application.before = (step) => {
      if (step !== 'finalizeBlock') return
      entered.resolve()
      return release.promise
    }
    const run = await runSolo({ directory, application })
    await entered.promise
    const stopped = run.driver.stop()
    release.resolve()
    await stopped
    expect(application.blocks.length).toBe(heights + 1)
  })

  it('drops a block that is not signed yet', async () => {
    const { directory, application, heights } = await chainOf(2)
    const entered = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    application.before = (step) => {
      if (step !== 'prepareProposal') return
      entered.resolve()
      return release.promise
    }
    const run = await runSolo({ directory, application })
    await entered.promise
    const stopped = run.driver.stop()
    release.resolve()
    await stopped
    expect(application.blocks.length).toBe(heights)
    application.before = () => {}
    await runUntil(heights + 1, { directory, application })
    checkChain(application)
  })
})

describe('what cannot go on', () => {
  it.each(['prepareProposal', 'finalizeBlock'] as const)('halts when %s fails, and recovers', async (failing) => {
    const directory = temporaryDirectory()
    const application = new FakeApplication()
    application.before = (step, height) => {
      if (step === failing && height === 3) throw new Error(`no ${step}`)
    }
    const run = await runSolo({ directory, application })
    expect((await run.halted).message).toBe(`no ${failing}`)
    await run.driver.stop()
    expect(application.blocks.length).toBe(2)
    application.before = () => {}
    const next = await runUntil(5, { directory, application })
    expect(next.events[0]!.replayed).toBe(failing === 'finalizeBlock')
    checkChain(application)
  })

  it('halts when the disk fails before the block is executed', async () => {
    const directory = temporaryDirectory()
    const application = new FakeApplication()
    let failing = false
    application.before = (step, height) => {
      failing = step === 'prepareProposal' && height === 3
    }
    const openFile: OpenWalFile = async (path, flags, mode) => {
      const file = await open(path, flags, mode)
      const datasync = () => (failing ? Promise.reject(new Error('EIO')) : file.datasync())
      return { write: (...args) => file.write(...args), datasync, sync: () => file.sync(), close: () => file.close() }
    }
    const run = await runSolo({ directory, application, openFile })
    expect((await run.halted).message).toMatch(/write-ahead log cannot be written: EIO/)
    await run.driver.stop()
    expect(application.blocks.length).toBe(2)
    application.before = () => {}
    await runUntil(5, { directory, application })
    checkChain(application)
  })

  it('halts when the application proposes more than fits', async () => {
    const application = new FakeApplication()
    application.txsFor = ({ maxTxBytes }) => [tx(1, maxTxBytes - 3)]
    const run = await runSolo({ directory: temporaryDirectory(), application })
    expect((await run.halted).message).toMatch(/proposes \d+ bytes of transactions, over/)
    await run.driver.stop()
    expect(application.blocks).toEqual([])
  })

  it('refuses another key', async () => {
    const key = validatorKey(new Uint8Array(32).fill(9))
    const settings = { directory: temporaryDirectory(), application: new FakeApplication(), key }
    await expect(runSolo(settings)).rejects.toThrow(/only validator/)
  })

  it('refuses a log whose blocks begin after the next one', async () => {
    const { directory, application } = await chainOf(40, { segmentBytes: 2000 })
    await expect(runSolo({ directory, application: application.at(3) })).rejects.toThrow(RecoveryError)
  })

  it('refuses a log and a database of different copies', async () => {
    const { directory, application } = await chainOf(3)
    const copy = { directory: copyDirectory(directory), application: application.at(application.blocks.length) }
    const height = application.blocks.length + 1
    await runUntil(height, { directory, application })
    copy.application.txsFor = () => [tx(99)]
    await runUntil(height, { directory: copy.directory, application: copy.application })
    await expect(runSolo({ directory: copy.directory, application: application.at(height) })).rejects.toThrow(
      /different copies/,
    )
  })

  it('refuses a database whose state is not the one that the signed block builds on', async () => {
    const { directory, application, heights } = await chainOf(3)
    const wrong = application.at(heights - 1)
    const last = wrong.blocks.pop()!
    wrong.blocks.push({ ...last, appHash: new Uint8Array(32).fill(1) })
    await expect(runSolo({ directory, application: wrong })).rejects.toThrow(/does not fit: appHash is/)
  })

  it('refuses to sign again what was signed when the block is lost', async () => {
    const { directory, application } = await chainOf(40, { segmentBytes: 2000 })
    // Only the segment being written is left, and of it only the memory of the signer.
    const name = readdirSync(directory).sort().at(-1)!
    const bytes = readFileSync(join(directory, name))
    const work = temporaryDirectory()
    const memory = HEADER_LENGTH + 8 + bytes.readUInt32LE(HEADER_LENGTH + 4)
    writeFileSync(join(work, name), bytes.subarray(0, memory))
    const signedHeight =
      application.blocks.findIndex(({ seenCommit }) =>
        bytes.subarray(0, memory).includes(Buffer.from(seenCommit.signatures[0]!.signature)),
      ) + 1
    expect(signedHeight).toBeGreaterThan(30)
    const behind = application.at(signedHeight - 1)
    await expect(runSolo({ directory: copyDirectory(work), application: behind })).rejects.toThrow(
      /has signed for height/,
    )
    const level = application.at(signedHeight)
    await runUntil(signedHeight + 1, { directory: copyDirectory(work), application: level })
    checkChain(level)
  })
})

/** For tests of many files, which the real disk would take minutes for. */
const openWithoutSync: OpenWalFile = async (path, flags, mode) => {
  const file = await open(path, flags, mode)
  const skip = () => Promise.resolve()
  return { write: (...args) => file.write(...args), datasync: skip, sync: skip, close: () => file.close() }
}

/** Where the batches of a segment begin: there is a sync mark at each. */
function batches(bytes: Buffer): number[] {
  const offsets: number[] = []
  for (let at = HEADER_LENGTH; at + 13 <= bytes.length; at++) {
    if (bytes.readUInt32LE(at + 4) === 5 && bytes[at + 8] === 1 && bytes.readUInt32LE(at + 9) === at) offsets.push(at)
  }
  return offsets
}
