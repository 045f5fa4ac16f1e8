import { describe, expect, it } from 'vitest'
import { SIGNED_MESSAGE_TYPES, type Vote } from '../../../src/chain/comet/types.ts'
import type { RoundStateView } from '../../../src/consensus/roundStateView.ts'
import { HEADER_LENGTH } from '../../../src/consensus/walSegment.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { PROPERTY_RUNS, runs } from '../../propertyRuns.ts'
import { checkChain } from '../../support/consensus/checkChain.ts'
import { createNetwork, KEYS, settle, TestNetwork, TestNode } from '../../support/consensus/consensusHarness.ts'
import { MemoryDisk } from '../../support/consensus/memoryDisk.ts'
import { seededRandom } from '../../support/consensus/seededRandom.ts'

const { prevote, precommit } = SIGNED_MESSAGE_TYPES

async function started(size: number): Promise<TestNetwork> {
  const network = createNetwork(size)
  for (const node of network.nodes) {
    node.application.txsFor = ({ height }) => [new Uint8Array(100).fill(height)]
    await node.start()
  }
  return network
}

function reached(network: TestNetwork, height: number): Promise<void> {
  return network.until(() => network.nodes.some(hasHalted) || network.nodes.every((node) => node.height >= height))
}

function hasHalted({ halted }: TestNode): boolean {
  return halted !== undefined
}

/** All nodes have the same blocks as far as both go, and nobody has signed twice. */
function checkNetwork(network: TestNetwork): void {
  expect(network.nodes.map(({ halted }) => halted)).toEqual(network.nodes.map(() => undefined))
  expect(network.signed.conflicts).toEqual([])
  expect(network.punished).toEqual([])
  const [first, ...others] = [...network.nodes].sort((a, b) => b.height - a.height)
  checkChain(first!.application)
  const hashes = (node: TestNode) => node.application.blocks.map(({ blockId }) => bytesToHex(blockId.hash))
  for (const node of others) expect(hashes(node)).toEqual(hashes(first!).slice(0, node.height))
}

/** What of a height a restart has to come back to. */
function stateOf(view: RoundStateView) {
  const votes = Array.from({ length: view.round + 1 }, (_, round) =>
    [prevote, precommit].map((type) => bytesToHex(view.votes(round, type)?.bits().bytes ?? new Uint8Array())),
  )
  return {
    height: view.height,
    round: view.round,
    step: view.step,
    proposal: view.proposal,
    lockedRound: view.lockedRound,
    lockedBlockId: view.lockedBlockId,
    validRound: view.validRound,
    validBlockId: view.validBlockId,
    votes,
  }
}

describe('the only validator', () => {
  it('goes on when it cannot build a block', async () => {
    const network = await started(1)
    let asked = 0
    network.nodes[0]!.application.cannotBuild = ({ height }) => height === 3 && ++asked <= 2
    await reached(network, 5)
    checkNetwork(network)
    const { blocks } = network.nodes[0]!.application
    expect(blocks.slice(0, 5).map(({ seenCommit }) => seenCommit.round)).toEqual([0, 0, 2, 0, 0])
  })
})

