import { describe, expect, it } from 'vitest'
import type { Commit, ValidatorSet } from '../../../src/chain/comet/types.ts'
import { CopyWatch, QUIET_BLOCKS } from '../../../src/consensus/copyWatch.ts'
import { equalBytes } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'
import { createNetwork, KEYS, type TestNetwork, TestNode } from '../../support/consensus/consensusHarness.ts'
import { MemoryDisk } from '../../support/consensus/memoryDisk.ts'
import { seededRandom } from '../../support/consensus/seededRandom.ts'

/** Heights that the node has signed votes or proposals for with its own key. */
function signedHeights(node: TestNode): number[] {
  const { address } = node.settings.key
  return node.sent.flatMap((message) =>
    message.kind === 'vote' && equalBytes(message.vote.validatorAddress, address) ? [message.vote.height] : [],
  )
}

const tip = (network: TestNetwork): number => Math.max(...network.nodes.map(({ height }) => height))

async function started(size: number): Promise<TestNetwork> {
  const network = createNetwork(size)
  for (const node of network.nodes) await node.start()
  await network.until(() => tip(network) >= 5)
  return network
}

/** A copy of a node as `coind backup` makes one; without its log where that was not asked for. */
function copyOf(node: TestNode, withLog = true): TestNode {
  const { key, network } = node.settings
  const copy = new TestNode({
    key,
    network,
    disk: withLog ? node.disk.copy('all') : new MemoryDisk(),
    application: node.application.at(node.height),
  })
  copy.copyHeight = node.height
  return copy
}

/** Gives the copy the blocks that it lacks, as block sync does, and lets it take part. */
async function join(copy: TestNode): Promise<void> {
  const { network } = copy.settings
  const source = network.nodes.find((node) => node.height === tip(network))!
  const service = await copy.open()
  for (const { block, blockId, seenCommit } of source.application.blocks.slice(copy.height)) {
    await service.applyDecided({ blocks: [{ block, blockId, seenCommit }], maxGas: service.state.params.maxGas })
  }
  service.startEngine()
  network.connect(copy)
}

const SIGNS = 'this directory was a copy: its validator signs from now on'

describe('a validator that is started from a backup', () => {
  it.each([true, false])(
    'signs when its original has stopped and blocks were decided without it (log: %s)',
    async (withLog) => {
      const network = await started(4)
      const original = network.nodes[3]!
      const copy = copyOf(original, withLog)
      await network.until(() => tip(network) >= 12)
      original.kill('all')
      const stopped = tip(network)
      await join(copy)
      await network.until(() => signedHeights(copy).length > 0)
      expect(Math.min(...signedHeights(copy))).toBeGreaterThan(stopped + QUIET_BLOCKS)
      expect(copy.warnings).toContain(SIGNS)
      expect(copy.copyHeight).toBeUndefined()
      const { height } = copy
      await network.until(() => tip(network) >= height + 3)
      expect(network.signed.conflicts).toEqual([])
    },
  )

  it('signs nothing beside its original, whatever gets lost, and after a restart neither', async () => {
    for (let seed = 1; seed <= runs(1); seed++) {
      const network = await started(4)
      const original = network.nodes[3]!
      const copy = copyOf(original)
      const mark = copy.copyHeight
      copy.application.txsFor = () => [Uint8Array.of(1)]
      const random = seededRandom(seed)
      network.latencyMs = () => 5 + 60 * random()
      network.loses = () => random() < 0.1
      await join(copy)
      for (let turn = 1; turn <= 2; turn++) {
        const height = tip(network)
        await network.until(() => tip(network) >= height + 2 * QUIET_BLOCKS && copy.height >= height)
        expect(copy.copyHeight).toBe(mark)
        if (turn < 2) {
          copy.kill('durable')
          await join(copy)
        }
      }
      // Messages with the key that it only passes on are those of the original.
      expect(copy.warnings).not.toContain(SIGNS)
      expect(network.signed.conflicts).toEqual([])
    }
  })

  it('waits for as long as nothing can be decided without it', async () => {
    const network = await started(3)
    const original = network.nodes[2]!
    const copy = copyOf(original)
    original.kill('all')
    await join(copy)
    const beganMs = network.clock.monotonicMs()
    network.clock.setTimer(600_000, () => undefined)
    await network.until(() => network.clock.monotonicMs() >= beganMs + 600_000, 700_000)
    expect(signedHeights(copy)).toEqual([])
    expect(copy.copyHeight).toBeDefined()
  })

  it('decides nothing as the only validator, until the mark is gone', async () => {
    const network = createNetwork(1)
    const original = network.nodes[0]!
    await original.start()
    await network.until(() => original.height >= 5)
    const copy = copyOf(original)
    await original.stop()
    const { height } = copy
    await copy.start()
    const beganMs = network.clock.monotonicMs()
    network.clock.setTimer(300_000, () => undefined)
    await network.until(() => network.clock.monotonicMs() >= beganMs + 300_000, 400_000)
    expect(copy.height).toBe(height)
    await copy.stop()
    // What `--signer-moved` does.
    copy.copyHeight = undefined
    await copy.start()
    await network.until(() => copy.height >= height + 3)
    expect(network.signed.conflicts).toEqual([])
  })
})