describe('four validators', () => {
  it('decide fifty equal blocks, each in round 0, 400 ms apart', async () => {
    const network = await started(4)
    await reached(network, 50)
    checkNetwork(network)
    const { blocks } = network.nodes[0]!.application
    expect(blocks.every(({ seenCommit }) => seenCommit.round === 0)).toBe(true)
    const times = blocks.map(({ block }) => block.header.timeMs)
    expect(Math.abs((times[49]! - times[0]!) / 49 - 400)).toBeLessThan(4)
    // Every precommit comes in time for the next block.
    for (const { block } of blocks.slice(1)) {
      expect(block.lastCommit.signatures.filter(({ flag }) => flag === 2)).toHaveLength(4)
    }
  })

  it('are paced by one schedule, though they begin one after the other', async () => {
    const network = createNetwork(4)
    for (const node of network.nodes) {
      await node.start()
      await pass(network, 1500)
    }
    await reached(network, 60)
    checkNetwork(network)
    const times = network.nodes[0]!.decidedAtMs
    const gaps = times.slice(31, 60).map((time, index) => time - times[30 + index]!)
    expect(Math.min(...gaps)).toBeGreaterThan(300)
    expect(Math.max(...gaps)).toBeLessThan(500)
  })

  it('go on with one of them away, and it comes back by the blocks of others', async () => {
    const network = await started(4)
    await reached(network, 5)
    const [, , , last] = network.nodes
    last!.kill('all')
    await network.until(() => network.nodes[0]!.height >= 15)
    await last!.start()
    await network.until(() => last!.height >= 15)
    const height = network.nodes[0]!.height
    await reached(network, height + 10)
    checkNetwork(network)
    expect(last!.behind).toEqual([])
    // It signs again.
    const own = last!.settings.key.address
    const { seenCommit } = network.nodes[0]!.application.blocks[height + 7]!
    const { lastCommit } = network.nodes[0]!.application.blocks[height + 8]!.block
    expect(
      [seenCommit, lastCommit].some(({ signatures }) =>
        signatures.some(({ flag, validatorAddress }) => flag === 2 && bytesToHex(validatorAddress) === bytesToHex(own)),
      ),
    ).toBe(true)
  })

  it('go on when proposers cannot build a block', async () => {
    const network = await started(4)
    const asked: number[] = []
    for (const { application } of network.nodes) {
      application.cannotBuild = ({ height }) => height === 4 && asked.push(height) <= 2
    }
    await reached(network, 6)
    checkNetwork(network)
    const { blocks } = network.nodes[0]!.application
    expect(blocks.slice(0, 6).map(({ seenCommit }) => seenCommit.round)).toEqual([0, 0, 0, 2, 0, 0])
  })

  it('go on without a transaction that none of them can check, though a proposer puts it into its blocks', async () => {
    const network = await started(4)
    const bad = Uint8Array.of(66)
    network.nodes[0]!.application.txsFor = () => [bad]
    for (const { application } of network.nodes) application.cannotCheck = ({ txs }) => txs[0]!.length === bad.length
    await reached(network, 12)
    checkNetwork(network)
    const { blocks } = network.nodes[0]!.application
    expect(blocks.every(({ block }) => block.txs[0]!.length === 100)).toBe(true)
    expect(blocks.some(({ seenCommit }) => seenCommit.round > 0)).toBe(true)
  })

  it('decide what one of them cannot check, and it executes that block', async () => {
    const network = await started(4)
    network.nodes[1]!.application.cannotCheck = () => true
    await reached(network, 6)
    checkNetwork(network)
  })

  it('that are far behind say so', async () => {
    const network = await started(4)
    const last = network.nodes[3]!
    last.kill('all')
    await network.until(() => network.nodes[0]!.height >= 40)
    await last.start()
    await network.until(() => last.behind.length > 0)
    expect(last.behind[0]).toBe(last.height + 1)
  })

  it('halt without a quorum and resume with it', async () => {
    const network = await started(4)
    await reached(network, 3)
    const gone = network.nodes.slice(2)
    for (const node of gone) node.kill('durable')
    const { clock } = network
    await pass(network, 600_000)
    const height = network.nodes[0]!.height
    for (const node of gone) await node.start()
    const resumedMs = clock.monotonicMs()
    await reached(network, height + 1)
    expect(clock.monotonicMs() - resumedMs).toBeLessThan(5000)
    await reached(network, height + 10)
    checkNetwork(network)
  }, 60_000)
})

/** That much time passes. */
function pass(network: TestNetwork, ms: number): Promise<void> {
  const { clock } = network
  const endMs = clock.monotonicMs() + ms
  clock.setTimer(ms, () => undefined)
  return network.until(() => clock.monotonicMs() >= endMs)
}

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe('crashes', () => {
  it.each(seeds(runs(7)))(
    'of any nodes at any time leave one chain and no second signature (seed %d)',
    async (seed) => {
      const random = seededRandom(seed)
      const network = createNetwork(4, { segmentBytes: 20_000 })
      network.latencyMs = () => 5 + 60 * random()
      network.loses = () => random() < 0.05
      for (const node of network.nodes) await node.start()
      for (let crash = 0; crash < 6; crash++) {
        await pass(network, 900 * random())
        const gone = network.nodes.filter(() => random() < 0.5)
        for (const node of gone) {
          const how = random() < 0.5 ? 'all' : 'durable'
          node.kill(how)
          // A database writes its end to the disk a little later; the log has it.
          if (how === 'durable') node.application = node.application.at(Math.max(0, node.height - Math.round(random())))
        }
        await pass(network, 1500 * random())
        for (const node of gone) await node.start()
      }
      const height = Math.max(...network.nodes.map((node) => node.height))
      await reached(network, height + 5)
      checkNetwork(network)
      expect(network.signed.size).toBeGreaterThan(30)
    },
  )

  const seen = { locked: 0, laterRound: 0 }

  it.each(seeds(runs(8)))('lose nothing of what consensus had come to in the height (seed %d)', async (seed) => {
    const random = seededRandom(seed)
    const network = createNetwork(4)
    network.latencyMs = () => 5 + 100 * random()
    // Precommits get lost so often that rounds fail after locks were taken.
    network.loses = (_from, _to, message) =>
      random() < (message.kind === 'vote' && message.vote.type === precommit ? 0.6 : 0.1)
    for (const node of network.nodes) await node.start()
    for (let stop = 0; stop < 12; stop++) {
      await pass(network, 100 + 900 * random())
      const node = network.nodes[Math.floor(random() * 4)]!
      const engine = node.service!.engine!
      // All that it had come to is in the log when that is closed.
      await node.stop()
      const before = stateOf(engine.roundState)
      const service = await node.open()
      service.startEngine()
      const after = stateOf(service.engine!.roundState)
      if (after.height === before.height) {
        expect(after).toEqual(before)
        if (after.lockedRound >= 0) seen.locked++
        if (after.round > 0) seen.laterRound++
      } else {
        expect(after.height).toBe(before.height + 1)
      }
      network.connect(node)
      await settle()
    }
    checkNetwork(network)
  })

  it('came in locked states and later rounds too', () => {
    expect(seen.locked).toBeGreaterThan(5)
    expect(seen.laterRound).toBeGreaterThan(5)
  })
})

describe('a disk that fails', () => {
  /**
   * Runs four validators with a disk of the first one that fails from its n-th operation on; 0: never.
   * @returns how many operations there were
   */
  async function runWithFailure(failing: number): Promise<number> {
    const network = createNetwork(4, { segmentBytes: 6000 })
    const node = network.nodes[0]!
    node.disk.before = () => {
      if (failing > 0 && node.disk.operations >= failing) throw Object.assign(new Error('EIO'), { code: 'EIO' })
    }
    // What leaves the process with its signature is on the disk as a loss of power would leave it.
    let checked = 0
    network.loses = (from, _to, message) => {
      if (from !== node || message.kind !== 'vote' || !isOwn(node, message.vote)) return false
      if (message.vote.height !== node.height + 1) return false
      const disk = node.disk.copy('durable')
      const durable = Buffer.concat(disk.names().map((path) => disk.content(path)))
      expect(durable.includes(Buffer.from(message.vote.signature))).toBe(true)
      checked++
      return false
    }
    let sentWhenHalted: number | undefined
    for (const each of network.nodes) {
      await each.start().catch((error: Error) => {
        each.halted = error
      })
    }
    await network.until(() => {
      if (node.halted !== undefined) sentWhenHalted ??= node.sent.length
      return network.nodes.every((each) => each.halted !== undefined || each.height >= 8)
    })
    if (failing === 0) expect(checked).toBeGreaterThan(40)
    else {
      expect(node.halted?.message).toMatch(/EIO/)
      expect(node.sent.length).toBe(sentWhenHalted ?? 0)
    }
    expect(network.signed.conflicts).toEqual([])
    const { operations } = node.disk
    node.kill('durable')
    node.disk.before = () => {}
    network.loses = () => false
    await node.start()
    await network.until(() => network.nodes.every((each) => each.height >= 11))
    checkNetwork(network)
    return operations
  }

  it('at any operation halts its validator before anything leaves, and the others go on', async () => {
    const operations = await runWithFailure(0)
    // At each of them in the long run.
    const step = Math.max(1, Math.floor(11 / PROPERTY_RUNS))
    expect(operations).toBeGreaterThan(50)
    for (let failing = 1; failing <= operations; failing += step) await runWithFailure(failing)
  }, 120_000)
})

describe('a log cut short', () => {
  it('at every record, and at the bytes around those of its last batch, is gone on with', async () => {
    const network = createNetwork(4)
    const random = seededRandom(5)
    network.loses = (_from, _to, message) =>
      random() < (message.kind === 'vote' && message.vote.type === precommit ? 0.7 : 0.1)
    for (const node of network.nodes) await node.start()
    const node = network.nodes[0]!
    // Locked, without a decision, in a later round.
    await network.until(() => {
      const { round, lockedRound } = node.service!.engine!.roundState
      return lockedRound >= 0 && round > lockedRound
    })
    await node.stop()
    const [path] = node.disk.names()
    const bytes = node.disk.content(path!)
    const starts = recordStarts(bytes)
    const batch = starts.at(-3)!
    // Records are framed: a cut within a long one is like any other cut within it.
    const ends = [...starts, bytes.length]
    const isNearEnd = (cut: number): boolean => ends.some((end) => Math.abs(cut - end) <= NEAR_BYTES)
    const cutsInBatch = Array.from({ length: bytes.length - batch }, (_, index) => batch + index).filter(isNearEnd)
    const cuts = [...starts, ...cutsInBatch]
    let lockedRound = -1
    for (const length of cuts) {
      const disk = new MemoryDisk()
      disk.put(path!, bytes.subarray(0, length))
      const lone = new TestNetwork(KEYS.slice(0, 4))
      const again = new TestNode({ key: node.settings.key, network: lone, disk })
      await again.start()
      const { roundState } = again.service!.engine!
      // The longer the log, the further the state.
      expect(roundState.lockedRound).toBeGreaterThanOrEqual(length > batch ? lockedRound : -1)
      // The last records are cut twice: between them, then at each byte from their first one on.
      lockedRound = length === batch ? roundState.lockedRound : Math.max(lockedRound, roundState.lockedRound)
      await pass(lone, 3000)
      expect(again.halted).toBeUndefined()
      expect(lone.signed.conflicts).toEqual([])
      await again.stop()
    }
    expect(lockedRound).toBeGreaterThanOrEqual(0)
  }, 60_000)
})

/** More than the frame of a record. */
const NEAR_BYTES = 16

function isOwn(node: TestNode, { validatorAddress }: Vote): boolean {
  return bytesToHex(validatorAddress) === bytesToHex(node.settings.key.address)
}

/** Where the records of a segment begin. */
function recordStarts(bytes: Uint8Array): number[] {
  const starts: number[] = []
  for (let at = HEADER_LENGTH; at < bytes.length; at += 8 + Buffer.from(bytes).readUInt32LE(at + 4)) starts.push(at)
  return starts
}