describe('the watch', () => {
  const { address } = KEYS[0]!
  const set = (...keys: readonly (typeof KEYS)[number][]): ValidatorSet => ({
    validators: keys.map((key) => ({ address: key.address, publicKey: key.publicKey, power: 1n })),
    totalPower: 1n,
  })
  const all = set(KEYS[0]!, KEYS[1]!)
  const nowMs = 1_000_000
  const commitBy = (height: number, who: Uint8Array): Commit => ({
    height,
    round: 0,
    blockId: { hash: new Uint8Array(32), partSetHeader: { total: 1, hash: new Uint8Array(32) } },
    signatures: [{ flag: 2, validatorAddress: who, timestampMs: 1, signature: new Uint8Array(64) }],
  })
  function watch(signedHeight = 0) {
    const removed: number[] = []
    const mark = { height: 100, remove: () => void removed.push(1) }
    return { removed, copy: new CopyWatch({ addresses: [address], mark, signedHeight }) }
  }
  /** Height at which it may sign, of blocks from `from` on. */
  function releasedAt(copy: CopyWatch, from: number, timeMs = nowMs, validators = all): number | undefined {
    for (let height = from; height < from + 50; height++) {
      if (copy.decided({ height, timeMs }, validators, nowMs)) return height
    }
    return undefined
  }

  it('counts only blocks above the mark and above what the log has signed', () => {
    const { copy, removed } = watch()
    expect(releasedAt(copy, 95)).toBe(100 + QUIET_BLOCKS)
    expect(removed).toEqual([1])
    expect(releasedAt(watch(120).copy, 95)).toBe(120 + QUIET_BLOCKS)
  })

  it('begins anew with each signature of the key, in a commit or in a vote', () => {
    const { copy } = watch()
    for (let height = 101; height < 200; height++) {
      if (height % (QUIET_BLOCKS - 1) === 5) copy.inspect(commitBy(height - 1, address))
      else copy.inspect(commitBy(height - 1, KEYS[1]!.address))
      expect(copy.decided({ height, timeMs: nowMs }, all, nowMs)).toBe(false)
    }
    copy.sawSignature(204)
    expect(releasedAt(copy, 201)).toBe(204 + QUIET_BLOCKS)
  })

  it('counts no blocks that were synced, are old, or have validators without the key', () => {
    expect(releasedAt(watch().copy, 101, nowMs - 10_001)).toBeUndefined()
    expect(releasedAt(watch().copy, 101, nowMs + 10_001)).toBeUndefined()
    expect(releasedAt(watch().copy, 101, nowMs, set(KEYS[1]!))).toBeUndefined()
    const { copy } = watch()
    expect(releasedAt(copy, 100 - 50 + QUIET_BLOCKS)).toBeUndefined()
    copy.synced()
    expect(releasedAt(copy, 200)).toBe(199 + QUIET_BLOCKS)
  })

  it('does not let a validator sign whose mark cannot be removed', () => {
    const mark = {
      height: 100,
      remove: () => {
        throw new Error('disk')
      },
    }
    expect(() => releasedAt(new CopyWatch({ addresses: [address], mark, signedHeight: 0 }), 101)).toThrow('disk')
  })
})
